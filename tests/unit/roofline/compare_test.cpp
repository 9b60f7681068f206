// SPDX-License-Identifier: Apache-2.0
#include "roofline/compare.h"

#include <gtest/gtest.h>

#include "roofline/operation.h"

namespace rooftile::roofline {
namespace {

using profile::KernelRecord;

KernelRecord kernel(std::string name, double ms, DType dtype, hardware::Pipe pipe) {
  KernelRecord record;
  record.name = std::move(name);
  record.launches = 1;
  record.time = from_ms(ms);
  record.flops_by[{dtype, pipe}] = Flops::from_base(1e6);
  record.flops = Flops::from_base(1e6);
  return record;
}
KernelRecord fp32(std::string name, double ms) {
  return kernel(std::move(name), ms, DType::Fp32, hardware::Pipe::Vector);
}
KernelRecord fp16(std::string name, double ms) {
  return kernel(std::move(name), ms, DType::Fp16, hardware::Pipe::Tensor);
}

profile::Run run_of(std::string label, std::vector<KernelRecord> kernels) {
  profile::Run run;
  run.label = std::move(label);
  run.kernels = std::move(kernels);
  return run;
}

const Difference* row(const Comparison& comparison, std::string_view part) {
  for (const Difference& one : comparison.kernels) {
    if (one.name.find(part) != std::string::npos) return &one;
  }
  return nullptr;
}

// By name 2 ms, by operation 6 ms, by class 3 + 1 ms; "mystery" stays alone: 12 of 13 and 7 of 9.
TEST(Compare, PairsByNameThenOperationThenClass) {
  const Comparison c = compare(
      run_of("O0", {fp32("batch_norm<float>(int)", 2), fp32("volta_scudnn_128x64_relu_nn_v1", 6),
                    fp32("im2col_kernel", 3), fp32("winograd_nonfused", 1), fp32("mystery", 1)}),
      run_of("O1", {fp32("batch_norm<float>(int)", 1),
                    fp16("volta_fp16_s884cudnn_fp16_128x64_relu_nn_v1", 3),
                    fp16("hmma_fprop_64", 3), fp32("riddle", 2)}));
  ASSERT_NE(row(c, "batch_norm"), nullptr);
  EXPECT_EQ(row(c, "batch_norm")->paired, PairedBy::Name);
  ASSERT_NE(row(c, "volta"), nullptr);
  EXPECT_EQ(row(c, "volta")->paired, PairedBy::Operation);
  EXPECT_EQ(row(c, "volta")->change, "fp32 -> fp16_tensor");
  ASSERT_NE(row(c, "convolution"), nullptr);
  EXPECT_EQ(row(c, "convolution")->paired, PairedBy::Class);
  EXPECT_DOUBLE_EQ(to_ms(row(c, "convolution")->delta), 3.0 - 4.0);
  EXPECT_EQ(row(c, "mystery")->change, "vanished");
  EXPECT_EQ(row(c, "riddle")->change, "appeared");
  EXPECT_NEAR(c.paired_first, 12.0 / 13.0, 1e-12);
  EXPECT_NEAR(c.paired_second, 7.0 / 9.0, 1e-12);
}

// Mixed precision moves half of the convolutions to kernels that the other run does not have: the
// one that both have (in another format) is not enough of a pair for them.
TEST(Compare, AClassThatOnlyOneRunHasMoreOfIsComparedAsAWhole) {
  const Comparison c = compare(run_of("O1", {fp32("implicit_convolve_sgemm<__half, 512>", 24),
                                             fp16("volta_fp16_s884cudnn_256x128_interior_v1", 13),
                                             fp32("bn_fw_tr_1C11_kernel_NCHW<__half>", 12)}),
                               run_of("O0", {fp32("implicit_convolve_sgemm<float, 512>", 60),
                                             fp32("bn_fw_tr_1C11_kernel_NCHW<float>", 20)}));
  EXPECT_DOUBLE_EQ(c.paired_first, 1.0);
  EXPECT_DOUBLE_EQ(c.paired_second, 1.0);
  ASSERT_NE(row(c, "convolution (2 and 1 kernels)"), nullptr);
  ASSERT_NE(row(c, "bn_fw"), nullptr);
  EXPECT_EQ(row(c, "bn_fw")->paired, PairedBy::Operation);
}

// The same with the runs exchanged.
TEST(Compare, AClassThatOnlyTheSecondRunHasMoreOfIsComparedAsAWhole) {
  const Comparison c = compare(run_of("O0", {fp32("implicit_convolve_sgemm<float, 512>", 60),
                                             fp32("bn_fw_tr_1C11_kernel_NCHW<float>", 20)}),
                               run_of("O1", {fp32("implicit_convolve_sgemm<__half, 512>", 24),
                                             fp16("volta_fp16_s884cudnn_256x128_interior_v1", 13),
                                             fp32("bn_fw_tr_1C11_kernel_NCHW<__half>", 12)}));
  EXPECT_DOUBLE_EQ(c.paired_second, 1.0);
  ASSERT_NE(row(c, "convolution (1 and 2 kernels)"), nullptr);
  EXPECT_EQ(row(c, "bn_fw")->paired, PairedBy::Operation);
}

TEST(Compare, NothingIsPairedWithNothing) {
  const Comparison c = compare(run_of("a", {}), run_of("b", {fp32("k", 1)}));
  EXPECT_EQ(c.paired_first, 0.0);
  EXPECT_EQ(c.paired_second, 0.0);
  EXPECT_EQ(c.kernels.size(), 1U);
}

TEST(Compare, MoreRunsAreComparedWithTheFirst) {
  std::vector<NamedRun> runs;
  for (const char* label : {"O0", "O1", "O2"}) {
    runs.push_back({.run = run_of(label, {fp32("gemm", 1)}), .files = {}});
  }
  ChartOptions options;
  options.compare = true;
  const Chart chart = make_chart(std::move(runs), {}, options);
  ASSERT_TRUE(chart.comparison);
  EXPECT_EQ(chart.comparison->second, "O1");
  ASSERT_EQ(chart.more_comparisons.size(), 1U);
  EXPECT_EQ(chart.more_comparisons[0].first, "O0");
  EXPECT_EQ(chart.more_comparisons[0].second, "O2");
}

TEST(Operation, ClassesOfWhatLibrariesCallTheirKernels) {
  const std::pair<const char*, const char*> kExpected[] = {
      {"volta_fp16_s884cudnn_fp16_128x128_ldg8_relu_exp_small_nhwc_tn_v1", "convolution"},
      {"void cudnn::detail::implicit_convolve_sgemm<__half, 128>(int)", "convolution"},
      {"void at::native::im2col_kernel<c10::Half>(long)", "convolution"},
      {"volta_sgemm_128x32_nn", "product"},
      {"Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x192x64", "product"},
      {"void tensorflow::functor::SwapDimension1And2InTensor3UsingTiles<uint2>", "data movement"},
      {"void nchwToNhwcKernel<__half, __half, float, true, false>", "data movement"},
      {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "communication"},
      {"void cudnn::bn_fw_tr_1C11_kernel_NCHW<__half2, float>", "normalization"},
      {"void at::native::vectorized_elementwise_kernel<4, at::native::add_kernel>", "element-wise"},
      {"flash_fwd_splitkv_kernel", "attention"},
      {"void multi_tensor_apply_kernel<LAMBStage1Functor<float>>", "optimizer"},
      {"convert_fp32_to_bf16", "data movement"},
      {"void cudnn::detail::pooling_fw_4d_kernel<float>", "pooling"},
      {"void at::native::elementwise_kernel<128, 2, gpu_kernel_impl<add>::{lambda(int)#1}>",
       "element-wise"},
      {"void Eigen::internal::EigenMetaKernel<TensorAssignOp<T, TensorConversionOp<half, U>>>",
       "data movement"},
      {"void Eigen::internal::EigenMetaKernel<TensorAssignOp<T, "
       "TensorCwiseBinaryOp<scalar_sum_op>>>",
       "element-wise"},
      {"void tensorflow::functor::S2B<half, 2, false>(int, tensorflow::functor::S2BParameters<2>)",
       "data movement"},
      {"void tensorflow::BiasGradNHWC_SharedAtomics<Eigen::half, float>(int)", "reduction"},
      {"cudnn::gemm::computeOffsetsKernel(cudnn::gemm::ComputeOffsetsParams)", "convolution"},
      {"void fft2d_r2c_32x32<__half, true>(float2*, cudnn::reduced_divisor, bool)", "convolution"},
      {"void op_generic_tensor_kernel<1, __half, float>(cudnnTensorStruct)", "element-wise"},
      {"void at::native::(anonymous namespace)::GammaBetaBackwardCUDAKernel<c10::Half>",
       "normalization"},
      {"void kernelTransformReduceOuterDimIndex<c10::Half, long, MaxValuePair>", "reduction"},
      {"void tensorflow::(anonymous namespace)::SplitOpKernel<float>", "data movement"},
      {"void cub::DeviceReduceSingleTileKernel<Policy600>", "reduction"},
      {"void splitKernel<float>", "data movement"},
      {"void cublasLt::splitKreduce_kernel<32, 16, int, float>", "product"},
      {"AddV2_GPU_DT_HALF_DT_HALF_kernel", "element-wise"},
      {"void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>", "communication"},
      {"cleanup(float*, float*, float*, float*, bool, int)", "optimizer"},
      {"mystery", "other"}};
  for (const auto& [name, expected] : kExpected) EXPECT_EQ(operation_class(name), expected) << name;
}

TEST(Operation, NamesWithoutNumberFormats) {
  EXPECT_EQ(format_free_name("void k<float, 4>(float*)"),
            format_free_name("void k<__half, 8>(half*)"));
  EXPECT_EQ(format_free_name("volta_sgemm_128x32_nn"), format_free_name("volta_hgemm_128x32_nn"));
  EXPECT_NE(format_free_name("volta_sgemm_128x32_nn"), format_free_name("volta_sgemm_64x32_nn"));
  EXPECT_EQ(format_free_name("kernel_1a2b3c4d5e6f"), "kernel");
}

Roofs flat() {
  Roofs roofs;
  roofs.memory.push_back({.name = "dram",
                          .level = hardware::MemoryLevel::Dram,
                          .bandwidth = BytesPerSecond::from_base(1e12),
                          .source = "datasheet"});
  roofs.compute.push_back({.key = {DType::Fp32, hardware::Pipe::Vector},
                           .rate = FlopsPerSecond::from_base(1e13),
                           .source = "datasheet"});
  roofs.compute.push_back({.key = {DType::Fp16, hardware::Pipe::Tensor},
                           .rate = FlopsPerSecond::from_base(8e13),
                           .source = "datasheet"});
  return roofs;
}

Chart charted(std::vector<KernelRecord> kernels) {
  std::vector<NamedRun> runs;
  runs.push_back({.run = run_of("r", std::move(kernels)), .files = {}});
  return make_chart(std::move(runs), flat(), {});
}

// 8 GB at 1 TB/s are 8 of 10 ms; both move them, so fused 8 ms less.
TEST(Advice, StreamsAreFusedWithTheNext) {
  KernelRecord add = fp32("elementwise_add", 10.0), mul = fp32("elementwise_mul", 10.0);
  add.bytes[2] = mul.bytes[2] = Bytes::from_base(8e9);
  add.next = mul.name;
  add.next_launches = 1;
  const Chart chart = charted({add, mul});
  EXPECT_EQ(chart.points[0].advice,
            "dram-bound at 80 % of its roof; fusing it with the elementwise_mul that follows would "
            "save up to 8.00 ms of 10.0 ms");
  EXPECT_NE(chart.points[1].advice.find("only fewer bytes"), std::string::npos)
      << chart.points[1].advice;
}

// 8e10 FLOP at 1e13 FLOP/s are 8 of 10 ms; on the matrix units 1 ms.
TEST(Advice, ProductsOnVectorLanesMayUseTheMatrixUnits) {
  KernelRecord gemm = fp32("sgemm", 10.0);
  gemm.flops_by.begin()->second = Flops::from_base(8e10);
  gemm.flops = Flops::from_base(8e10);
  const Chart chart = charted({gemm});
  EXPECT_EQ(
      chart.points[0].advice,
      "fp32-bound at 80 % of its roof; 16-bit products on the matrix units lift that roof 8.0 "
      "times, and would save up to 9.00 ms of 10.0 ms");
  // 3e9 bytes at 1 TB/s still take 3 ms.
  gemm.bytes[2] = Bytes::from_base(3e9);
  EXPECT_EQ(charted({gemm}).points[0].gain, from_ms(7.0));
}

// Integers make no FLOPs, but the profiler saw the SMs at 70 % of their peak.
TEST(Advice, TheProfilersOwnCountIsHeard) {
  KernelRecord busy = fp32("k", 10.0);
  busy.bytes[2] = Bytes::from_base(1e9);
  busy.speed_of_light.compute = 0.7;
  busy.speed_of_light.level[1] = 0.65;
  EXPECT_EQ(
      charted({busy}).points[0].advice,
      "the SMs reached 70 % of their peak by the profiler's own count, more than counted FLOPs "
      "and bytes explain; only fewer instructions or accesses would help much, 3.00 ms of "
      "10.0 ms is left to gain");
  busy.speed_of_light.compute = 0.5;
  EXPECT_TRUE(charted({busy}).points[0].advice.starts_with("the units of l2 reached 65 %"));
}

// A launch that follows one of the same kernel does not read what that one wrote.
TEST(Advice, NothingIsFusedWithItself) {
  KernelRecord add = fp32("elementwise_add", 10.0);
  add.launches = 3;
  add.bytes[2] = Bytes::from_base(8e9);
  add.next = add.name;
  add.next_launches = 2;
  EXPECT_NE(charted({add}).points[0].advice.find("only fewer bytes"), std::string::npos);
}

TEST(Advice, WhatShapesDoNotTellIsNotClaimed) {
  KernelRecord slow = fp32("k", 10.0);
  slow.bytes[2] = Bytes::from_base(1e9);
  slow.from_shapes = true;
  EXPECT_EQ(charted({slow}).points[0].advice,
            "its FLOPs and compulsory bytes explain 10 % of its time (dram); counters would tell "
            "whether more traffic, too little parallelism or a poor tile takes the rest, up to "
            "9.00 ms of 10.0 ms");
}

TEST(Advice, FarFromRoofsLaunchBoundAndUnknown) {
  KernelRecord slow = fp32("k", 10.0);
  slow.bytes[2] = Bytes::from_base(1e9);
  EXPECT_EQ(charted({slow}).points[0].advice,
            "no roof limits it: 10 % of the nearest one (dram); more parallelism or more bytes in "
            "flight would help, up to 9.00 ms of 10.0 ms");
  KernelRecord brief = fp32("k", 0.5);
  brief.launches = 100;
  EXPECT_NE(charted({brief}).points[0].advice.find("launch-bound: 100 launches of 5.00 us each"),
            std::string::npos)
      << charted({brief}).points[0].advice;
  KernelRecord bare;
  bare.name = "k";
  bare.launches = 1;
  bare.time = from_ms(1);
  EXPECT_NE(charted({bare}).points[0].advice.find("only its time is known"), std::string::npos);
}

// Rates without times have a place: 2e12 of 1e13 FLOP/s, 5e11 of 1e12 B/s.
TEST(Rates, AKernelWithoutATimeHasAPlaceUnderTheRoofs) {
  KernelRecord record;
  record.name = "k";
  record.launches = 1;
  profile::Rates rates;
  rates.flops = FlopsPerSecond::from_base(2e12);
  rates.flops_by[{DType::Fp32, hardware::Pipe::Vector}] = *rates.flops;
  rates.bytes[2] = BytesPerSecond::from_base(5e11);
  record.rates = rates;
  const Chart chart = charted({record});
  EXPECT_DOUBLE_EQ(chart.points[0].intensity[2]->base(), 4.0);
  EXPECT_DOUBLE_EQ(chart.points[0].rate->base(), 2e12);
  EXPECT_EQ(chart.points[0].limiter, "dram");
  EXPECT_DOUBLE_EQ(*chart.points[0].fraction_of_roof, 0.5);
}

TEST(Rates, SharesOfPeakTellTheLimitingUnit) {
  KernelRecord record;
  record.name = "k";
  record.launches = 1;
  record.speed_of_light.compute = 0.3;
  record.speed_of_light.level[1] = 0.7;
  const Chart chart = charted({record});
  EXPECT_EQ(chart.points[0].limiter, "l2");
  EXPECT_DOUBLE_EQ(*chart.points[0].fraction_of_roof, 0.7);
}

}  // namespace
}  // namespace rooftile::roofline
