// SPDX-License-Identifier: Apache-2.0
//
// `rooftile gpus`: the catalogue as a table, one GPU with its sources and ridge points, and the
// findings of lint. Rates are dense; a ridge point is peak / bandwidth of the level, in FLOP per
// byte: kernels with less work per byte than that are bound by the level. Text and JSON end with
// the files that they were made from; warnings have a place in JSON only.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "hardware/lint.h"
#include "hardware/machine.h"
#include "rooftile/provenance.h"

namespace rooftile::report {

/// What the JSON has beside the data, and the text as its last line.
struct Notes {
  ProvenanceReport provenance;
  std::vector<std::string> warnings;
};

/// One line per GPU.
std::string gpus_to_text(std::span<const hardware::GpuSpec> gpus, const Notes& notes, int width);
std::string gpus_to_json(std::span<const hardware::GpuSpec> gpus, const Notes& notes);
std::string gpus_to_csv(std::span<const hardware::GpuSpec> gpus);

struct GpuTextOptions {
  bool color = false;
  int width = 100;
};

/// Everything about one GPU. The CSV has one line per rate and level: the ridge points.
std::string gpu_to_text(const hardware::Machine& machine, const Notes& notes,
                        const GpuTextOptions& options);
std::string gpu_to_json(const hardware::Machine& machine, const Notes& notes);
std::string gpu_to_csv(const hardware::Machine& machine);

/// Findings first, then the exceptions that the files declare, then the count.
std::string lint_to_text(std::span<const hardware::LintedFile> files, const Notes& notes,
                         int width);
std::string lint_to_json(std::span<const hardware::LintedFile> files, const Notes& notes);
std::string lint_to_csv(std::span<const hardware::LintedFile> files);

}  // namespace rooftile::report
