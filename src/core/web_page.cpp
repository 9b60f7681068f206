// SPDX-License-Identifier: Apache-2.0
#include "core/web_page.h"

#include <cstddef>

// Labels of web_page.S.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" {
extern const char rooftile_web_page[];
extern const char rooftile_web_page_end[];
}
// NOLINTEND(readability-identifier-naming)

namespace rooftile {

std::string_view web_page() {
  return {rooftile_web_page, static_cast<std::size_t>(rooftile_web_page_end - rooftile_web_page)};
}

}  // namespace rooftile
