// SPDX-License-Identifier: Apache-2.0
#include "study/conv_refit.h"

namespace rooftile::study {

cost::TimeConstants refit_constants(const Objective& objective) {
  using cost::TimeConstants;
  auto best = cost::starting<TimeConstants>();
  double least = objective(best);
  constexpr double kLargest = 0.5;
  constexpr double kSmallest = 0.03;
  for (double step = kLargest; step > kSmallest; step /= 2) {
    for (const cost::Parameter<TimeConstants>& parameter : parameters_of(best)) {
      if (!parameter.fitted) continue;
      for (const double factor : {1 + step, 1 / (1 + step)}) {
        while (true) {  // as long as the direction pays
          TimeConstants trial = best;
          trial.*parameter.value *= factor;
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
