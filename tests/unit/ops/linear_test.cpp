// SPDX-License-Identifier: Apache-2.0
#include "ops/linear.h"

#include <gtest/gtest.h>

#include "unit/ops/lowering.h"

namespace rooftile::ops {
namespace {

// 2 x 8 rows times 8 x 3: 2*2*3*8 = 96 FLOP; reads (2*8 + 8*3 + 3 biases) * 4 = 172 B, writes
// 2*3*4 = 24 B.
TEST(Linear, Forward) {
  const auto kernels = forward_of(Linear{.rows = 2, .in = 8, .out = 3});
  ASSERT_EQ(kernels.size(), 1U);
  EXPECT_EQ(kernels[0].op, "linear");
  EXPECT_EQ(kernels[0].kind, KernelClass::Gemm);
  EXPECT_TRUE(kernels[0].matrix);
  EXPECT_EQ(std::get<GemmShape>(kernels[0].shape), (GemmShape{.batch = 1, .m = 2, .n = 3, .k = 8}));
  EXPECT_EQ(kernels[0].flops, 96_FLOP);
  EXPECT_EQ(kernels[0].read, 172_B);
  EXPECT_EQ(kernels[0].written, 24_B);
}

TEST(Linear, BackwardIsTwoProductsWithTheForwardsFlops) {
  const auto kernels = backward_of(Linear{.rows = 2, .in = 8, .out = 3});
  ASSERT_EQ(kernels.size(), 2U);
  EXPECT_EQ(std::get<GemmShape>(kernels[0].shape), (GemmShape{.batch = 1, .m = 2, .n = 8, .k = 3}));
  EXPECT_EQ(std::get<GemmShape>(kernels[1].shape), (GemmShape{.batch = 1, .m = 3, .n = 8, .k = 2}));
  for (const KernelWork& work : kernels) EXPECT_EQ(work.flops, 96_FLOP);
}

TEST(Linear, FirstLayerNeedsNoInputGradient) {
  KernelList kernels;
  Linear{.rows = 2, .in = 8, .out = 3}.backward({.precision = {}, .input_gradient = false},
                                                kernels);
  ASSERT_EQ(kernels.size(), 1U);
  EXPECT_EQ(std::get<GemmShape>(kernels[0].shape).m, 3);
}

TEST(Linear, AccumulatesWeightAndBias) {
  const auto with = accumulate_of(Linear{.rows = 2, .in = 8, .out = 3});
  ASSERT_EQ(with.size(), 2U);
  EXPECT_EQ(std::get<RowShape>(with[0].shape), (RowShape{.rows = 1, .columns = 24}));
  EXPECT_EQ(std::get<RowShape>(with[1].shape), (RowShape{.rows = 1, .columns = 3}));
  EXPECT_EQ(with[0].bytes(), 288_B);  // two reads, one write of 24 numbers
  EXPECT_EQ(accumulate_of(Linear{.rows = 2, .in = 8, .out = 3, .bias = false}).size(), 1U);
}

TEST(Linear, Precision) {
  const Linear op{.rows = 2, .in = 8, .out = 3, .bias = false};
  const KernelWork bf16 = forward_of(op, DType::Bf16)[0];
  EXPECT_EQ(bf16.compute, DType::Bf16);
  EXPECT_EQ(bf16.bytes(), 92_B);  // (16 + 24 + 6) * 2
  const KernelWork tf32 = forward_of(op, DType::Tf32)[0];
  EXPECT_EQ(tf32.dtype, DType::Fp32);
  EXPECT_EQ(tf32.compute, DType::Tf32);
  EXPECT_EQ(tf32.bytes(), 184_B);
  const KernelWork fp8 = forward_of(op, DType::Fp8E4m3)[0];
  EXPECT_EQ(fp8.read, 40_B);     // operands in one byte
  EXPECT_EQ(fp8.written, 12_B);  // the output in BF16
}

TEST(Linear, ParametersAndChecks) {
  EXPECT_EQ((Linear{.rows = 1, .in = 8, .out = 3}).parameters(), 27);
  EXPECT_EQ(message_of(Linear{.rows = 1, .in = 0, .out = 3}),
            "linear weight has the size 0 in 0x3");
  EXPECT_EQ(message_of(Linear{.rows = 1, .in = std::int64_t{1} << 40, .out = 1 << 20}),
            "linear weight of 1099511627776x1048576 is too large");
}

// (B, M, K, N) = (4, 2, 8, 3): 4 * 96 FLOP; backward (4, 2, 3, 8) and (4, 8, 2, 3).
TEST(BatchedMatmul, ForwardAndBackward) {
  const BatchedMatmul op{.batch = 4, .m = 2, .n = 3, .k = 8};
  const KernelWork work = forward_of(op)[0];
  EXPECT_EQ(work.kind, KernelClass::BatchedGemm);
  EXPECT_EQ(work.flops, 384_FLOP);
  EXPECT_EQ(work.bytes(), 736_B);  // 4 * (16 + 24 + 6) * 4
  const auto gradients = backward_of(op);
  ASSERT_EQ(gradients.size(), 2U);
  EXPECT_EQ(std::get<GemmShape>(gradients[0].shape),
            (GemmShape{.batch = 4, .m = 2, .n = 8, .k = 3}));
  EXPECT_EQ(std::get<GemmShape>(gradients[1].shape),
            (GemmShape{.batch = 4, .m = 8, .n = 3, .k = 2}));
}

// Four query heads that share one key head read it once: 3 * 24 numbers less.
TEST(BatchedMatmul, SharedOperandIsReadOnce) {
  const BatchedMatmul op{.batch = 4, .m = 2, .n = 3, .k = 8, .share = 4};
  EXPECT_EQ(forward_of(op)[0].bytes(), 448_B);  // 736 - 3 * 24 * 4
  EXPECT_EQ(message_of(BatchedMatmul{.batch = 4, .share = 3}),
            "a batched matmul shares its right operand unevenly");
}

}  // namespace
}  // namespace rooftile::ops
