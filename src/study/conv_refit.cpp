// SPDX-License-Identifier: Apache-2.0
#include "study/conv_refit.h"

#include <array>

namespace rooftile::study {

namespace {

using cost::TimeConstants;

struct Start {
  double TimeConstants::* constant;
  double value;
};

constexpr std::array kStarts{Start{&TimeConstants::watt_28nm, 50},
                             Start{&TimeConstants::watt_16nm, 15},
                             Start{&TimeConstants::issue, 1.0},
                             Start{&TimeConstants::issue_wide, 0.1},
                             Start{&TimeConstants::latency_miss, 1000},
                             Start{&TimeConstants::prologue, 500},
                             Start{&TimeConstants::epilogue, 5},
                             Start{&TimeConstants::fused_extra, 0.1},
                             Start{&TimeConstants::fused_cta, 5000},
                             Start{&TimeConstants::nonfused_extra, 0.1},
                             Start{&TimeConstants::nonfused_launch, 20e-6},
                             Start{&TimeConstants::l2_residency, 0.5},
                             Start{&TimeConstants::small_tile_extra, 1.0},
                             Start{&TimeConstants::direct_efficiency, 0.2},
                             Start{&TimeConstants::gradient, 1.0},
                             Start{&TimeConstants::strided_epilogue, 100},
                             Start{&TimeConstants::filter_gradient, 1.0},
                             Start{&TimeConstants::filter_gradient_tap, 0.5},
                             Start{&TimeConstants::filter_gradient_tile, 0.5},
                             Start{&TimeConstants::filter_gradient_output, 1}};

}  // namespace

TimeConstants refit_constants(const Objective& objective) {
  TimeConstants best;
  for (const Start& start : kStarts) best.*start.constant = start.value;
  double least = objective(best);
  constexpr double kLargest = 0.5;
  constexpr double kSmallest = 0.03;
  for (double step = kLargest; step > kSmallest; step /= 2) {
    for (const Start& start : kStarts) {
      for (const double factor : {1 + step, 1 / (1 + step)}) {
        while (true) {  // as long as the direction pays
          TimeConstants trial = best;
          trial.*start.constant *= factor;
          const double value = objective(trial);
          if (value >= least * (1 - 1e-4)) break;
          least = value;
          best = trial;
        }
      }
    }
  }
  return best;
}

}  // namespace rooftile::study
