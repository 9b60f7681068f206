// SPDX-License-Identifier: Apache-2.0
#include "traffic/traffic.h"

#include <gtest/gtest.h>

#include <cmath>

#include "hardware/load.h"
#include "ops/any_op.h"
#include "traffic/closed.h"
#include "traffic/reuse_stack.h"

namespace rooftile::traffic {
namespace {

hardware::GpuSpec gpu_of(std::string_view name) {
  return hardware::load_gpu(Catalog::embedded(), name).value();
}

ops::KernelWork forward(const ops::AnyOp& op, DType dtype) {
  ops::KernelList kernels;
  ops::forward(op, {.precision = ops::precision_of(dtype)}, kernels);
  return kernels.front();
}

// 4096^3 in FP32, tiles 128 x 128 x 16: 32 columns of tiles load A, 32 rows load B, 64 MiB each:
// 32 * 64 MiB * 2 = 4 GiB at L1 and L2. 80 CTAs at a time are a patch of 8.94 columns and rows:
// 4 passes over each operand.
TEST(ClosedGemm, LargeProductIsReadInPasses) {
  const ReadBytes t = closed_gemm({.batch = 1, .m = 4096, .n = 4096, .k = 4096}, DType::Fp32,
                                  {.tile = {.m = 128, .n = 128, .k = 16}},
                                  {.concurrent = 80, .sms = 80, .l2_bytes = 6 << 20});
  const double operand = 4096.0 * 4096 * 4;
  EXPECT_DOUBLE_EQ(t.l1, 2 * 32 * operand);
  EXPECT_DOUBLE_EQ(t.l2, 2 * 32 * operand);
  EXPECT_DOUBLE_EQ(t.dram, 2 * 4 * operand);
}

TEST(ClosedGemm, OperandsThatFitTheL2AreReadOnce) {
  const ReadBytes t = closed_gemm({.batch = 1, .m = 4096, .n = 4096, .k = 4096}, DType::Fp32,
                                  {.tile = {.m = 128, .n = 128, .k = 16}},
                                  {.concurrent = 128, .sms = 128, .l2_bytes = 256 << 20});
  EXPECT_DOUBLE_EQ(t.dram, 2 * 4096.0 * 4096 * 4);
}

// FP16 rows of 8 elements are half a sector: twice the bytes requested.
TEST(ClosedGemm, NarrowRowsWasteHalfOfTheSector) {
  const ReadBytes t = closed_gemm({.batch = 1, .m = 128, .n = 128, .k = 64}, DType::Fp16,
                                  {.tile = {.m = 128, .n = 128, .k = 8}},
                                  {.concurrent = 1, .sms = 1, .l2_bytes = 1 << 20});
  EXPECT_DOUBLE_EQ(t.l1, 128 * 64 * 2 * 2 + 128 * 64 * 2);
}

// Of one way, exp(-4) of the lines would be left at four capacities; there the model ends.
TEST(ClosedConv, NothingIsLeftBeyondFourCapacities) {
  EXPECT_NEAR(absent_after(399, 100, 1), 1 - std::exp(-3.99), 1e-12);
  EXPECT_EQ(absent_after(400, 100, 1), 1);
  EXPECT_EQ(absent_after(500, 100, 1), 1);
}

// The IFmap of 2 columns is read twice when it exceeds L2, once when it fits. 392 rows of tiles in
// waves of 60: 25.7 MB * 60 / 392 of it and a column of filters are 1.44 times 3 MiB, so that 95 %
// of the filters come again in each of 7 waves.
TEST(ClosedConv, PassesFollowTheColumnsOfCtas) {
  ops::ConvShape conv{.n = 64, .c = 128, .h = 28, .w = 28, .k = 256, .r = 3, .s = 3};
  conv.pad_h = conv.pad_w = 1;
  const double image = 64.0 * 128 * 28 * 28 * 4;
  const double filters = 256.0 * 128 * 9 * 4;
  const ClosedCut cut{.tile = {}};
  const ReadBytes small =
      closed_conv(conv, DType::Fp32, cut, {.concurrent = 60, .sms = 30, .l2_bytes = 3 << 20});
  const double distance = image * 60 / 392 + filters / 2;
  const double again = absent_after(distance, 3 << 20, 16);
  EXPECT_NEAR(again, 0.95, 0.01);
  EXPECT_NEAR(small.dram, 2 * image + (1 + 6 * again) * filters, 1);
  const ReadBytes large =
      closed_conv(conv, DType::Fp32, cut, {.concurrent = 60, .sms = 30, .l2_bytes = 64 << 20});
  EXPECT_NEAR(large.dram, image + filters, 1e-3 * image);
}

// Rows of 14 halves are 28 B, less than a sector: skipping every other one
// saves no sector, and the image, a little larger than the L2, is read again in part.
TEST(ClosedConv, SkippedRowsShareSectors) {
  ops::ConvShape conv{.n = 256, .c = 1024, .h = 14, .w = 14, .k = 2048};
  conv.stride_h = conv.stride_w = 2;
  const double image = 256.0 * 1024 * 14 * 14 * 2;
  const double filters = 2048.0 * 1024 * 2;
  const ClosedMachine machine{.concurrent = 284, .sms = 142, .l2_bytes = 96 << 20};
  const ReadBytes read = closed_conv(conv, DType::Fp16, {.tile = {.k = 16}}, machine);
  const double waves = 98.0 * 16 / 284;
  const double again = absent_after(image + filters / 16, 96 << 20, 16);
  EXPECT_NEAR(read.dram, image * (1 + (waves - 1) * again) + filters, 1e-3 * image);
}

// Stride 4 on 14 rows reads rows 0, 4, 8 and 12: 4 of 14, not 1 of 4.
TEST(ClosedConv, StridedFiltersReadTheRowsTheyTouch) {
  ops::ConvShape conv{.n = 32, .c = 64, .h = 14, .w = 28, .k = 16, .r = 1, .s = 7};
  conv.pad_w = 3;
  conv.stride_h = conv.stride_w = 4;
  const double input = 32.0 * 64 * 4 * 128;  // 28 floats from the start of a sector: four of them
  const ClosedMachine machine{.concurrent = 132, .sms = 132, .l2_bytes = 50 << 20};
  EXPECT_DOUBLE_EQ(closed_conv(conv, DType::Fp32, {.tile = {}}, machine).dram,
                   input + 16.0 * 64 * 7 * 4);
  conv.pass = ops::ConvPass::FilterGradient;
  EXPECT_DOUBLE_EQ(closed_conv(conv, DType::Fp32, {.tile = {}}, machine).dram,
                   input + 32.0 * 16 * 4 * 7 * 4);
}

TEST(ClosedRows, LongSoftmaxRowsAreReadTwice) {
  const auto gpu = gpu_of("v100-sxm2-16gb");
  const auto read = [&](std::int64_t rows, std::int64_t columns) {
    const auto work = forward(ops::Softmax{.shape = {rows, columns}}, DType::Fp32);
    return model(work, mapping::decompose(work, gpu), gpu).l1 - work.written;
  };
  EXPECT_EQ(read(64, 4096).base(), 64 * 4096 * 4) << "16 KiB stay in registers";
  EXPECT_EQ(read(64, 8192).base(), 2 * 64 * 8192 * 4);
}

// 64 x 64 x 112 x 112: a row (one image and channel) of 50176 bytes is above 16 KiB, but its 1, 2
// and 4 passes are compulsory: nothing is added.
TEST(ClosedRows, BatchNormReadsItsCompulsoryPassesOnly) {
  const auto gpu = gpu_of("v100-pcie-32gb");
  const double tensor = 64.0 * 64 * 112 * 112 * 4;
  const double parameters = 4.0 * 64 * 4;
  const auto check = [&](const ops::KernelWork& work, double passes) {
    const Traffic t = model(work, mapping::decompose(work, gpu), gpu);
    EXPECT_DOUBLE_EQ(t.dram_read.base(), passes * tensor + parameters) << passes;
    EXPECT_DOUBLE_EQ((t.l1 - work.written).base(), passes * tensor + parameters) << passes;
  };
  ops::BatchNorm norm{.n = 64, .c = 64, .spatial = 112 * 112, .shape = {}};
  norm.training = false;
  check(forward(norm, DType::Fp32), 1);
  norm.training = true;
  check(forward(norm, DType::Fp32), 2);
  ops::KernelList kernels;
  norm.backward({.precision = ops::precision_of(DType::Fp32)}, kernels);
  check(kernels.front(), 4);
}

// 1 x 8 heads, 1024 queries and keys of 64 values in FP16: K and V are 256 KiB per head; 8 blocks
// of 128 queries read them 8 times, the output is written once.
TEST(ClosedAttention, BlocksOfQueriesReadTheKeysAgain) {
  const auto gpu = gpu_of("a100-sxm-80gb");
  const auto work = forward(ops::FusedAttention{.shape = {.batch = 1,
                                                          .heads = 8,
                                                          .kv_heads = 8,
                                                          .queries = 1024,
                                                          .keys = 1024,
                                                          .head_dim = 64}},
                            DType::Fp16);
  const Traffic t = model(work, mapping::decompose(work, gpu), gpu);
  const double kv = 2.0 * 8 * 1024 * 64 * 2;
  EXPECT_DOUBLE_EQ((t.l2 - work.bytes()).base(), 7 * kv);
  EXPECT_EQ(t.dram_read, work.read) << "the heads in flight fit into 40 MiB";
}

// 16 query heads of one token share a key head: its keys and values cross L2 once.
TEST(ClosedAttention, GroupedHeadsShareTheirKeys) {
  const auto gpu = gpu_of("h100-sxm");
  ops::AttentionShape shape{
      .batch = 8, .heads = 64, .kv_heads = 4, .queries = 1, .keys = 32768, .head_dim = 128};
  const auto work = forward(ops::FusedAttention{.shape = shape}, DType::Bf16);
  const Traffic t = model(work, mapping::decompose(work, gpu), gpu);
  EXPECT_DOUBLE_EQ(t.l2.base(), work.bytes().base());
}

// One head of 131072 keys: 67 MB do not fit into 50 MiB of L2, so each wave of blocks reads them.
TEST(ClosedAttention, KeysBeyondTheL2AreReadOncePerWave) {
  const auto gpu = gpu_of("h100-sxm");
  ops::AttentionShape shape{
      .batch = 1, .heads = 1, .kv_heads = 1, .queries = 131072, .keys = 131072, .head_dim = 128};
  const auto work = forward(ops::FusedAttention{.shape = shape}, DType::Bf16);
  const mapping::TilePlan plan = mapping::decompose(work, gpu);
  const double waves = 1024.0 / static_cast<double>(plan.concurrent);
  EXPECT_GT(waves, 2);
  const double kv = 2.0 * 131072 * 128 * 2;
  EXPECT_NEAR((model(work, plan, gpu).dram_read - work.read).base(), kv * (waves - 1), 1e-6 * kv);
}

TEST(Model, EveryKernelHasBytesAtEveryLevel) {
  ops::ConvShape conv{.n = 8, .c = 64, .h = 56, .w = 56, .k = 64, .r = 3, .s = 3};
  conv.pad_h = conv.pad_w = 1;
  const std::vector<ops::AnyOp> operators{
      ops::Linear{.rows = 4096, .in = 1024, .out = 4096},
      ops::BatchedMatmul{.batch = 96, .m = 512, .n = 512, .k = 64},
      ops::Conv2d{.conv = conv},
      ops::Softmax{.shape = {4096, 512}},
      ops::LayerNorm{.shape = {4096, 1024}},
      ops::Elementwise{.function = ops::Function::Gelu, .shape = {4096, 4096}},
      ops::Embedding{.tokens = {4096}, .entries = 50000, .width = 1024}};
  for (const char* name : {"p100-pcie-16gb", "v100-pcie-32gb", "h100-sxm", "mi300x", "b300-sxm"}) {
    const auto gpu = gpu_of(name);
    for (const ops::AnyOp& op : operators) {
      ops::KernelList kernels;
      const ops::LowerContext context{.precision = ops::precision_of(DType::Fp32)};
      ops::forward(op, context, kernels);
      ops::backward(op, context, kernels);
      for (const ops::KernelWork& work : kernels) {
        const Traffic t = model(work, mapping::decompose(work, gpu), gpu);
        const Traffic least = compulsory(work, gpu);
        EXPECT_GE(t.l1, t.l2) << work.op << " " << name;
        EXPECT_GE(t.l2, t.dram()) << work.op << " " << name;
        EXPECT_GE(t.dram(), least.dram()) << work.op << " " << name;
        EXPECT_EQ(t.dram_avoidable, least.dram_avoidable);
      }
    }
  }
}

// llama3-8b's MLP product for one token in BF16 on L4 (48 MiB of L2): 4096 x 14336 weights are
// 112 MiB. Alone and repeated, 48 MiB may stay in L2. In a pass over 15 GiB of weights the L2 keeps
// 48 MiB / 15 GiB = 0.3125 % of them, besides 36 KiB of activations.
TEST(Compulsory, WeightsOfAPassDoNotStayInTheL2) {
  const auto gpu = gpu_of("l4");
  ASSERT_EQ(gpu.l2.size, Bytes::from_base(48.0 * 1024 * 1024));
  ops::KernelWork work =
      forward(ops::Linear{.rows = 1, .in = 4096, .out = 14336, .bias = false}, DType::Bf16);
  const double mib = 1024.0 * 1024;
  EXPECT_DOUBLE_EQ(work.cold.base(), 112 * mib);
  EXPECT_DOUBLE_EQ(compulsory(work, gpu).dram_avoidable.base(), 48 * mib);
  work.cold_pass = Bytes::from_base(15 * 1024 * mib);
  EXPECT_NEAR(compulsory(work, gpu).dram_avoidable.base(),
              0.003125 * 112 * mib + 2.0 * (4096 + 14336), 1e-3);
  work.cold_pass = Bytes::from_base(40 * mib);  // a model that fits
  EXPECT_DOUBLE_EQ(compulsory(work, gpu).dram_avoidable.base(), 48 * mib);
}

}  // namespace
}  // namespace rooftile::traffic
