// SPDX-License-Identifier: Apache-2.0
//
// The interactive page of web/ as bytes in the binary: one HTML file with script and style inside,
// and the marks @TITLE@ and @DATA@ where a result goes. `./x web` regenerates it.
#pragma once

#include <string_view>

namespace rooftile {

std::string_view web_page();

}  // namespace rooftile
