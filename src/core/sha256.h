// SPDX-License-Identifier: Apache-2.0
//
// SHA-256 of bytes, by nettle: its library starts in a fraction of the time that OpenSSL's takes,
// and uses the processor's own instructions where there are some.
#pragma once

#include <string>
#include <string_view>

namespace rooftile {

/// 64 lower-case hexadecimal digits, as `sha256sum` prints them.
std::string sha256(std::string_view bytes);

}  // namespace rooftile
