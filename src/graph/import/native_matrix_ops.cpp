// SPDX-License-Identifier: Apache-2.0
//
// Matrix products, attention and embeddings of the native graph format.
#include <fmt/format.h>

#include <vector>

#include "graph/import/native_ops.h"

namespace rooftile::graph {

namespace {

constexpr std::string_view kTokens = "batch x tokens x width";

/// The shape with another innermost size.
Shape with_columns(const Shape& shape, std::int64_t columns) {
  std::vector<std::int64_t> sizes(shape.sizes().begin(), shape.sizes().end());
  sizes.back() = columns;
  return Shape(sizes);
}

Result<std::int64_t> head_size(const NativeCall& call, std::string_view key, std::int64_t width,
                               std::int64_t heads) {
  if (width % heads == 0) return width / heads;
  return call.fields.at_or_node(key).error(
      fmt::format("{} heads do not divide a width of {}", heads, width));
}

}  // namespace

Result<InferredOp> infer_linear(const NativeCall& call) {
  const Shape& input = call.inputs[0];
  ops::Linear op{.rows = input.rows(), .in = input.columns()};
  ROOFTILE_TRY(op.out, call.fields.size("out"));
  ROOFTILE_TRY(op.bias, call.fields.flag("bias", true));
  return InferredOp{.op = op, .output = with_columns(input, op.out)};
}

Result<InferredOp> infer_bmm(const NativeCall& call) {
  const Shape& a = call.inputs[0];
  const Shape& b = call.inputs[1];
  ROOFTILE_TRY(const bool transposed, call.fields.flag("transpose_second", false));
  const std::size_t rank = a.rank();
  bool fits = rank >= 3 && b.rank() == rank;
  std::int64_t batch = 1;
  for (std::size_t i = 0; fits && i + 2 < rank; ++i) {
    fits = a[i] == b[i];
    batch *= a[i];
  }
  fits = fits && a[rank - 1] == b[transposed ? rank - 1 : rank - 2];
  if (!fits) {
    return call.fields.node().error(
        fmt::format("\"bmm\" cannot multiply {} by {}{}", to_string(a),
                    transposed ? "transposed " : "", to_string(b)),
        "it takes ... x m x k and ... x k x n (n x k with \"transpose_second\")");
  }
  const std::int64_t n = b[transposed ? rank - 2 : rank - 1];
  return InferredOp{
      .op = ops::BatchedMatmul{.batch = batch, .m = a[rank - 2], .n = n, .k = a[rank - 1]},
      .output = with_columns(a, n)};
}

Result<InferredOp> infer_attention(const NativeCall& call) {
  for (std::size_t i = 0; i < 3; ++i) ROOFTILE_CHECK(expect_rank(call, i, 3, kTokens));
  const Shape& query = call.inputs[0];
  const Shape& key = call.inputs[1];
  ops::AttentionShape s{.batch = query[0], .queries = query[1], .keys = key[1]};
  ROOFTILE_TRY(s.heads, call.fields.size("heads"));
  ROOFTILE_TRY(s.kv_heads, call.fields.size_or("kv_heads", s.heads));
  if (s.heads % s.kv_heads != 0) {
    return call.fields.at_or_node("kv_heads")
        .error(
            fmt::format("{} heads are not a multiple of {} key/value heads", s.heads, s.kv_heads),
            "each key/value head serves the same number of query heads");
  }
  ROOFTILE_TRY(s.head_dim, head_size(call, "heads", query[2], s.heads));
  ROOFTILE_TRY(s.causal, call.fields.flag("causal", false));
  ROOFTILE_TRY(s.window, call.fields.number_or("window", 0, {.low = 0, .high = kMaxNativeSize}));
  const Shape expected{s.batch, s.keys, s.kv_heads * s.head_dim};
  if (key != expected || call.inputs[2] != expected) {
    return call.fields.node().error(
        fmt::format("keys of {} and values of {} do not match queries of {}", to_string(key),
                    to_string(call.inputs[2]), to_string(query)),
        fmt::format("with {} key/value heads of {} both are {}", s.kv_heads, s.head_dim,
                    to_string(expected)));
  }
  return InferredOp{.op = ops::FusedAttention{.shape = s}, .output = query};
}

Result<InferredOp> infer_rotary(const NativeCall& call) {
  ROOFTILE_CHECK(expect_rank(call, 0, 3, kTokens));
  const Shape& input = call.inputs[0];
  ops::Rotary op{.batch = input[0], .tokens = input[1]};
  ROOFTILE_TRY(op.heads, call.fields.size("heads"));
  ROOFTILE_TRY(op.head_dim, head_size(call, "heads", input[2], op.heads));
  return InferredOp{.op = op, .output = input};
}

Result<InferredOp> infer_embedding(const NativeCall& call) {
  const Shape& tokens = call.inputs[0];
  if (tokens.rank() >= Shape::kMaxRank) {
    return call.fields.node().error(
        fmt::format("\"embedding\" of {} has too many axes", to_string(tokens)),
        fmt::format("up to {}", Shape::kMaxRank - 1));
  }
  ops::Embedding op{.tokens = tokens};
  ROOFTILE_TRY(op.entries, call.fields.size("entries"));
  ROOFTILE_TRY(op.width, call.fields.size("width"));
  std::vector<std::int64_t> sizes(tokens.sizes().begin(), tokens.sizes().end());
  sizes.push_back(op.width);
  return InferredOp{.op = op, .output = Shape(sizes)};
}

}  // namespace rooftile::graph
