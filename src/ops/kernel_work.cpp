// SPDX-License-Identifier: Apache-2.0
#include "ops/kernel_work.h"

#include <fmt/format.h>

namespace rooftile::ops {

namespace {

std::string text_of(const GemmShape& s) {
  return s.batch == 1 ? fmt::format("{}x{}x{}", s.m, s.n, s.k)
                      : fmt::format("{}x{}x{}x{}", s.batch, s.m, s.n, s.k);
}
/// "2", or "2x1" where height and width differ.
std::string pair_text(std::int64_t height, std::int64_t width) {
  return height == width ? std::to_string(height) : fmt::format("{}x{}", height, width);
}
std::string text_of(const ConvShape& s) {
  std::string text = fmt::format("{}x{}x{}x{} k{} {}x{}", s.n, s.c, s.h, s.w, s.k, s.r, s.s);
  if (s.stride_h != 1 || s.stride_w != 1) text += " s" + pair_text(s.stride_h, s.stride_w);
  if (s.dilation_h != 1 || s.dilation_w != 1) text += " d" + pair_text(s.dilation_h, s.dilation_w);
  if (s.groups != 1) text += fmt::format(" g{}", s.groups);
  return text;
}
std::string text_of(const RowShape& s) {
  return fmt::format("{}x{}", s.rows, s.columns);
}
std::string text_of(const AttentionShape& s) {
  return fmt::format("{}x{}/{}x{}x{}x{}", s.batch, s.heads, s.kv_heads, s.queries, s.keys,
                     s.head_dim);
}

}  // namespace

bool is_product(const WorkShape& shape) {
  return std::holds_alternative<ConvShape>(shape) || std::holds_alternative<GemmShape>(shape);
}

std::string shape_text(const WorkShape& shape) {
  return std::visit([](const auto& s) { return text_of(s); }, shape);
}

std::string_view name_of(KernelClass kind) {
  switch (kind) {
    case KernelClass::Gemm: return "gemm";
    case KernelClass::BatchedGemm: return "bmm";
    case KernelClass::Conv: return "conv";
    case KernelClass::Pointwise: return "elementwise";
    case KernelClass::Softmax: return "softmax";
    case KernelClass::Norm: return "norm";
    case KernelClass::Reduction: return "reduction";
    case KernelClass::Gather: return "gather";
    case KernelClass::Move: return "move";
    case KernelClass::Attention: return "attention";
  }
  return "?";
}

}  // namespace rooftile::ops
