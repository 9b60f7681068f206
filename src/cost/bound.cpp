// SPDX-License-Identifier: Apache-2.0
#include "cost/bound.h"

#include <algorithm>
#include <variant>

namespace rooftile::cost {

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
  const auto term = [&terms](Resource limiter) -> std::optional<Seconds>& {
    return terms[static_cast<std::size_t>(limiter)];
  };
  term(Resource::Compute) = least_flops(work) / roof.compute;
  if (roof.l1) term(Resource::L1) = traffic.l1 / *roof.l1;
  if (roof.l2) term(Resource::L2) = traffic.l2 / *roof.l2;
  term(Resource::Dram) = (traffic.dram() - traffic.dram_avoidable) / roof.dram;
  term(Resource::Launch) = kLaunchFloor;
  return terms;
}

Bound bound(const ops::KernelWork& work, const traffic::Traffic& traffic, const Roof& roof) {
  const BoundTerms terms = bound_terms(work, traffic, roof);
  Bound best{.time = kLaunchFloor, .limiter = Resource::Launch};
  for (const Resource r : kRoofs) {
    const auto& term = terms[static_cast<std::size_t>(r)];
    if (term && *term > best.time) best = {.time = *term, .limiter = r};
  }
  return best;
}

namespace {

/// The terms of the bound as a breakdown. The launch is not added to a bound: it counts where it
/// is the limiter, alone.
Breakdown breakdown_of(const BoundTerms& terms, const Bound& bound) {
  Breakdown breakdown;
  if (bound.limiter == Resource::Launch) {
    breakdown.of(Resource::Launch) = bound.time;
    return breakdown;
  }
  for (const Resource r : kRoofs) {
    if (r != Resource::Launch)
      breakdown.of(r) = terms[static_cast<std::size_t>(r)].value_or(Seconds{});
  }
  return breakdown;
}

}  // namespace

void set_time(const ops::KernelWork& work, const Roof& roof, const hardware::GpuSpec& gpu,
              const Breakdown& breakdown, Estimate& estimate) {
  const traffic::Traffic least = traffic::compulsory(work, gpu);
  const Bound lower = bound(work, least, roof);
  estimate.bound = lower.time;
  estimate.breakdown = breakdown;
  estimate.time = breakdown.time();
  if (estimate.time < lower.time) {
    estimate.breakdown = breakdown_of(bound_terms(work, least, roof), lower);
    estimate.time = lower.time;
  }
  estimate.low = estimate.high = estimate.time;
}

}  // namespace rooftile::cost
