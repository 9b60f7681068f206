// SPDX-License-Identifier: Apache-2.0
#include "graph/import/native_ops.h"

#include <fmt/format.h>

#include <array>

namespace rooftile::graph {

namespace {

using ops::Function;
using Keys = std::string_view;

constexpr auto kConv =
    std::to_array<Keys>({"out_channels", "kernel", "stride", "padding", "dilation", "groups",
                         "bias", "transposed", "output_padding"});
constexpr auto kPool = std::to_array<Keys>({"kernel", "stride", "padding", "ceil_mode"});
constexpr auto kAdaptivePool = std::to_array<Keys>({"output"});
constexpr auto kLinear = std::to_array<Keys>({"out", "bias"});
constexpr auto kBmm = std::to_array<Keys>({"transpose_second"});
constexpr auto kAttentionKeys = std::to_array<Keys>({"heads", "kv_heads", "causal", "window"});
constexpr auto kHeads = std::to_array<Keys>({"heads"});
constexpr auto kEmbedding = std::to_array<Keys>({"entries", "width"});
constexpr auto kBias = std::to_array<Keys>({"bias"});
constexpr auto kScalar = std::to_array<Keys>({"scalar"});
constexpr auto kAxis = std::to_array<Keys>({"axis"});
constexpr auto kShape = std::to_array<Keys>({"shape"});
constexpr auto kOrder = std::to_array<Keys>({"order"});
constexpr auto kRows = std::to_array<Keys>({"rows"});
constexpr auto kTopK = std::to_array<Keys>({"top_k"});
constexpr auto kExpertKeys = std::to_array<Keys>({"experts", "out", "bias"});
constexpr auto kSlice = std::to_array<Keys>({"axis", "size"});

constexpr NativeOp unary_op(std::string_view name, Function function) {
  return {.name = name, .keys = {}, .infer = infer_unary, .function = function};
}
constexpr NativeOp binary_op(std::string_view name, Function function) {
  return {.name = name,
          .min_inputs = 1,
          .max_inputs = 2,
          .keys = kScalar,
          .infer = infer_binary,
          .function = function};
}
constexpr NativeOp one_input(std::string_view name, std::span<const Keys> keys,
                             Result<InferredOp> (*infer)(const NativeCall&)) {
  return {.name = name, .keys = keys, .infer = infer};
}

constexpr NativeOp two_inputs(std::string_view name, std::span<const Keys> keys,
                              Result<InferredOp> (*infer)(const NativeCall&)) {
  return {.name = name, .min_inputs = 2, .max_inputs = 2, .keys = keys, .infer = infer};
}

constexpr std::array kOps{
    one_input("conv", kConv, infer_conv),
    one_input("max_pool", kPool, infer_pool),
    one_input("avg_pool", kPool, infer_pool),
    one_input("adaptive_avg_pool", kAdaptivePool, infer_adaptive_pool),
    one_input("batch_norm", {}, infer_batch_norm),
    one_input("linear", kLinear, infer_linear),
    NativeOp{.name = "bmm", .min_inputs = 2, .max_inputs = 2, .keys = kBmm, .infer = infer_bmm},
    NativeOp{.name = "attention",
             .min_inputs = 3,
             .max_inputs = 3,
             .keys = kAttentionKeys,
             .infer = infer_attention},
    one_input("rotary", kHeads, infer_rotary),
    one_input("embedding", kEmbedding, infer_embedding),
    two_inputs("gather", {}, infer_gather),
    two_inputs("scatter", kRows, infer_scatter),
    one_input("moe_select", kTopK, infer_moe_select),
    two_inputs("moe_dispatch", {}, infer_moe_dispatch),
    two_inputs("moe_combine", {}, infer_moe_combine),
    one_input("expert_linear", kExpertKeys, infer_expert_linear),
    one_input("layer_norm", kBias, infer_layer_norm),
    one_input("rms_norm", {}, infer_rms_norm),
    one_input("softmax", {}, infer_softmax),
    one_input("dropout", {}, infer_dropout),
    one_input("cross_entropy", {}, infer_cross_entropy),
    unary_op("relu", Function::Relu),
    unary_op("relu6", Function::Relu),  // one comparison more, the same kernel
    unary_op("gelu", Function::Gelu),
    unary_op("silu", Function::Silu),
    unary_op("sigmoid", Function::Sigmoid),
    unary_op("tanh", Function::Tanh),
    unary_op("exp", Function::Exp),
    unary_op("log", Function::Log),
    unary_op("sqrt", Function::Sqrt),
    unary_op("rsqrt", Function::Rsqrt),
    unary_op("neg", Function::Neg),
    binary_op("add", Function::Add),
    binary_op("sub", Function::Sub),
    binary_op("mul", Function::Mul),
    binary_op("div", Function::Div),
    binary_op("pow", Function::Pow),
    binary_op("maximum", Function::Maximum),
    NativeOp{.name = "concat",
             .min_inputs = 2,
             .max_inputs = NativeOp::kManyInputs,
             .keys = kAxis,
             .infer = infer_concat},
    one_input("contiguous", {}, infer_contiguous),
    one_input("cast", {}, infer_cast),
    NativeOp{.name = "where", .min_inputs = 2, .max_inputs = 3, .keys = {}, .infer = infer_where},
    one_input("flatten", kAxis, infer_flatten),
    one_input("reshape", kShape, infer_reshape),
    one_input("transpose", kOrder, infer_transpose),
    one_input("slice", kSlice, infer_slice),
};

}  // namespace

std::span<const NativeOp> native_ops() {
  return kOps;
}

Status expect_rank(const NativeCall& call, std::size_t input, std::size_t rank,
                   std::string_view meaning) {
  const Shape& shape = call.inputs[input];
  if (shape.rank() == rank) return {};
  return call.fields.node().error(
      fmt::format("\"{}\" needs {}, its input is {}", call.op.name, meaning, to_string(shape)));
}

}  // namespace rooftile::graph
