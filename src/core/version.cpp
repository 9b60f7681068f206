// SPDX-License-Identifier: Apache-2.0
#include "rooftile/version.h"

namespace rooftile {

std::string_view version() {
  return ROOFTILE_VERSION;
}

}  // namespace rooftile
