// SPDX-License-Identifier: Apache-2.0
//
// Fits the listed numbers of a form (cost/parameter.h) to an objective: coordinate descent with
// multiplicative steps from 50 % down to `smallest`, from the starts of the list, which do not know
// what is shipped. It finds a local optimum. Numbers that are not fitted keep their start, and none
// leaves the limits of its list.
#pragma once

#include <functional>

#include "cost/parameter.h"

namespace rooftile::calibration {

struct DescentOptions {
  double smallest = 0.03;    ///< step
  double least_gain = 1e-4;  ///< of the objective, for a step to count
};

/// `objective` is to be made small.
template <cost::Listed Form>
Form descend(const std::function<double(const Form&)>& objective, const DescentOptions& options) {
  auto best = cost::starting<Form>();
  double least = objective(best);
  constexpr double kLargest = 0.5;
  for (double step = kLargest; step > options.smallest; step /= 2) {
    for (const cost::Parameter<Form>& parameter : parameters_of(best)) {
      if (!parameter.fitted) continue;
      for (const double factor : {1 + step, 1 / (1 + step)}) {
        while (true) {  // as long as the direction pays
          Form trial = best;
          trial.*parameter.value *= factor;
          if (trial.*parameter.value < parameter.low || trial.*parameter.value > parameter.high)
            break;
          const double value = objective(trial);
          if (value >= least * (1 - options.least_gain)) break;
          least = value;
          best = trial;
        }
      }
    }
  }
  return best;
}

}  // namespace rooftile::calibration
