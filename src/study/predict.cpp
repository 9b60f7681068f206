// SPDX-License-Identifier: Apache-2.0
#include "study/predict.h"

#include <fmt/format.h>

#include <utility>

#include "aggregate/memory.h"
#include "aggregate/parallel.h"
#include "aggregate/step.h"
#include "core/provenance.h"
#include "cost/learned/calibrated.h"
#include "cost/predictor.h"
#include "execution/launches.h"
#include "execution/stack.h"
#include "execution/stages.h"
#include "execution/tensor_parallel.h"
#include "hardware/machine.h"
#include "hardware/plausible.h"
#include "hardware/system.h"
#include "report/make.h"
#include "study/network.h"
#include "study/options.h"

namespace rooftile::study {

namespace {

/// Kernels without the gaps between them.
Result<std::vector<aggregate::OperatorEstimate>> estimate(std::vector<execution::Launch> kernels,
                                                          const hardware::Machine& machine,
                                                          const cost::Predictor& predictor) {
  ROOFTILE_CHECK(predictor.check(machine));
  cost::Estimator on = predictor.on(machine);
  on.set_gap({});
  std::vector<aggregate::OperatorEstimate> operators;
  operators.reserve(kernels.size());
  for (execution::Launch& kernel : kernels) {
    ROOFTILE_TRY(const auto job, on.bind(kernel.work));  // a rate for every dtype
    operators.push_back({std::move(kernel), on.estimate(job)});
  }
  return operators;
}

/// One estimate per stage of the pipeline, each from its own launches.
Result<std::vector<aggregate::StageEstimate>> estimate_stages(
    const std::vector<execution::Stage>& stages, const StepOptions& options,
    const hardware::Machine& machine, const cost::Predictor& predictor) {
  const bool train = options.lower.mode == execution::Mode::Train;
  execution::LaunchOptions lower = options.lower;
  lower.moved = cost::eager_of(predictor.constants(), name_of(machine.gpu.vendor));
  std::vector<aggregate::StageEstimate> estimates;
  for (const execution::Stage& stage : stages) {
    aggregate::StageEstimate one{.step = {},
                                 .reductions = execution::reductions(stage.graph, lower),
                                 .gradients = {},
                                 .output = stage.output,
                                 .count = stage.count};
    ROOFTILE_TRY(one.step.operators,
                 estimate(execution::launches(stage.graph, lower), machine, predictor));
    if (train) one.gradients = execution::gradient_buckets(stage.graph);
    estimates.push_back(std::move(one));
  }
  return estimates;
}

/// Adds the gap behind every kernel.
std::vector<aggregate::OperatorEstimate> spaced(std::vector<aggregate::OperatorEstimate> operators,
                                                Seconds gap, double factor) {
  for (aggregate::OperatorEstimate& op : operators) {
    op.estimate.time *= factor;
    cost::add_launch_gap(gap, op.estimate);
  }
  return operators;
}

aggregate::MemoryEstimate memory_of(const std::vector<execution::Stage>& stages,
                                    const StepOptions& options) {
  std::vector<aggregate::MemoryEstimate> memory;
  aggregate::MemoryOptions memory_options = options.memory;
  for (const execution::Stage& stage : stages) {
    memory.push_back(aggregate::memory(stage.graph, memory_options));
    memory_options.activations.received = stage.output;
  }
  return aggregate::fullest(memory, options.parallelism);
}

/// The request with its defaults filled in.
Request resolved(Request request, const StepOptions& options, const graph::Graph& model,
                 const cost::Predictor& predictor, const Catalog& catalog) {
  request.predictor = predictor.name();
  request.dtype = name_of(model.dtype);
  if (request.stack == "auto") request.stack = options.stack.id;
  request.catalog = catalog.overlays();
  if (model.sequence > 0) request.sequence = model.sequence;
  if (model.step == graph::Step::Decode) request.context = model.context;
  return request;
}

/// What the request left open.
std::vector<std::string> assumptions(const Request& request, const StepOptions& options) {
  std::vector<std::string> assumed;
  if (request.dtype == "auto") assumed.emplace_back(name_of(options.import.dtype));
  if (request.stack == "auto") assumed.push_back("stack " + options.stack.id);
  if (request.attention == "auto" && request.stack == "auto")
    assumed.push_back(fmt::format("{} attention", name_of(options.import.attention)));
  return assumed;
}

void add_network(const Network& network, const Request& request, const hardware::GpuSpec& gpu,
                 const aggregate::Parallelism& parallelism, const aggregate::StepEstimate& step,
                 Report& report) {
  const auto& system = network.system;
  if (request.system) {
    for (std::string& warning : hardware::warnings_of(*system, gpu)) {
      report.warnings.push_back(std::move(warning));
    }
  }
  if (parallelism.single()) return;
  report.parallel =
      report::make_parallel(parallelism, network.links, system ? system->name : "", step);
}

}  // namespace

// The model of a step, read aloud.
Result<PreparedStep> prepare_step(const Request& request, const hardware::Machine& machine,
                                  const Session& session, const cost::Predictor& predictor) {
  PreparedStep step;
  ROOFTILE_TRY(step.options, parse_step_options(request, session));
  const aggregate::Parallelism& parallelism = step.options.parallelism;

  // The links between several machines, and the graph of the model.
  ROOFTILE_TRY(step.network, find_network(request, machine.gpu, parallelism, session.catalog()));
  step.network.links.constants = cost::links_of(machine, predictor.constants().links);
  ROOFTILE_TRY(step.model, import_step(request, step.options, session));

  // One GPU's share of every layer, in the stages of the pipeline; then what the stack fuses.
  ROOFTILE_TRY(const graph::Graph share,
               execution::split_tensors(step.model, parallelism.tensor, parallelism.experts));
  ROOFTILE_TRY(auto stages, execution::split_stages(share, parallelism.pipeline));
  step.memory = memory_of(stages, step.options);
  ROOFTILE_TRY(stages, execution::split_stages(execution::fused_by(step.options.stack, share),
                                               parallelism.pipeline));

  // Launches, and of each its mapping, bytes, terms and time.
  step.gap = cost::launch_gap(machine, predictor.constants().step);
  ROOFTILE_TRY(step.stages, estimate_stages(stages, step.options, machine, predictor));
  return step;
}

aggregate::StepEstimate PreparedStep::step(const hardware::Machine& machine,
                                           const cost::Predictor& predictor,
                                           const cost::StackCosts& costs, double factor) const {
  const aggregate::LaunchCosts launch = launch_costs(options, machine, predictor, costs);
  aggregate::Interconnect links = network.links;
  if (options.stack.all_reduce == execution::AllReduce::OneShot) links.one_shot = costs.one_shot;
  std::vector<aggregate::StageEstimate> added = stages;
  for (aggregate::StageEstimate& stage : added) {
    stage.step = aggregate::step_time(
        spaced(std::move(stage.step.operators), launch.gap.value_or(gap), factor), launch.step);
  }
  return aggregate::parallel_step(std::move(added), options.parallelism, links);
}

Result<Report> Session::predict(const Request& request, const hardware::Machine& machine,
                                const cost::Predictor& predictor,
                                const cost::StackCosts& stack_costs) const {
  ROOFTILE_TRY(const PreparedStep prepared, prepare_step(request, machine, *this, predictor));
  const auto step = prepared.step(machine, predictor, stack_costs, 1.0);
  const StepOptions& options = prepared.options;
  const graph::Graph& model = prepared.model;
  Network network = prepared.network;
  if (options.stack.all_reduce == execution::AllReduce::OneShot)
    network.links.one_shot = stack_costs.one_shot;

  Report report = report::make(resolved(request, options, model, predictor, catalog()), model,
                               machine, step, prepared.memory);
  for (std::string& warning : cost::learned::calibration_warnings(machine, predictor))
    report.warnings.push_back(std::move(warning));
  report.assumed = assumptions(request, options);
  report.throughput = report::make_throughput(report, model, machine, options.parallelism.gpus());
  add_network(network, request, machine.gpu, options.parallelism, step, report);
  std::vector<Input> inputs = inputs_of(machine);
  add_inputs(hardware::lint_inputs(machine.gpu, catalog()), inputs);
  add_inputs(model.inputs, inputs);
  inputs.insert(inputs.end(), {options.stack.input, stack_costs.input});
  add_inputs(predictor.inputs(), inputs);
  if (network.system) inputs.push_back(network.system->input);
  set_provenance(inputs, report);
  return report;
}

Result<Report> Session::predict(const Request& request, const cost::Predictor& predictor,
                                const cost::StackCosts& stack_costs) const {
  ROOFTILE_TRY(const auto machine, this->machine(request.gpu, request.machine));
  return predict(request, *machine, predictor, stack_costs);
}

Result<Report> Session::predict(const Request& request, const cost::Predictor& predictor) const {
  ROOFTILE_TRY(const auto costs, stack_costs());
  return predict(request, predictor, *costs);
}

Result<Report> Session::predict(const Request& request) const {
  ROOFTILE_TRY(const auto predictor, this->predictor(request.predictor));
  ROOFTILE_TRY(Report report, predict(request, *predictor));
  if (!request.predictor.empty()) report.request.predictor = request.predictor;  // maybe a folder
  return report;
}

Result<EstimatedKernels> estimate_kernels(const Request& request,
                                          const std::optional<ops::ConvShape>& conv,
                                          const hardware::Machine& machine, const Session& session,
                                          const cost::Predictor& predictor) {
  const auto& moved = cost::eager_of(predictor.constants(), name_of(machine.gpu.vendor));
  ROOFTILE_TRY(StepKernels step, step_kernels(request, conv, session, moved));
  ROOFTILE_TRY(const auto stack_costs, session.stack_costs());
  const aggregate::LaunchCosts costs = launch_costs(step.options, machine, predictor, *stack_costs);
  ROOFTILE_TRY(auto operators, estimate(std::move(step.kernels), machine, predictor));
  const Seconds gap = costs.gap.value_or(cost::launch_gap(machine, predictor.constants().step));
  return EstimatedKernels{.operators = spaced(std::move(operators), gap, 1.0),
                          .costs = costs,
                          .notes = std::move(step.notes),
                          .model = std::move(step.model)};
}

Result<std::vector<Report>> Session::compare(const Request& request,
                                             std::span<const std::string> gpus) const {
  std::vector<Report> reports;
  for (const std::string& gpu : gpus) {
    Request one = request;
    one.gpu = gpu;
    ROOFTILE_TRY(Report report, predict(one));
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace rooftile::study
