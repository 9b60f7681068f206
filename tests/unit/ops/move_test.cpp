// SPDX-License-Identifier: Apache-2.0
#include "ops/move.h"

#include <gtest/gtest.h>

#include "ops/embedding.h"
#include "ops/optimizer.h"
#include "unit/ops/lowering.h"

namespace rooftile::ops {
namespace {

TEST(Move, CopiesReadAndWriteOnce) {
  const Move op{.kind = MoveKind::Contiguous, .input = {2, 8}, .result = {}};
  const KernelWork work = forward_of(op)[0];
  EXPECT_EQ(work.kind, KernelClass::Move);
  EXPECT_EQ(work.flops, 0_FLOP);
  EXPECT_EQ(work.read, 64_B);
  EXPECT_EQ(work.written, 64_B);
}

// 16 rows, 4 kept: the slice reads and writes 4 rows, its gradient fills all 16.
TEST(Move, SliceTouchesOnlyWhatItKeeps) {
  const Move op{.kind = MoveKind::Slice, .input = {16, 8}, .result = {4, 8}};
  EXPECT_EQ(forward_of(op)[0].bytes(), 256_B);
  EXPECT_EQ(backward_of(op)[0].read, 128_B);
  EXPECT_EQ(backward_of(op)[0].written, 512_B);
}

TEST(Move, WhereReadsItsMask) {
  const Move op{.kind = MoveKind::Where, .input = {4, 8}, .result = {}, .others = 8};
  EXPECT_EQ(forward_of(op)[0].read, 160_B);
  EXPECT_EQ(op.saved({}).extra, 8_B);
}

TEST(Dropout, MovesAndKeepsAMask) {
  const Dropout op{.shape = {4, 8}};
  EXPECT_EQ(forward_of(op)[0].bytes(), 256_B);
  EXPECT_EQ(backward_of(op)[0].bytes(), 256_B);
  EXPECT_EQ(op.saved({}).extra, 32_B);
}

TEST(View, CostsNothing) {
  EXPECT_TRUE(forward_of(View{.shape = {4, 8}}).empty());
  EXPECT_TRUE(backward_of(View{.shape = {4, 8}}).empty());
  EXPECT_EQ(message_of(View{.shape = {4, -8}}), "view has the size -8 in 4x-8");
}

// 3 tokens of a table of 10 x 8: 24 numbers in and out and 3 indices of 8 bytes; the gradient is
// as large as the table.
TEST(Embedding, MovesRowsForwardAndTheTableBackward) {
  const Embedding op{.tokens = {1, 3}, .entries = 10, .width = 8};
  EXPECT_EQ(forward_of(op)[0].read, 120_B);
  EXPECT_EQ(forward_of(op)[0].written, 96_B);
  EXPECT_EQ(backward_of(op)[0].written, 320_B);
  EXPECT_EQ(op.parameters(), 80);
  EXPECT_EQ(op.output(), (Shape{1, 3, 8}));
}

TEST(Embedding, RepeatedTokensReadTheTableAtMostOnce) {
  const Embedding op{.tokens = {100}, .entries = 10, .width = 8};
  EXPECT_EQ(forward_of(op)[0].read, 1120_B);  // 10 * 8 * 4 + 100 * 8
}

TEST(Gather, GradientOfAGatherIsAScatter) {
  const Gather op{.rows = 4, .width = 8, .from = 16};
  EXPECT_EQ(forward_of(op)[0].op, "gather");
  EXPECT_EQ(backward_of(op)[0].op, "scatter");
}

TEST(Parameter, HasAGradientButNoKernel) {
  const Parameter op{.shape = {1, 197, 768}};
  EXPECT_TRUE(forward_of(op).empty());
  EXPECT_EQ(op.parameters(), 197 * 768);
  EXPECT_EQ(accumulate_of(op).size(), 1U);
}

// Adam in FP32: reads w, g, m, v and writes w, m, v: 7 * 4 B per parameter. In BF16: reads g (2),
// master, m, v (12), writes w (2), master, m, v (12).
TEST(Optimizer, BytesPerParameter) {
  const OptimizerUpdate adam{.optimizer = Optimizer::Adam, .elements = 10};
  EXPECT_EQ(forward_of(adam)[0].bytes(), 280_B);
  EXPECT_EQ(forward_of(adam, DType::Bf16)[0].bytes(), 280_B);
  const OptimizerUpdate sgd{.optimizer = Optimizer::Sgd, .elements = 10};
  EXPECT_EQ(forward_of(sgd)[0].bytes(), 120_B);
  EXPECT_EQ(parse_optimizer("adamw").value(), Optimizer::AdamW);
  EXPECT_EQ(parse_optimizer("adanw").error().hint, "did you mean \"adamw\"?");
}

}  // namespace
}  // namespace rooftile::ops
