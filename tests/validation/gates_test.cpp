// SPDX-License-Identifier: Apache-2.0
//
// Gates: the error of what ships on everything measured that is at hand - whole steps, 16- and
// 8-bit products, attention, collectives, convolutions - held at the levels of levels.csv. These
// are errors on data that the predictor was fitted on; what they guard against is a change that
// nobody meant. `tools/update_predictions --validation` writes the levels again.
#include <gtest/gtest.h>

#include <map>

#include "aggregate/communication.h"
#include "calibration/evaluate.h"
#include "calibration/labels.h"
#include "calibration/validate_traffic.h"
#include "default_constants.h"
#include "embedded_session.h"
#include "hardware/load.h"
#include "regression/table.h"
#include "shared_data.h"

namespace rooftile {
namespace {

constexpr const char* kLevels = "tests/validation/levels.csv";
constexpr double kTolerance = 0.5;  // percentage points

using Levels = std::map<std::string, double>;  ///< group -> mean error in percent

const Catalog& catalog() {
  static const Catalog kCatalog = Catalog::embedded();
  return kCatalog;
}

std::unique_ptr<cost::Predictor> default_predictor() {
  auto predictor = cost::make_predictor("", catalog());
  EXPECT_TRUE(predictor) << to_string(predictor.error());
  return *std::move(predictor);
}

/// Rewrites the rows of one kind of measurement ("steps/..."), or holds them.
void hold(const std::string& kind, const Levels& now) {
  ASSERT_FALSE(now.empty());
  auto table = testing::read_table(kLevels);
  ASSERT_TRUE(table) << to_string(table.error());
  if (testing::rewrites()) {
    std::erase_if(table->rows, [&](const auto& row) { return row[0].starts_with(kind + "/"); });
    for (const auto& [group, percent] : now) {
      table->rows.push_back({kind + "/" + group, fmt::format("{:.2f}", percent)});
    }
    std::sort(table->rows.begin(), table->rows.end());
    ASSERT_TRUE(testing::write_table(*table));
    return;
  }
  std::size_t compared = 0;
  for (const auto& row : table->rows) {
    if (!row[0].starts_with(kind + "/")) continue;
    const auto found = now.find(row[0].substr(kind.size() + 1));
    ASSERT_NE(found, now.end()) << row[0] << " was not measured";
    ++compared;
    EXPECT_LE(found->second, parse_double(row[1]).value_or(0) + kTolerance)
        << row[0] << ": the error grew\nhint: if it must, tools/update_predictions --validation";
  }
  EXPECT_EQ(compared, now.size())
      << "groups without a level: tools/update_predictions --validation";
}

TEST(Gates, WholeSteps) {
  const std::string file = "neusight/labels.csv";
  if (!testing::has_shared_data(file)) GTEST_SKIP() << "no measured steps: " << file;
  const auto predictor = default_predictor();
  const auto evaluation =
      calibration::evaluate_labels((testing::shared_data() / file).string(),
                                   (testing::shared_data() / "neusight/models").string(), catalog(),
                                   [&](const hardware::GpuSpec&) {
                                     return calibration::LabelPredictors{.main = predictor.get()};
                                   },
                                   [](const Request& request, const cost::Predictor& one) {
                                     return testing::embedded_session().predict(request, one);
                                   },
                                   {});
  ASSERT_TRUE(evaluation) << to_string(evaluation.error());
  Levels levels;
  for (const ErrorSummary& s : evaluation->summary) {
    levels[s.group] = s.mean_error * 100;
  }
  hold("steps", levels);
}

/// Every n-th row of the files, per class and GPU.
Levels kernel_levels(const std::string& prefix, std::size_t every) {
  std::vector<std::string> files;
  for (const char* gpu : {"a100_sxm", "h100_sxm", "h200_sxm", "l40s"}) {
    files.push_back((testing::shared_data() / (prefix + gpu + ".csv")).string());
  }
  auto dataset = calibration::read_datasets(files, catalog());
  EXPECT_TRUE(dataset) << to_string(dataset.error());
  if (!dataset) return {};
  std::vector<calibration::Sample> kept;
  for (std::size_t i = 0; i < dataset->samples.size(); i += every) {
    kept.push_back(dataset->samples[i]);
  }
  dataset->samples = std::move(kept);
  const auto predictor = default_predictor();
  Levels levels;
  for (const ErrorSummary& s : calibration::evaluate(*dataset, *predictor, {}).summary) {
    levels[s.group] = s.mean_error * 100;
  }
  return levels;
}

TEST(Gates, Products) {
  const std::string prefix = "aiconfigurator/gemm_";
  if (!testing::has_shared_data(prefix + "l40s.csv")) GTEST_SKIP() << "no " << prefix << "*.csv";
  hold("products", kernel_levels(prefix, 7));
}

TEST(Gates, AttentionOfPrompts) {
  const std::string prefix = "aiconfigurator/context_attention_";
  if (!testing::has_shared_data(prefix + "l40s.csv")) GTEST_SKIP() << "no " << prefix << "*.csv";
  hold("attention_prompts", kernel_levels(prefix, 5));
}

TEST(Gates, AttentionOfTokens) {
  const std::string prefix = "aiconfigurator/generation_attention_";
  if (!testing::has_shared_data(prefix + "l40s.csv")) GTEST_SKIP() << "no " << prefix << "*.csv";
  hold("attention_tokens", kernel_levels(prefix, 5));
}

TEST(Gates, Collectives) {
  const std::string prefix = "aiconfigurator/nccl_";
  if (!testing::has_shared_data(prefix + "l40s.csv")) GTEST_SKIP() << "no " << prefix << "*.csv";
  const Levels levels = kernel_levels(prefix, 1);
  hold("collectives", levels);
}

/// Every cell of a validation table that is a percentage: "13.4 % (0.93)".
Levels cells_of(const std::string& file) {
  const auto table = calibration::validate_traffic(
      {.file = (testing::shared_data() / file).string()}, catalog(), {});
  EXPECT_TRUE(table) << to_string(table.error());
  Levels levels;
  if (!table) return levels;
  for (const auto& cells : table->rows) {
    for (std::size_t i = 1; i < cells.size(); ++i) {
      const auto percent = parse_double(split(cells[i].text, ' ')[0]);
      if (!percent || cells[i].text.find('%') == std::string::npos) continue;
      std::string group = cells[0].text + "/" + table->columns[i];
      std::erase(group, ',');
      // Hit rates count as what they miss.
      const bool hits = group.ends_with("right") || group.ends_with("1.3");
      if (hits) group += " (missed)";
      levels[group] = hits ? 100 - *percent : *percent;
    }
  }
  return levels;
}

TEST(Gates, ConvolutionsOfDeepBench) {
  const std::string file = "deepbench/conv.csv";
  if (!testing::has_shared_data(file)) GTEST_SKIP() << "no " << file;
  hold("convolutions_deepbench", cells_of(file));
}

TEST(Gates, ConvolutionsOfNeuSight) {
  const std::string file = "neusight/nvidia/conv.csv";
  if (!testing::has_shared_data(file)) GTEST_SKIP() << "no " << file;
  hold("convolutions_neusight", cells_of(file));
}

}  // namespace
}  // namespace rooftile
