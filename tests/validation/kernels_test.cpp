// SPDX-License-Identifier: Apache-2.0
//
// The error of every class on every left-out GPU against the committed card: no cell may worsen by
// more than one point.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "calibration/evaluate.h"
#include "core/file.h"
#include "shared_data.h"
#include "source_folder.h"

namespace rooftile::calibration {
namespace {

std::map<std::string, double> committed() {
  const auto text = read_file(testing::source_folder() / "data/predictors/default/card.json");
  std::map<std::string, double> errors;
  if (!text) return errors;
  const auto card = nlohmann::json::parse(*text);
  for (const auto& row : card.at("leave_one_gpu_out"))
    errors[row.at("group").get<std::string>()] = row.at("mean_error").get<double>();
  return errors;
}

TEST(Kernels, LeftOutErrorsDoNotWorsen) {
  std::vector<std::string> files;
  for (const char* name : {"nvidia/linear", "nvidia/bmm", "nvidia/elementwise", "nvidia/softmax",
                           "nvidia/layernorm", "nvidia/conv", "amd/linear", "amd/bmm",
                           "amd/elementwise", "amd/softmax", "amd/layernorm"}) {
    const std::string relative = std::string("neusight/") + name + ".csv";
    if (!testing::has_shared_data(relative))
      GTEST_SKIP() << "no measured kernels: set ROOFTILE_DATA to the folder that holds "
                   << relative;
    files.push_back((testing::shared_data() / relative).string());
  }
  if (!testing::has_shared_data("deepbench/conv.csv")) GTEST_SKIP() << "no deepbench/conv.csv";
  files.push_back((testing::shared_data() / "deepbench/conv.csv").string());
  const Catalog catalog = Catalog::embedded();
  const auto dataset = read_datasets(files, catalog);
  ASSERT_TRUE(dataset) << to_string(dataset.error());
  FitOptions options;
  options.all_gpus = false;
  const auto fits = fit(*dataset, catalog, options);
  ASSERT_TRUE(fits) << to_string(fits.error());
  const Evaluation evaluation = evaluate_left_out(*dataset, *fits, nullptr);
  const auto card = committed();
  ASSERT_FALSE(card.empty());
  int compared = 0;
  for (const ErrorSummary& s : evaluation.summary) {
    const auto before = card.find(s.group);
    if (before == card.end()) continue;
    ++compared;
    EXPECT_LE(s.mean_error, before->second + 0.01) << s.group;
  }
  EXPECT_GT(compared, 60);
}

}  // namespace
}  // namespace rooftile::calibration
