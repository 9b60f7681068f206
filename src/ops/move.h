// SPDX-License-Identifier: Apache-2.0
//
// Operators that only move bytes. Move copies or selects (contiguous, cat, where, cast, slice ...);
// Dropout multiplies by a random mask and is bound by its traffic alone; View changes the shape of
// a tensor without touching its bytes and lowers to nothing.
#pragma once

#include "ops/operator.h"

namespace rooftile::ops {

enum class MoveKind : std::uint8_t { Contiguous, Cat, Where, Cast, Slice, Write, Scan, Reduce };
/// contiguous cat where cast slice write scan reduce
std::string_view name_of(MoveKind kind);

struct Move {
  static constexpr std::string_view kName = "move";
  MoveKind kind = MoveKind::Contiguous;
  Shape input;              ///< the largest input
  Shape result;             ///< rank 0 = as the input
  std::int64_t others = 0;  ///< elements read in addition to the input: masks, further operands
  bool to_cache = false;    ///< a Write in the format of the key/value cache

  [[nodiscard]] Status check() const;
  [[nodiscard]] Shape output() const { return result.rank() == 0 ? input : result; }
  [[nodiscard]] std::int64_t parameters() const { return 0; }
  [[nodiscard]] Saved saved(const LowerContext& context) const;
  void forward(const LowerContext& context, KernelList& kernels) const;
  void backward(const LowerContext& context, KernelList& kernels) const;
  void accumulate(const LowerContext&, KernelList&) const {}
  bool operator==(const Move&) const = default;
};

struct Dropout {
  static constexpr std::string_view kName = "dropout";
  Shape shape;

  [[nodiscard]] Status check() const { return check_shape("dropout", shape); }
  [[nodiscard]] Shape output() const { return shape; }
  [[nodiscard]] std::int64_t parameters() const { return 0; }
  /// The mask, one byte per element.
  [[nodiscard]] Saved saved(const LowerContext&) const {
    return {.inputs = 0, .output = false, .extra = bytes_of(shape.elements(), DType::Bool)};
  }
  void forward(const LowerContext& context, KernelList& kernels) const;
  void backward(const LowerContext& context, KernelList& kernels) const;
  void accumulate(const LowerContext&, KernelList&) const {}
  bool operator==(const Dropout&) const = default;
};

/// A reshape, transpose, split or slice: no kernel. Its output shares the bytes of its input.
struct View {
  static constexpr std::string_view kName = "view";
  Shape shape;

  [[nodiscard]] Status check() const { return check_shape("view", shape); }
  [[nodiscard]] Shape output() const { return shape; }
  [[nodiscard]] std::int64_t parameters() const { return 0; }
  [[nodiscard]] Saved saved(const LowerContext&) const { return {}; }
  void forward(const LowerContext&, KernelList&) const {}
  void backward(const LowerContext&, KernelList&) const {}
  void accumulate(const LowerContext&, KernelList&) const {}
  bool operator==(const View&) const = default;
};

}  // namespace rooftile::ops
