// SPDX-License-Identifier: Apache-2.0
//
// Indexed reads and writes. Embedding looks up `tokens` rows of a learned table; the forward pass
// moves only the rows it needs, the backward pass zeroes and fills a gradient as large as the whole
// table (dense gradients, as frameworks keep them). Gather and scatter move rows by index and have
// no parameters.
#pragma once

#include "ops/operator.h"

namespace rooftile::ops {

struct Embedding {
  static constexpr std::string_view kName = "embedding";
  Shape tokens;  ///< shape of the indices
  std::int64_t entries = 1, width = 1;

  [[nodiscard]] Status check() const;
  [[nodiscard]] Shape output() const;
  [[nodiscard]] std::int64_t parameters() const { return entries * width; }
  [[nodiscard]] Saved saved(const LowerContext&) const {
    return {.inputs = 0, .output = false, .extra = bytes_of(tokens.elements(), DType::Int64)};
  }
  void forward(const LowerContext& context, KernelList& kernels) const;
  void backward(const LowerContext& context, KernelList& kernels) const;
  void accumulate(const LowerContext& context, KernelList& kernels) const;
  bool operator==(const Embedding&) const = default;
};

/// rows of `width` elements picked from (gather) or added to (scatter) a tensor of `from` rows.
struct Gather {
  static constexpr std::string_view kName = "gather";
  std::int64_t rows = 1, width = 1, from = 1;
  bool scatter = false;

  [[nodiscard]] Status check() const;
  [[nodiscard]] Shape output() const { return {scatter ? from : rows, width}; }
  [[nodiscard]] std::int64_t parameters() const { return 0; }
  [[nodiscard]] Saved saved(const LowerContext&) const {
    return {.inputs = 0, .output = false, .extra = bytes_of(rows, DType::Int64)};
  }
  void forward(const LowerContext& context, KernelList& kernels) const;
  void backward(const LowerContext& context, KernelList& kernels) const;
  void accumulate(const LowerContext&, KernelList&) const {}
  bool operator==(const Gather&) const = default;
};

/// A learned tensor that other operators read: no kernel of its own, but parameters, and a gradient
/// that is accumulated (learned positions, class tokens, weights of norms written out).
struct Parameter {
  static constexpr std::string_view kName = "parameter";
  Shape shape;

  [[nodiscard]] Status check() const { return check_shape("parameter", shape); }
  [[nodiscard]] Shape output() const { return shape; }
  [[nodiscard]] std::int64_t parameters() const { return shape.elements(); }
  [[nodiscard]] Saved saved(const LowerContext&) const { return {}; }
  void forward(const LowerContext&, KernelList&) const {}
  void backward(const LowerContext&, KernelList&) const {}
  void accumulate(const LowerContext& context, KernelList& kernels) const;
  bool operator==(const Parameter&) const = default;
};

}  // namespace rooftile::ops
