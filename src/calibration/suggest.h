// SPDX-License-Identifier: Apache-2.0
//
// Which kernels to measure first on a machine, and a program that times them. Candidates are the
// kernels of everyday models, in sizes from launch-bound to compute-bound. First comes one of every
// family and limiter, then always the kernel about which the ones before say least (the largest
// variance that their posterior leaves it, cost/learned/calibrated.h).
#pragma once

#include <string>
#include <vector>

#include "core/result.h"
#include "cost/predictor.h"
#include "hardware/machine.h"
#include "rooftile/calibrate.h"

namespace rooftile::calibration {

std::vector<SuggestedKernel> suggest_kernels(const hardware::Machine& machine,
                                             const cost::Predictor& predictor, std::size_t count);

/// Prints kernel,shape,dtype,latency_ms: what `rooftile calibrate` reads.
std::string bench_script(const std::vector<SuggestedKernel>& kernels, const std::string& gpu);

}  // namespace rooftile::calibration
