// SPDX-License-Identifier: Apache-2.0
//
// KernelWork: the job of one GPU kernel, independent of any GPU. Operators lower to it; everything
// above (mapping, traffic, cost) sees only this. FLOPs, `read` and `written` are the algorithm's
// own: each input read once, each output written once ("compulsory"), and bounds take these. Times
// take what a kernel moves: where a framework's own kernel is known to move more, that is
// `moved()`; what tiles read again is the traffic layer's subject.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "core/dtype.h"
#include "core/units.h"
#include "rooftile/shapes.h"

namespace rooftile::ops {

using WorkShape = std::variant<GemmShape, ConvShape, RowShape, AttentionShape>;

/// For people: "4096x1280x5120" (m n k), "80x1024x1024x64" (batch m n k), "64x256x14x14 k256 3x3".
std::string shape_text(const WorkShape& shape);
/// A matrix product or a convolution: what libraries cut into tiles.
bool is_product(const WorkShape& shape);

/// How a kernel touches memory; decides which traffic model applies.
enum class KernelClass : std::uint8_t {
  Gemm,         ///< matrix product, batch 1 (a "linear")
  BatchedGemm,  ///< many products in one launch
  Conv,
  Pointwise,  ///< streams: each element depends on the same one of the inputs; batch norm too
  Softmax,    ///< row reductions: one pass over rows
  Norm,       ///< layer norm, RMS norm
  Reduction,  ///< other reductions: pooling, cross entropy, sums
  Gather,     ///< indexed reads or writes: embedding, gather, scatter, MoE routing
  Move,       ///< pure copies: contiguous, cat, where, cast
  Attention,  ///< fused attention
};

std::string_view name_of(KernelClass kind);

struct KernelWork {
  std::string op;  ///< the kernel's operator: "linear", "bmm", "add", "softmax", "copy", ...
  KernelClass kind = KernelClass::Pointwise;
  DType dtype = DType::Fp32;    ///< storage of the operands
  DType compute = DType::Fp32;  ///< arithmetic; 16-bit vector operators compute in FP32
  bool matrix = false;          ///< may run on the matrix (tensor) units
  WorkShape shape;
  Flops flops;
  Bytes read;     ///< compulsory
  Bytes written;  ///< compulsory
  /// The part of the bytes that was last touched in another pass over the model (weights, a KV
  /// cache), and all such bytes of this pass, which compete for the cache until then. A kernel
  /// that stands alone has none: repeated, it may find everything in the cache.
  Bytes cold = {};
  Bytes cold_pass = {};
  Bytes excess = {};               ///< moved beyond the compulsory bytes, in either direction
  double access_efficiency = 1.0;  ///< rate of its accesses / rate of sequential ones
  double right_bytes = 0.0;  ///< of an element of a product's second operand; 0 = size of `dtype`

  [[nodiscard]] Bytes bytes() const { return read + written; }
  [[nodiscard]] Bytes moved() const { return bytes() + excess; }
  /// Moved / compulsory bytes.
  [[nodiscard]] double passes() const { return excess > Bytes{} ? moved() / bytes() : 1.0; }
  bool operator==(const KernelWork&) const = default;
};

}  // namespace rooftile::ops
