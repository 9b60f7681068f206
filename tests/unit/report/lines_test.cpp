// SPDX-License-Identifier: Apache-2.0
#include "report/lines.h"

#include <gtest/gtest.h>

namespace rooftile::report {
namespace {

TEST(Lines, BarsAreProportional) {
  EXPECT_EQ(bar(0.5, 4), "##  ");
  EXPECT_EQ(bar(2.0, 2), "##");
  EXPECT_EQ(bar(0.0, 2), "  ");
}

TEST(Lines, TimesPickTheirUnit) {
  EXPECT_EQ(format_ms(0.0015), "1.5 us");
  EXPECT_EQ(format_ms(12.345), "12.35 ms");
  EXPECT_EQ(format_ms(12345), "12.35 s");
}

TEST(Lines, CsvFieldsAreQuotedWhenNeeded) {
  EXPECT_EQ(csv_field("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_field("say \"x\""), "\"say \"\"x\"\"\"");
  EXPECT_EQ(csv_field("plain"), "plain");
}

TEST(Lines, FormulasOfSpreadsheetsAreDefused) {
  for (const char* formula : {"=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "=x",
                              "\xEF\xBC\x9D"
                              "1"}) {
    EXPECT_TRUE(csv_field(formula).starts_with("'")) << formula;
  }
  EXPECT_EQ(csv_field("=HYPERLINK(\"u\",1)"), "\"'=HYPERLINK(\"\"u\"\",1)\"");
  // Neither numbers nor signs alone.
  for (const char* plain : {"-1.5", "+2", "-3e-05", "-", "=", "a=b"}) {
    EXPECT_EQ(csv_field(plain), plain);
  }
  // A tab or a carriage return before the sign does not get around it.
  EXPECT_EQ(csv_field("\t=1+1"), "\\x09=1+1");
  EXPECT_EQ(csv_field("\r=1+1"), "\\x0d=1+1");
}

TEST(SafeLines, KeepsLinesAndStylesAndNothingElse) {
  const std::string styled = bold("x", true) + " " + dim("y", true) + yellow("z", true) + "\n";
  EXPECT_EQ(safe_lines(styled + "plain\n"), styled + "plain\n");
  EXPECT_EQ(safe_lines("a\x1b[31mb\x1b]0;t\x07\rc\n"), "a\\x1b[31mb\\x1b]0;t\\x07\\x0dc\n");
}

TEST(Shorten, CutsBetweenCharacters) {
  EXPECT_EQ(shorten("\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4", 5),
            "\xC3\xA4..\xC3\xA4\xC3\xA4");
  EXPECT_EQ(shorten("a\nb", 10), "a\\x0ab");
  EXPECT_EQ(wrapped("a\x1b b\nc", 40, 0), "a\\x1b b\\x0ac\n");
}

TEST(Wrapped, NoLineIsWider) {
  EXPECT_EQ(wrapped("one two three", 40, 0), "one two three\n");
  // A word longer than the line is broken behind its punctuation.
  const std::string path = "/a/very/long/path/of/folders/that/is/longer/than/forty/columns.json";
  EXPECT_EQ(wrapped("see " + path, 40, 0, 2),
            "see\n  /a/very/long/path/of/folders/that/is/\n  longer/than/forty/columns.json\n");
  EXPECT_EQ(pieces("layers/attn.q_proj", 12), (std::vector<std::string>{"layers/attn.", "q_proj"}));
  EXPECT_EQ(pieces("abcdefgh", 3), (std::vector<std::string>{"abc", "def", "gh"}));
}

}  // namespace
}  // namespace rooftile::report
