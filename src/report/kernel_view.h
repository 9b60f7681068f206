// SPDX-License-Identifier: Apache-2.0
//
// `rooftile kernel`: one kernel explained, with the terms of its bound side by side.
#pragma once

#include <string>

#include "report/views.h"
#include "rooftile/kernel.h"

namespace rooftile::report {

using rooftile::BoundTermReport;
using rooftile::KernelReport;
using rooftile::KernelsReport;

std::string kernels_to_text(const KernelsReport& report, const TextOptions& options);
std::string kernels_to_json(const KernelsReport& report);
std::string kernels_to_csv(const KernelsReport& report);

}  // namespace rooftile::report
