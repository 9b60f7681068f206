// SPDX-License-Identifier: Apache-2.0
//
// The update of all parameters at the end of a training step, as one fused kernel (multi-tensor
// apply). State is kept in FP32; a model stored in 16 bits also keeps FP32 master weights. SGD
// reads weight and gradient (and momentum), Adam and AdamW two moments; each is written back.
#pragma once

#include "ops/operator.h"

namespace rooftile::ops {

enum class Optimizer : std::uint8_t { Sgd, SgdMomentum, Adam, AdamW };
/// sgd sgd_momentum adam adamw
std::string_view name_of(Optimizer optimizer);
Result<Optimizer> parse_optimizer(std::string_view text);

/// FP32 numbers that the optimizer keeps per parameter, apart from a master copy of the weights.
std::int64_t optimizer_moments(Optimizer optimizer);
/// True when the storage type is too narrow to update in place.
bool keeps_master_weights(const Precision& precision);

struct OptimizerUpdate {
  static constexpr std::string_view kName = "optimizer";
  Optimizer optimizer = Optimizer::AdamW;
  std::int64_t elements = 1;

  [[nodiscard]] Status check() const { return check_sizes("optimizer update", {elements}); }
  [[nodiscard]] Shape output() const { return {elements}; }
  [[nodiscard]] std::int64_t parameters() const { return 0; }
  [[nodiscard]] Saved saved(const LowerContext&) const { return {}; }
  void forward(const LowerContext& context, KernelList& kernels) const;
  void backward(const LowerContext&, KernelList&) const {}
  void accumulate(const LowerContext&, KernelList&) const {}
  bool operator==(const OptimizerUpdate&) const = default;
};

}  // namespace rooftile::ops
