// SPDX-License-Identifier: Apache-2.0
#include "latency/bound.h"

#include <algorithm>
#include <variant>

namespace rooftile::latency {

std::string_view name_of(Limiter limiter) {
  switch (limiter) {
    case Limiter::Compute: return "compute";
    case Limiter::L1: return "l1";
    case Limiter::L2: return "l2";
    case Limiter::Dram: return "dram";
    case Limiter::Launch: return "launch";
  }
  return "?";
}

std::string_view name_of(Provenance provenance) {
  switch (provenance) {
    case Provenance::Measured: return "measured";
    case Provenance::Learned: return "learned";
    case Provenance::Analytical: return "analytical";
    case Provenance::Bound: return "bound";
  }
  return "?";
}

Flops least_flops(const ops::KernelWork& work) {
  const auto* conv = std::get_if<ops::ConvShape>(&work.shape);
  if (conv == nullptr || conv->stride_h != 1 || conv->stride_w != 1 || conv->dilation_h != 1 ||
      conv->dilation_w != 1) {
    return work.flops;
  }
  const auto r = static_cast<double>(conv->r);
  const auto s = static_cast<double>(conv->s);
  constexpr double kOutputs = 4;  // Winograd F(4x4, r x s): one product per input of its tile
  double fraction = (kOutputs + r - 1) * (kOutputs + s - 1) / (kOutputs * kOutputs * r * s);
  constexpr double kTile = 32;  // FFT: 32 x 17 complex products for (33 - r)(33 - s) outputs
  if (r <= kTile && s <= kTile) {
    const double products = 4 * kTile * (kTile / 2 + 1);
    fraction = std::min(fraction, products / ((kTile + 1 - r) * (kTile + 1 - s) * r * s));
  }
  return work.flops * std::min(1.0, fraction);
}

BoundTerms bound_terms(const ops::KernelWork& work, const traffic::Traffic& traffic,
                       const Roof& roof) {
  BoundTerms terms;
  const auto term = [&terms](Limiter limiter) -> std::optional<Seconds>& {
    return terms[static_cast<std::size_t>(limiter)];
  };
  term(Limiter::Compute) = least_flops(work) / roof.compute;
  if (roof.l1) term(Limiter::L1) = traffic.l1 / *roof.l1;
  if (roof.l2) term(Limiter::L2) = traffic.l2 / *roof.l2;
  term(Limiter::Dram) = (traffic.dram() - traffic.dram_avoidable) / roof.dram;
  term(Limiter::Launch) = kLaunchFloor;
  return terms;
}

Bound bound(const ops::KernelWork& work, const traffic::Traffic& traffic, const Roof& roof) {
  const BoundTerms terms = bound_terms(work, traffic, roof);
  Bound best{.time = kLaunchFloor, .limiter = Limiter::Launch};
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (terms[i] && *terms[i] > best.time) {
      best = {.time = *terms[i], .limiter = static_cast<Limiter>(i)};
    }
  }
  return best;
}

}  // namespace rooftile::latency
