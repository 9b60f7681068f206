// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "calibration/evaluate.h"
#include "calibration/fit_neusight.h"
#include "calibration/tile_report.h"
#include "temporary_folder.h"

namespace rooftile::calibration {
namespace {

TEST(TrainNetwork, LearnsTwoLevelsOfUtilization) {
  // Rows with a first feature of -1 reach 20 % of the roofline, those with +1 reach 60 %.
  std::vector<TrainingRow> rows;
  for (int i = 0; i < 64; ++i) {
    const double side = i % 2 == 0 ? -1 : 1;
    rows.push_back({.inputs = {side, 0, 0, 0}, .waves = 4, .ratio = side < 0 ? 5.0 : 1 / 0.6});
  }
  TrainOptions options;
  options.hidden = {8};
  options.epochs = 300;
  options.batch = 16;
  options.rate = 1e-2;
  const TrainedNetwork trained = train(rows, options);
  EXPECT_LT(trained.loss, 0.03);
  const auto reached = [&](double side) {
    return cost::neusight::utilization(cost::neusight::evaluate(trained.network, {side, 0, 0, 0}),
                                       4, 1e-4);
  };
  EXPECT_NEAR(reached(-1), 0.2, 0.01);
  EXPECT_NEAR(reached(1), 0.6, 0.03);
  EXPECT_EQ(train(rows, options).network, trained.network) << "the seed decides everything";
  options.seed = 2;
  EXPECT_NE(train(rows, options).network, trained.network);
}

class NeuSightFit : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream file(folder.file("linear.csv"));
    file << "op,device,set,latency_ms,b,m,n,k,kernel,grid_x,grid_y,grid_z\n";
    const std::pair<const char*, double> gpus[] = {{"Tesla V100-PCIE-32GB", 14.13e12},
                                                   {"NVIDIA A100-PCIE-40GB", 19.5e12},
                                                   {"Tesla P100-PCIE-16GB", 9.3e12}};
    for (const auto& [device, peak] : gpus) {
      for (int i = 0; i < 60; ++i) {
        const int m = 1024 + 128 * (i % 12), n = 2048 + 256 * (i % 7), k = 256 + 320 * (i % 5);
        file << fmt::format("linear,{},train,{:.6f},1,{},{},{},volta_sgemm_128x64_tn,1,1,1\n",
                            device, 2e3 * m * n * k / peak * 1.6, m, n, k);
      }
    }
    file.close();
    const std::vector<std::string> paths{folder.file("linear.csv")};
    dataset = read_datasets(paths, Catalog::embedded()).value();
    form.train.epochs = 6;
    form.train.hidden = {8};
    form.table_rows = 10;
  }

  testing::TemporaryFolder folder;
  Dataset dataset;
  NeuSightOptions form;
};

TEST_F(NeuSightFit, TheResultDoesNotDependOnThreadsAndLeavesTheGpuOut) {
  FitOptions one;
  one.threads = 1;
  FitOptions four;
  four.threads = 4;
  const auto a = fit_neusight(dataset, one, form);
  const auto b = fit_neusight(dataset, four, form);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(to_json(*a->all), to_json(*b->all));
  ASSERT_EQ(a->without.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(to_json(a->without[i]), to_json(b->without[i]));
    const auto& table = a->without[i].classes.at("nvidia/linear").tiles;
    EXPECT_EQ(table.devices.size(), 2U);
    EXPECT_EQ(table.entries.size(), 20U);
  }
  // 128 along n, 64 along m.
  EXPECT_EQ(a->all->classes.at("nvidia/linear").tiles.entries.front().tile,
            (cost::neusight::TileSize{.m = 64, .n = 128}));
}

TEST_F(NeuSightFit, AStoppedFitContinuesToTheSameResult) {
  FitOptions whole;
  whole.threads = 1;
  const auto expected = fit_neusight(dataset, whole, form);
  ASSERT_TRUE(expected);
  FitOptions stopped = whole;
  stopped.checkpoint = folder.file("checkpoint.json");
  stopped.progress = [](const ProgressState& state) { return state.fraction <= 0; };
  EXPECT_FALSE(fit_neusight(dataset, stopped, form));
  ASSERT_TRUE(std::filesystem::exists(*stopped.checkpoint));
  FitOptions resumed = stopped;
  resumed.progress = {};
  const auto result = fit_neusight(dataset, resumed, form);
  ASSERT_TRUE(result) << to_string(result.error());
  EXPECT_EQ(to_json(*result->all), to_json(*expected->all));
}

TEST_F(NeuSightFit, StandsBesideOursInTheEvaluation) {
  const auto fits = fit(dataset, Catalog::embedded(), {});
  const auto rival = fit_neusight(dataset, {}, form);
  ASSERT_TRUE(fits && rival);
  const Evaluation evaluation = evaluate_left_out(dataset, *fits, &*rival);
  ASSERT_FALSE(evaluation.summary.empty());
  for (const ErrorSummary& s : evaluation.summary) {
    ASSERT_TRUE(s.baseline("neusight")) << s.group;
    EXPECT_TRUE(std::isfinite(*s.baseline("neusight")));
  }
  EXPECT_FALSE(evaluate_left_out(dataset, *fits, nullptr).summary.front().baseline("neusight"));
}

TEST_F(NeuSightFit, TilesAreComparedWithTheLaunchedOnes) {
  const auto fits = fit(dataset, Catalog::embedded(), {});
  ASSERT_TRUE(fits);
  const auto report = compare_tiles(dataset, *fits, {.rows = 20});
  // All GPUs, then each: 20 of 60 rows of the one campaign.
  ASSERT_EQ(report.size(), 4U);
  EXPECT_EQ(report.front().group, "linear");
  EXPECT_EQ(report.front().rows, 60);
  EXPECT_EQ(report.back().rows, 20);
  for (const TileAgreement& a : report) {
    // Every kernel of the data names 128x64: the nearest one cannot miss, and costs nothing.
    EXPECT_DOUBLE_EQ(a.nearest.exact, 1) << a.group;
    EXPECT_DOUBLE_EQ(a.nearest.same_area, 1) << a.group;
    EXPECT_DOUBLE_EQ(a.nearest.shift, 0) << a.group;
    EXPECT_DOUBLE_EQ(a.nearest.error, a.launched_error) << a.group;
    EXPECT_LE(a.ours.exact, a.ours.same_area) << a.group;
    EXPECT_LE(a.ours.same_area, 1) << a.group;
    EXPECT_GE(a.ours.shift, 0) << a.group;
  }
  for (Sample& sample : dataset.samples) sample.tile.reset();
  EXPECT_TRUE(compare_tiles(dataset, *fits, {.rows = 20}).empty());
}

TEST(LaunchedTile, OfAnElementwiseKernelComesFromItsGrid) {
  // 223 x 114 = 25422 elements in 50 CTAs: 509 each, rounded up to 512.
  Sample sample;
  sample.work.kind = ops::KernelClass::Pointwise;
  sample.work.shape = ops::RowShape{.rows = 223, .columns = 114};
  EXPECT_FALSE(launched_tile(sample));
  sample.blocks = 50;
  EXPECT_EQ(launched_tile(sample)->n, 512);
}

}  // namespace
}  // namespace rooftile::calibration
