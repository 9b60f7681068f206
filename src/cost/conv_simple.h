// SPDX-License-Identifier: Apache-2.0
//
// The convolution algorithms whose time is one formula, without a search of their own: Winograd,
// FFT, direct, depthwise (conv_time.h describes them).
#pragma once

#include <optional>
#include <vector>

#include "cost/conv_time.h"

namespace rooftile::cost {

/// Those that apply to the layer and launch no product, in no order; maybe none.
std::vector<ConvCandidate> simple_candidates(const ops::ConvShape& conv, DType dtype,
                                             const TimeMachine& machine);

/// Winograd by transforms and a batch of products; nothing where it does not apply, where nobody
/// times products, or where what surrounds them takes `limit` seconds already.
std::optional<ConvCandidate> winograd_by_products(const ops::ConvShape& conv, DType dtype,
                                                  const TimeMachine& machine,
                                                  const ProductTimer& product, double limit);

/// Kernels before and after a product, which only move bytes.
struct Surroundings {
  double dram = 0, l2 = 0;  ///< bytes, read and written; of the L2, 0 says that DRAM is slower
  double latency = 0;       ///< seconds that scattered accesses take longer
  double launch = 0;        ///< seconds
};
/// Adds them to the product's time: one after the other, they do not overlap as the terms of a
/// kernel do.
void surround(LibraryProduct& product, const TimeMachine& machine, const Surroundings& others);

}  // namespace rooftile::cost
