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

TEST(Utf8, CountsAndPlacesAreOfCodePoints) {
  const std::string text = "a\xC2\xB5\xE2\x82\xAC\xff";  // a, U+00B5, U+20AC, a stray byte
  EXPECT_EQ(utf8_count(text), 4U);
  EXPECT_EQ(utf8_offset(text, 2), 3U);
  EXPECT_EQ(utf8_offset(text, 3), 6U);
  EXPECT_EQ(utf8_offset(text, 99), text.size());
}

TEST(Visible, LeavesTextAndEscapesWhatActs) {
  EXPECT_EQ(visible("K\xC3\xA4se \xE2\x82\xAC C:\\x"), "K\xC3\xA4se \xE2\x82\xAC C:\\x");
  EXPECT_EQ(visible("\x1b]0;t\x07\r\n\t\x7f"), "\\x1b]0;t\\x07\\x0d\\x0a\\x09\\x7f");
  EXPECT_EQ(visible(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(visible("\xC2\x9B"
                    "31m"),
            "\\u009b31m");  // C1: CSI in one character
  EXPECT_EQ(visible("\xE2\x80\xAE"
                    "cod"),
            "\\u202ecod");                             // right-to-left override
  EXPECT_EQ(visible("\xE2\x81\xA6"), "\\u2066");       // isolate
  EXPECT_EQ(visible("\xE2\x80\xA8"), "\\u2028");       // line separator
  EXPECT_EQ(visible("\xF3\xA0\x81\x81"), "\\ue0041");  // a tag
  // Overlong, surrogate, beyond U+10FFFF, cut: not UTF-8, byte by byte.
  EXPECT_EQ(visible("\xc0\xaf\xed\xa0\x80\xf5\xe2\x82"),
            "\\xc0\\xaf\\xed\\xa0\\x80\\xf5\\xe2\\x82");
}

TEST(Visible, NoByteStringLeavesAControlAndTwiceIsOnce) {
  std::string all;
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      all = {static_cast<char>(first), static_cast<char>(second)};
      const std::string once = visible(all);
      EXPECT_EQ(visible(once), once);
      for (std::size_t at = 0; at < once.size();) {
        const std::size_t length = utf8_length(once, at);
        ASSERT_GT(length, 0U);
        ASSERT_GE(static_cast<unsigned char>(once[at]), 0x20);
        at += length;
      }
    }
  }
}

TEST(JsonString, IsAsciiWhateverTheBytes) {
  EXPECT_EQ(json_string("a\"b\\\x1b"), R"("a\"b\\\u001b")");
  EXPECT_EQ(json_string("\xC2\x9B\xE2\x80\xAE\x7f"), R"("\u009b\u202e\u007f")");
  EXPECT_EQ(json_string("\xff"), R"("\ufffd")");
}

}  // namespace
}  // namespace rooftile
