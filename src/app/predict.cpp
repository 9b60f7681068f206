// SPDX-License-Identifier: Apache-2.0
#include "app/predict.h"

#include <fmt/format.h>

#include <utility>

#include "aggregate/memory.h"
#include "aggregate/step.h"
#include "app/options.h"
#include "graph/fuse.h"
#include "graph/import_model.h"
#include "graph/lower.h"
#include "hardware/machine.h"
#include "latency/predictor.h"
#include "report/make.h"

namespace rooftile::app {

namespace {

/// Options that a model cannot follow are errors: an image decides its own number of tokens.
Status check_applies(const Request& request, const graph::Graph& graph) {
  const bool decode = graph.step == graph::Step::Decode;  // there --seq sets the context
  if (request.sequence && !decode && *request.sequence != graph.sequence) {
    return usage_error(
        fmt::format("--seq {} does not apply to {}", *request.sequence, graph.name),
        graph.sequence == 1
            ? "its input has no tokens; remove --seq"
            : fmt::format("it always works on {} tokens; remove --seq", graph.sequence));
  }
  if (request.attention != "eager" && graph.family == "cnn") {
    return usage_error(
        fmt::format("--attention {} does not apply to {}", request.attention, graph.name),
        "it has no attention; remove --attention");
  }
  return {};
}

}  // namespace

Result<Report> predict_with(const Request& request, const Catalog& catalog,
                            const latency::Predictor& predictor) {
  ROOFTILE_TRY(const StepOptions options, parse_step_options(request));
  ROOFTILE_TRY(const auto machine, hardware::load_machine(catalog, request.gpu, request.machine));
  ROOFTILE_TRY(auto graph, graph::import_model(catalog, request.model, options.import));
  ROOFTILE_CHECK(check_applies(request, graph));
  if (options.fuse) graph = graph::fuse(graph);

  std::vector<aggregate::OperatorEstimate> operators;
  for (graph::LoweredKernel& kernel : graph::lower(graph, options.lower)) {
    ROOFTILE_TRY(const auto job, latency::bind(kernel.work, machine));  // a rate for every dtype
    const auto estimate = aggregate::in_step(predictor.estimate(job, machine), kernel);
    operators.push_back({std::move(kernel), estimate});
  }
  const auto step = aggregate::step_time(std::move(operators));
  const auto memory = aggregate::memory(graph, options.memory);

  Request resolved = request;
  resolved.predictor = predictor.name();
  if (graph.family != "cnn") resolved.sequence = graph.sequence;
  if (graph.step == graph::Step::Decode) resolved.context = graph.context;
  return report::make(resolved, graph, machine, step, memory);
}

Result<Report> predict(const Request& request, const Catalog& catalog) {
  ROOFTILE_TRY(const auto predictor, latency::make_predictor(request.predictor, catalog));
  return predict_with(request, catalog, *predictor);
}

Result<std::vector<Report>> compare(const Request& request, std::span<const std::string> gpus,
                                    const Catalog& catalog) {
  std::vector<Report> reports;
  for (const std::string& gpu : gpus) {
    Request one = request;
    one.gpu = gpu;
    ROOFTILE_TRY(Report report, predict(one, catalog));
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace rooftile::app
