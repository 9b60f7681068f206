// SPDX-License-Identifier: Apache-2.0
#include "core/utf8.h"

#include <gtest/gtest.h>

namespace rooftile {
namespace {

std::string utf8(std::uint32_t code) {
  std::string text;
  append_utf8(code, text);
  return text;
}

TEST(Utf8, CodePointsTakeOneToFourBytes) {
  EXPECT_EQ(utf8('A'), "A");
  EXPECT_EQ(utf8(0xB5), "\xC2\xB5");
  EXPECT_EQ(utf8(0x20AC), "\xE2\x82\xAC");
  EXPECT_EQ(utf8(0x1F600), "\xF0\x9F\x98\x80");
  EXPECT_EQ(utf8(0x10FFFF), "\xF4\x8F\xBF\xBF");
}

TEST(Utf8, HalvesOfUtf16JoinAndWhatIsNoCodePointIsReplaced) {
  static_assert(join_surrogates(0xD83D, 0xDE00) == 0x1F600);
  const std::string replacement = "\xEF\xBF\xBD";
  EXPECT_EQ(utf8(0xD83D), replacement);
  EXPECT_EQ(utf8(0xDE00), replacement);
  EXPECT_EQ(utf8(0x110000), replacement);
}

}  // namespace
}  // namespace rooftile
