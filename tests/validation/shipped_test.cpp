// SPDX-License-Identifier: Apache-2.0
//
// What ships is what `rooftile fit` writes (docs/howto/refit.md), to six digits. The whole fit
// leaves every GPU out in turn and takes minutes; here it is fitted once, without convolutions,
// which is everything but their constants, the clock and what comes from left-out errors (intervals
// and the correlation of errors). ROOFTILE_REPRODUCE=all has the convolutions, too.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "calibration/evaluate.h"
#include "calibration/fit.h"
#include "core/file.h"
#include "core/text.h"
#include "shared_data.h"
#include "source_folder.h"

namespace rooftile {
namespace {

bool whole() {
  const char* wanted = std::getenv("ROOFTILE_REPRODUCE");
  return wanted != nullptr && std::string_view(wanted) == "all";
}

std::vector<std::string> fitted_files() {
  std::vector<std::string> files;
  for (const char* folder : {"neusight/nvidia", "neusight/amd", "aiconfigurator"}) {
    std::error_code failure;
    std::filesystem::directory_iterator it(testing::shared_data() / folder, failure);
    for (; !failure && it != std::filesystem::directory_iterator(); it.increment(failure)) {
      const std::string name = it->path().filename().string();
      const bool fitted = std::string_view(folder) != "aiconfigurator" ||
                          name.starts_with("gemm_") || name.starts_with("nccl_") ||
                          name.starts_with("moe_") || name.find("_attention_") != std::string::npos;
      if (fitted && name.ends_with(".csv") && (whole() || name != "conv.csv"))
        files.push_back(it->path().string());
    }
  }
  if (files.empty()) return files;
  files.push_back((testing::shared_data() / "neusight/labels_per_node.csv").string());
  if (whole()) files.push_back((testing::shared_data() / "deepbench/conv.csv").string());
  std::sort(files.begin(), files.end());
  return files;
}

bool from_left_out(const std::string& key) {
  return key.starts_with("/intervals/") || key.ends_with("/error_correlation") ||
         key.ends_with("/command");
}

/// What only rows of convolutions decide, beside their constants, which stay.
bool of_convolutions(const std::string& key) {
  return key.starts_with("/ranges/conv/") || key.starts_with("/trivial/nvidia~1conv/") ||
         key.find("/conv/") != std::string::npos;
}

TEST(Shipped, IsWhatFitWrites) {
  const auto files = fitted_files();
  if (files.empty())
    GTEST_SKIP() << "no measured kernels: set ROOFTILE_DATA to the folder that holds neusight/";
  const Catalog catalog = Catalog::embedded();
  const auto dataset = calibration::read_datasets(files, catalog);
  ASSERT_TRUE(dataset) << to_string(dataset.error());
  calibration::FitOptions options;
  options.leave_one_out = false;
  const auto fits = calibration::fit(*dataset, catalog, options);
  ASSERT_TRUE(fits) << to_string(fits.error());
  const auto now = nlohmann::json::parse(to_json(*fits->all)).flatten();
  const auto text = read_file(testing::source_folder() / "data/predictors/default/weights.json");
  ASSERT_TRUE(text) << to_string(text.error());
  const auto shipped = nlohmann::json::parse(*text).flatten();
  std::size_t compared = 0;
  for (const auto& [key, value] : shipped.items()) {
    if (from_left_out(key) || (!whole() && of_convolutions(key))) continue;
    ASSERT_TRUE(now.contains(key)) << key << " is not in the fit";
    ++compared;
    if (value.is_number_float()) {
      const double a = value.get<double>();
      EXPECT_NEAR(now[key].get<double>(), a, 1e-6 * std::fabs(a)) << key;
    } else {
      EXPECT_EQ(now[key], value) << key;
    }
  }
  EXPECT_GT(compared, 500U);
}

/// "| group | rows | error % | ... | bias % |" of a table of docs/.
struct Row {
  double rows = 0, error = 0, bias = 0;  ///< percent
};
std::map<std::string, Row> table_of(const std::string& file) {
  std::map<std::string, Row> rows;
  const auto text = read_file(testing::source_folder() / file);
  EXPECT_TRUE(text) << file;
  std::map<std::string, std::size_t> columns;
  const std::string whole = text.value_or("");
  for (const std::string_view line : split(whole, '\n')) {
    if (!line.starts_with("| ")) continue;
    std::vector<std::string> cells;
    for (const std::string_view cell : split(line, '|')) cells.emplace_back(trim(cell));
    if (cells.size() > 1 && cells[1] == "group") {
      columns.clear();
      for (std::size_t i = 0; i < cells.size(); ++i) columns[cells[i]] = i;
      continue;
    }
    const auto number = [&](const char* name) {
      const auto at = columns.find(name);
      if (at == columns.end() || at->second >= cells.size()) return 0.0;
      std::string cell = cells[at->second];
      if (cell.starts_with('+')) cell.erase(0, 1);
      return parse_double(cell).value_or(0);
    };
    rows.try_emplace(
        cells[1],
        Row{.rows = number("rows"), .error = number("error %"), .bias = number("bias %")});
  }
  return rows;
}

/// The errors on left-out GPUs that the shipped card states.
std::map<std::string, Row> card_rows() {
  std::map<std::string, Row> rows;
  const auto text = read_file(testing::source_folder() / "data/predictors/default/card.json");
  EXPECT_TRUE(text);
  const auto tenths = [](double share) { return std::round(share * 1000) / 10; };
  const auto card = nlohmann::json::parse(text.value_or("{}"));
  for (const auto& row : card.at("leave_one_gpu_out")) {
    rows[row.at("group").get<std::string>()] = {.rows = row.at("cases").get<double>(),
                                                .error = tenths(row.at("mean_error").get<double>()),
                                                .bias = tenths(row.at("bias").get<double>())};
  }
  return rows;
}

// The shipped card against docs/accuracy_baseline.md, both with everything left out. Groups that
// are worse stand in baseline.csv with their errors and the reason: none may become worse still.
TEST(Shipped, NoLargeGroupIsWorseThanTheBaseline) {
  const auto baseline = table_of("docs/accuracy_baseline.md");
  const auto now = card_rows();
  std::map<std::string, std::array<double, 2>> known;
  const auto text = read_file(testing::source_folder() / "tests/validation/baseline.csv");
  ASSERT_TRUE(text);
  for (const std::string_view line : split(*text, '\n')) {
    const auto cells = split(line, ',');
    if (cells.size() < 4 || cells[0] == "group") continue;
    known[std::string(cells[0])] = {parse_double(cells[1]).value_or(0),
                                    parse_double(cells[2]).value_or(0)};
  }
  std::size_t compared = 0;
  for (const auto& [group, before] : baseline) {
    if (before.rows < 200 || !now.contains(group)) continue;
    const Row& row = now.at(group);
    ++compared;
    const auto exception = known.find(group);
    const double error = exception == known.end() ? before.error + 0.3 : exception->second[0];
    EXPECT_LE(row.error, error + 1e-9) << group << ": the baseline has " << before.error;
    const double bias =
        exception == known.end() ? std::fabs(before.bias) + 1 : exception->second[1];
    EXPECT_LE(std::fabs(row.bias), bias + 1e-9) << group << ": bias " << before.bias;
  }
  EXPECT_GT(compared, 80U);
}

}  // namespace
}  // namespace rooftile
