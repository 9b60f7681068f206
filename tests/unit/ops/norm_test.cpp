// SPDX-License-Identifier: Apache-2.0
#include "ops/norm.h"

#include <gtest/gtest.h>

#include "ops/softmax.h"
#include "unit/ops/lowering.h"

namespace rooftile::ops {
namespace {

// 4 rows of 8: 6 FLOP per element [Lee25]; 32 elements in, 16 parameters in, 32 out.
TEST(LayerNorm, Kernels) {
  const LayerNorm op{.shape = {2, 2, 8}};
  const KernelWork work = forward_of(op)[0];
  EXPECT_EQ(work.op, "ln");
  EXPECT_EQ(work.kind, KernelClass::Norm);
  EXPECT_EQ(work.flops, 192_FLOP);
  EXPECT_EQ(work.read, 192_B);  // (32 + 16) * 4
  EXPECT_EQ(work.written, 128_B);
  EXPECT_EQ(backward_of(op)[0].op, "mul");
  EXPECT_EQ(accumulate_of(op).size(), 2U);
  EXPECT_EQ(op.parameters(), 16);
  EXPECT_EQ(op.saved({}).extra, 32_B);  // mean and 1/sigma of 4 rows in FP32
}

TEST(RmsNorm, Kernels) {
  const RmsNorm op{.shape = {4, 8}};
  EXPECT_EQ(forward_of(op)[0].flops, 128_FLOP);
  EXPECT_EQ(forward_of(op)[0].bytes(), 288_B);   // (32 + 8 + 32) * 4
  EXPECT_EQ(backward_of(op)[0].bytes(), 416_B);  // (2 * 32 + 8 + 32) * 4
  EXPECT_EQ(op.parameters(), 8);
  EXPECT_EQ(accumulate_of(op).size(), 1U);
}

// 2 images, 3 channels, 4 pixels: 24 elements; training reads them twice.
TEST(BatchNorm, TrainingReadsItsInputTwice) {
  const BatchNorm infer{.n = 2, .c = 3, .spatial = 4, .shape = {}};
  const BatchNorm train{.n = 2, .c = 3, .spatial = 4, .shape = {}, .training = true};
  EXPECT_EQ(forward_of(infer)[0].bytes(), 240_B);  // (24 + 12 + 24) * 4
  EXPECT_EQ(forward_of(train)[0].bytes(), 336_B);  // (48 + 12 + 24) * 4
  EXPECT_EQ(infer.parameters(), 6);
  for (const BatchNorm& norm : {infer, train}) {
    EXPECT_EQ(forward_of(norm)[0].kind, KernelClass::Pointwise);
    EXPECT_EQ(backward_of(norm)[0].kind, KernelClass::Pointwise);
  }
}

TEST(Softmax, FiveFlopPerElement) {
  const Softmax op{.shape = {4, 8}};
  EXPECT_EQ(forward_of(op)[0].flops, 160_FLOP);
  EXPECT_EQ(forward_of(op)[0].bytes(), 256_B);
  const auto gradients = backward_of(op);
  ASSERT_EQ(gradients.size(), 2U);
  EXPECT_EQ(gradients[0].op, "mul");
  EXPECT_EQ(gradients[1].op, "softmax");
}

TEST(CrossEntropy, ReadsTheLogitsOnceAndWritesALossPerRow) {
  const CrossEntropy op{.rows = 4, .classes = 8};
  EXPECT_EQ(forward_of(op)[0].read, 128_B);
  EXPECT_EQ(forward_of(op)[0].written, 16_B);
  EXPECT_EQ(backward_of(op)[0].written, 128_B);
}

}  // namespace
}  // namespace rooftile::ops
