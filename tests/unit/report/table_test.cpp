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

TEST(Shorten, PathsLoseTheirFoldersFirst) {
  EXPECT_EQ(shorten_path("layers/attn.q_proj", 18), "layers/attn.q_proj");
  EXPECT_EQ(shorten_path("layers/attn.q_proj", 17), "attn.q_proj");
  EXPECT_EQ(shorten_path("layers/attn.q_proj", 8), "q_proj");
  EXPECT_EQ(shorten_path("layers/attn.down_projection", 12), "down..ection");
  EXPECT_EQ(shorten_path("layers/", 5), "l..s/");
}

}  // namespace
}  // namespace rooftile::report
