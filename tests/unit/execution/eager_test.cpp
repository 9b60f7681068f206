// SPDX-License-Identifier: Apache-2.0
#include "execution/eager.h"

#include <gtest/gtest.h>

namespace rooftile::graph {
namespace {

const ops::LowerContext kContext{.precision = ops::precision_of(DType::Fp32)};

std::vector<execution::ExecutedWork> run(const ops::AnyOp& op, execution::Phase phase,
                                         execution::Mode mode) {
  ops::KernelList kernels;
  if (phase == execution::Phase::Forward) ops::forward(op, kContext, kernels);
  if (phase == execution::Phase::Backward) ops::backward(op, kContext, kernels);
  if (phase == execution::Phase::Accumulate) ops::accumulate(op, kContext, kernels);
  execution::LaunchOptions options;
  options.mode = mode;
  options.execution = execution::Execution::Eager;
  return execution::executed(op, phase, options, kContext, kernels);
}

TEST(Eager, DropoutRunsInTrainingOnly) {
  const ops::Dropout dropout{.shape = {64, 128}};
  for (const execution::ExecutedWork& work :
       run(dropout, execution::Phase::Forward, execution::Mode::Infer)) {
    EXPECT_EQ(work.memory_factor, 0.0);
  }
  const auto training = run(dropout, execution::Phase::Forward, execution::Mode::Train);
  ASSERT_FALSE(training.empty());
  // 2.25 tensors of 64 x 128 floats
  EXPECT_NEAR((training[0].work.bytes() * training[0].memory_factor).base(), 2.25 * 64 * 128 * 4,
              1e-6);
}

TEST(Eager, AddHandsItsGradientOn) {
  const ops::Elementwise add{
      .function = ops::Function::Add, .operands = ops::Operands::Binary, .shape = {64, 128}};
  for (const execution::ExecutedWork& work :
       run(add, execution::Phase::Backward, execution::Mode::Train)) {
    EXPECT_EQ(work.memory_factor, 0.0);
  }
}

TEST(Eager, PermutedOperandsAreCopied) {
  ops::BatchedMatmul product{.batch = 8, .m = 32, .n = 16, .k = 4};
  EXPECT_EQ(run(product, execution::Phase::Forward, execution::Mode::Infer).size(), 1U);
  product.right_permuted = true;
  const auto works = run(product, execution::Phase::Forward, execution::Mode::Infer);
  ASSERT_EQ(works.size(), 2U);
  // 8 x 16 x 4 elements read and written
  EXPECT_EQ(works[1].work.bytes(), Bytes::from_base(8 * 16 * 4 * 4 * 2));
}

TEST(Eager, OtherOperatorsStayAsTheyAre) {
  const auto works = run(ops::Linear{.rows = 8, .in = 4, .out = 2}, execution::Phase::Backward,
                         execution::Mode::Train);
  EXPECT_EQ(works.size(), 2U);
  for (const execution::ExecutedWork& work : works) EXPECT_EQ(work.memory_factor, 1.0);
}

}  // namespace
}  // namespace rooftile::graph
