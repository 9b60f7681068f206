// SPDX-License-Identifier: Apache-2.0
#include "report/table.h"

#include <gtest/gtest.h>

namespace rooftile::report {
namespace {

TEST(Table, AlignsAndShrinks) {
  Table table({{.title = "name", .shrink = true}, {.title = "ms", .align = Align::Right}});
  table.add({"transformer.h.0.attn.c_attn", "1.5"});
  table.add({"x", "12.25"});
  // 24 columns less 2 of indent, 2 of gap and 5 of "12.25" leave 15 for the name.
  EXPECT_EQ(table.render(24, 2),
            "  name                ms\n"
            "  trans..n.c_attn    1.5\n"
            "  x                12.25\n");
}

TEST(Table, BarsAreProportional) {
  EXPECT_EQ(bar(0.5, 4), "##  ");
  EXPECT_EQ(bar(2.0, 2), "##");
  EXPECT_EQ(bar(0.0, 2), "  ");
}

TEST(Table, TimesPickTheirUnit) {
  EXPECT_EQ(format_ms(0.0015), "1.5 us");
  EXPECT_EQ(format_ms(12.345), "12.35 ms");
  EXPECT_EQ(format_ms(12345), "12.35 s");
}

TEST(Table, CsvFieldsAreQuotedWhenNeeded) {
  EXPECT_EQ(csv_field("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_field("say \"x\""), "\"say \"\"x\"\"\"");
  EXPECT_EQ(csv_field("plain"), "plain");
}

TEST(Table, FormulasOfSpreadsheetsAreDefused) {
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
  // A tab or a carriage return before the sign is no way around it.
  EXPECT_EQ(csv_field("\t=1+1"), "\\x09=1+1");
  EXPECT_EQ(csv_field("\r=1+1"), "\\x0d=1+1");
}

TEST(Table, ForeignCellsStayOnTheirLine) {
  Table table({{.title = "name"}, {.title = "ms", .align = Align::Right}});
  table.add({"a\x1b[2J\nb", "1"});
  table.add({"\xC3\xA4\xE2\x82\xAC", "2"});
  EXPECT_EQ(table.render(80, 0),
            "name           ms\n"
            "a\\x1b[2J\\x0ab   1\n"
            "\xC3\xA4\xE2\x82\xAC              2\n");
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

TEST(Shorten, PathsLoseTheirFoldersFirst) {
  EXPECT_EQ(shorten_path("layers/attn.q_proj", 18), "layers/attn.q_proj");
  EXPECT_EQ(shorten_path("layers/attn.q_proj", 17), "attn.q_proj");
  EXPECT_EQ(shorten_path("layers/attn.q_proj", 8), "q_proj");
  EXPECT_EQ(shorten_path("layers/attn.down_projection", 12), "down..ection");
  EXPECT_EQ(shorten_path("layers/", 5), "l..s/");
}

}  // namespace
}  // namespace rooftile::report
