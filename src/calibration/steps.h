// SPDX-License-Identifier: Apache-2.0
//
// Measured whole steps of models on one or many GPUs, in the layout of steps/cases.csv: one row per
// case, empty = unknown. A row becomes a request for one step, for a generation or for a server;
// what it needs and nothing here expresses (ZeRO, sequence parallelism, an unknown model) is a
// reason to skip it, never to guess. What is wrong with the file itself is an error.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "rooftile/evaluate.h"
#include "rooftile/generate.h"
#include "rooftile/provenance.h"
#include "rooftile/request.h"

namespace rooftile::calibration {

/// What the measured time is of.
enum class StepKind : std::uint8_t {
  Step,      ///< train, prefill, decode, infer
  Generate,  ///< the whole request of a fixed batch
  Serve,     ///< time per output token of a server under load
};

struct StepRow {
  std::string name, source, framework, stack, device, phase;  ///< as in the file
  StepKind kind = StepKind::Step;
  GenerateRequest request;  ///< a single step looks at request.step only
  double measured_ms = 0;
  std::optional<double> measured_memory_gib;
  std::string assumed;  ///< what the row does not say: "bf16 cache"
  std::string skip;     ///< why it cannot be expressed; empty where it can
};

/// Whether a file has the columns of measured steps.
bool is_step_file(const std::string& path);

/// `folder` of the file is where models/NAME.json are looked for.
Result<std::vector<StepRow>> read_steps(const std::string& file);

struct StepCase {
  StepRow row;
  double predicted_ms = 0, low_ms = 0, high_ms = 0, bound_ms = 0;
  std::optional<double> predicted_memory_gib;
  std::optional<bool> fits;
  std::string skipped;  ///< the reason; then there are no predictions

  [[nodiscard]] double error() const { return predicted_ms / row.measured_ms - 1; }
};

struct StepEvaluation {
  std::string predictor;
  bool left_out = false;
  std::vector<StepCase> cases;
  std::vector<ErrorSummary> summary;
  std::map<std::string, std::int64_t> skipped;  ///< reason -> rows
  std::vector<std::string> warnings;
  ProvenanceReport provenance{};
};

/// The trivial line: what a step takes that reaches this fraction of its bound.
inline constexpr double kTrivialFraction = 0.7;

/// Groups "all", "source/..", "gpu/..", "framework/..", "phase/..", "source/phase",
/// "source/phase/gpu".
std::vector<ErrorSummary> summarize_steps(const std::vector<StepCase>& cases);

}  // namespace rooftile::calibration
