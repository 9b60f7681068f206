// SPDX-License-Identifier: Apache-2.0
#include "profile/launch_groups.h"

#include <gtest/gtest.h>

#include "profile/evaluate.h"
#include "profile/importer.h"

namespace rooftile::profile {
namespace {

/// A raw page of three launches: two alike, one with another grid; times differ everywhere.
constexpr const char* kRaw =
    "\"ID\",\"Process ID\",\"Kernel Name\",\"gpu__time_duration.sum\",\"launch__block_dim_x\","
    "\"launch__block_dim_y\",\"launch__block_dim_z\",\"launch__grid_dim_x\",\"launch__grid_dim_y\","
    "\"launch__grid_dim_z\",\"smsp__sass_thread_inst_executed_op_fadd_pred_on.sum\","
    "\"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum\","
    "\"smsp__sass_thread_inst_executed_op_fmul_pred_on.sum\"\n"
    "\"\",\"\",\"\",\"nsecond\",\"block\",\"block\",\"block\",\"block\",\"block\",\"block\","
    "\"inst\",\"inst\",\"inst\"\n"
    "\"0\",\"1\",\"sgemm\",\"100\",\"256\",\"1\",\"1\",\"8\",\"2\",\"1\",\"0\",\"50\",\"0\"\n"
    "\"1\",\"1\",\"other\",\"9\",\"32\",\"1\",\"1\",\"1\",\"1\",\"1\",\"0\",\"0\",\"0\"\n"
    "\"2\",\"1\",\"sgemm\",\"300\",\"256\",\"1\",\"1\",\"4\",\"2\",\"1\",\"0\",\"70\",\"0\"\n"
    "\"3\",\"1\",\"sgemm\",\"140\",\"256\",\"1\",\"1\",\"8\",\"2\",\"1\",\"0\",\"50\",\"0\"\n";

TEST(LaunchGroups, LaunchesThatAreAlikeComeTogether) {
  const auto profile = import_text(kRaw, "x.csv");
  ASSERT_TRUE(profile) << to_string(profile.error());
  EvaluateOptions options;
  options.launch_groups = true;
  const auto run = evaluate(*profile, options, Catalog::embedded());
  ASSERT_TRUE(run);
  ASSERT_EQ(run->kernels.size(), 2U);
  const KernelRecord& gemm = run->kernels[0];
  ASSERT_EQ(gemm.groups.size(), 2U);
  EXPECT_EQ(gemm.groups[0].ordinals, (std::vector<std::int64_t>{0, 3}));
  EXPECT_EQ(gemm.groups[0].grid, (Dim3{8, 2, 1}));
  EXPECT_DOUBLE_EQ(gemm.groups[0].flops->base(), 2 * 2 * 50.0);
  EXPECT_DOUBLE_EQ(gemm.groups[0].time->base(), 240e-9);
  EXPECT_EQ(gemm.groups[1].ordinals, (std::vector<std::int64_t>{2}));
  EXPECT_DOUBLE_EQ(gemm.groups[1].flops->base(), 2 * 70.0);
  EXPECT_TRUE(evaluate(*profile, {}, Catalog::embedded())->kernels[0].groups.empty());
}

TEST(LaunchGroups, NoneWhereACounterLacksLaunches) {
  KernelSeries kernel;
  kernel.name = "k";
  kernel.columns.push_back({.metric = "a", .values = {1, 2}, .weights = {}, .missing = 0});
  kernel.launch_list = {{.ordinal = 0, .grid = {}, .block = {}},
                        {.ordinal = 1, .grid = {}, .block = {}}};
  EXPECT_EQ(launch_groups(kernel).size(), 1U);  // nothing tells the two apart
  kernel.columns.push_back({.metric = "b", .values = {1}, .weights = {}, .missing = 1});
  EXPECT_TRUE(launch_groups(kernel).empty());
  kernel.columns.pop_back();
  kernel.columns[0].weights = {3, 4};  // means over several launches
  EXPECT_TRUE(launch_groups(kernel).empty());
}

TEST(LaunchGroups, ASubtractedRunTakesItsLaunchesAlong) {
  const auto whole = import_text(kRaw, "x.csv");
  const auto part =
      import_text(std::string(kRaw).substr(0, std::string(kRaw).find("\n\"1\"") + 1), "y.csv");
  ASSERT_TRUE(whole && part);
  const auto rest = subtract(*whole, *part);
  ASSERT_TRUE(rest);
  ASSERT_EQ(rest->kernels[0].launch_list.size(), 2U);
  EXPECT_EQ(rest->kernels[0].launch_list[0].ordinal, 2);
}

TEST(Subtract, ARunWithoutItselfIsEmpty) {
  // The process of the second row is another one, so two launches share the counters of one.
  const std::string head =
      "\"ID\",\"Process ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n";
  const auto profile = import_text(head + "\"0\",\"\",\"k\",\"dram__bytes.sum\",\"byte\",\"1\"\n" +
                                       "\"0\",\"7\",\"k\",\"lts__t_bytes.sum\",\"byte\",\"2\"\n",
                                   "x.csv");
  ASSERT_TRUE(profile);
  const auto nothing = subtract(*profile, *profile);
  ASSERT_TRUE(nothing);
  EXPECT_TRUE(nothing->kernels.empty());
}

}  // namespace
}  // namespace rooftile::profile
