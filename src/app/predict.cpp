// SPDX-License-Identifier: Apache-2.0
#include "app/predict.h"

#include <utility>

#include "aggregate/memory.h"
#include "aggregate/step.h"
#include "app/options.h"
#include "graph/import_model.h"
#include "graph/lower.h"
#include "hardware/machine.h"
#include "latency/predictor.h"
#include "report/make.h"

namespace rooftile::app {

Result<Report> predict(const Request& request, const Catalog& catalog) {
  ROOFTILE_TRY(const StepOptions options, parse_step_options(request));
  ROOFTILE_TRY(const auto machine, hardware::load_machine(catalog, request.gpu, request.machine));
  ROOFTILE_TRY(const auto graph, graph::import_model(catalog, request.model, options.import));
  ROOFTILE_TRY(const auto predictor, latency::make_predictor(request.predictor, catalog));

  std::vector<aggregate::OperatorEstimate> operators;
  for (graph::LoweredKernel& kernel : graph::lower(graph, options.lower)) {
    ROOFTILE_TRY(const auto job, latency::bind(kernel.work, machine));  // a rate for every dtype
    operators.push_back({std::move(kernel), predictor->estimate(job, machine)});
  }
  const auto step = aggregate::step_time(std::move(operators));
  const auto memory = aggregate::memory(graph, options.memory);

  Request resolved = request;
  resolved.predictor = predictor->name();
  if (graph.family != "cnn") resolved.sequence = graph.sequence;
  return report::make(resolved, graph, machine, step, memory);
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
