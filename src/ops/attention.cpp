// SPDX-License-Identifier: Apache-2.0
#include "ops/attention.h"

#include <fmt/format.h>

#include <algorithm>

namespace rooftile::ops {

double attention_pairs(const AttentionShape& s) {
  const auto queries = static_cast<double>(s.queries);
  const auto keys = static_cast<double>(s.keys);
  const double window = s.window > 0 ? std::min(static_cast<double>(s.window), keys) : keys;
  if (!s.causal) return queries * window;
  // Query i (from 0) of the last `queries` positions sees min(keys - queries + i + 1, window) keys:
  // a triangle until the window is full, a band after that.
  const double first = std::max(keys - queries + 1.0, 1.0);
  const double ramp = std::clamp(window - first, 0.0, queries);
  return ramp * first + ramp * (ramp - 1.0) / 2.0 + (queries - ramp) * window;
}

Status FusedAttention::check() const {
  const AttentionShape& s = shape;
  ROOFTILE_CHECK(check_sizes("attention queries", {s.batch, s.queries, s.heads, s.head_dim}));
  ROOFTILE_CHECK(check_sizes("attention keys", {s.batch, s.keys, s.kv_heads, s.head_dim}));
  if (s.heads % s.kv_heads != 0) {
    return bad_input(
        {},
        fmt::format("{} query heads cannot share {} key/value heads evenly", s.heads, s.kv_heads),
        "the number of heads must be a multiple of the number of key/value heads");
  }
  if (s.value_dim < 0 || s.value_dim > s.head_dim) {
    return bad_input(
        {}, fmt::format("values of {} are not part of keys of {}", s.value_dim, s.head_dim),
        "the size of a value is at most that of a key");
  }
  if (s.window < 0) {
    return bad_input({}, fmt::format("attention window {} is negative", s.window),
                     "leave it out for full attention");
  }
  return {};
}

namespace {

Flops attention_flops(const AttentionShape& s) {
  return Flops::from_base(2.0 * attention_pairs(s) * static_cast<double>(s.head_dim + s.values()) *
                          static_cast<double>(s.batch) * static_cast<double>(s.heads));
}

/// Products run on the matrix units in the storage format (TF32 where the model says so).
DType attention_compute(const Precision& p) {
  return p.matrix_compute == DType::Tf32 ? DType::Tf32 : p.storage;
}

/// The share of the keys and values that earlier steps wrote: all but the new queries'.
double cached_part(const AttentionShape& s) {
  return s.keys > s.queries ? 1.0 - static_cast<double>(s.queries) / static_cast<double>(s.keys)
                            : 0.0;
}

struct AttentionBytes {
  Bytes query, key_value, output;
  Bytes cached;  ///< of key_value
};

/// Bytes of the queries, of the output, and of keys plus values that are within reach.
AttentionBytes attention_bytes(const Precision& p, const AttentionShape& s) {
  const std::int64_t reach = s.window > 0 ? std::min(s.keys, s.window + s.queries - 1) : s.keys;
  const Bytes new_ones = bytes_of(s.batch * reach * s.kv_heads * s.cached_width(), p.storage);
  const double cached = cached_part(s);
  const Bytes cache = p.cache ? new_ones * (size_of(*p.cache) / size_of(p.storage)) : new_ones;
  return {.query = bytes_of(s.batch * s.queries * s.heads * s.head_dim, p.storage),
          .key_value = p.cache ? new_ones * (1.0 - cached) + cache * cached : new_ones,
          .output = bytes_of(s.batch * s.queries * s.heads * s.values(), p.storage),
          .cached = cached * cache};
}

}  // namespace

Saved FusedAttention::saved(const LowerContext&) const {
  return {.inputs = 7,
          .output = true,
          .extra = bytes_of(shape.batch * shape.heads * shape.queries, DType::Fp32)};
}

void FusedAttention::forward(const LowerContext& context, KernelList& kernels) const {
  const AttentionBytes bytes = attention_bytes(context.precision, shape);
  kernels.push_back({.op = std::string(kName),
                     .kind = KernelClass::Attention,
                     .dtype = context.precision.storage,
                     .compute = attention_compute(context.precision),
                     .matrix = true,
                     .shape = shape,
                     .flops = attention_flops(shape),
                     .read = bytes.query + bytes.key_value,
                     .written = bytes.output,
                     .cold = bytes.cached});
}

void FusedAttention::backward(const LowerContext& context, KernelList& kernels) const {
  constexpr double kBackwardFactor = 2.5;  // five products of the scores' size instead of two
  const AttentionBytes bytes = attention_bytes(context.precision, shape);
  kernels.push_back(
      {.op = "attention_backward",
       .kind = KernelClass::Attention,
       .dtype = context.precision.storage,
       .compute = attention_compute(context.precision),
       .matrix = true,
       .shape = shape,
       .flops = attention_flops(shape) * kBackwardFactor,
       .read = bytes.query + bytes.output * 2.0 + bytes.key_value,  // and its gradient
       .written = bytes.query + bytes.key_value});
}

Status Rotary::check() const {
  return check_sizes("rotary embedding", {batch, tokens, heads, head_dim});
}

void Rotary::forward(const LowerContext& context, KernelList& kernels) const {
  const std::int64_t n = batch * tokens * heads * head_dim;
  const std::int64_t table = 2 * tokens * head_dim;
  kernels.push_back(vector_kernel(context.precision,
                                  {.op = kName,
                                   .kind = KernelClass::Pointwise,
                                   .shape = {.rows = batch * tokens * heads, .columns = head_dim},
                                   .flop_per_element = 3.0,
                                   .read = n + table,
                                   .written = n}));
}

void Rotary::backward(const LowerContext& context, KernelList& kernels) const {
  forward(context, kernels);  // the inverse rotation
}

}  // namespace rooftile::ops
