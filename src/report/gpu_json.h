// SPDX-License-Identifier: Apache-2.0
//
// GPUs and the findings of lint as trees. Numbers are in base units that the keys name.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>

#include "hardware/lint.h"
#include "hardware/machine.h"
#include "report/describe.h"

namespace rooftile::report {

nlohmann::ordered_json gpus_json(std::span<const hardware::GpuSpec> gpus, const Notes& notes);
nlohmann::ordered_json gpu_json(const hardware::Machine& machine, const Notes& notes);
nlohmann::ordered_json lint_json(std::span<const hardware::LintedFile> files, const Notes& notes);

}  // namespace rooftile::report
