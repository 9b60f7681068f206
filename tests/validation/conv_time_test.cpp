// SPDX-License-Identifier: Apache-2.0
//
// Errors of the convolution model on measured times, held at what docs/accuracy_traffic.md states.
#include <gtest/gtest.h>

#include <map>

#include "calibration/validate_traffic.h"
#include "core/text.h"
#include "shared_data.h"
#include "source_folder.h"

namespace rooftile::calibration {
namespace {

/// Percent in the cell of a row and column: "13.4 % (0.93)" -> 13.4.
double percent(const ValidationTable& table, const std::string& row, const std::string& column) {
  for (const auto& cells : table.rows) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (cells[0].text == row && table.columns[i] == column && !cells[i].numbers.empty())
        return cells[i].numbers.front();
    }
  }
  ADD_FAILURE() << "no cell " << row << " / " << column;
  return 1e9;
}

ValidationTable table_of(const std::string& file) {
  const auto table =
      validate_traffic({.file = (testing::shared_data() / file).string()}, Catalog::embedded(), {});
  EXPECT_TRUE(table) << to_string(table.error());
  return table ? *table : ValidationTable{};
}

TEST(ConvTime, DeepBench) {
  const std::string file = "deepbench/conv.csv";
  if (!testing::has_shared_data(file)) GTEST_SKIP() << "no " << file;
  const ValidationTable table = table_of(file);
  ASSERT_EQ(table.rows.size(), 5U);
  for (const char* gpu : {"M40", "P100", "TitanX", "TitanX_Pascal", "TitanXp"}) {
    EXPECT_LT(percent(table, gpu, "forward, implicit GEMM"), 15.0) << gpu;
    EXPECT_LT(percent(table, gpu, "forward, all rows, choice"), 20.0) << gpu;
    EXPECT_LT(percent(table, gpu, "backward data"), 25.0) << gpu;
    EXPECT_LT(percent(table, gpu, "backward filter"), 25.0) << gpu;
  }
}

TEST(ConvTime, NeuSight) {
  const std::string file = "neusight/nvidia/conv.csv";
  if (!testing::has_shared_data(file)) GTEST_SKIP() << "no " << file;
  const ValidationTable table = table_of(file);
  ASSERT_EQ(table.rows.size(), 4U);
  for (const auto& row : table.rows) {
    EXPECT_LT(percent(table, row[0].text, "drift removed"), 15.0) << row[0].text;
    EXPECT_LT(percent(table, row[0].text, "drift removed, choice"), 15.0) << row[0].text;
    EXPECT_LT(percent(table, row[0].text, "flat 280 us, choice"), 25.0) << row[0].text;
  }
}

TEST(ConvTime, UnknownLayoutIsAnError) {
  const auto table =
      validate_traffic({.file = testing::source_folder() / "README.md"}, Catalog::embedded(), {});
  ASSERT_FALSE(table);
}

}  // namespace
}  // namespace rooftile::calibration
