// SPDX-License-Identifier: Apache-2.0
#include "ops/recurrent.h"

#include <gtest/gtest.h>

#include "ops/head_linear.h"
#include "ops/linear.h"
#include "ops/moe.h"

namespace rooftile::ops {
namespace {

const LowerContext kBf16{.precision = precision_of(DType::Bf16)};

template <typename Op>
KernelList forward(const Op& op, const LowerContext& context = kBf16) {
  KernelList kernels;
  op.forward(context, kernels);
  return kernels;
}

// 2 sequences of 100 tokens, 64 channels, 4 taps: 12800 outputs of 8 FLOP; read 12800 elements and
// 64 * 5 weights, written 12800; 2 bytes each.
TEST(ShortConv, ReadsEachElementOnce) {
  const ShortConv op{.batch = 2, .tokens = 100, .channels = 64, .kernel = 4, .bias = true};
  const auto kernels = forward(op);
  ASSERT_EQ(kernels.size(), 1U);
  EXPECT_EQ(kernels[0].flops.base(), 12800.0 * 8);
  EXPECT_EQ(kernels[0].read.base(), 2.0 * (12800 + 320));
  EXPECT_EQ(kernels[0].written.base(), 2.0 * 12800);
  EXPECT_EQ(op.parameters(), 320);
}

// One token: 64 channels x 3 earlier tokens x 2 sequences are read and written beside it.
TEST(ShortConv, DecodeReadsItsState) {
  const ShortConv op{.batch = 2, .tokens = 1, .channels = 64, .kernel = 4, .from_state = true};
  const auto kernels = forward(op);
  EXPECT_EQ(kernels[0].read.base(), 2.0 * (128 + 384 + 256));
  EXPECT_EQ(kernels[0].written.base(), 2.0 * (128 + 384));
}

// 256 tokens in 2 chunks of 128; 8 heads of 64 with states of 64 x 128, 2 groups.
//   scores  2 chunks x 2 groups, 128 x 128 x 128: 2 * 4 * 128^3
//   states  2 chunks x 8 heads, 64 x 128 x 128
//   passing 8 heads x 2 chunks x 8192 elements, 2 FLOP each, read and written
//   results 2 chunks x 8 heads, 128 x 64 x (128 + 128)
TEST(ChunkedScan, DecayIsProductsOfChunkAndState) {
  const ChunkedScan op{.rule = StateRule::Decay,
                       .tokens = 256,
                       .heads = 8,
                       .head_dim = 64,
                       .state = 128,
                       .groups = 2,
                       .chunk = 128};
  const auto kernels = forward(op);
  ASSERT_EQ(kernels.size(), 4U);
  EXPECT_EQ(kernels[0].flops.base(), 2.0 * 4 * 128 * 128 * 128);
  EXPECT_EQ(kernels[1].flops.base(), 2.0 * 16 * 64 * 128 * 128);
  EXPECT_EQ(kernels[2].flops.base(), 2.0 * 8 * 2 * 8192);
  EXPECT_EQ(kernels[2].bytes().base(), 2.0 * 2 * 8 * 2 * 8192);
  EXPECT_EQ(kernels[3].flops.base(), 2.0 * 16 * 128 * 64 * 256);
  EXPECT_EQ(op.output(), (Shape{1, 256, 512}));
}

// Per head and chunk of 64 with keys and values of 128: scores 2 * 64^2 * 128, a solve of 64^3 / 3,
// corrections 2 * 64^2 * 256, states 4 * 64 * 128^2, results 2 * 64 * 128 * (64 + 128) and scores
// once more.
TEST(ChunkedScan, DeltaSolvesForItsKeys) {
  const ChunkedScan op{
      .rule = StateRule::Delta, .tokens = 64, .heads = 1, .head_dim = 128, .state = 128};
  double flops = 0;
  for (const KernelWork& kernel : forward(op)) flops += kernel.flops.base();
  const double scores = 2.0 * 64 * 64 * 128;
  EXPECT_DOUBLE_EQ(flops, 2 * scores + 64.0 * 64 * 64 / 3 + 2.0 * 64 * 64 * 256 +
                              4.0 * 64 * 128 * 128 + 2.0 * 64 * 128 * 192);
}

// Twice the tokens take twice the FLOPs: a scan is linear in them, attention is not.
TEST(ChunkedScan, IsLinearInItsTokens) {
  for (const StateRule rule : {StateRule::Decay, StateRule::Delta, StateRule::Selective}) {
    ChunkedScan op{.rule = rule, .tokens = 1024, .heads = 4, .head_dim = 64, .state = 64};
    double once = 0;
    double twice = 0;
    for (const KernelWork& kernel : forward(op)) once += kernel.flops.base();
    op.tokens *= 2;
    for (const KernelWork& kernel : forward(op)) twice += kernel.flops.base();
    EXPECT_DOUBLE_EQ(twice, 2 * once) << name_of(rule);
  }
}

TEST(ChunkedScan, RefusesUnevenGroups) {
  const ChunkedScan op{.tokens = 8, .heads = 6, .groups = 4};
  EXPECT_FALSE(op.check().has_value());
}

// 4 sequences, 8 heads of 64 x 128: 262144 state elements in FP32, read and written; all of it was
// written by the step before.
TEST(StateUpdate, ReadsAndWritesTheState) {
  const StateUpdate op{.batch = 4, .heads = 8, .head_dim = 64, .state = 128};
  const auto kernels = forward(op);
  const double states = 4.0 * 8 * 64 * 128 * 4;
  EXPECT_EQ(kernels[0].cold.base(), states);
  EXPECT_EQ(kernels[0].read.base(), states + 2.0 * 4 * 8 * (2 * 64 + 2 * 128));
  EXPECT_EQ(kernels[0].written.base(), states + 2.0 * 4 * 8 * 64);
  EXPECT_EQ(kernels[0].flops.base(), 6.0 * 4 * 8 * 64 * 128);
}

// 3 rows, 16 heads, 128 -> 512: 2 * 3 * 16 * 128 * 512 FLOP, weights of 16 * 128 * 512.
TEST(HeadLinear, IsOneProductPerHead) {
  const HeadLinear op{.rows = 3, .heads = 16, .in = 128, .out = 512};
  const auto kernels = forward(op);
  ASSERT_EQ(kernels.size(), 1U);
  EXPECT_EQ(kernels[0].flops.base(), 2.0 * 3 * 16 * 128 * 512);
  EXPECT_EQ(kernels[0].read.base(), 2.0 * (3 * 16 * 128 + 16 * 128 * 512));
  EXPECT_EQ(kernels[0].written.base(), 2.0 * 3 * 16 * 512);
  EXPECT_EQ(op.parameters(), 16 * 128 * 512);
}

// Weights of half a byte and a scale of 2 bytes per 64: 4096 * 4096 * 0.53125 bytes instead of 2.
TEST(WeightFormats, OnlyTheBytesOfTheWeightsChange) {
  const Linear op{.rows = 2, .in = 4096, .out = 4096, .bias = false};
  LowerContext narrow = kBf16;
  narrow.precision = with_weights(narrow.precision, {.bytes = 0.53125, .compute = {}});
  const KernelWork wide = forward(op)[0];
  const KernelWork packed = forward(op, narrow)[0];
  EXPECT_EQ(packed.flops, wide.flops);
  EXPECT_EQ(packed.compute, DType::Bf16);
  EXPECT_DOUBLE_EQ(packed.cold.base(), 4096.0 * 4096 * 0.53125);
  EXPECT_DOUBLE_EQ(packed.read.base(), 2.0 * 2 * 4096 + 4096.0 * 4096 * 0.53125);
  EXPECT_EQ(packed.written, wide.written);
}

// FP8 weights with FP8 products: activations are one byte, too.
TEST(WeightFormats, QuantizedActivationsRunInTheirFormat) {
  const Linear op{.rows = 2, .in = 1024, .out = 512, .bias = false};
  LowerContext fp8 = kBf16;
  fp8.precision = with_weights(fp8.precision, {.bytes = 1.0, .compute = DType::Fp8E4m3});
  const KernelWork work = forward(op, fp8)[0];
  EXPECT_EQ(work.compute, DType::Fp8E4m3);
  EXPECT_EQ(work.read.base(), 2.0 * 1024 + 1024.0 * 512);
  EXPECT_EQ(work.written.base(), 2.0 * 2 * 512);
}

// 128 experts, 8 per token. One token hits 8; 16 tokens hit 128 (1 - (1 - 1/16)^16) = 82.4; very
// many hit all.
TEST(ExpertLinear, ReadsTheExpertsThatAreHit) {
  const auto touched = [](std::int64_t tokens) {
    return ExpertLinear{.slots = 8 * tokens, .experts = 128, .in = 8, .out = 8, .top_k = 8}
        .touched();
  };
  EXPECT_EQ(touched(1), 8);
  EXPECT_EQ(touched(16), 82);
  EXPECT_EQ(touched(4096), 128);
}

}  // namespace
}  // namespace rooftile::ops
