// SPDX-License-Identifier: Apache-2.0
#include "app/roofline_predict.h"

#include <gtest/gtest.h>

namespace rooftile::app {
namespace {

profile::KernelRecord gemm(const std::string& name, double flops) {
  profile::KernelRecord record;
  record.name = name;
  record.launches = 2;
  record.time = Seconds::from_base(1e-3);
  record.flops = Flops::from_base(flops);
  record.flops_by[{DType::Fp16, hardware::Pipe::Tensor}] = *record.flops;
  record.grid = {{8, 16, 1}};
  record.block = {{256, 1, 1}};
  return record;
}

// 8 x 16 tiles of 128x64 are 1024 x 1024; 2 launches with k = 512 are 2 * 2 * 1024 * 1024 * 512.
constexpr double kFlops = 2.0 * 2 * 1024 * 1024 * 512;

TEST(GemmShape, FromTileGridAndFlops) {
  const auto shape = gemm_shape_of(gemm("ampere_fp16_s16816gemm_fp16_128x64_ldg8_nn", kFlops));
  ASSERT_TRUE(shape);
  EXPECT_EQ(*shape, (ops::GemmShape{.batch = 1, .m = 1024, .n = 1024, .k = 512}));
}

TEST(GemmShape, UnknownWhereTheNumbersDoNotAgree) {
  const std::string name = "volta_sgemm_128x64_nn";
  EXPECT_TRUE(gemm_shape_of(gemm(name, kFlops)));
  EXPECT_FALSE(gemm_shape_of(gemm(name, kFlops * 1.0117)));           // k = 518
  EXPECT_FALSE(gemm_shape_of(gemm(name, 0)));                         // nothing counted
  EXPECT_FALSE(gemm_shape_of(gemm("volta_sgemm_nn", kFlops)));        // no tile
  EXPECT_FALSE(gemm_shape_of(gemm("gemm_tensor16x8x8", kFlops)));     // an instruction, not a tile
  EXPECT_FALSE(gemm_shape_of(gemm("implicit_gemm_128x64", kFlops)));  // a convolution
  profile::KernelRecord no_grid = gemm(name, kFlops);
  no_grid.grid.reset();
  EXPECT_FALSE(gemm_shape_of(no_grid));
  profile::KernelRecord flat = gemm(name, kFlops);
  flat.grid = {{128, 1, 1}};
  EXPECT_FALSE(gemm_shape_of(flat));
  profile::KernelRecord partial = gemm(name, kFlops);
  partial.flops_complete = false;
  EXPECT_FALSE(gemm_shape_of(partial));
}

roofline::Chart chart_of(const std::vector<profile::KernelRecord>& records) {
  roofline::Chart chart;
  for (const auto& record : records) {
    roofline::Point point;
    point.record = record;
    point.time_fraction = 1.0 / static_cast<double>(records.size());
    chart.points.push_back(point);
  }
  return chart;
}

TEST(PredictKernels, ByNameAndAWarningForTheRest) {
  const Catalog catalog = Catalog::embedded();
  const auto machine = hardware::load_machine(catalog, "a100-sxm-40gb", std::nullopt);
  ASSERT_TRUE(machine);
  roofline::Chart chart = chart_of({gemm("ampere_fp16_s16816gemm_fp16_128x64_ldg8_nn", kFlops),
                                    gemm("elementwise_kernel", 1e6)});
  ASSERT_TRUE(predict_kernels({.machine = *machine, .step = {}}, catalog, chart));
  ASSERT_TRUE(chart.points[0].predicted);
  const roofline::Prediction& predicted = *chart.points[0].predicted;
  EXPECT_EQ(predicted.match, "tile and grid");
  EXPECT_DOUBLE_EQ(predicted.flops.base(), kFlops);
  // Not faster than the peak (312 TFLOP/s), and at least the three matrices are moved, twice.
  EXPECT_GE(predicted.time.base(), kFlops / 312e12);
  EXPECT_GE(predicted.bytes[2].base(), 2.0 * 2 * (1024 * 512 * 2 + 1024 * 1024));
  EXPECT_FALSE(chart.points[1].predicted);
  ASSERT_EQ(chart.warnings.size(), 1U);
  EXPECT_EQ(chart.warnings[0].name, "predict-no-shapes");
}

TEST(PredictKernels, ByModelOnlyWhenOneOperatorFits) {
  const Catalog catalog = Catalog::embedded();
  const auto machine = hardware::load_machine(catalog, "t4", std::nullopt);
  ASSERT_TRUE(machine);
  Request step;
  step.model = "gpt2";
  step.sequence = 128;
  // gpt2: 12 blocks; c_attn is 128 x 768 x 2304, the head 128 x 768 x 50257, once. c_proj and c_fc
  // of the MLP have equal FLOPs, so that neither can be told.
  profile::KernelRecord attention = gemm("k0", 12 * 2.0 * 128 * 768 * 2304);
  attention.launches = 12;
  profile::KernelRecord mlp = gemm("k1", 12 * 2.0 * 128 * 768 * 3072);
  mlp.launches = 12;
  roofline::Chart chart = chart_of({attention, mlp});
  ASSERT_TRUE(predict_kernels({.machine = *machine, .step = step}, catalog, chart));
  ASSERT_TRUE(chart.points[0].predicted);
  EXPECT_NE(chart.points[0].predicted->match.find("c_attn"), std::string::npos);
  EXPECT_FALSE(chart.points[1].predicted);
}

TEST(PredictKernels, WithoutAGpuThereIsAWarning) {
  roofline::Chart chart = chart_of({gemm("volta_sgemm_128x64_nn", kFlops)});
  ASSERT_TRUE(predict_kernels({.machine = {}, .step = {}}, Catalog::embedded(), chart));
  ASSERT_EQ(chart.warnings.size(), 1U);
  EXPECT_EQ(chart.warnings[0].name, "predict-no-gpu");
}

}  // namespace
}  // namespace rooftile::app
