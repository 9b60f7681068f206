// SPDX-License-Identifier: Apache-2.0
#include "study/predict.h"

#include <fmt/format.h>

#include <utility>

#include "aggregate/memory.h"
#include "aggregate/parallel.h"
#include "aggregate/step.h"
#include "core/provenance.h"
#include "cost/predictor.h"
#include "execution/fuse.h"
#include "execution/launches.h"
#include "execution/stages.h"
#include "execution/tensor_parallel.h"
#include "hardware/load.h"
#include "hardware/machine.h"
#include "hardware/plausible.h"
#include "hardware/system.h"
#include "report/make.h"
#include "study/options.h"

namespace rooftile::study {

namespace {

/// The system of the request, or one node of the GPU's own links; nothing for a single GPU.
Result<std::optional<hardware::SystemSpec>> find_system(const Request& request,
                                                        const hardware::GpuSpec& gpu,
                                                        const Catalog& catalog, std::int64_t gpus) {
  if (!request.system) {
    if (gpus == 1) return std::nullopt;
    return hardware::system_of(catalog, gpu, gpus);
  }
  ROOFTILE_TRY(hardware::SystemSpec system, hardware::load_system(catalog, *request.system));
  if (system.gpu) {
    ROOFTILE_TRY(const hardware::GpuSpec inside, hardware::load_gpu(catalog, *system.gpu));
    if (inside.id != gpu.id) {
      return bad_input({}, fmt::format("{} holds {}, not {}", system.name, inside.id, gpu.id),
                       fmt::format("use --gpu {}, or a system of {}", inside.id, gpu.id));
    }
  }
  return system;
}

/// Neighbours share layers, then come the replicas, then the stages of the pipeline.
Result<aggregate::Interconnect> links_of(const hardware::SystemSpec& system,
                                         const aggregate::Parallelism& p) {
  aggregate::Interconnect links;
  const std::int64_t stage = p.tensor * p.data;
  if (p.tensor > 1) {
    ROOFTILE_TRY(links.tensor,
                 hardware::link_of(
                     system, {.size = p.tensor, .stride = 1, .stage = stage, .total = p.gpus()}));
  }
  if (p.data > 1) {
    ROOFTILE_TRY(
        links.data,
        hardware::link_of(system,
                          {.size = p.data, .stride = p.tensor, .stage = stage, .total = p.gpus()}));
  }
  if (p.pipeline > 1) {
    ROOFTILE_TRY(links.pipeline, hardware::stage_links(system, stage, p.gpus()));
  }
  return links;
}

Result<std::vector<aggregate::OperatorEstimate>> estimate(std::vector<execution::Launch> kernels,
                                                          const hardware::Machine& machine,
                                                          const cost::Predictor& predictor) {
  ROOFTILE_CHECK(predictor.check(machine));
  cost::Estimator on = predictor.on(machine);
  std::vector<aggregate::OperatorEstimate> operators;
  operators.reserve(kernels.size());
  for (execution::Launch& kernel : kernels) {
    ROOFTILE_TRY(const auto job, on.bind(kernel.work));  // a rate for every dtype
    operators.push_back({std::move(kernel), on.estimate(job)});
  }
  return operators;
}

}  // namespace

Result<Report> Session::predict(const Request& request, const cost::Predictor& predictor) const {
  ROOFTILE_TRY(const StepOptions options, parse_step_options(request));
  ROOFTILE_TRY(const auto loaded, this->machine(request.gpu, request.machine));
  const hardware::Machine& machine = *loaded;
  const aggregate::Parallelism& parallelism = options.parallelism;
  ROOFTILE_TRY(const auto system, find_system(request, machine.gpu, catalog(), parallelism.gpus()));
  aggregate::Interconnect links;
  if (system) {
    ROOFTILE_TRY(links, links_of(*system, parallelism));
  }
  links.constants = predictor.constants().links;
  ROOFTILE_TRY(const auto model, import_step(request, options, *this));
  ROOFTILE_TRY(auto part, execution::split_tensors(model, parallelism.tensor));
  std::vector<aggregate::MemoryEstimate> memory;
  ROOFTILE_TRY(const auto apart, execution::split_stages(part, parallelism.pipeline));
  aggregate::MemoryOptions memory_options = options.memory;
  for (const execution::Stage& stage : apart) {
    memory.push_back(aggregate::memory(stage.graph, memory_options));
    memory_options.activations.received = stage.output;
  }
  if (options.fuse) part = execution::fuse(part);
  ROOFTILE_TRY(const auto stages, execution::split_stages(part, parallelism.pipeline));

  std::vector<aggregate::StageEstimate> estimates;
  const bool train = options.lower.mode == execution::Mode::Train;
  for (const execution::Stage& stage : stages) {
    ROOFTILE_TRY(auto operators,
                 estimate(execution::launches(stage.graph, options.lower), machine, predictor));
    estimates.push_back(
        {.step = aggregate::step_time(std::move(operators), predictor.constants().step),
         .reductions = execution::reductions(stage.graph, options.lower),
         .gradients = train ? execution::gradient_buckets(stage.graph)
                            : std::vector<execution::GradientBucket>{},
         .output = stage.output,
         .count = stage.count});
  }
  const auto step = aggregate::parallel_step(std::move(estimates), parallelism, links);

  Request resolved = request;
  resolved.predictor = predictor.name();
  resolved.catalog = catalog().overlays();
  if (model.sequence > 0) resolved.sequence = model.sequence;
  if (model.step == graph::Step::Decode) resolved.context = model.context;
  Report report =
      report::make(resolved, model, machine, step, aggregate::fullest(memory, parallelism));
  if (request.system) {
    for (std::string& warning : hardware::warnings_of(*system, machine.gpu)) {
      report.warnings.push_back(std::move(warning));
    }
  }
  if (!parallelism.single()) {
    report.parallel = report::make_parallel(parallelism, links, system ? system->name : "", step);
  }
  std::vector<Input> inputs = inputs_of(machine);
  inputs.insert(inputs.end(), {model.input, predictor.input()});
  if (system) inputs.push_back(system->input);
  set_provenance(inputs, report);
  return report;
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
  ROOFTILE_TRY(StepKernels step, step_kernels(request, conv, session));
  ROOFTILE_TRY(auto operators, estimate(std::move(step.kernels), machine, predictor));
  return EstimatedKernels{.operators = std::move(operators),
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
