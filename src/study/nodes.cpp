// SPDX-License-Identifier: Apache-2.0
//
// Traced nodes of measured steps against the kernels of our graphs (calibration/nodes.h).
#include "calibration/nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "core/provenance.h"
#include "hardware/machine.h"
#include "ops/kernel_work.h"
#include "study/predict.h"
#include "study/session.h"

namespace rooftile::study {

namespace {

using calibration::NodeEvaluation;
using calibration::TracedNode;
using calibration::TracedStep;

std::int64_t outputs_of(const ops::WorkShape& shape) {
  if (const auto* gemm = std::get_if<ops::GemmShape>(&shape))
    return gemm->batch * gemm->m * gemm->n;
  if (const auto* rows = std::get_if<ops::RowShape>(&shape)) return rows->rows * rows->columns;
  return 0;
}

/// Activations go by their function here and by the name of their module in the trace.
bool kinds_agree(const std::string& traced, const std::string& ours) {
  if (traced == ours) return true;
  return traced == "activation" && (ours == "relu" || ours == "gelu" || ours == "tanh");
}

/// Our kernels by class: a node's kernels of all phases count as the first forward one does.
struct OurKernels {
  std::map<std::string, double> ms;                        ///< by kind
  std::set<std::pair<std::string, std::int64_t>> outputs;  ///< kind, elements
  std::int64_t layers = 1;

  [[nodiscard]] bool stand_for(const TracedNode& node) const {
    return std::any_of(outputs.begin(), outputs.end(), [&](const auto& known) {
      return kinds_agree(node.kind, known.first) && known.second == node.elements;
    });
  }
  /// Functions that the trace shows under their own name belong to no one else.
  [[nodiscard]] double ms_of(const std::string& kind,
                             const std::map<std::string, double>& traced) const {
    double sum = 0;
    for (const auto& [ours, time] : ms) {
      const bool belongs = kind == ours || (kinds_agree(kind, ours) && !traced.contains(ours));
      sum += belongs ? time : 0.0;
    }
    return sum;
  }
};

OurKernels classified(const std::vector<aggregate::OperatorEstimate>& operators) {
  OurKernels ours;
  std::map<std::string, std::string> kind_of_node;
  for (const aggregate::OperatorEstimate& op : operators) {
    const execution::Launch& kernel = op.kernel;
    const auto [kind, first] =
        kind_of_node.emplace(kernel.name, calibration::kind_of_operator(kernel.work.op));
    ours.ms[kind->second] += to_ms(op.estimate.time) * static_cast<double>(kernel.count);
    ours.layers = std::max(ours.layers, kernel.repeat);
    if (kernel.phase == execution::Phase::Forward)
      ours.outputs.emplace(kind->second, outputs_of(kernel.work.shape));
  }
  return ours;
}

void compare_step(const TracedStep& step, const OurKernels& ours, NodeEvaluation& evaluation) {
  std::map<std::string, double> measured;
  double total = 0;
  const auto time_of = [&](const TracedNode& node) {
    return node.ms * static_cast<double>(node.in_layer ? ours.layers : 1);
  };
  for (const TracedNode& node : step.nodes) {
    total += time_of(node);
    const bool idle = node.kind == "dropout" && step.mode == "inf";  // hands its input on
    if (!node.kind.empty() && !idle) measured[node.kind] += time_of(node);
  }
  for (const TracedNode& node : step.nodes) {
    const double share = time_of(node) / total;
    if (share < calibration::kNodeShare || ours.stand_for(node)) continue;
    evaluation.missing.push_back({.device = step.device,
                                  .step = step.name,
                                  .node = node.name,
                                  .target = node.target,
                                  .share = share});
  }
  for (const auto& [kind, ms] : measured) {
    evaluation.classes.push_back({.device = step.device,
                                  .step = step.name,
                                  .kind = kind,
                                  .measured_ms = ms,
                                  .predicted_ms = ours.ms_of(kind, measured),
                                  .share = ms / total});
  }
}

}  // namespace

Result<NodeEvaluation> Session::evaluate_nodes(const NodesRequest& request,
                                               const Progress& progress) const {
  ROOFTILE_TRY(const auto steps, calibration::read_nodes(request.file));
  const std::string models =
      request.models.empty()
          ? (std::filesystem::path(request.file).parent_path() / "models").string()
          : request.models;
  ROOFTILE_TRY(const auto predictor, this->predictor(request.predictor));
  NodeEvaluation evaluation;
  std::vector<Input> inputs = predictor->inputs();
  std::size_t done = 0;
  for (const TracedStep& step : steps) {
    const double fraction = static_cast<double>(done++) / static_cast<double>(steps.size());
    if (progress && !progress({.fraction = fraction, .note = step.name}))
      return bad_input({}, "the evaluation was stopped", {});
    Request step_request;
    step_request.model = fmt::format("{}/{}.json", models, step.model);
    step_request.gpu = step.device;
    step_request.phase = step.mode == "inf" ? "infer" : "train";
    step_request.batch = step.batch;
    step_request.sequence = step.sequence;
    step_request.dtype = "fp32";
    step_request.stack = "eager";
    ROOFTILE_TRY(const auto machine, this->machine(step.device, std::nullopt));
    ROOFTILE_TRY(const EstimatedKernels kernels,
                 estimate_kernels(step_request, std::nullopt, *machine, *this, *predictor));
    compare_step(step, classified(kernels.operators), evaluation);
    add_inputs(inputs_of(*machine), inputs);
    add_inputs(kernels.model, inputs);
  }
  set_provenance(inputs, evaluation);
  return evaluation;
}

}  // namespace rooftile::study
