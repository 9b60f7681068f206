// SPDX-License-Identifier: Apache-2.0
//
// Plausibility at the door: what lint finds in a file is said whenever the file is used, not only
// by `rooftile gpus --lint`. Values off by orders of magnitude (rule unit-slip) are errors, since
// nothing computed with them means anything; every other finding that the file does not allow is
// a warning of the report. Measured ceilings are compared with the data sheet of their GPU, links
// of a system with those of its GPUs. The files of the catalogue are clean, so what is said here is
// about files of the user's own, given by path or found in an overlay.
#pragma once

#include <string>
#include <vector>

#include "core/result.h"
#include "hardware/lint.h"
#include "hardware/machine.h"
#include "hardware/system.h"

namespace rooftile::hardware {

/// Measured ceilings against the data sheet: rules unit-slip, above-data-sheet, bandwidth-order.
std::vector<LintFinding> lint(const Ceilings& ceilings, const GpuSpec& gpu);
/// Ceilings of a machine that no catalogue knows, by themselves.
std::vector<LintFinding> lint(const Ceilings& ceilings);

/// Fails on the first value that is off by orders of magnitude.
Status check_plausible(const GpuSpec& gpu);
Status check_plausible(const Machine& machine);
Status check_plausible(const Ceilings& ceilings);

/// The files that lint alone reads, as far as they are the user's own: the memory type of an
/// overlay.
std::vector<Input> lint_inputs(const GpuSpec& gpu, const Catalog& catalog);

/// The findings that are not errors: "lint: FILE:/pointer: message (rule)".
std::vector<std::string> warnings_of(const Machine& machine);
std::vector<std::string> warnings_of(const Ceilings& ceilings);
/// Links of a system that are faster than those its GPU has.
std::vector<std::string> warnings_of(const SystemSpec& system, const GpuSpec& gpu);

}  // namespace rooftile::hardware
