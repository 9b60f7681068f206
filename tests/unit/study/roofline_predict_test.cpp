// SPDX-License-Identifier: Apache-2.0
#include "study/roofline_predict.h"

#include <gtest/gtest.h>

#include "embedded_session.h"
#include "study/model_match.h"

namespace rooftile::study {
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
  ASSERT_TRUE(
      predict_kernels({.machine = *machine, .step = {}}, testing::embedded_session(), chart));
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

/// One more group of launches of a kernel, as exports that list launches give them.
void add_group(profile::KernelRecord& record, const std::array<std::int64_t, 3>& grid,
               std::vector<std::int64_t> ordinals, double flops_each) {
  profile::KernelRecord group;
  group.name = record.name;
  group.launches = static_cast<std::int64_t>(ordinals.size());
  group.grid = grid;
  group.flops = Flops::from_base(flops_each * static_cast<double>(ordinals.size()));
  group.flops_by[{DType::Fp32, hardware::Pipe::Vector}] = *group.flops;
  group.ordinals = std::move(ordinals);
  record.groups.push_back(group);
}

TEST(PredictKernels, AKernelOfSeveralShapesIsTheSumOfItsLaunches) {
  const Catalog catalog = Catalog::embedded();
  const auto machine = hardware::load_machine(catalog, "v100-sxm2-16gb", std::nullopt);
  ASSERT_TRUE(machine);
  // 8 x 16 tiles of 128x64 with k = 512, and the same grid with k = 1024.
  profile::KernelRecord two = gemm("volta_sgemm_128x64_nn", 0);
  add_group(two, {8, 16, 1}, {0}, 2.0 * 1024 * 1024 * 512);
  add_group(two, {8, 16, 1}, {1}, 2.0 * 1024 * 1024 * 1024);
  profile::KernelRecord one = gemm("volta_sgemm_128x64_nt", 0);
  add_group(one, {8, 16, 1}, {2}, 2.0 * 1024 * 1024 * 512);
  profile::KernelRecord unclear = two;
  unclear.groups[1].flops = Flops::from_base(2.0 * 1024 * 1024 * 515);  // no multiple of 8
  roofline::Chart chart = chart_of({two, one, unclear});
  ASSERT_TRUE(
      predict_kernels({.machine = *machine, .step = {}}, testing::embedded_session(), chart));
  ASSERT_TRUE(chart.points[0].predicted);
  EXPECT_EQ(chart.points[0].predicted->shape, "2 shapes");
  EXPECT_DOUBLE_EQ(chart.points[0].predicted->flops.base(), 2.0 * 1024 * 1024 * 1536);
  EXPECT_GT(chart.points[0].predicted->time, 2.0 * chart.points[1].predicted->time);
  EXPECT_FALSE(chart.points[2].predicted);
  ASSERT_EQ(chart.warnings.size(), 1U);
  EXPECT_NE(chart.warnings[0].message.find("1 have FLOPs that fit no depth of the product"),
            std::string::npos)
      << chart.warnings[0].message;
}

Request gpt2_step() {
  Request step;
  step.model = "gpt2";
  step.sequence = 128;
  return step;
}

TEST(PredictKernels, ByModelOnlyWhenOneShapeFits) {
  const Catalog catalog = Catalog::embedded();
  const auto machine = hardware::load_machine(catalog, "t4", std::nullopt);
  ASSERT_TRUE(machine);
  // gpt2: 12 blocks; c_attn is 128 x 768 x 2304, the head 128 x 768 x 50257, once. c_proj and c_fc
  // of the MLP have equal FLOPs, so that neither can be told.
  profile::KernelRecord attention = gemm("sgemm_a", 0);
  add_group(attention, {1, 1, 1}, {0, 1, 2}, 2.0 * 128 * 768 * 2304);
  profile::KernelRecord mlp = gemm("sgemm_b", 0);
  add_group(mlp, {1, 1, 1}, {3}, 2.0 * 128 * 768 * 3072);
  profile::KernelRecord other = gemm("relu", 0);
  add_group(other, {1, 1, 1}, {4}, 2.0 * 128 * 768 * 2304);
  roofline::Chart chart = chart_of({attention, mlp, other});
  ASSERT_TRUE(predict_kernels({.machine = *machine, .step = gpt2_step()},
                              testing::embedded_session(), chart));
  ASSERT_TRUE(chart.points[0].predicted);
  EXPECT_NE(chart.points[0].predicted->match.find("c_attn"), std::string::npos);
  EXPECT_NE(chart.points[0].predicted->match.find("by grid and FLOPs"), std::string::npos);
  EXPECT_DOUBLE_EQ(chart.points[0].predicted->flops.base(), 3.0 * 2 * 128 * 768 * 2304);
  EXPECT_FALSE(chart.points[1].predicted);
  EXPECT_FALSE(chart.points[2].predicted);
  ASSERT_EQ(chart.warnings.size(), 1U);
  EXPECT_NE(chart.warnings[0].message.find("1 are not matrix products or convolutions; 1 fit no "
                                           "operator of the model, or several"),
            std::string::npos)
      << chart.warnings[0].message;
}

TEST(PredictKernels, ByModelInOrderWhenAllLaunchesAreThere) {
  const Catalog catalog = Catalog::embedded();
  const auto machine = hardware::load_machine(catalog, "a100-sxm-40gb", std::nullopt);
  ASSERT_TRUE(machine);
  Request step;
  step.model = "resnet18";
  // 20 convolutions without FLOP counters: only their order tells which is which.
  profile::KernelRecord conv = gemm("fprop_kernel", 0);
  std::vector<std::int64_t> ordinals(20);
  for (std::size_t i = 0; i < 20; ++i) ordinals[i] = static_cast<std::int64_t>(3 * i);
  add_group(conv, {1, 1, 1}, ordinals, 0);
  conv.groups[0].flops.reset();
  roofline::Chart chart = chart_of({conv});
  ASSERT_TRUE(
      predict_kernels({.machine = *machine, .step = step}, testing::embedded_session(), chart));
  ASSERT_TRUE(chart.points[0].predicted);
  EXPECT_NE(chart.points[0].predicted->match.find(", by order"), std::string::npos);
  // ResNet-18 does 1.8 GMAC per image, all but 0.5 MMAC (the last layer) in convolutions.
  EXPECT_NEAR(chart.points[0].predicted->flops.base(), 2 * 1.814e9, 0.01e9);

  conv.name = "fprop_kernel_64x64";  // 100 tiles of 64x64 are not the first output, 12544 x 64
  conv.groups[0].name = conv.name;
  conv.groups[0].grid = {{100, 1, 1}};
  chart = chart_of({conv});
  ASSERT_TRUE(
      predict_kernels({.machine = *machine, .step = step}, testing::embedded_session(), chart));
  EXPECT_FALSE(chart.points[0].predicted);
}

TEST(ProductKind, FromTheNamesOfLibraries) {
  EXPECT_EQ(product_kind("ampere_sgemm_32x32_sliced1x4_tn"), ProductKind::Gemm);
  EXPECT_EQ(product_kind("sm80_xmma_fprop_implicit_gemm_tf32_tilesize64x32x64_cudnn"),
            ProductKind::ConvForward);
  EXPECT_EQ(product_kind("cutlass_tensorop_s1688wgrad_optimized_tf32_64x64"),
            ProductKind::ConvFilter);
  EXPECT_EQ(product_kind("cudnn::detail::dgrad2d_alg1_1"), ProductKind::ConvData);
  EXPECT_FALSE(product_kind("cudnn::ops::nchwToNhwcKernel"));
  EXPECT_FALSE(product_kind("splitKreduce_kernel"));
  EXPECT_FALSE(product_kind("vectorized_elementwise_kernel"));
}

TEST(PredictKernels, WithoutAGpuThereIsAWarning) {
  roofline::Chart chart = chart_of({gemm("volta_sgemm_128x64_nn", kFlops)});
  ASSERT_TRUE(predict_kernels({.machine = {}, .step = {}}, testing::embedded_session(), chart));
  ASSERT_EQ(chart.warnings.size(), 1U);
  EXPECT_EQ(chart.warnings[0].name, "predict-no-gpu");
}

}  // namespace
}  // namespace rooftile::study
