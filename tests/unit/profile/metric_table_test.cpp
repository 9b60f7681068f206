// SPDX-License-Identifier: Apache-2.0
#include "profile/metric_table.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "profile/evaluate.h"
#include "profile/raw_profile.h"

namespace rooftile::profile {
namespace {

bool has(const std::vector<ChipMetric>& metrics, std::string_view name) {
  return std::any_of(metrics.begin(), metrics.end(),
                     [name](const ChipMetric& metric) { return metric.name == name; });
}

TEST(MetricTable, NamesThatMovedBetweenChips) {
  EXPECT_TRUE(has(metrics_of("7.0"), "sm__ops_path_tensor_src_fp16_dst_fp32"));
  EXPECT_TRUE(has(metrics_of("7.5"), "sm__ops_path_tensor_src_fp16_bf16_tf32_dst_fp32"));
  EXPECT_TRUE(has(metrics_of("9.0"), "sm__ops_path_tensor_src_fp16"));
  EXPECT_FALSE(has(metrics_of("9.0"), "sm__ops_path_tensor_src_fp16_dst_fp32"));
  EXPECT_TRUE(has(metrics_of("9.0"), "dram__bytes_read"));
  EXPECT_FALSE(has(metrics_of("12.0"), "dram__bytes_read"));
  EXPECT_TRUE(has(metrics_of("12.0"), "dram__bytes_op_read"));
  EXPECT_TRUE(metrics_of("6.0").empty());
}

TEST(MetricTable, EveryNeededCounterIsUsedByAFormula) {
  for (const char* isa :
       {"7.0", "7.5", "8.0", "8.6", "8.9", "9.0", "10.0", "12.0", "", "gfx90a", "gfx942"}) {
    const auto metrics = needed_metrics(counting_of(Catalog::embedded(), isa).value());
    EXPECT_GE(metrics.size(), 14U) << isa;
    for (const std::string& metric : metrics) EXPECT_TRUE(is_used_metric(metric)) << metric;
  }
}

TEST(MetricTable, TheCommandNamesThem) {
  const auto command_of = [](const char* isa, const std::vector<std::string>& metrics) {
    return collect_command(counting_of(Catalog::embedded(), isa).value(), metrics);
  };
  const std::string command = command_of("9.0", {"dram__bytes.sum", "lts__t_bytes.sum"});
  EXPECT_EQ(command,
            "ncu --csv --page raw --print-units base --metrics dram__bytes.sum,lts__t_bytes.sum "
            "./app");
  EXPECT_TRUE(command_of("gfx942", {"TCC_BUBBLE_sum"}).starts_with("rocprofv3 --pmc TCC_"));
  EXPECT_TRUE(command_of("6.1", {"dram__bytes.sum"}).starts_with("nvprof "));
}

}  // namespace
}  // namespace rooftile::profile
