// SPDX-License-Identifier: Apache-2.0
#include "ops/optimizer.h"

#include <array>

#include "core/text.h"

namespace rooftile::ops {

std::string_view name_of(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::Sgd: return "sgd";
    case Optimizer::SgdMomentum: return "sgd_momentum";
    case Optimizer::Adam: return "adam";
    case Optimizer::AdamW: return "adamw";
  }
  return "?";
}

Result<Optimizer> parse_optimizer(std::string_view text) {
  constexpr std::array kAll{Optimizer::Sgd, Optimizer::SgdMomentum, Optimizer::Adam,
                            Optimizer::AdamW};
  std::array<std::string_view, kAll.size()> names;
  for (std::size_t i = 0; i < kAll.size(); ++i) {
    names[i] = name_of(kAll[i]);
    if (names[i] == text) return kAll[i];
  }
  return bad_input({}, "unknown optimizer \"" + printable(text) + '"',
                   did_you_mean(text, names, "optimizers:"));
}

std::int64_t optimizer_moments(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::Sgd: return 0;
    case Optimizer::SgdMomentum: return 1;
    case Optimizer::Adam:
    case Optimizer::AdamW: return 2;
  }
  return 0;
}

bool keeps_master_weights(const Precision& precision) {
  return size_of(precision.storage) < size_of(DType::Fp32);
}

namespace {

/// Multiplications, additions, roots and divisions per parameter, counted from the update rules.
double update_flop(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::Sgd: return 2.0;          // w -= lr g
    case Optimizer::SgdMomentum: return 4.0;  // m = mu m + g; w -= lr m
    case Optimizer::Adam: return 12.0;        // two moments, two corrections, root, step
    case Optimizer::AdamW: return 14.0;       // and the decoupled decay
  }
  return 0.0;
}

}  // namespace

void OptimizerUpdate::forward(const LowerContext& context, KernelList& kernels) const {
  const Precision& p = context.precision;
  const Bytes weights = bytes_of(elements, p.storage);
  const Bytes state = bytes_of(elements * optimizer_moments(optimizer), DType::Fp32);
  const Bytes master = keeps_master_weights(p) ? bytes_of(elements, DType::Fp32) : Bytes{};
  KernelWork work = vector_kernel(p, {.op = name_of(optimizer),
                                      .kind = KernelClass::Pointwise,
                                      .shape = {.rows = 1, .columns = elements},
                                      .flop_per_element = update_flop(optimizer),
                                      .read = 0,
                                      .written = 0});
  // With master weights the stored ones are only written.
  work.read = weights + (keeps_master_weights(p) ? master : weights) + state;
  work.written = weights + master + state;
  kernels.push_back(work);
}

}  // namespace rooftile::ops
