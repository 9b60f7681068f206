// SPDX-License-Identifier: Apache-2.0
#include "ops/attention.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ops/moe.h"
#include "unit/ops/lowering.h"

namespace rooftile::ops {
namespace {

/// The pairs by enumeration.
double enumerate(const AttentionShape& s) {
  double pairs = 0;
  for (std::int64_t i = 0; i < s.queries; ++i) {
    const std::int64_t position = s.keys - s.queries + i;
    for (std::int64_t j = 0; j < s.keys; ++j) {
      const bool seen = !s.causal || j <= position;
      const bool near = s.window == 0 || position - j < s.window;
      if (seen && near) pairs += 1;
    }
  }
  return pairs;
}

TEST(Attention, CausalPairsAreExact) {
  for (const std::int64_t queries : {1, 2, 5, 8}) {
    for (const std::int64_t keys : {8, 13}) {
      for (const std::int64_t window : {0, 1, 3, 8, 20}) {
        const AttentionShape s{
            .queries = queries, .keys = keys, .head_dim = 4, .causal = true, .window = window};
        EXPECT_EQ(attention_pairs(s), enumerate(s)) << queries << " " << keys << " " << window;
      }
    }
  }
}

// 2 sequences, 4 heads of 8 over 2 key/value heads, 16 tokens, causal: 16*17/2 = 136 pairs;
// 4 * 136 * 8 * 2 * 4 = 34816 FLOP. q and the output: 2*16*4*8 = 1024 numbers, k and v 512 each.
TEST(Attention, GroupedQueriesReadKeysOnce) {
  const FusedAttention op{.shape = {.batch = 2,
                                    .heads = 4,
                                    .kv_heads = 2,
                                    .queries = 16,
                                    .keys = 16,
                                    .head_dim = 8,
                                    .causal = true}};
  const KernelWork work = forward_of(op, DType::Bf16)[0];
  EXPECT_EQ(work.flops, 34816_FLOP);
  EXPECT_EQ(work.read, 4096_B);  // (1024 + 2 * 512) * 2
  EXPECT_EQ(work.written, 2048_B);
  EXPECT_TRUE(work.matrix);
  EXPECT_EQ(work.compute, DType::Bf16);
  EXPECT_EQ(backward_of(op, DType::Bf16)[0].flops, 87040_FLOP);  // 2.5 times
}

// One token over a cache of 100: the cache dominates the bytes. Under a window of 10 only 10 of the
// keys are read.
TEST(Attention, DecodeReadsTheCacheWithinTheWindow) {
  FusedAttention op{.shape = {.heads = 2, .kv_heads = 2, .queries = 1, .keys = 100, .head_dim = 8}};
  op.shape.causal = true;
  EXPECT_EQ(forward_of(op)[0].read, 12864_B);  // (16 + 2 * 1600) * 4
  op.shape.window = 10;
  EXPECT_EQ(forward_of(op)[0].read, 1344_B);  // (16 + 2 * 160) * 4
}

TEST(Attention, HeadsMustBeShareable) {
  EXPECT_EQ(message_of(FusedAttention{.shape = {.heads = 4, .kv_heads = 3}}),
            "4 query heads cannot share 3 key/value heads evenly");
}

TEST(Rotary, ReadsTheSharedTable) {
  const Rotary op{.batch = 2, .tokens = 3, .heads = 4, .head_dim = 8};
  EXPECT_EQ(forward_of(op)[0].read, 960_B);  // (192 + 2 * 3 * 8) * 4
  EXPECT_EQ(forward_of(op)[0].flops, 576_FLOP);
}

// 10 tokens to 2 of 8 experts: 20 slots on 8 experts of 4 x 6: products of 3 rows (rounded up).
TEST(ExpertLinear, BalancedTokens) {
  const ExpertLinear op{.slots = 20, .experts = 8, .in = 4, .out = 6};
  EXPECT_EQ(std::get<GemmShape>(forward_of(op)[0].shape),
            (GemmShape{.batch = 8, .m = 3, .n = 6, .k = 4}));
  EXPECT_EQ(op.parameters(), 192);
  // The rounding is the launch's, not the work's: 2 * 20 * 4 * 6 FLOP.
  EXPECT_EQ(forward_of(op)[0].flops, 960_FLOP);
  EXPECT_EQ(forward_of(op)[0].read, 1088_B);    // (20 * 4 + 8 * 24) * 4
  EXPECT_EQ(forward_of(op)[0].written, 480_B);  // 20 * 6 * 4
  for (const KernelWork& gradient : backward_of(op)) EXPECT_EQ(gradient.flops, 960_FLOP);
}

// One token to 2 of 8 experts (decode): only two experts' weights are read.
TEST(ExpertLinear, OnlyTouchedExpertsAreRead) {
  const ExpertLinear op{.slots = 2, .experts = 8, .in = 4, .out = 6};
  EXPECT_EQ(op.touched(), 2);
  EXPECT_EQ(forward_of(op)[0].read, 224_B);  // 2 * (4 + 24) * 4
}

TEST(MoeRouting, DispatchAndCombineMirrorEachOther) {
  const MoeRouting dispatch{
      .step = RoutingStep::Dispatch, .tokens = 10, .experts = 8, .top_k = 2, .width = 4};
  EXPECT_EQ(forward_of(dispatch)[0].read, 160_B);     // 10 * 4 * 4
  EXPECT_EQ(forward_of(dispatch)[0].written, 320_B);  // 20 * 4 * 4
  EXPECT_EQ(backward_of(dispatch)[0].op, "moe_unpermute");
  EXPECT_EQ(message_of(MoeRouting{.tokens = 1, .experts = 2, .top_k = 3}),
            "a token cannot go to 3 of 2 experts");
}

// 10 tokens of 4 values, 2 slots each.
TEST(MoeRouting, WorkOfItsSteps) {
  MoeRouting op{.step = RoutingStep::Combine, .tokens = 10, .experts = 8, .top_k = 2, .width = 4};
  EXPECT_EQ(forward_of(op)[0].flops, 160_FLOP);  // 20 * 4 weighted and summed
  EXPECT_EQ(forward_of(op)[0].read, 400_B);      // 20 * 4 values and 20 weights
  EXPECT_EQ(forward_of(op)[0].written, 160_B);   // 10 * 4
  EXPECT_EQ(backward_of(op)[0].flops, 0_FLOP);   // a dispatch copies
  op.step = RoutingStep::Select;
  EXPECT_EQ(forward_of(op)[0].flops, 400_FLOP);  // 5 of each of 10 * 8
  EXPECT_EQ(forward_of(op)[0].read, 320_B);      // 10 * 8 logits
  EXPECT_EQ(forward_of(op)[0].written, 160_B);   // 20 weights and 20 experts
}

}  // namespace
}  // namespace rooftile::ops
