// SPDX-License-Identifier: Apache-2.0
#include "characterize/cpu/clock.h"

#include <chrono>
#include <cstdint>

#include "characterize/cpu/kernels.h"

namespace rooftile::characterize::cpu {

Hertz observe_core_clock() {
  constexpr std::int64_t kSteps = 1 << 16;  // about 20 us: far more than reading the time takes
  constexpr int kBursts = 100;
  Seconds best = Seconds::from_base(1e9);
  for (int i = 0; i < kBursts; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    dependent_adds(kSteps);
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    if (time.count() > 0) best = min(best, Seconds::from_base(time.count()));
  }
  return Cycles::from_base(static_cast<double>(kSteps)) / best;
}

}  // namespace rooftile::characterize::cpu
