// SPDX-License-Identifier: Apache-2.0
#include "report/make.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "core/number_of.h"
#include "core/text.h"
#include "hardware/plausible.h"
#include "report/breakdown.h"

namespace rooftile::report {

namespace {

MemoryReport make_memory(const aggregate::MemoryEstimate& memory, const hardware::GpuSpec& gpu) {
  MemoryReport report{.weights_bytes = memory.weights.base(),
                      .gradients_bytes = memory.gradients.base(),
                      .optimizer_bytes = memory.optimizer.base(),
                      .activations_bytes = memory.activations.base(),
                      .kv_cache_bytes = memory.kv_cache.base(),
                      .total_bytes = memory.total().base(),
                      .capacity_bytes = {},
                      .fits = {}};
  if (gpu.dram.size) {
    report.capacity_bytes = gpu.dram.size->base();
    report.fits = memory.total() <= *gpu.dram.size;
  }
  return report;
}

std::vector<std::string> make_warnings(const Report& report, const aggregate::StepEstimate& step,
                                       const hardware::Machine& machine) {
  std::vector<std::string> warnings = hardware::warnings_of(machine);
  if (auto note = hardware::device_note(machine.gpu)) warnings.push_back(std::move(*note));
  if (report.memory.fits && !*report.memory.fits) {
    warnings.push_back(
        fmt::format("needs {} of memory, but the GPU has {}: the step cannot run as one piece",
                    format_bytes(Bytes::from_base(report.memory.total_bytes)),
                    format_bytes(Bytes::from_base(*report.memory.capacity_bytes))));
  }
  // The two measured steps above this share (MI210: 87 and 98 %) had forward passes 2.8 and 1.8
  // times as long as predicted, their backward passes were as predicted (docs/theory/predictor.md).
  constexpr double kTight = 0.85;
  if (report.memory.fits.value_or(false) && report.request.phase == "train" &&
      report.memory.total_bytes > kTight * *report.memory.capacity_bytes) {
    warnings.push_back(fmt::format(
        "fills {:.0f} % of the memory: the allocator may have to free and retry, which makes the "
        "forward pass slower than predicted",
        report.memory.total_bytes / *report.memory.capacity_bytes * 100));
  }
  Seconds extrapolated;
  for (const auto& op : step.operators) {
    if (op.estimate.extrapolated) {
      extrapolated += op.estimate.time * static_cast<double>(op.kernel.count);
    }
  }
  extrapolated = extrapolated / static_cast<double>(step.stages);
  if (extrapolated > step.total * 0.1) {
    warnings.push_back(fmt::format(
        "{:.0f} % of the time is in kernels outside the range the predictor was fitted on",
        extrapolated / step.total * 100));
  }
  return warnings;
}

}  // namespace

OperatorReport make_operator(const aggregate::OperatorEstimate& op,
                             const hardware::Machine& machine) {
  const auto launches = static_cast<double>(op.kernel.count);
  const cost::Estimate& estimate = op.estimate;
  const ops::KernelWork& work = op.kernel.work;
  return {.name = op.kernel.name,
          .op = work.op,
          .phase = std::string(execution::name_of(op.kernel.phase)),
          .count = op.kernel.count,
          .shape = ops::shape_text(work.shape),
          // TF32 products read FP32: the arithmetic tells them apart.
          .dtype = std::string(name_of(work.matrix ? work.compute : work.dtype)),
          .latency_ms = to_ms(estimate.time * launches),
          .low_ms = to_ms(estimate.low * launches),
          .high_ms = to_ms(estimate.high * launches),
          .bound_ms = to_ms(estimate.bound * launches),
          .limiter = std::string(name_of(estimate.limiter())),
          .breakdown = make_breakdown(work, estimate, machine, launches),
          .traffic = {.l1 = (estimate.traffic.l1 * launches).base(),
                      .l2 = (estimate.traffic.l2 * launches).base(),
                      .dram = (estimate.traffic.dram() * launches).base()},
          .flops = (work.flops * launches).base(),
          .rate = rate_name(work, machine),
          .algorithm = std::string(estimate.algorithm),
          .tile = estimate.plan.label(),
          .waves = estimate.plan.waves(),
          .wave_factor = estimate.plan.wave_factor(),
          .provenance = std::string(name_of(estimate.provenance)),
          .extrapolated = estimate.extrapolated};
}

namespace {

/// Of all stages of a replica -> of a mean one.
OperatorReport of_mean_stage(OperatorReport report, std::int64_t stages) {
  const auto depth = static_cast<double>(stages);
  for (double* number :
       {&report.latency_ms, &report.low_ms, &report.high_ms, &report.hidden_ms, &report.bound_ms,
        &report.traffic.l1, &report.traffic.l2, &report.traffic.dram, &report.flops}) {
    *number /= depth;
  }
  for (auto& [resource, ms] : report.breakdown.terms_ms) ms /= depth;
  return report;
}

/// How often the block of "block/node" repeats; 1 for what is not a node, such as the optimizer's update.
std::int64_t layers_of(const std::string& name, const graph::Graph& graph) {
  const std::string_view block = std::string_view(name).substr(0, name.find('/'));
  for (const graph::Block& one : graph.blocks) {
    if (one.name == block) return one.repeat;
  }
  return 1;
}

std::vector<PartReport> make_parts(const aggregate::StepEstimate& step) {
  const aggregate::StepParts& parts = step.parts;
  std::vector<PartReport> list;
  const auto add = [&](std::string_view name, Seconds time) {
    list.push_back(
        {.name = std::string(name), .latency_ms = to_ms(time), .share = time / step.total});
  };
  add("kernels", parts.kernels);
  add("communication", parts.communication);
  add("hidden communication", Seconds{} - parts.hidden);
  add("host", parts.host);
  add("idle", parts.idle);
  return list;
}

OperatorReport make_transfer(const aggregate::TransferEstimate& transfer) {
  const auto times = static_cast<double>(transfer.count);
  OperatorReport report;
  report.name = transfer.name;
  report.op = transfer.op;
  report.phase = execution::name_of(transfer.phase);
  report.count = transfer.count;
  report.shape = fmt::format("{} on {} GPUs", format_bytes(transfer.bytes), transfer.gpus);
  report.latency_ms = to_ms(transfer.each.time * times);
  report.low_ms = to_ms(transfer.each.low * times);
  report.high_ms = to_ms(transfer.each.high * times);
  report.hidden_ms = report.latency_ms * transfer.hidden_fraction;
  report.bound_ms = to_ms(transfer.each.bound * times);
  report.limiter = "link";
  report.breakdown.terms_ms = {{"link", report.latency_ms}};
  report.provenance = name_of(cost::Provenance::Analytical);
  return report;
}

std::string rate_text(const std::string& name, BytesPerSecond rate) {
  return fmt::format("{}, {:g} GB/s per direction", name, rate.base() / 1e9);
}

std::string link_text(const hardware::GroupLink& link) {
  const std::string inside = rate_text(link.name, link.per_direction);
  if (!link.network) return inside;
  const std::string outside = rate_text(link.network->name, link.network->per_direction);
  if (link.in_node == 1) return outside;
  return fmt::format("{}; between nodes {} for the {} GPUs of a node", inside, outside,
                     link.in_node);
}

std::string link_text(const std::optional<hardware::GroupLink>& link) {
  return link ? link_text(*link) : std::string();
}

/// Every kind of link between stages once.
std::string link_text(const std::vector<hardware::GroupLink>& borders) {
  std::vector<std::string> kinds;
  for (const hardware::GroupLink& link : borders) {
    std::string text = link_text(link);
    if (std::find(kinds.begin(), kinds.end(), text) == kinds.end())
      kinds.push_back(std::move(text));
  }
  return fmt::format("{}", fmt::join(kinds, "; "));
}

}  // namespace

ParallelReport make_parallel(const aggregate::Parallelism& parallelism,
                             const aggregate::Interconnect& links, const std::string& system,
                             const aggregate::StepEstimate& step) {
  return {.gpus = parallelism.gpus(),
          .dp = parallelism.data,
          .tp = parallelism.tensor,
          .pp = parallelism.pipeline,
          .ep = parallelism.experts,
          .microbatches = parallelism.microbatches,
          .system = system,
          .data_link = link_text(links.data),
          .tensor_link = link_text(links.tensor),
          .pipeline_link = link_text(links.pipeline),
          .idle_fraction = step.parts.idle / step.total};
}

namespace {

/// The part of the weights in memory that a step reads: not the experts that no token is sent to,
/// nor layers that do not run (a vision encoder without an image).
double weights_read(const graph::Graph& graph) {
  Bytes all, read;
  for (const graph::Block& block : graph.blocks) {
    for (const graph::Node& node : block.nodes) {
      const Bytes bytes =
          graph::parameter_bytes(graph, node) * static_cast<double>(node.count * block.repeat);
      all += bytes;
      const auto* experts = std::get_if<ops::ExpertLinear>(&node.op);
      read += experts == nullptr ? bytes
                                 : bytes * (static_cast<double>(experts->touched()) /
                                            static_cast<double>(experts->experts));
    }
  }
  all += ops::bytes_of(graph.idle_parameters, graph.dtype);
  return all > Bytes{} ? read / all : 1.0;
}

}  // namespace

ThroughputReport make_throughput(const Report& report, const graph::Graph& graph,
                                 const hardware::Machine& machine, std::int64_t gpus) {
  ThroughputReport rates;
  const double seconds = report.latency.total_ms * 1e-3;
  const auto all = static_cast<double>(gpus);
  const auto sequences = static_cast<double>(report.request.batch);
  const bool images = graph.sequence == 0 || graph.family == "vit";
  if (images) {
    rates.images_per_s = sequences / seconds;
  } else {
    const bool decode = graph.step == graph::Step::Decode;
    rates.tokens_per_s = sequences * (decode ? 1.0 : static_cast<double>(graph.sequence)) / seconds;
    rates.tokens_per_s_per_gpu = *rates.tokens_per_s / all;
    if (machine.gpu.power_watt)
      rates.energy_per_token_j = *machine.gpu.power_watt * all / *rates.tokens_per_s;
  }
  const hardware::GpuSpec& gpu = machine.gpu;
  for (const hardware::Pipe pipe : {hardware::Pipe::Tensor, hardware::Pipe::Vector}) {
    const auto peak = gpu.peak.find({graph.dtype, pipe});
    if (peak == gpu.peak.end() || rates.mfu) continue;
    rates.mfu = report.flops / (seconds * peak->second.base() * all);
  }
  if (graph.step != graph::Step::Train && gpu.dram.bandwidth) {
    const double weights = report.memory.weights_bytes * weights_read(graph);
    rates.mbu = (weights + report.memory.kv_cache_bytes) / (seconds * gpu.dram.bandwidth->base());
  }
  return rates;
}

namespace {

/// Where the ceilings are from, and what the times are calibrated by.
std::string roofs_text(const hardware::Machine& machine) {
  if (!machine.ceilings) return "data sheet";
  const hardware::Ceilings& file = *machine.ceilings;
  const bool measured = !file.bandwidth.empty() || !file.rate.empty();
  const std::string roofs = measured ? fmt::format("measured, {}", file.file) : "data sheet";
  if (!file.calibration) return roofs;
  std::vector<std::string> by;
  if (!file.calibration->rows.empty())
    by.push_back(number_of(file.calibration->rows.size(), "kernel"));
  if (file.calibration->steps) by.push_back(number_of(file.calibration->steps->rows, "step"));
  if (file.calibration->links) by.push_back(number_of(file.calibration->links->rows, "collective"));
  return fmt::format("{}, calibrated by {} ({})", roofs, fmt::join(by, ", "), file.file);
}

}  // namespace

Report make(const Request& resolved, const graph::Graph& graph, const hardware::Machine& machine,
            const aggregate::StepEstimate& step, const aggregate::MemoryEstimate& memory) {
  Report report;
  report.request = resolved;
  report.model_name = graph.name;
  report.gpu_name = machine.gpu.name;
  report.predictor = resolved.predictor;
  report.roofs = roofs_text(machine);
  report.parameters = graph.parameters + graph.idle_parameters;
  // Accumulating gradients is part of the backward pass, as in the measured steps.
  report.latency = {.total_ms = to_ms(step.total),
                    .low_ms = to_ms(step.low),
                    .high_ms = to_ms(step.high),
                    .forward_ms = to_ms(step.of(execution::Phase::Forward)),
                    .backward_ms = to_ms(step.of(execution::Phase::Backward) +
                                         step.of(execution::Phase::Accumulate)),
                    .optimizer_ms = to_ms(step.of(execution::Phase::Optimizer)),
                    .communication_ms = to_ms(step.parts.communication),
                    .exposed_communication_ms = to_ms(step.parts.exposed())};
  report.bound_total_ms = to_ms(step.bound);
  report.flops = step.flops.base();
  for (const cost::Resource limiter : hardware::kAllResources) {
    if (step.of(limiter) > Seconds{})
      report.limiter_share.emplace(name_of(limiter), step.of(limiter) / step.total);
  }
  for (const auto& [name, time] :
       {std::pair("link", step.parts.exposed()), std::pair("host", step.parts.host),
        std::pair("idle", step.parts.idle)}) {
    if (time > Seconds{}) report.limiter_share.emplace(name, time / step.total);
  }
  report.parts = make_parts(step);
  report.memory = make_memory(memory, machine.gpu);
  for (const auto& op : step.operators) {
    report.operators.push_back(of_mean_stage(make_operator(op, machine), step.stages));
    report.operators.back().layers = layers_of(op.kernel.name, graph);
    add_rates(op.kernel.work, machine, report.rates);
  }
  for (const auto& transfer : step.transfers) {
    report.operators.push_back(of_mean_stage(make_transfer(transfer), step.stages));
  }
  report.warnings = make_warnings(report, step, machine);
  report.warnings.insert(report.warnings.end(), graph.notes.begin(), graph.notes.end());
  return report;
}

}  // namespace rooftile::report
