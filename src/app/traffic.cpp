// SPDX-License-Identifier: Apache-2.0
#include "app/traffic.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <variant>

#include "app/options.h"
#include "app/traffic_notes.h"
#include "core/integer.h"
#include "core/text.h"
#include "graph/lower.h"
#include "hardware/machine.h"
#include "hardware/plausible.h"
#include "latency/analytical.h"
#include "latency/gemm_time.h"
#include "traffic/paper.h"
#include "traffic/sampled.h"

namespace rooftile::app {

namespace {

enum class Model : std::uint8_t { Exact, Closed, Paper };

struct Choices {
  Model model = Model::Exact;
  traffic::CtaOrder order = traffic::CtaOrder::Column;
  std::optional<traffic::CtaTile> tile;
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

Result<Choices> parse(const TrafficRequest& request) {
  constexpr std::array<std::pair<std::string_view, Model>, 4> kModels{{{"exact", Model::Exact},
                                                                       {"default", Model::Exact},
                                                                       {"closed", Model::Closed},
                                                                       {"paper", Model::Paper}}};
  constexpr std::array<std::pair<std::string_view, traffic::CtaOrder>, 3> kOrders{
      {{"column", traffic::CtaOrder::Column},
       {"row", traffic::CtaOrder::Row},
       {"swizzled", traffic::CtaOrder::Swizzled}}};
  Choices choices;
  ROOFTILE_TRY(choices.model, choose("--traffic-model", request.traffic_model, kModels));
  ROOFTILE_TRY(choices.order, choose("--order", request.order, kOrders));
  if (choices.model != Model::Exact && choices.order != traffic::CtaOrder::Column) {
    return usage_error(fmt::format("--order {} has no meaning with --traffic-model {}",
                                   request.order, request.traffic_model),
                       "these forms assume columns of CTAs; use --traffic-model exact");
  }
  choices.simulate = request.simulate;
  if (request.tile == "auto") return choices;
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
  return usage_error(fmt::format("\"{}\" is no tile", printable(request.tile)),
                     "write 128x64: multiples of 32 from 32 to 256, or auto");
}

/// A CTA of the tile must fit into the registers of an SM.
Status check_tile(const Choices& choices, const hardware::GpuSpec& gpu) {
  if (!choices.tile || !gpu.sm.registers) return {};
  const std::int64_t needed = latency::cta_registers(*choices.tile);
  if (needed <= *gpu.sm.registers) return {};
  return usage_error(
      fmt::format("a CTA of {}x{} needs {} registers, an SM of {} has {}", choices.tile->m,
                  choices.tile->n, needed, gpu.name, *gpu.sm.registers),
      "take a smaller tile: 64 outputs and 128 registers per thread");
}

/// What all layers of a report share.
struct Study {
  const hardware::Machine& machine;
  Choices choices;
  const Progress& progress;
};

traffic::CacheMachine caches(const latency::TimeMachine& g, const latency::StreamTile& tile,
                             double element, traffic::CtaOrder order) {
  traffic::CacheMachine machine;
  machine.sm_count = static_cast<std::int64_t>(g.sms);
  machine.active_ctas = static_cast<std::int64_t>(latency::active_ctas(g, tile, element));
  machine.l1_bytes = static_cast<std::int64_t>(latency::l1_data_size(g, tile, element).base());
  machine.l2_bytes = static_cast<std::int64_t>(g.l2_size.base());
  machine.order = order;
  return machine;
}

traffic::CutOptions cut_of(const latency::StreamTime& time, const latency::TimeMachine& g) {
  return {.tile = latency::cta_tile(time.tile),
          .split_k = static_cast<std::int64_t>(time.split),
          .access = g.access};
}

/// The implicit GEMM with the tile that pads least, one step narrower while half of the SMs would
/// be idle, or with the tile that the caller chose. A filter gradient takes the fastest cut.
latency::ConvCandidate implicit_kernel(const ops::ConvShape& conv, DType dtype,
                                       const latency::TimeMachine& g,
                                       const std::optional<traffic::CtaTile>& wanted) {
  latency::ImplicitCut cut;
  if (conv.pass == ops::ConvPass::FilterGradient) {
    const auto fastest = latency::conv_candidates(conv, dtype, g, {.implicit_gemm_only = true});
    if (!wanted) return fastest.front();
    cut.split = fastest.front().time.split;
  }
  const ops::GemmShape gemm = traffic::gemm_of(conv);
  traffic::CtaTile tile = wanted.value_or(traffic::delta_tile(gemm.n));
  const auto ctas = [&] {
    return static_cast<double>(gemm.batch * ceil_div(gemm.m, tile.m) * ceil_div(gemm.n, tile.n));
  };
  const auto narrowest = static_cast<std::int64_t>(latency::narrowest_tile(conv));
  if (!wanted) tile.n = std::max(tile.n, narrowest);
  while (!wanted && tile.n > narrowest && ctas() < g.sms / 2) tile.n /= 2;
  cut.tile_m = static_cast<double>(tile.m);
  cut.tile_n = static_cast<double>(tile.n);
  return latency::implicit_candidate(conv, dtype, g, cut);
}

/// "128x64", or "128x64/4" where four CTAs share an output tile along k.
std::string tile_text(const latency::StreamTime& time) {
  return time.split > 1 ? fmt::format("{:.0f}x{:.0f}/{:.0f}", time.tile.m, time.tile.n, time.split)
                        : fmt::format("{:.0f}x{:.0f}", time.tile.m, time.tile.n);
}

void set_time(report::LayerTraffic& layer, const latency::StreamTime& time, Seconds launch) {
  const double seconds = time.total();
  layer.latency_ms = (seconds + launch.base()) * 1e3;
  layer.bottleneck =
      name_of(launch.base() > seconds ? latency::Bottleneck::Launch : time.bottleneck);
  layer.tile = tile_text(time);
  layer.ctas = static_cast<std::int64_t>(time.ctas);
  layer.waves = time.ctas / time.concurrent;
}

/// Bytes loaded of both operands, and by the reduction of a split-K kernel.
report::LevelBytes levels(const traffic::OperandTraffic& a, const traffic::OperandTraffic& b,
                          double partial) {
  return {
      .l1 = a.l1 + b.l1 + partial, .l2 = a.l2 + b.l2 + partial, .dram = a.dram + b.dram + partial};
}

/// "features/conv5, dgrad": a layer of a training step has several kernels.
std::string kernel_place(const report::LayerTraffic& layer) {
  return layer.name + ", " + layer.phase;
}

/// Counts the problem's reads with the sampled model; returns them without partial sums.
traffic::ReadBytes count_reads(const traffic::ImplicitGemm& problem,
                               const traffic::CacheMachine& machine, report::LayerTraffic& layer) {
  const traffic::ReadTraffic t = traffic::sampled_traffic(problem, machine);
  layer.read = levels(t.a, t.b, t.partial_sums);
  layer.compulsory_read = t.compulsory_a + t.compulsory_b;
  layer.dram_written = t.dram_written;
  return {.l1 = t.a.l1 + t.b.l1, .l2 = t.a.l2 + t.b.l2, .dram = t.a.dram + t.b.dram};
}

/// Counts them with the simulator where asked.
Status simulate_reads(const traffic::ImplicitGemm& problem, const traffic::CacheMachine& machine,
                      const Study& study, report::LayerTraffic& layer) {
  if (!study.choices.simulate) return {};
  constexpr double kMostAccesses = 5e10;  // about an hour
  if (traffic::estimated_accesses(problem) > kMostAccesses) {
    return unsupported(kernel_place(layer), "is too large to simulate",
                       "simulate a smaller batch, or leave out --simulate");
  }
  ROOFTILE_TRY(const auto t, traffic::simulate(problem, machine, study.progress));
  const double output = static_cast<double>(problem.output_elements * problem.element_bytes);
  // The simulator replays the operands' loads; the reduction's are known.
  layer.simulated =
      levels(t.a, t.b, traffic::partial_sums(output, static_cast<double>(problem.split_k)));
  return {};
}

/// Every algorithm that applies, with the closed forms' bytes.
std::vector<report::AlgorithmTraffic> algorithms_of(
    std::span<const latency::ConvCandidate> candidates, Seconds launch) {
  std::vector<report::AlgorithmTraffic> out;
  for (const latency::ConvCandidate& c : candidates) {
    const bool tiled = c.algorithm != latency::ConvAlgorithm::Direct;
    out.push_back({.name = std::string(name_of(c.algorithm)),
                   .tile = tiled ? tile_text(c.time) : std::string(),
                   .flops = c.flops,
                   .read = {.l1 = c.read.l1, .l2 = c.read.l2, .dram = c.read.dram},
                   .dram_written = c.written,
                   .latency_ms = (c.seconds() + launch.base()) * 1e3,
                   .bottleneck = std::string(name_of(c.time.bottleneck))});
  }
  return out;
}

/// Libraries have no GEMM for depthwise layers. The forms count the bytes of their direct kernel;
/// a tile and the paper's forms speak of GEMMs.
bool runs_depthwise(const latency::ConvCandidate& fastest, const Choices& choices) {
  return fastest.algorithm == latency::ConvAlgorithm::Depthwise && !choices.tile &&
         choices.model != Model::Paper;
}

Status fill_conv(const ops::KernelWork& work, const ops::ConvShape& conv,
                 const latency::TimeMachine& g, const Study& study, report::LayerTraffic& layer) {
  const auto candidates = latency::conv_candidates(conv, work.dtype, g, {});
  const bool depthwise = runs_depthwise(candidates.front(), study.choices);
  const latency::ConvCandidate kernel =
      depthwise ? candidates.front() : implicit_kernel(conv, work.dtype, g, study.choices.tile);
  set_time(layer, kernel.time, g.launch);
  layer.counted = name_of(kernel.algorithm);
  layer.algorithms = algorithms_of(candidates, g.launch);
  layer.algorithm = layer.algorithms.front().name;
  layer.algorithm_ms = layer.algorithms.front().latency_ms;
  const auto element = static_cast<double>(traffic::element_bytes(work.dtype));
  const traffic::CutOptions cut = cut_of(kernel.time, g);
  layer.read = {.l1 = kernel.read.l1, .l2 = kernel.read.l2, .dram = kernel.read.dram};
  layer.dram_written = kernel.written;
  layer.compulsory_read = work.read.base();
  if (depthwise) return {};
  const latency::ImplicitCut how{kernel.time.tile.m, kernel.time.tile.n, kernel.time.split};
  const auto problem = traffic::make_conv_problem(conv, work.dtype, cut);
  const auto machine = caches(g, kernel.time.tile, element, study.choices.order);
  if (study.choices.model == Model::Exact) {
    const traffic::ReadBytes read = count_reads(problem, machine, layer);
    set_time(layer, latency::implicit_time(conv, work.dtype, g, how, read), g.launch);
  }
  if (study.choices.model == Model::Paper) {
    if (conv.pass != ops::ConvPass::Forward || conv.groups != 1 || work.dtype != DType::Fp32) {
      return unsupported(kernel_place(layer),
                         "the paper's forms are for FP32 forward layers without groups",
                         "use --traffic-model exact or closed");
    }
    if (conv.dilation_h != 1 || conv.dilation_w != 1) {
      return unsupported(kernel_place(layer), "the paper's forms know no dilation",
                         "use --traffic-model exact or closed");
    }
    const traffic::PaperTraffic t = traffic::paper_traffic(conv, cut.tile);
    layer.read = {.l1 = t.l1, .l2 = t.l2, .dram = t.dram_read};
    layer.dram_written = t.dram_written;
    // Outside of their range the forms may be negative, which no time follows from.
    const auto sane = [](double bytes) { return std::max(0.0, bytes); };
    const traffic::ReadBytes read{.l1 = sane(t.l1), .l2 = sane(t.l2), .dram = sane(t.dram_read)};
    set_time(layer, latency::implicit_time(conv, work.dtype, g, how, read), g.launch);
  }
  return simulate_reads(problem, machine, study, layer);
}

Status fill_gemm(const ops::KernelWork& work, const ops::GemmShape& gemm,
                 const latency::TimeMachine& g, const Study& study, report::LayerTraffic& layer) {
  const latency::GemmCandidate kernel = latency::gemm_candidate(gemm, work.dtype, g);
  set_time(layer, kernel.time, g.launch);
  layer.read = {.l1 = kernel.read.l1, .l2 = kernel.read.l2, .dram = kernel.read.dram};
  layer.dram_written = kernel.written;
  layer.compulsory_read = work.read.base();
  if (kernel.vector) return {};
  const auto element = static_cast<double>(traffic::element_bytes(work.dtype));
  const auto problem = traffic::make_gemm_problem(gemm, work.dtype, cut_of(kernel.time, g));
  const auto machine = caches(g, kernel.time.tile, element, study.choices.order);
  if (study.choices.model == Model::Exact) {
    const latency::GemmCut how{
        .tile = kernel.time.tile, .split = kernel.time.split, .extra = g.constants.nonfused_extra};
    const traffic::ReadBytes read = count_reads(problem, machine, layer);
    set_time(layer, latency::time_gemm(gemm, work.dtype, g, how, read), g.launch);
  }
  return simulate_reads(problem, machine, study, layer);
}

void fill_vector(const ops::KernelWork& work, const latency::TimeMachine& g, const Study& study,
                 report::LayerTraffic& layer) {
  const latency::AnalyticalTime t = latency::analytical_time(work, g, study.machine.gpu);
  layer.read = {.l1 = (t.traffic.l1 - t.traffic.dram_written).base(),
                .l2 = (t.traffic.l2 - t.traffic.dram_written).base(),
                .dram = t.traffic.dram_read.base()};
  layer.dram_written = t.traffic.dram_written.base();
  layer.compulsory_read = work.read.base();
  layer.latency_ms = to_ms(t.time);
  layer.bottleneck = name_of(t.bottleneck);
  layer.tile = t.plan.label();
  layer.ctas = t.plan.tiles;
  layer.waves = t.plan.waves();
}

std::string phase_of(const graph::LoweredKernel& kernel) {
  if (const auto* conv = std::get_if<ops::ConvShape>(&kernel.work.shape)) {
    constexpr std::array<std::string_view, 3> kPasses{"forward", "dgrad", "wgrad"};
    return std::string(kPasses[static_cast<std::size_t>(conv->pass)]);
  }
  return std::string(graph::name_of(kernel.phase));
}

Result<report::LayerTraffic> make_layer(const graph::LoweredKernel& kernel, const Study& study) {
  const ops::KernelWork& work = kernel.work;
  ROOFTILE_TRY(const auto job, latency::bind(work, study.machine));
  const latency::TimeMachine g =
      latency::make_time_machine(study.machine, job.roof.compute, work.compute, work.matrix);
  report::LayerTraffic layer;
  layer.name = kernel.name;
  layer.op = work.op;
  layer.phase = phase_of(kernel);
  layer.count = kernel.count;
  layer.shape = ops::shape_text(work.shape);
  layer.dtype = name_of(work.dtype);
  if (const auto* conv = std::get_if<ops::ConvShape>(&work.shape)) {
    ROOFTILE_CHECK(fill_conv(work, *conv, g, study, layer));
  } else if (const auto* gemm = std::get_if<ops::GemmShape>(&work.shape)) {
    ROOFTILE_CHECK(fill_gemm(work, *gemm, g, study, layer));
  } else {
    fill_vector(work, g, study, layer);
  }
  return layer;
}

}  // namespace

Result<report::TrafficReport> traffic(const TrafficRequest& request, const Catalog& catalog,
                                      const Progress& progress) {
  ROOFTILE_TRY(const Choices choices, parse(request));
  ROOFTILE_TRY(const auto machine,
               hardware::load_machine(catalog, request.step.gpu, request.step.machine));
  ROOFTILE_CHECK(latency::check_time_fields(machine.gpu));
  ROOFTILE_CHECK(check_tile(choices, machine.gpu));
  ROOFTILE_TRY(const StepKernels step, step_kernels(request.step, request.conv, catalog));
  const std::vector<graph::LoweredKernel>& kernels = step.kernels;

  report::TrafficReport report;
  report.gpu_name = machine.gpu.name;
  report.warnings = hardware::warnings_of(machine);
  report.warnings.insert(report.warnings.end(), step.notes.begin(), step.notes.end());
  report.model_name = request.conv ? "" : request.step.model;
  report.traffic_model = request.traffic_model == "default" ? "exact" : request.traffic_model;
  if (const auto l1 = machine.bandwidth(hardware::MemoryLevel::L1)) {
    report.l1_ceiling = l1->value.base();
  }
  if (const auto l2 = machine.bandwidth(hardware::MemoryLevel::L2)) {
    report.l2_ceiling = l2->value.base();
  }
  if (const auto dram = machine.bandwidth(hardware::MemoryLevel::Dram)) {
    report.dram_ceiling = dram->value.base();
  }
  const Study study{.machine = machine, .choices = choices, .progress = progress};
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    // Networks repeat their layers: the same kernel is counted once.
    const auto same = std::find_if(
        kernels.begin(), kernels.begin() + static_cast<std::ptrdiff_t>(i),
        [&](const graph::LoweredKernel& earlier) { return earlier.work == kernels[i].work; });
    const auto index = static_cast<std::size_t>(same - kernels.begin());
    if (index < i) {
      report.layers.push_back(report.layers[index]);
      report.layers.back().name = kernels[i].name;
      report.layers.back().phase = phase_of(kernels[i]);
      report.layers.back().count = kernels[i].count;
      continue;
    }
    // The simulator tells its own progress, within a layer.
    const double done = static_cast<double>(i) / static_cast<double>(kernels.size());
    if (progress && !choices.simulate && !progress({.fraction = done, .note = kernels[i].name})) {
      return bad_input({}, "the count was stopped", {});
    }
    ROOFTILE_TRY(report::LayerTraffic layer, make_layer(kernels[i], study));
    report.layers.push_back(std::move(layer));
  }
  if (choices.model == Model::Paper) {
    for (const report::LayerTraffic& layer : report.layers) {
      if (auto note = paper_note(layer)) report.warnings.push_back(std::move(*note));
    }
  }
  const FlagsUsed flags{.tile = choices.tile.has_value(),
                        .order = choices.order != traffic::CtaOrder::Column,
                        .paper = choices.model == Model::Paper,
                        .simulate = choices.simulate};
  for (std::string& note : flag_notes(kernels, report.layers, flags)) {
    report.warnings.push_back(std::move(note));
  }
  if (auto note = hardware::device_note(machine.gpu)) report.warnings.push_back(std::move(*note));
  for (std::string& note : delta_notes(kernels, machine)) {
    report.warnings.push_back(std::move(note));
  }
  if (!report.l2_ceiling) {
    report.warnings.push_back(machine.gpu.name +
                              ": no L2 bandwidth is known, so L2 never is the bottleneck");
  }
  if (!report.l1_ceiling) {
    report.warnings.push_back(machine.gpu.name +
                              ": no L1 bandwidth is known, so L1 never is the bottleneck");
  }
  return report;
}

}  // namespace rooftile::app
