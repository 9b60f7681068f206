// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <variant>

#include "aggregate/step.h"
#include "core/integer.h"
#include "core/provenance.h"
#include "core/text.h"
#include "cost/conv_estimate.h"
#include "cost/learned/calibrated.h"
#include "cost/stream_parts.h"
#include "execution/launches.h"
#include "hardware/machine.h"
#include "hardware/plausible.h"
#include "report/breakdown.h"
#include "study/predict.h"
#include "study/session.h"
#include "study/traffic_notes.h"
#include "traffic/paper.h"
#include "traffic/sampled.h"

namespace rooftile::study {

namespace {

enum class Model : std::uint8_t { Closed, Exact, Paper };

struct TrafficChoices {
  Model model = Model::Closed;
  traffic::CtaOrder order = traffic::CtaOrder::Column;
  std::optional<traffic::CtaTile> tile;
  std::optional<cost::ConvAlgorithm> algorithm;
  bool simulate = false;
};

template <typename T, std::size_t N>
Result<T> choose(std::string_view option, std::string_view text,
                 const std::array<std::pair<std::string_view, T>, N>& known) {
  std::vector<std::string_view> names;
  for (const auto& [name, value] : known) {
    if (name == text) return value;
    names.push_back(name);
  }
  return usage_error(fmt::format("unknown {} \"{}\"", option, printable(text)),
                     did_you_mean(text, names, fmt::format("{} is one of", option)));
}

Result<TrafficChoices> parse(const TrafficRequest& request) {
  constexpr std::array<std::pair<std::string_view, Model>, 4> kModels{{{"closed", Model::Closed},
                                                                       {"default", Model::Closed},
                                                                       {"exact", Model::Exact},
                                                                       {"paper", Model::Paper}}};
  constexpr std::array<std::pair<std::string_view, traffic::CtaOrder>, 3> kOrders{
      {{"column", traffic::CtaOrder::Column},
       {"row", traffic::CtaOrder::Row},
       {"swizzled", traffic::CtaOrder::Swizzled}}};
  TrafficChoices choices;
  ROOFTILE_TRY(choices.model, choose("--traffic-model", request.traffic_model, kModels));
  ROOFTILE_TRY(choices.order, choose("--order", request.order, kOrders));
  if (choices.model != Model::Exact && choices.order != traffic::CtaOrder::Column) {
    return usage_error(fmt::format("--order {} has no meaning with --traffic-model {}",
                                   request.order, request.traffic_model),
                       "these forms assume columns of CTAs; use --traffic-model exact");
  }
  choices.simulate = request.simulate;
  if (request.algorithm != "auto") {
    ROOFTILE_TRY(choices.algorithm, cost::parse_conv_algorithm(request.algorithm));
  }
  if (request.tile == "auto") return choices;
  if (choices.algorithm && *choices.algorithm != cost::ConvAlgorithm::ImplicitGemm) {
    return usage_error(
        fmt::format("--tile is for the implicit GEMM, not for {}", request.algorithm),
        "leave one of --tile and --algorithm out");
  }
  const auto parts = split(request.tile, 'x');
  if (parts.size() == 2) {
    const auto m = parse_int(parts[0]);
    const auto n = parse_int(parts[1]);
    const auto good = [](std::optional<std::int64_t> edge) {
      return edge && *edge >= 32 && *edge <= 256 && *edge % 32 == 0;
    };
    if (good(m) && good(n)) {
      choices.tile = traffic::CtaTile{.m = *m, .n = *n};
      return choices;
    }
  }
  return usage_error(fmt::format("\"{}\" is not a valid tile", printable(request.tile)),
                     "write 128x64: multiples of 32 from 32 to 256, or auto");
}

/// A CTA of the tile must fit into the registers of an SM.
Status check_tile(const TrafficChoices& choices, const hardware::GpuSpec& gpu) {
  if (!choices.tile || !gpu.sm.registers) return {};
  const std::int64_t needed = cost::cta_registers(*choices.tile);
  if (needed <= *gpu.sm.registers) return {};
  return usage_error(
      fmt::format("a CTA of {}x{} needs {} registers, an SM of {} has {}", choices.tile->m,
                  choices.tile->n, needed, gpu.name, *gpu.sm.registers),
      "choose a smaller tile: 64 outputs and 128 registers per thread");
}

/// What all layers of a report share.
struct Study {
  const hardware::Machine& machine;
  const cost::Constants& constants;
  cost::Estimator& estimator;
  bool delta;  ///< the predictor times products by their streams as well
  TrafficChoices choices;
  const Progress& progress;
};

/// "features/conv5, dgrad": a layer of a training step has several kernels.
std::string kernel_place(const report::LayerTraffic& layer) {
  return layer.name + ", " + report::part_of_step(layer);
}

/// "128x64", or "128x64/4" where four CTAs share an output tile along k.
std::string tile_text(const mapping::TilePlan& plan) {
  return plan.split_k > 1 ? fmt::format("{}/{}", plan.label(), plan.split_k) : plan.label();
}

/// Where a convolution's forms ask for another kernel than the predicted one.
bool asks_for_gemm(const TrafficChoices& choices) {
  return choices.tile || choices.model == Model::Paper;
}

/// The convolution by the algorithm, or with the tile, that was asked for: the time of the same
/// model as the predicted one.
Result<cost::Estimate> forced(const aggregate::OperatorEstimate& op, const ops::ConvShape& conv,
                              const cost::TimeMachine& g, const Study& study,
                              const report::LayerTraffic& layer) {
  const TrafficChoices& choices = study.choices;
  const ops::KernelWork& work = op.kernel.work;
  ROOFTILE_TRY(const auto job, cost::bind(work, study.machine));
  const auto candidates = study.estimator.convolutions(job);
  const auto wanted = choices.algorithm.value_or(cost::ConvAlgorithm::ImplicitGemm);
  const auto found = std::find_if(candidates.begin(), candidates.end(),
                                  [&](const auto& c) { return c.algorithm == wanted; });
  if (found == candidates.end()) {
    return unsupported(kernel_place(layer),
                       fmt::format("{} cannot run this layer", name_of(wanted)),
                       "without --algorithm the table lists those that can");
  }
  cost::ConvCandidate candidate = *found;
  if (choices.tile) {
    candidate = cost::implicit_candidate(conv, work.dtype, g,
                                         {static_cast<double>(choices.tile->m),
                                          static_cast<double>(choices.tile->n), found->time.split});
  }
  return cost::conv_estimate(job, study.machine, candidate, study.constants.step);
}

traffic::CacheMachine caches(const cost::TimeMachine& g, const cost::StreamTile& tile,
                             double element, traffic::CtaOrder order) {
  traffic::CacheMachine machine;
  machine.sm_count = static_cast<std::int64_t>(g.sms);
  machine.active_ctas = static_cast<std::int64_t>(cost::active_ctas(g, tile, element));
  machine.l1_bytes = static_cast<std::int64_t>(cost::l1_data_size(g, tile, element).base());
  machine.l2_bytes = static_cast<std::int64_t>(g.l2_size.base());
  machine.order = order;
  return machine;
}

/// A tiled product whose loads can be counted one by one.
struct Countable {
  traffic::ImplicitGemm problem;
  traffic::CacheMachine machine;
  /// Of the second operand's loads the part that reaches L2: the tiles of a cluster, side by side
  /// along m, load their columns once for all of them.
  double multicast = 1;
};

double multicast_of(const ops::GemmShape& gemm, const mapping::TilePlan& plan) {
  const auto rows = static_cast<double>(ceil_div(gemm.m, plan.tile_m));
  return std::ceil(rows / static_cast<double>(plan.cluster)) / rows;
}

std::optional<Countable> countable(const ops::KernelWork& work, const cost::Estimate& estimate,
                                   const cost::TimeMachine& g, traffic::CtaOrder order) {
  const cost::StreamTile tile = cost::tile_of(
      g, {static_cast<double>(estimate.plan.tile_m), static_cast<double>(estimate.plan.tile_n)},
      cost::element_of(work.dtype));
  const traffic::CutOptions cut{
      .tile = cost::cta_tile(tile), .split_k = estimate.plan.split_k, .access = g.access};
  const auto machine = caches(g, tile, cost::element_of(work.dtype), order);
  if (const auto* conv = std::get_if<ops::ConvShape>(&work.shape)) {
    if (estimate.algorithm != name_of(cost::ConvAlgorithm::ImplicitGemm)) return std::nullopt;
    return Countable{traffic::make_conv_problem(*conv, work.dtype, cut), machine, 1};
  }
  if (const auto* gemm = std::get_if<ops::GemmShape>(&work.shape)) {
    return Countable{traffic::make_gemm_problem(*gemm, work.dtype, cut), machine,
                     multicast_of(*gemm, estimate.plan)};
  }
  return std::nullopt;
}

/// Bytes loaded of both operands, and by the reduction of a split-K kernel.
report::LevelBytes levels(const traffic::OperandTraffic& a, const traffic::OperandTraffic& b,
                          double partial, double multicast) {
  return {.l1 = a.l1 + b.l1 + partial,
          .l2 = a.l2 + std::max(b.l2 * multicast, b.dram) + partial,
          .dram = a.dram + b.dram + partial};
}

report::LevelBytes read_of(const traffic::Traffic& t) {
  return {.l1 = (t.l1 - t.dram_written).base(),
          .l2 = (t.l2 - t.dram_written).base(),
          .dram = t.dram_read.base()};
}

/// Shows other bytes than the closed forms', and what they would make of the time.
void replace_bytes(const report::LevelBytes& read, double written, std::string_view fidelity,
                   const cost::Estimate& estimate, report::LayerTraffic& layer) {
  layer.read = read;
  layer.dram_written = written;
  layer.fidelity = fidelity;
  // Outside of their range the paper's forms may be negative, which no time follows from.
  const auto bytes = [written](double loaded) {
    return Bytes::from_base(std::max(0.0, loaded) + written);
  };
  traffic::Traffic counted = estimate.traffic;
  counted.l1 = bytes(read.l1), counted.l2 = bytes(read.l2);
  counted.dram_read = Bytes::from_base(std::max(0.0, read.dram));
  counted.dram_written = Bytes::from_base(written);
  const cost::Breakdown breakdown =
      cost::with_traffic(estimate.breakdown, estimate.traffic, counted);
  layer.latency_exact_ms = to_ms(max(breakdown.time(), estimate.bound));
}

Status show_paper(const ops::KernelWork& work, const ops::ConvShape& conv,
                  const cost::Estimate& estimate, report::LayerTraffic& layer) {
  if (conv.pass != ops::ConvPass::Forward || conv.groups != 1 || work.dtype != DType::Fp32) {
    return unsupported(kernel_place(layer),
                       "the paper's forms are for FP32 forward layers without groups",
                       "use --traffic-model exact or closed");
  }
  if (conv.dilation_h != 1 || conv.dilation_w != 1) {
    return unsupported(kernel_place(layer), "the paper's forms do not cover dilation",
                       "use --traffic-model exact or closed");
  }
  const traffic::PaperTraffic t = traffic::paper_traffic(
      conv, {.m = estimate.plan.tile_m, .n = estimate.plan.tile_n, .k = estimate.plan.tile_k});
  replace_bytes({.l1 = t.l1, .l2 = t.l2, .dram = t.dram_read}, t.dram_written, "paper", estimate,
                layer);
  return {};
}

/// Counts them with the simulator where asked.
Status simulate_reads(const Countable& count, const Study& study, report::LayerTraffic& layer) {
  const traffic::ImplicitGemm& problem = count.problem;
  constexpr double kMostAccesses = 5e10;  // about an hour
  if (traffic::estimated_accesses(problem) > kMostAccesses) {
    return unsupported(kernel_place(layer), "is too large to simulate",
                       "simulate a smaller batch, or leave out --simulate");
  }
  ROOFTILE_TRY(const auto t, traffic::simulate(problem, count.machine, study.progress));
  const double output = static_cast<double>(problem.output_elements * problem.element_bytes);
  // The simulator replays the operands' loads; the reduction's are known.
  layer.simulated =
      levels(t.a, t.b, traffic::partial_sums(output, static_cast<double>(problem.split_k)),
             count.multicast);
  return {};
}

/// Every algorithm that applies, with the closed forms' bytes.
std::vector<report::AlgorithmTraffic> algorithms_of(const cost::Job& job, const Study& study) {
  std::vector<report::AlgorithmTraffic> out;
  for (const auto& candidate : study.estimator.convolutions(job)) {
    const cost::Estimate estimate =
        cost::conv_estimate(job, study.machine, candidate, study.constants.step);
    const bool tiled = candidate.algorithm != cost::ConvAlgorithm::Direct;
    out.push_back({.name = std::string(name_of(candidate.algorithm)),
                   .tile = tiled ? tile_text(estimate.plan) : std::string(),
                   .flops = candidate.flops,
                   .read = read_of(estimate.traffic),
                   .dram_written = estimate.traffic.dram_written.base(),
                   .latency_ms = to_ms(estimate.time),
                   .limiter = std::string(name_of(estimate.limiter()))});
  }
  return out;
}

/// Of a convolution; empty for other kernels.
std::string pass_of(const ops::KernelWork& work) {
  const auto* conv = std::get_if<ops::ConvShape>(&work.shape);
  if (conv == nullptr) return {};
  constexpr std::array<std::string_view, 3> kPasses{"forward", "dgrad", "wgrad"};
  return std::string(kPasses[static_cast<std::size_t>(conv->pass)]);
}

/// The row of a kernel as it was predicted; `op` takes on what the options force upon it.
Result<report::LayerTraffic> make_layer(aggregate::OperatorEstimate& op, const Study& study) {
  const ops::KernelWork& work = op.kernel.work;
  ROOFTILE_TRY(const auto job, cost::bind(work, study.machine));
  const cost::TimeMachine g = cost::make_time_machine(study.machine, job.roof.compute, work.compute,
                                                      work.matrix, study.constants);
  report::LayerTraffic layer;
  layer.name = op.kernel.name;
  layer.op = work.op;
  layer.phase = execution::name_of(op.kernel.phase);
  layer.pass = pass_of(work);
  layer.count = op.kernel.count;
  layer.shape = ops::shape_text(work.shape);
  layer.dtype = name_of(work.dtype);
  layer.compulsory_read = work.read.base();
  layer.fidelity = "closed";
  const auto* conv = std::get_if<ops::ConvShape>(&work.shape);
  if (conv != nullptr) {
    layer.algorithms = algorithms_of(job, study);
    if (study.choices.algorithm || asks_for_gemm(study.choices)) {
      ROOFTILE_TRY(op.estimate, forced(op, *conv, g, study, layer));
    }
  }
  const cost::Estimate& estimate = op.estimate;
  layer.read = read_of(estimate.traffic);
  layer.dram_written = estimate.traffic.dram_written.base();
  layer.latency_ms = to_ms(estimate.time);
  layer.limiter = name_of(estimate.limiter());
  layer.breakdown = report::make_breakdown(work, estimate, study.machine, 1);
  layer.flops = work.flops.base();
  layer.rate = report::rate_name(work, study.machine);
  layer.tile = tile_text(estimate.plan);
  layer.ctas = estimate.plan.tiles;
  layer.waves = estimate.plan.waves();
  layer.algorithm = estimate.algorithm;
  if (conv != nullptr && study.choices.model == Model::Paper) {
    ROOFTILE_CHECK(show_paper(work, *conv, estimate, layer));
  }
  if (study.choices.model != Model::Exact && !study.choices.simulate) return layer;
  const auto count = countable(work, estimate, g, study.choices.order);
  if (!count) return layer;
  if (study.choices.model == Model::Exact) {
    const traffic::ReadTraffic t = traffic::sampled_traffic(count->problem, count->machine);
    replace_bytes(levels(t.a, t.b, t.partial_sums, count->multicast), t.dram_written, "exact",
                  estimate, layer);
  }
  if (study.choices.simulate) ROOFTILE_CHECK(simulate_reads(*count, study, layer));
  return layer;
}

report::TrafficReport start_report(const TrafficRequest& request,
                                   const hardware::Machine& machine) {
  report::TrafficReport report;
  report.gpu_name = machine.gpu.name;
  report.warnings = hardware::warnings_of(machine);
  report.model_name = request.conv ? "" : request.step.model;
  report.traffic_model = request.traffic_model == "default" ? "closed" : request.traffic_model;
  const auto ceiling = [&machine](hardware::MemoryLevel level) -> std::optional<double> {
    const auto bandwidth = machine.bandwidth(level);
    return bandwidth ? std::optional(bandwidth->value.base()) : std::nullopt;
  };
  report.l1_ceiling = ceiling(hardware::MemoryLevel::L1);
  report.l2_ceiling = ceiling(hardware::MemoryLevel::L2);
  report.dram_ceiling = ceiling(hardware::MemoryLevel::Dram).value_or(0.0);
  return report;
}

/// Counted bytes take at least as long as the levels need for them: a term that another one hid in
/// the estimate is not in proportion.
void bind_to_ceilings(const report::TrafficReport& report, report::LayerTraffic& layer) {
  if (!layer.latency_exact_ms) return;
  const auto bind = [&layer](double bytes, std::optional<double> ceiling) {
    if (ceiling && *ceiling > 0)
      layer.latency_exact_ms = std::max(*layer.latency_exact_ms, bytes / *ceiling * 1e3);
  };
  bind(layer.read.l1, report.l1_ceiling);
  bind(layer.read.l2, report.l2_ceiling);
  bind(layer.read.dram + layer.dram_written, report.dram_ceiling);
}

void add_notes(std::span<const aggregate::OperatorEstimate> operators, const Study& study,
               report::TrafficReport& report) {
  const TrafficChoices& choices = study.choices;
  std::vector<execution::Launch> kernels;
  for (const auto& op : operators) kernels.push_back(op.kernel);
  if (choices.model == Model::Paper) {
    for (const report::LayerTraffic& layer : report.layers) {
      if (auto note = paper_note(layer)) report.warnings.push_back(std::move(*note));
    }
  }
  const FlagsUsed flags{.tile = choices.tile.has_value(),
                        .algorithm = choices.algorithm.has_value(),
                        .order = choices.order != traffic::CtaOrder::Column,
                        .paper = choices.model == Model::Paper,
                        .exact = choices.model == Model::Exact,
                        .simulate = choices.simulate};
  for (std::string& note : flag_notes(kernels, report.layers, flags)) {
    report.warnings.push_back(std::move(note));
  }
  const hardware::GpuSpec& gpu = study.machine.gpu;
  if (auto note = hardware::device_note(gpu)) report.warnings.push_back(std::move(*note));
  std::vector<execution::Launch> streamed;
  for (const execution::Launch& kernel : kernels) {
    if (study.delta || std::holds_alternative<ops::ConvShape>(kernel.work.shape))
      streamed.push_back(kernel);
  }
  for (std::string& note : delta_notes(streamed, study.machine, study.constants.convolution)) {
    report.warnings.push_back(std::move(note));
  }
  for (const auto& [level, known] : {std::pair{"L2", report.l2_ceiling.has_value()},
                                     std::pair{"L1", report.l1_ceiling.has_value()}}) {
    if (known) continue;
    report.warnings.push_back(fmt::format(
        "{0}: no {1} bandwidth is known, so {1} is never the limiter", gpu.name, level));
  }
}

}  // namespace

Result<TrafficReport> Session::traffic(const TrafficRequest& request,
                                       const Progress& progress) const {
  ROOFTILE_TRY(const TrafficChoices choices, parse(request));
  ROOFTILE_TRY(const auto loaded, this->machine(request.step.gpu, request.step.machine));
  const hardware::Machine& machine = *loaded;
  ROOFTILE_CHECK(cost::check_time_fields(machine.gpu));
  ROOFTILE_CHECK(check_tile(choices, machine.gpu));
  ROOFTILE_TRY(const auto predictor, this->predictor(request.step.predictor));
  ROOFTILE_TRY(auto estimated,
               estimate_kernels(request.step, request.conv, machine, *this, *predictor));
  std::vector<aggregate::OperatorEstimate>& operators = estimated.operators;

  report::TrafficReport report = start_report(request, machine);
  report.warnings.insert(report.warnings.end(), estimated.notes.begin(), estimated.notes.end());
  cost::Estimator estimator = predictor->on(machine);
  const Study study{.machine = machine,
                    .constants = predictor->constants(),
                    .estimator = estimator,
                    .delta = predictor->name() == "delta",
                    .choices = choices,
                    .progress = progress};
  for (std::size_t i = 0; i < operators.size(); ++i) {
    // Networks repeat their layers: the same kernel is counted once.
    const execution::Launch& kernel = operators[i].kernel;
    const auto same =
        std::find_if(operators.begin(), operators.begin() + static_cast<std::ptrdiff_t>(i),
                     [&kernel](const auto& earlier) { return earlier.kernel.work == kernel.work; });
    const auto index = static_cast<std::size_t>(same - operators.begin());
    if (index < i) {
      operators[i].estimate = operators[index].estimate;
      report.layers.push_back(report.layers[index]);
      report.layers.back().name = kernel.name;
      report.layers.back().phase = execution::name_of(kernel.phase);
      report.layers.back().count = kernel.count;
      continue;
    }
    // The simulator tells its own progress, within a layer.
    const double done = static_cast<double>(i) / static_cast<double>(operators.size());
    if (progress && !choices.simulate && !progress({.fraction = done, .note = kernel.name})) {
      return bad_input({}, "the count was stopped", {});
    }
    ROOFTILE_TRY(report::LayerTraffic layer, make_layer(operators[i], study));
    bind_to_ceilings(report, layer);
    report::add_rates(kernel.work, machine, report.rates);
    report.layers.push_back(std::move(layer));
  }
  add_notes(operators, study, report);
  std::vector<Input> inputs = inputs_of(machine);
  add_inputs(hardware::lint_inputs(machine.gpu, catalog()), inputs);
  add_inputs(estimated.model, inputs);
  for (std::string& warning : cost::learned::calibration_warnings(machine, *predictor))
    report.warnings.push_back(std::move(warning));
  add_inputs(predictor->inputs(), inputs);
  set_provenance(inputs, report);
  const aggregate::StepEstimate step =
      aggregate::step_time(std::move(operators), estimated.costs.step);
  report.total_ms = to_ms(step.total);
  report.host_ms = to_ms(step.parts.host);
  return report;
}

}  // namespace rooftile::study
