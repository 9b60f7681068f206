// SPDX-License-Identifier: Apache-2.0
//
// The classes of kernels that are fitted, ranged and scored apart, and their sizes by name.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>
#include <variant>

#include "ops/kernel_work.h"

namespace rooftile::cost::learned {

inline constexpr std::array<std::string_view, 10> kClasses{
    "linear",      "bmm",     "linear_16bit", "linear_8bit", "conv",
    "elementwise", "softmax", "layernorm",    "prefill",     "decode"};
inline bool is_class(std::string_view name) {
  return std::find(kClasses.begin(), kClasses.end(), name) != kClasses.end();
}

/// Index in kClasses.
consteval std::size_t class_named(std::string_view name) {
  return static_cast<std::size_t>(std::find(kClasses.begin(), kClasses.end(), name) -
                                  kClasses.begin());
}

/// Of the kernel's class.
inline std::size_t class_index(const ops::KernelWork& work) {
  const bool fp32 = work.compute == DType::Fp32;
  switch (work.kind) {
    case ops::KernelClass::Gemm:
    case ops::KernelClass::BatchedGemm:
      if (fp32) {
        return work.kind == ops::KernelClass::Gemm ? class_named("linear") : class_named("bmm");
      }
      return size_of(work.dtype).base() <= 1 ? class_named("linear_8bit")
                                             : class_named("linear_16bit");
    case ops::KernelClass::Conv: return class_named("conv");
    case ops::KernelClass::Softmax: return class_named("softmax");
    case ops::KernelClass::Norm: return class_named("layernorm");
    case ops::KernelClass::Attention: {
      const auto* shape = std::get_if<ops::AttentionShape>(&work.shape);
      return shape != nullptr && shape->queries == 1 ? class_named("decode")
                                                     : class_named("prefill");
    }
    case ops::KernelClass::Pointwise:
    case ops::KernelClass::Reduction:
    case ops::KernelClass::Gather:
    case ops::KernelClass::Move: break;
  }
  return class_named("elementwise");
}
inline std::string_view class_of(const ops::KernelWork& work) {
  return kClasses[class_index(work)];
}

/// Calls visit(name, size) for the sizes that a card lists.
template <typename Visit>
void for_each_dimension(const ops::KernelWork& work, const Visit& visit) {
  const auto size = [](auto value) { return static_cast<double>(value); };
  if (const auto* g = std::get_if<ops::GemmShape>(&work.shape)) {
    visit("b", size(g->batch)), visit("m", size(g->m)), visit("n", size(g->n));
    visit("k", size(g->k));
  } else if (const auto* c = std::get_if<ops::ConvShape>(&work.shape)) {
    visit("n", size(c->n)), visit("c", size(c->c)), visit("h", size(c->h)), visit("k", size(c->k));
    visit("r", size(c->r)), visit("stride", size(c->stride_h));
  } else if (const auto* a = std::get_if<ops::AttentionShape>(&work.shape)) {
    visit("batch", size(a->batch)), visit("heads", size(a->heads));
    visit("queries", size(a->queries)), visit("keys", size(a->keys));
    visit("head_dim", size(a->head_dim));
  } else if (work.kind == ops::KernelClass::Softmax || work.kind == ops::KernelClass::Norm) {
    const auto& r = std::get<ops::RowShape>(work.shape);
    visit("rows", size(r.rows)), visit("columns", size(r.columns));
  } else {
    visit("bytes", work.bytes().base());
  }
}

}  // namespace rooftile::cost::learned
