// SPDX-License-Identifier: Apache-2.0
#include "execution/eager.h"

#include <gtest/gtest.h>

namespace rooftile::execution {
namespace {

const ops::LowerContext kContext{.precision = ops::precision_of(DType::Fp32)};

ops::KernelList run(const ops::AnyOp& op, Phase phase, Mode mode) {
  ops::KernelList kernels;
  if (phase == Phase::Forward) ops::forward(op, kContext, kernels);
  if (phase == Phase::Backward) ops::backward(op, kContext, kernels);
  if (phase == Phase::Accumulate) ops::accumulate(op, kContext, kernels);
  LaunchOptions options;
  options.mode = mode;
  options.execution = Execution::Eager;
  options.moved = {.dropout = 2.25,
                   .dropout_backward = 6.5,
                   .norm_backward = 7.5,
                   .softmax_backward = 6,
                   .gelu_backward = 3,
                   .embedding = 5,
                   .where = 2.5,
                   .strided_copy = 0.8,
                   .accumulate = 0.5};
  return executed(op, phase, options, kContext, kernels);
}

TEST(Eager, DropoutRunsInTrainingOnly) {
  const ops::Dropout dropout{.shape = {64, 128}};
  EXPECT_TRUE(run(dropout, Phase::Forward, Mode::Infer).empty())
      << "what is not launched is absent";
  const auto training = run(dropout, Phase::Forward, Mode::Train);
  ASSERT_EQ(training.size(), 1U);
  // 2.25 tensors of 64 x 128 floats, of which two are compulsory
  EXPECT_NEAR(training[0].moved().base(), 2.25 * 64 * 128 * 4, 1e-6);
  EXPECT_EQ(training[0].bytes(), Bytes::from_base(2 * 64 * 128 * 4));
}

TEST(Eager, AddHandsItsGradientOn) {
  const ops::Elementwise add{
      .function = ops::Function::Add, .operands = ops::Operands::Binary, .shape = {64, 128}};
  EXPECT_TRUE(run(add, Phase::Backward, Mode::Train).empty());
}

TEST(Eager, OneKernelDoesTheWorkOfSeveral) {
  const ops::Elementwise div{
      .function = ops::Function::Div, .operands = ops::Operands::Binary, .shape = {64, 128}};
  const auto works = run(div, Phase::Backward, Mode::Train);
  ASSERT_EQ(works.size(), 1U);  // of two in the textbook, one FLOP per element each
  EXPECT_EQ(works[0].flops, Flops::from_base(2 * 64 * 128));
  // Two tensors where the textbook counts three: no more is compulsory.
  EXPECT_NEAR(works[0].bytes().base(), 2.0 * 64 * 128 * 4, 1e-6);
  EXPECT_EQ(works[0].excess, Bytes{});
}

TEST(Eager, GradientsAreAddedInPlaceHalfOfTheTime) {
  const ops::Linear linear{.rows = 8, .in = 4, .out = 2};
  ops::KernelList textbook;
  ops::accumulate(linear, kContext, textbook);
  const auto works = run(linear, Phase::Accumulate, Mode::Train);
  ASSERT_EQ(works.size(), textbook.size());
  EXPECT_EQ(works[0].moved(), textbook[0].bytes() * 0.5);
  EXPECT_EQ(works[0].cold, textbook[0].cold * 0.5);
  EXPECT_EQ(works[0].flops, textbook[0].flops * 0.5);
  EXPECT_EQ(std::get<ops::RowShape>(works[0].shape).columns * 2,
            std::get<ops::RowShape>(textbook[0].shape).columns);
}

TEST(Eager, AStridedCopyMovesTheSameBytesAtALowerRate) {
  const ops::Move copy{
      .kind = ops::MoveKind::Contiguous, .input = {64, 128}, .result = {}, .others = 0};
  const auto works = run(copy, Phase::Forward, Mode::Infer);
  ASSERT_EQ(works.size(), 1U);
  EXPECT_EQ(works[0].moved(), Bytes::from_base(2 * 64 * 128 * 4));
  EXPECT_EQ(works[0].access_efficiency, 0.8);
}

// Without fitted numbers a kernel moves what the textbook says: dropout one tensor in, one out.
TEST(Eager, UnknownCountsAreTheTextbooks) {
  ops::KernelList kernels;
  ops::forward(ops::Dropout{.shape = {64, 128}}, kContext, kernels);
  LaunchOptions options;
  options.mode = Mode::Train;
  options.execution = Execution::Eager;
  const auto works = executed(ops::Dropout{.shape = {64, 128}}, Phase::Forward, options, kContext,
                              std::move(kernels));
  ASSERT_EQ(works.size(), 1U);
  EXPECT_EQ(works[0].moved(), works[0].bytes());
}

// 5 tensors of the textbook (the product's gradient and the softmax's) become 6.
TEST(Eager, SoftmaxBackwardReadsItsInputsAgain) {
  const ops::Softmax softmax{.shape = {64, 128}};
  Bytes moved, textbook;
  for (const auto& work : run(softmax, Phase::Backward, Mode::Train)) moved += work.moved();
  ops::KernelList kernels;
  ops::backward(softmax, kContext, kernels);
  for (const auto& work : kernels) textbook += work.bytes();
  EXPECT_NEAR(moved / textbook, 6.0 / 5, 1e-12);
}

TEST(Eager, PermutedOperandsAreCopied) {
  ops::BatchedMatmul product{.batch = 8, .m = 32, .n = 16, .k = 4};
  EXPECT_EQ(run(product, Phase::Forward, Mode::Infer).size(), 1U);
  product.right_permuted = true;
  const auto works = run(product, Phase::Forward, Mode::Infer);
  ASSERT_EQ(works.size(), 2U);
  // 8 x 16 x 4 elements read and written
  EXPECT_EQ(works[1].bytes(), Bytes::from_base(8 * 16 * 4 * 4 * 2));
}

TEST(Eager, OtherOperatorsStayAsTheyAre) {
  const auto works = run(ops::Linear{.rows = 8, .in = 4, .out = 2}, Phase::Backward, Mode::Train);
  EXPECT_EQ(works.size(), 2U);
  for (const ops::KernelWork& work : works) {
    EXPECT_EQ(work.moved(), work.bytes());
    EXPECT_EQ(work.access_efficiency, 1.0);
  }
}

}  // namespace
}  // namespace rooftile::execution
