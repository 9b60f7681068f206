// SPDX-License-Identifier: Apache-2.0
//
// Checks of a GPU file against itself and against its architecture. Every number of a data sheet
// can be derived from others (peak = SMs x FLOP per clock x clock, bandwidth = pins x rate), so
// a wrong one shows. A finding names its rule, the value and what it should be. Where a vendor's
// own documents disagree the file declares the exception with a reason:
//   "lint": {"allow": {"dram-product": "AMD prints 6 TB/s, 8192 bit x 6 Gbit/s is 6.144"}}
// The key may end in a pointer, "peak-product:/peak/*_tensor", to allow no more than is needed.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/catalog.h"
#include "core/result.h"
#include "hardware/gpu_spec.h"

namespace rooftile::hardware {

struct LintFinding {
  std::string rule;
  std::string pointer;                 ///< the value, "/peak/fp32"
  std::string message;                 ///< with the number found and the number expected
  std::optional<std::string> allowed;  ///< the file's reason, where it declares the exception
};

struct LintRule {
  std::string_view id;
  std::string_view checks;  ///< one line
};

/// All rules, in the order in which they run.
std::span<const LintRule> lint_rules();

/// Allowed findings are also in the list. Values off by orders of magnitude (rule unit-slip) hide
/// the rules that would follow from them.
std::vector<LintFinding> lint(const GpuSpec& gpu);

/// The rules that an architecture can break by itself; its file declares no exceptions.
std::vector<LintFinding> lint(const Architecture& arch);

/// One file of the catalogue (or one that was named): its findings, or why it cannot be read.
struct LintedFile {
  std::string file;
  std::string id;  ///< of a GPU, or the instruction set; empty when the file cannot be read
  std::optional<Error> error;
  std::vector<LintFinding> findings;
  std::vector<Input> inputs = {};  ///< of the findings: the file itself, and what it is compared to
};

/// The named GPUs (catalogue names or paths), or all GPUs, architectures and memory types of the
/// catalogue where none is named.
Result<std::vector<LintedFile>> lint_files(const Catalog& catalog,
                                           std::span<const std::string> names_or_paths);

/// Off by orders of magnitude (rule unit-slip) and not allowed: nothing that is computed with the
/// value means anything, so the file is refused where it is used (hardware/plausible.h).
bool is_refused(const LintFinding& finding);

/// What the name of a link says about its rate and the rate does not; nothing when they agree or
/// the name says nothing.
std::optional<std::string> link_problem(const LinkSpec& link);

/// No finding that is not allowed.
bool is_clean(std::span<const LintFinding> findings);
bool is_clean(std::span<const LintedFile> files);

}  // namespace rooftile::hardware
