// SPDX-License-Identifier: Apache-2.0
#include "hardware/head_scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rooftile::hardware {
namespace {

using ::testing::ElementsAre;

TEST(HeadScan, FindsTheThreeWhereverTheyStand) {
  const auto head = scan_head(
      R"( { "memory": {"id": "inner", "sizes": [1, {"name": "x"}], "text": "a \" , } b"},
            "aliases": ["one", "two"], "count": 12, "id": "chip", "name": "A Chip", "id": "late"})");
  ASSERT_TRUE(head);
  EXPECT_EQ(head->id, "chip");
  EXPECT_EQ(head->name, "A Chip");
  EXPECT_THAT(head->aliases, ElementsAre("one", "two"));
}

TEST(HeadScan, WhatIsMissingStaysEmpty) {
  const auto head = scan_head(R"({"name": "A Chip"})");
  ASSERT_TRUE(head);
  EXPECT_EQ(head->id, "");
  EXPECT_TRUE(scan_head("{}")) << "parse_gpu() says what is wrong";
}

TEST(HeadScan, CutTextsGiveNothing) {
  const std::string_view whole = R"({"memory": {"text": "a\"b"}, "aliases": ["one"], "id": "chip")";
  for (std::size_t size = 0; size + 1 < whole.size(); ++size) {
    const auto head = scan_head(whole.substr(0, size));
    EXPECT_TRUE(!head || head->id.empty()) << whole.substr(0, size);
  }
  EXPECT_FALSE(scan_head(""));
  EXPECT_FALSE(scan_head(R"(["id"])"));
  EXPECT_FALSE(scan_head(R"({"id": "chip)"));
  EXPECT_FALSE(scan_head(R"({"id": "chip\)")) << "an escape at the end";
  EXPECT_FALSE(scan_head(R"({"aliases": ["one")"));
  EXPECT_FALSE(scan_head(R"({"memory": [1, 2)"));
}

}  // namespace
}  // namespace rooftile::hardware
