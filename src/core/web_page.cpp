// SPDX-License-Identifier: Apache-2.0
#include "core/web_page.h"

#include <cstddef>

extern "C" {
extern const char rooftile_web_page[];  // web_page.S
extern const char rooftile_web_page_end[];
}

namespace rooftile {

std::string_view web_page() {
  return {rooftile_web_page, static_cast<std::size_t>(rooftile_web_page_end - rooftile_web_page)};
}

}  // namespace rooftile
