// SPDX-License-Identifier: Apache-2.0
#include "ops/elementwise.h"

#include <gtest/gtest.h>

#include <vector>

#include "unit/ops/lowering.h"

namespace rooftile::ops {
namespace {

Elementwise make(Function function, Operands operands) {
  return {.function = function, .operands = operands, .shape = {2, 3, 5}};
}

std::vector<std::string> names(const KernelList& kernels) {
  std::vector<std::string> result;
  for (const KernelWork& work : kernels) result.push_back(work.op);
  return result;
}

using Names = std::vector<std::string>;

// 30 elements: unary 30 read + 30 written, binary 60 + 30, with a scalar 30 + 30; 4 bytes each.
TEST(Elementwise, ForwardCountsEachOperandOnce) {
  const KernelWork relu = forward_of(make(Function::Relu, Operands::Unary))[0];
  EXPECT_EQ(relu.op, "relu");
  EXPECT_EQ(relu.bytes(), 240_B);
  EXPECT_EQ(relu.flops, 30_FLOP);
  EXPECT_EQ(std::get<RowShape>(relu.shape), (RowShape{.rows = 6, .columns = 5}));
  EXPECT_EQ(forward_of(make(Function::Add, Operands::Binary))[0].bytes(), 360_B);
  const KernelWork scaled = forward_of(make(Function::Mul, Operands::Scalar))[0];
  EXPECT_EQ(scaled.op, "mulu");
  EXPECT_EQ(scaled.bytes(), 240_B);
}

TEST(Elementwise, BroadcastOperandCountsWithItsOwnSize) {
  Elementwise op = make(Function::Add, Operands::Binary);
  op.second = 5;
  EXPECT_EQ(forward_of(op)[0].read, 140_B);  // (30 + 5) * 4
  op.second = 31;
  EXPECT_EQ(message_of(op), "the second operand of an element-wise operator exceeds the first");
}

// The mask of all heads is read again for each of them once it is too large for the caches.
TEST(Elementwise, LargeBroadcastOperandsAreReadAgain) {
  Elementwise op{.function = Function::Add,
                 .operands = Operands::Binary,
                 .shape = {2, 32, 2048, 2048},
                 .second = 2 * 2048 * 2048};
  const KernelWork masked = forward_of(op)[0];
  op.second = 0;
  EXPECT_EQ(masked.moved(), forward_of(op)[0].bytes());
  op.second = 2048;
  EXPECT_EQ(forward_of(op)[0].excess, 0_B);
}

TEST(Elementwise, SixteenBitStorageComputesInFp32) {
  const KernelWork work = forward_of(make(Function::Gelu, Operands::Unary), DType::Bf16)[0];
  EXPECT_EQ(work.dtype, DType::Bf16);
  EXPECT_EQ(work.compute, DType::Fp32);
  EXPECT_EQ(work.bytes(), 120_B);
  EXPECT_FALSE(work.matrix);
}

TEST(Elementwise, BackwardKernels) {
  EXPECT_EQ(names(backward_of(make(Function::Mul, Operands::Binary))), (Names{"mul", "mul"}));
  EXPECT_EQ(names(backward_of(make(Function::Mul, Operands::Scalar))), (Names{"mulu"}));
  EXPECT_EQ(names(backward_of(make(Function::Pow, Operands::Scalar))),
            (Names{"powu", "mul", "mulu"}));
  EXPECT_EQ(names(backward_of(make(Function::Tanh, Operands::Unary))), (Names{"mulu", "addu"}));
  EXPECT_EQ(names(backward_of(make(Function::Add, Operands::Binary))), (Names{"copy"}));
  EXPECT_EQ(names(backward_of(make(Function::Add, Operands::Scalar))), Names{});
  EXPECT_EQ(names(backward_of(make(Function::Silu, Operands::Unary))), (Names{"silu"}));
  Elementwise floor = make(Function::Maximum, Operands::Binary);
  floor.second_gradient = false;
  EXPECT_EQ(names(backward_of(floor)), (Names{"eq", "divu", "where", "lt", "masked_fill"}));
}

TEST(Elementwise, ConstantsHaveNoGradient) {
  Elementwise op = make(Function::Div, Operands::Binary);
  op.second_gradient = false;
  EXPECT_EQ(names(backward_of(op)), (Names{"div"}));
  op.function = Function::Add;
  EXPECT_EQ(names(backward_of(op)), Names{});
}

TEST(Elementwise, SavesWhatItsGradientNeeds) {
  const LowerContext context;
  EXPECT_EQ(make(Function::Add, Operands::Binary).saved(context).inputs, 0U);
  EXPECT_EQ(make(Function::Mul, Operands::Binary).saved(context).inputs, 3U);
  EXPECT_EQ(make(Function::Mul, Operands::Scalar).saved(context).inputs, 0U);
  EXPECT_TRUE(make(Function::Tanh, Operands::Unary).saved(context).output);
  EXPECT_EQ(make(Function::Gelu, Operands::Unary).saved(context).inputs, 1U);
}

}  // namespace
}  // namespace rooftile::ops
