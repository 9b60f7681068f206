// SPDX-License-Identifier: Apache-2.0
#include "calibration/plain_rows.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <vector>

#include "core/text.h"

namespace rooftile::calibration {

namespace {

/// "8x32/8x1x4096x128" -> its numbers; nothing where one is not a positive whole number.
std::optional<std::vector<std::int64_t>> sizes_in(std::string_view shape) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  std::vector<std::int64_t> sizes;
  while (true) {
    const std::size_t end = shape.find_first_of("x/");
    const auto size = parse_int(shape.substr(0, end));
    if (!size || *size < 1 || *size > kMost || sizes.size() >= 8) return std::nullopt;
    sizes.push_back(*size);
    if (end == std::string_view::npos) return sizes;
    shape.remove_prefix(end + 1);
  }
}

tl::unexpected<Error> bad_shape(std::string_view kernel, std::string_view shape,
                                std::string_view expected) {
  return bad_input("", fmt::format("\"{}\" is not a valid shape of {}", printable(shape), kernel),
                   fmt::format("expected {}", expected));
}

Result<ops::AnyOp> attention_operator(std::string_view shape) {
  const auto sizes = sizes_in(shape);
  const bool grouped = shape.find('/') == shape.find_first_of("x/", shape.find('x') + 1);
  if (!sizes || sizes->size() != 6 || !grouped)
    return bad_shape("attention", shape, "batch x heads/kv_heads x queries x keys x head size");
  const auto& s = *sizes;
  return ops::FusedAttention{.shape = {.batch = s[0],
                                       .heads = s[1],
                                       .kv_heads = s[2],
                                       .queries = s[3],
                                       .keys = s[4],
                                       .head_dim = s[5],
                                       .causal = true}};
}

Result<ops::AnyOp> product_operator(std::string_view shape) {
  const auto sizes = sizes_in(shape);
  if (!sizes || shape.find('/') != std::string_view::npos || sizes->size() < 3 || sizes->size() > 4)
    return bad_shape("gemm", shape, "m x n x k or batch x m x n x k");
  const auto& s = *sizes;
  if (s.size() == 3) return ops::Linear{.rows = s[0], .in = s[2], .out = s[1], .bias = false};
  return ops::BatchedMatmul{.batch = s[0], .m = s[1], .n = s[2], .k = s[3]};
}

}  // namespace

Result<ops::AnyOp> plain_operator(std::string_view kernel, std::string_view shape) {
  if (kernel == "gemm") return product_operator(shape);
  if (kernel == "attention") return attention_operator(shape);
  const auto sizes = sizes_in(shape);
  const auto function = ops::parse_function(kernel);
  const bool row = kernel == "softmax" || kernel == "layernorm" || kernel == "rmsnorm";
  if (!row && !function)
    return unsupported("", fmt::format("unknown kernel \"{}\"", printable(kernel)),
                       "gemm, attention, softmax, layernorm, rmsnorm or an element-wise function "
                       "such as add or gelu");
  if (!sizes || sizes->size() != 2) return bad_shape(kernel, shape, "rows x columns");
  const Shape rows{(*sizes)[0], (*sizes)[1]};
  if (kernel == "softmax") return ops::Softmax{.shape = rows};
  if (kernel == "layernorm") return ops::LayerNorm{.shape = rows};
  if (kernel == "rmsnorm") return ops::RmsNorm{.shape = rows};
  return ops::Elementwise{
      .function = *function, .operands = ops::default_operands(*function), .shape = rows};
}

}  // namespace rooftile::calibration
