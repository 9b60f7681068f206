// SPDX-License-Identifier: Apache-2.0
//
// Predictions against measured kernels: every row, and sums per class, GPU and campaign, with the
// baselines with it. Left-out evaluation predicts each GPU with weights that have seen nothing
// measured on it, and takes its intervals from the residuals of the other GPUs.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "calibration/dataset.h"
#include "calibration/fit.h"
#include "calibration/fit_neusight.h"
#include "cost/predictor.h"
#include "rooftile/evaluate.h"

namespace rooftile::calibration {

/// One row; errors are predicted / measured - 1.
struct Case {
  std::size_t sample = 0;
  double measured = 0, predicted = 0, low = 0, high = 0;  ///< seconds
  double bound = 0, roofline = 0;                         ///< seconds, baselines without a fit
  std::optional<double> trivial, neusight;                ///< seconds, fitted baselines
  bool extrapolated = false;
  [[nodiscard]] double error() const { return predicted / measured - 1; }
};

/// A collective ("all_reduce", "4 GPUs") or a fused layer ("moe", "").
struct OtherCase : Case {
  std::string kind, campaign, name;
  std::uint32_t gpu = 0;
};

struct Evaluation {
  std::string predictor;
  bool left_out = false;
  std::int64_t skipped = 0;  ///< rows of the files whose dtype is not modelled
  std::vector<Case> cases;
  std::vector<OtherCase> others;
  std::vector<ErrorSummary> summary;  ///< "linear", "linear/l4", "linear/l4/train"
  std::vector<std::string> warnings;  ///< about the data, "times: FILE: ..."
  ProvenanceReport provenance;        ///< GPUs and predictors; one that was just fitted has no file
};

/// What a row is called.
struct CaseFacts {
  std::string device;  ///< as the file says it
  std::string name;    ///< "linear 512x768x768 bf16"
  std::string kind;    ///< class of kernels, "all_reduce"
  std::string campaign;
};
/// All rows in the order of the data: kernels, then collectives and fused layers.
void for_each_case(const Evaluation& evaluation, const Dataset& dataset,
                   const std::function<void(const CaseFacts&, const Case&)>& visit);

/// Fitted predictors that a table shows beside the one it is about; each may be null.
struct Baselines {
  const cost::Predictor* trivial = nullptr;
  const cost::Predictor* neusight = nullptr;
  std::optional<cost::learned::TrivialLine> ring = {};  ///< of all-reduces
};

/// All rows with one predictor.
Evaluation evaluate(const Dataset& dataset, const cost::Predictor& predictor,
                    const Baselines& baselines);

/// All rows, each GPU with the fit that left it out; `neusight` may be null.
Evaluation evaluate_left_out(const Dataset& dataset, const Fits& fits,
                             const NeuSightFits* neusight);
/// The same of the NeuSight formulation by itself.
Evaluation evaluate_left_out(const Dataset& dataset, const NeuSightFits& fits);

/// Data, GPUs, ranges, left-out errors, seed and command as JSON: what a predictor's users need to
/// know before they trust it.
struct CardFacts {
  std::string name, features;  ///< of the predictor, hash of what its numbers mean
  std::vector<std::string> notes;
  cost::ByName<cost::learned::Range> ranges;
  std::uint64_t seed = 1;
  std::string command;
  ProvenanceReport provenance;
};
std::string card_json(const Dataset& dataset, const CardFacts& facts, const Evaluation& left_out);

}  // namespace rooftile::calibration
