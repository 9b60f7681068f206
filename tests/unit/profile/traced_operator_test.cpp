// SPDX-License-Identifier: Apache-2.0
//
// Operators of traces by their names, shapes and arguments -> FLOPs and bytes.
#include <gtest/gtest.h>

#include "profile/traced_operator.h"

namespace rooftile::profile {
namespace {

ops::KernelWork only(const std::string& name, std::vector<TracedInput> inputs) {
  const auto works = works_of({.name = name, .inputs = std::move(inputs)}).kernels;
  EXPECT_EQ(works.size(), 1U) << name;
  return works.empty() ? ops::KernelWork{} : works.front();
}

TracedInput tensor(std::vector<std::int64_t> dims) {
  return {.shapes = {std::move(dims)}, .type = "c10::BFloat16", .text = {}};
}
TracedInput plain(std::string text) {
  return {.shapes = {}, .type = "Scalar", .text = std::move(text)};
}

TEST(TracedOperators, ProductsConvolutionsAndAttention) {
  EXPECT_DOUBLE_EQ(
      only("aten::addmm", {tensor({1024}), tensor({512, 256}), tensor({256, 1024})}).flops.base(),
      2.0 * 512 * 256 * 1024);
  EXPECT_DOUBLE_EQ(only("aten::bmm", {tensor({4, 64, 32}), tensor({4, 32, 128})}).flops.base(),
                   2.0 * 4 * 64 * 32 * 128);
  const std::vector<TracedInput> conv{
      tensor({4, 3, 224, 224}), tensor({768, 3, 16, 16}), tensor({768}),
      plain("[16, 16]"),        plain("[0, 0]"),          plain("[1, 1]"),
      plain("False"),           plain("[0, 0]"),          plain("1")};
  // 14 x 14 outputs
  EXPECT_DOUBLE_EQ(only("aten::convolution", conv).flops.base(),
                   2.0 * 4 * 768 * 14 * 14 * 3 * 16 * 16);
  const std::vector<TracedInput> backward{tensor({10, 512, 7, 7}),
                                          tensor({10, 512, 7, 7}),
                                          tensor({512, 512, 3, 3}),
                                          plain("[0]"),
                                          plain("[1, 1]"),
                                          plain("[1, 1]"),
                                          plain("[1, 1]"),
                                          plain("False"),
                                          plain("[0, 0]"),
                                          plain("1"),
                                          plain("[True, True, False]")};
  EXPECT_EQ(works_of({.name = "aten::convolution_backward", .inputs = backward}).kernels.size(),
            2U);
  // [batch, tokens, heads, width]: QK' and PV, 2 x 2 x 4 x 12 x 197 x 197 x 64
  EXPECT_DOUBLE_EQ(
      only("aten::_flash_attention_forward",
           {tensor({4, 197, 12, 64}), tensor({4, 197, 12, 64}), tensor({4, 197, 12, 64})})
          .flops.base(),
      only("aten::_scaled_dot_product_flash_attention",
           {tensor({4, 12, 197, 64}), tensor({4, 12, 197, 64}), tensor({4, 12, 197, 64})})
          .flops.base());
}

// Four sequences of 512 tokens on average, one after the other: 4 FLOP per pair, head and width.
TEST(TracedOperators, PackedAttentionIsThatOfEquallyLongSequences) {
  TracedInput begins = tensor({5});
  begins.type = "int";
  const std::vector<TracedInput> inputs{tensor({2048, 16, 64}), tensor({2048, 4, 64}),
                                        tensor({2048, 4, 64}), begins, begins};
  const TracedWorks packed =
      works_of({.name = "flash_attn::_flash_attn_varlen_forward", .inputs = inputs});
  ASSERT_EQ(packed.kernels.size(), 1U);
  EXPECT_DOUBLE_EQ(packed.kernels[0].flops.base(), 4.0 * 4 * 16 * 512 * 512 * 64);
  EXPECT_NE(packed.assumed.find("equally long"), std::string_view::npos);
  const std::vector<TracedInput> unknown(inputs.begin(), inputs.begin() + 3);
  EXPECT_TRUE(
      works_of({.name = "aten::_flash_attention_forward", .inputs = unknown}).kernels.empty())
      << "how many sequences is not said";
}

TEST(TracedOperators, ConvolutionsOfEveryDimension) {
  const std::vector<TracedInput> row{tensor({4, 80, 3000}), tensor({384, 80, 3}), tensor({384}),
                                     plain("[2]"),          plain("[1]"),         plain("[1]"),
                                     plain("False"),        plain("[0]"),         plain("1")};
  EXPECT_DOUBLE_EQ(only("aten::convolution", row).flops.base(), 2.0 * 4 * 384 * 1500 * 80 * 3);
  const std::vector<TracedInput> volume{tensor({2, 3, 16, 112, 112}),
                                        tensor({64, 3, 3, 7, 7}),
                                        tensor({64}),
                                        plain("[1, 2, 2]"),
                                        plain("[1, 3, 3]"),
                                        plain("[1, 1, 1]"),
                                        plain("False"),
                                        plain("[0, 0, 0]"),
                                        plain("1")};
  const auto work = only("aten::convolution", volume);
  EXPECT_DOUBLE_EQ(work.flops.base(), 2.0 * 2 * 64 * 16 * 56 * 56 * 3 * 3 * 7 * 7);
  EXPECT_DOUBLE_EQ(work.written.base(), 2.0 * 2 * 64 * 16 * 56 * 56);
  // 56 -> 28 with 3 x 3, without strides and paddings; depthwise
  TracedOperator open{"aten::cudnn_convolution", {tensor({8, 64, 56, 56}), tensor({64, 1, 3, 3})}};
  EXPECT_TRUE(needs_output(open));
  EXPECT_TRUE(works_of(open).kernels.empty());
  open.output = {8, 64, 28, 28};
  const TracedWorks depthwise = works_of(open);
  ASSERT_EQ(depthwise.kernels.size(), 1U);
  EXPECT_DOUBLE_EQ(depthwise.kernels[0].flops.base(), 2.0 * 8 * 64 * 28 * 28 * 9);
  EXPECT_FALSE(depthwise.assumed.empty());
  // Its gradients in releases that do not state groups: 2 of the same size.
  const std::vector<TracedInput> gradients{tensor({8, 64, 28, 28}), tensor({8, 64, 56, 56}),
                                           tensor({64, 1, 3, 3})};
  for (const char* name :
       {"aten::thnn_conv_depthwise2d_backward", "aten::_conv_depthwise2d_backward"}) {
    const auto both = works_of({.name = name, .inputs = gradients}).kernels;
    ASSERT_EQ(both.size(), 2U) << name;
    EXPECT_DOUBLE_EQ(both[0].flops.base(), 2.0 * 8 * 64 * 28 * 28 * 9);
  }
  open.output = {8, 64, 700, 28};
  EXPECT_TRUE(works_of(open).kernels.empty()) << "no stride gives that";
  open.output = {8, 64, 0, 28};
  EXPECT_TRUE(works_of(open).kernels.empty()) << "an empty result has no stride";
  const std::vector<TracedInput> endless{
      tensor({4, 3, 224, 224}), tensor({8, 3, 3, 3}), tensor({8}),
      plain("[1, 1]"),          plain("[0, 0]"),      plain("[9223372036854775807, 1]"),
      plain("False"),           plain("[0, 0]"),      plain("1")};
  EXPECT_TRUE(works_of({.name = "aten::convolution", .inputs = endless}).kernels.empty());
}

TEST(TracedOperators, AttentionIsCausalWhereTheTraceSaysSo) {
  std::vector<TracedInput> inputs{tensor({2, 256, 8, 64}), tensor({2, 256, 8, 64}),
                                  tensor({2, 256, 8, 64})};
  const TracedWorks silent =
      works_of({.name = "aten::_efficient_attention_forward", .inputs = inputs});
  EXPECT_FALSE(silent.assumed.empty());
  inputs.resize(9);
  inputs.push_back(plain("1"));
  const TracedWorks causal =
      works_of({.name = "aten::_efficient_attention_forward", .inputs = inputs});
  EXPECT_TRUE(causal.assumed.empty());
  EXPECT_LT(causal.kernels.at(0).flops, silent.kernels.at(0).flops);
}

TEST(TracedOperators, ProductsOfServingLibraries) {
  const std::vector<TracedInput> plain_weights{tensor({512, 256}), tensor({256, 1024})};
  for (const char* name : {"sgl_kernel::fp8_scaled_mm", "sgl_kernel::int8_scaled_mm"}) {
    EXPECT_DOUBLE_EQ(only(name, plain_weights).flops.base(), 2.0 * 512 * 1024 * 256) << name;
  }
  const std::vector<TracedInput> rows_of_weights{tensor({512, 256}), tensor({1024, 256})};
  for (const char* name : {"aiter::gemm_a8w8", "aiter::gemm_a8w8_bpreshuffle",
                           "aiter::gemm_a8w8_blockscale", "vllm::rocm_unquantized_gemm"}) {
    EXPECT_DOUBLE_EQ(only(name, rows_of_weights).flops.base(), 2.0 * 512 * 1024 * 256) << name;
  }
}

TEST(TracedOperators, ExpertsAndTransformerEngine) {
  EXPECT_DOUBLE_EQ(
      only("aten::_grouped_mm", {tensor({512, 64}), tensor({8, 64, 128}), {}}).flops.base(),
      2.0 * 512 * 64 * 128);
  std::vector<TracedInput> gemm(10);
  gemm[0] = tensor({1024, 256});  // weights [n, k]
  gemm[4] = plain("True");
  gemm[5] = tensor({512, 256});
  gemm[9] = plain("False");
  EXPECT_DOUBLE_EQ(only("tex_ts::te_gemm_ts", gemm).flops.base(), 2.0 * 512 * 256 * 1024);
}

TEST(TracedOperators, FusedKernelsMoveTheirOperands) {
  const auto fused = only("triton_poi_fused__to_copy_mul_silu_2",
                          {tensor({8, 1024}), tensor({8, 1024}), plain("8192")});
  EXPECT_DOUBLE_EQ(fused.flops.base(), 2.0 * 8 * 1024);  // mul and silu
  EXPECT_DOUBLE_EQ(fused.bytes().base(), 2.0 * 2 * 8 * 1024);
  EXPECT_DOUBLE_EQ(
      only("triton_tem_fused_mm_0", {tensor({64, 32}), tensor({32, 16}), tensor({64, 16})})
          .flops.base(),
      2.0 * 64 * 32 * 16);
  EXPECT_TRUE(works_of({.name = "triton_tem_fused_flex_attention_0", .inputs = {tensor({4})}})
                  .kernels.empty());
}

TEST(TracedOperators, WholeNumbersAreMovedWithoutFlops) {
  TracedInput tokens{.shapes = {{4, 8}}, .type = "long int", .text = {}};
  const auto add = only("aten::add", {tokens, tokens, plain("1")});
  EXPECT_DOUBLE_EQ(add.flops.base(), 0.0);
  EXPECT_DOUBLE_EQ(add.bytes().base(), 3.0 * 8 * 32);
  const auto mask = only("aten::eq", {tokens, plain("0")});
  EXPECT_DOUBLE_EQ(mask.written.base(), 32.0);
}

TEST(TracedOperators, StreamsMoveEachOperandOnce) {
  const auto add = only("aten::add_", {tensor({4, 8}), tensor({1, 8}), plain("1")});
  EXPECT_DOUBLE_EQ(add.flops.base(), 32.0);
  EXPECT_DOUBLE_EQ(add.read.base(), 2.0 * (32 + 8));
  EXPECT_DOUBLE_EQ(add.written.base(), 2.0 * 32);
  const auto copy = only("aten::copy_", {tensor({4, 8}), tensor({4, 8}), plain("False")});
  EXPECT_DOUBLE_EQ(copy.flops.base(), 0.0);
  EXPECT_DOUBLE_EQ(copy.bytes().base(), 2.0 * 64);
}

TEST(TracedOperators, WhatDoesNotFitGivesNothing) {
  for (const TracedOperator& wrong :
       {TracedOperator{"aten::mm", {tensor({64, 32}), tensor({31, 16})}},
        TracedOperator{"aten::mm", {tensor({64, 32})}}, TracedOperator{"aten::mm", {}},
        TracedOperator{"aten::mm", {tensor({-1, 32}), tensor({32, 16})}},
        TracedOperator{"aten::mm", {tensor({999'999'999, 999'999'999}), tensor({999'999'999, 2})}},
        TracedOperator{"aten::convolution", {tensor({4, 3, 8, 8}), tensor({8, 3, 3, 3})}},
        TracedOperator{"aten::no_such_thing", {tensor({4})}},
        TracedOperator{"aten::add", {tensor({4}), tensor({5})}}}) {
    EXPECT_TRUE(works_of(wrong).kernels.empty()) << wrong.name;
  }
}

}  // namespace
}  // namespace rooftile::profile
