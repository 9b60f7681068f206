// SPDX-License-Identifier: Apache-2.0
#include "report/grid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/text.h"
#include "core/utf8.h"

namespace rooftile::report {
namespace {

Grid sample(int width) {
  Grid grid({{.title = "name", .rank = Rank::Identity},
             {.title = "shape", .rank = Rank::Essential, .form = Form::Shape},
             {.title = "ms", .right = true, .rank = Rank::Essential},
             {.title = "tile", .rank = Rank::Detail},
             {.title = "waves", .right = true, .rank = Rank::Extra}},
            width, 2);
  grid.add({"transformer.h.0.attn.c_attn", "4096x4096x12288", "1.5", "128x64", "12.1"});
  grid.add({"x", "1x1", "12.25", "64x64", "0.1"});
  return grid;
}

TEST(Grid, IsAsWideAsItNeedsToBe) {
  EXPECT_EQ(sample(100).text(),
            "  name                         shape               ms  tile    waves\n"
            "  transformer.h.0.attn.c_attn  4096x4096x12288    1.5  128x64   12.1\n"
            "  x                            1x1              12.25  64x64     0.1\n");
  EXPECT_TRUE(sample(100).left_out().empty());
}

// One column too few: the name gives way, nothing has to go.
TEST(Grid, NamesContinueOnTheNextLine) {
  EXPECT_EQ(sample(67).text(),
            "  name                        shape               ms  tile    waves\n"
            "  transformer.h.0.attn.c_     4096x4096x12288    1.5  128x64   12.1\n"
            "  attn\n"
            "  x                           1x1              12.25  64x64     0.1\n");
}

TEST(Grid, NoLineIsWiderThanTheTerminalAndNoNameIsCut) {
  for (int width = 30; width <= 120; ++width) {
    const std::string text = sample(width).text();
    for (const std::string_view line : split(text, '\n')) {
      EXPECT_LE(utf8_count(line), static_cast<std::size_t>(width)) << text;
    }
    EXPECT_EQ(text.find("tra.."), std::string::npos) << text;
  }
}

TEST(Grid, TheLeastImportantColumnsGoFirst) {
  // With the name in 20 columns the table takes 61, without the waves 54.
  EXPECT_TRUE(sample(61).left_out().empty());
  EXPECT_EQ(sample(60).left_out(), (std::vector<std::string>{"waves"}));
  EXPECT_EQ(sample(53).left_out(), (std::vector<std::string>{"tile", "waves"}));
}

TEST(Grid, ColumnsComeBackWhereThereIsRoom) {
  const auto text = [](int width) {
    Grid grid({{.title = "name", .rank = Rank::Identity},
               {.title = "year", .rank = Rank::Detail},
               {.title = "what it is called in full", .rank = Rank::Detail}},
              width, 0);
    grid.add({"l4", "2023", "-"});
    return grid.text();
  };
  EXPECT_EQ(text(60), "name  year  what it is called in full\nl4    2023  -\n");
  EXPECT_EQ(text(20), "name  year\nl4    2023\n");
}

TEST(Grid, ForeignCellsStayOnTheirLine) {
  Grid grid({{.title = "name", .rank = Rank::Identity}, {.title = "ms", .right = true}}, 80, 0);
  grid.add({"a\x1b[2J\nb", "1"});
  grid.add({"\xC3\xA4\xE2\x82\xAC", "2"});
  EXPECT_EQ(grid.text(),
            "name           ms\n"
            "a\\x1b[2J\\x0ab   1\n"
            "\xC3\xA4\xE2\x82\xAC              2\n");
}

}  // namespace
}  // namespace rooftile::report
