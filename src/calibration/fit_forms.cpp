// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit_forms.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "cost/learned/gemm_form.h"
#include "cost/learned/row_form.h"

namespace rooftile::calibration {

namespace {

using namespace cost::learned;

cost::Job job_of(const FitData& data, const Sample& sample) {
  return *cost::bind(sample.work, data.dataset.machines[sample.gpu]);  // checked when read
}

/// A parameter of the GEMM form as the optimizer sees it, and the plans that fit it.
enum class FitIf : std::uint8_t { Always, Host, Split, Misses, Tensor, TensorOrMisses, Quantized };
struct GemmField {
  double GemmParameters::* field;
  bool logarithmic;
  double spread;
  FitIf when;
};
constexpr std::array kGemmFields{
    GemmField{&GemmParameters::depth, true, 1.0, FitIf::Always},
    GemmField{&GemmParameters::tail, false, 0.3, FitIf::Always},
    GemmField{&GemmParameters::one_wave, true, 1.0, FitIf::Host},
    GemmField{&GemmParameters::two_waves, true, 1.0, FitIf::Host},
    GemmField{&GemmParameters::latency, true, 1.0, FitIf::Tensor},
    GemmField{&GemmParameters::more_waves, true, 1.0, FitIf::Tensor},
    GemmField{&GemmParameters::host, true, 2.0, FitIf::Always},
    GemmField{&GemmParameters::floor, true, 2.0, FitIf::Host},
    GemmField{&GemmParameters::small_tile, false, 0.1, FitIf::Always},
    GemmField{&GemmParameters::unaligned, false, 0.05, FitIf::Host},
    GemmField{&GemmParameters::split, true, 1.0, FitIf::Split},
    GemmField{&GemmParameters::miss_mid, false, 2.0, FitIf::TensorOrMisses},
    GemmField{&GemmParameters::miss_width, true, 0.7, FitIf::Misses},
    GemmField{&GemmParameters::reuse_mid, false, 0.5, FitIf::Tensor},
    GemmField{&GemmParameters::reuse_width, true, 0.5, FitIf::Tensor},
    GemmField{&GemmParameters::l2, true, 0.3, FitIf::Tensor},
    GemmField{&GemmParameters::dram, true, 0.1, FitIf::Tensor},
    GemmField{&GemmParameters::join, true, 0.3, FitIf::Tensor},
    GemmField{&GemmParameters::quantize_start, true, 1.0, FitIf::Quantized},
    GemmField{&GemmParameters::quantize_reach, true, 1.0, FitIf::Quantized},
    GemmField{&GemmParameters::quantize_row, true, 1.0, FitIf::Quantized},
    GemmField{&GemmParameters::quantize_element, true, 1.0, FitIf::Quantized},
};

bool fits(const GemmPlan& plan, FitIf when) {
  switch (when) {
    case FitIf::Always: return true;
    case FitIf::Host: return !plan.tensor;
    case FitIf::Split: return plan.start.split_k.size() > 1;
    case FitIf::Misses: return plan.free_misses;
    case FitIf::Tensor: return plan.tensor;
    case FitIf::TensorOrMisses: return plan.tensor || plan.free_misses;
    case FitIf::Quantized: return plan.quantized;
  }
  return false;
}

std::vector<GemmField> free_fields(const GemmPlan& plan) {
  std::vector<GemmField> fields;
  for (const GemmField& field : kGemmFields) {
    if (fits(plan, field.when)) fields.push_back(field);
  }
  return fields;
}

/// Rows that share a plateau.
Groups levels_of(const GemmPlan& plan, const Samples& samples) {
  return plan.tensor ? group_by_gpu(samples) : group(samples);
}

GemmParameters parameters_at(std::span<const double> x, const std::vector<GemmField>& fields,
                             GemmParameters p) {
  for (std::size_t i = 0; i < fields.size(); ++i)
    p.*fields[i].field = fields[i].logarithmic ? std::exp(x[i]) : x[i];
  p.tail = std::clamp(p.tail, 0.0, 1.0);
  p.l2 = std::min(p.l2, 1.0), p.dram = std::min(p.dram, 1.0);  // roofs
  return p;
}

/// All cuts of all rows, flat.
struct Cuts {
  std::vector<GemmCandidate> list;
  std::vector<std::size_t> end;               ///< of each row
  std::vector<Chip> chip;                     ///< of each row
  std::vector<traffic::ProductWork> problem;  ///< of each row
};

Cuts cut_all(const FitData& data, const GemmPlan& plan) {
  Cuts cuts;
  for (const Sample* sample : data.samples) {
    const auto& shape = std::get<ops::GemmShape>(sample->work.shape);
    const traffic::ProductWork problem = traffic::product_work(sample->work, shape, sample->copies);
    const Chip chip = clocked(chip_for(data, *sample), plan.start);
    const std::vector<GemmTile> named{sample->tile.value_or(GemmTile{})};
    const auto& tiles = plan.named_tiles && sample->tile ? named : plan.start.tiles;
    TilesOf(shape, tiles).visit([&](GemmTile tile) {
      for (const std::int64_t split : plan.start.split_k) {
        if (split > 1 && shape.k < kMinSplitDepth * split) break;
        cuts.list.push_back(cut_gemm(problem, chip, tile, split));
      }
    });
    cuts.end.push_back(cuts.list.size());
    cuts.chip.push_back(chip);
    cuts.problem.push_back(problem);
  }
  return cuts;
}

}  // namespace

Chip chip_for(const FitData& data, const Sample& sample) {
  return chip_of(job_of(data, sample), data.dataset.machines[sample.gpu], data.weights);
}

double relative(double modelled, double measured) {
  return std::log(std::max(modelled, 1e-9)) - std::log(measured);
}

namespace {

/// 16- and 8-bit products on tensor units, timed in graphs: what they add is the GPU's own time.
GemmPlan tensor_plan(bool eight_bit) {
  GemmPlan plan;
  plan.tensor = true;
  plan.quantized = eight_bit;
  plan.rows = 300;
  plan.kappa_prior = eight_bit ? 1.0 : 1.15;
  GemmModel& start = plan.start;
  start.clocked = true;
  start.tiles = {{128, 128}, {128, 64}, {64, 128}, {64, 64}, {256, 128}, {128, 256}, {192, 128},
                 {128, 192}, {256, 64}, {64, 256}, {64, 32}, {32, 64},   {64, 16},   {128, 16}};
  GemmParameters& p = start.parameters;
  p.one_wave = p.two_waves = p.unaligned = p.floor = 0;
  p.depth = 75, p.tail = 0.3, p.small_tile = 0.3, p.join = 3.2;
  p.latency = 0.4e-6, p.more_waves = 5, p.host = 3.3e-6, p.split = 3.9e-6;
  p.l2 = 0.98, p.dram = 0.94;
  if (!eight_bit) {
    start.split_k = {1, 2, 4, 8, 16, 32};
    return plan;
  }
  p.depth = 800, p.tail = 0.6, p.l2 = 0.6, p.latency = 0.1e-6, p.more_waves = 2.5, p.host = 6.5e-6;
  p.quantize_start = 0.1e-6, p.quantize_reach = 0.15e-9;
  p.quantize_row = 1.1e-6, p.quantize_element = 0.4e-9;
  return plan;
}

}  // namespace

GemmPlan experts_plan() {
  GemmPlan plan = tensor_plan(false);
  plan.kappa_prior = 1.5;
  // What Triton's kernels of experts are tuned over: no part of k runs apart.
  plan.start.tiles.clear();
  for (const std::int64_t along_n : {32, 64, 128, 256}) {
    for (const std::int64_t along_m : {16, 32, 64, 128})
      plan.start.tiles.push_back({.along_n = along_n, .along_m = along_m});
  }
  plan.start.split_k = {1};
  return plan;
}

GemmPlan gemm_plan(std::string_view vendor, std::string_view name) {
  GemmPlan plan;
  GemmModel& start = plan.start;
  start.tiles = {{128, 128}, {128, 64}, {64, 64}};
  if (name == "linear_16bit" || name == "linear_8bit") {
    return tensor_plan(name == "linear_8bit");
  }
  plan.neighbours = 1100;
  if (vendor == "amd") {
    plan.foreign_neighbours = 0.75;
    plan.rows = 2500;  // all: a part of these erratic rows gives another level every time
    start.parameters.host = 1e-5, start.parameters.floor = 3e-5;
    start.parameters.miss_width = 1.0;
    plan.free_misses = true;
    plan.prior_weight = 0;
  }
  if (name == "linear") {
    start.tiles.push_back({128, 32}), start.tiles.push_back({32, 128});
    start.split_k = {1, 2, 3, 4, 6, 9, 13};
    if (vendor == "amd") start.split_k = {1, 2, 4};
    return plan;
  }
  plan.kappa_prior = 0.92;
  if (vendor == "amd") {
    start.tiles.push_back({64, 32}), start.tiles.push_back({32, 32});
  } else {
    start.parameters.host = 2e-5, start.parameters.floor = 3.5e-5;
    plan.named_tiles = true;
  }
  return plan;
}

std::size_t gemm_size(const GemmPlan& plan, const Samples& samples) {
  return free_fields(plan).size() + levels_of(plan, samples).gpu_campaign.size();
}

LeastSquaresResult fit_gemm(const FitData& data, const GemmPlan& plan) {
  const std::vector<GemmField> fields = free_fields(plan);
  const Cuts cuts = cut_all(data, plan);
  const Groups groups = levels_of(plan, data.samples);
  LeastSquares problem;
  problem.shared = fields.size();
  problem.group = groups.of;
  problem.prior = kPriorStrength * std::sqrt(static_cast<double>(data.samples.size()));
  for (const GemmField& field : fields) {
    const double value = plan.start.parameters.*field.field;
    problem.start.push_back(field.logarithmic ? std::log(value) : value);
    problem.spread.push_back(field.spread);
  }
  constexpr double kStartPlateau = 0.15;
  problem.start.resize(fields.size() + groups.gpu_campaign.size(), kStartPlateau);
  problem.residuals = [&](std::span<const double> x, std::span<double> r) {
    const GemmParameters p = parameters_at(x, fields, plan.start.parameters);
    std::size_t cut = 0;
    for (std::size_t i = 0; i < data.samples.size(); ++i) {
      const double level = std::exp(x[fields.size() + groups.of[i]]);
      double best = std::numeric_limits<double>::infinity();
      for (; cut < cuts.end[i]; ++cut)
        best = std::min(best, gemm_seconds(cuts.list[cut], cuts.chip[i], p, level, best));
      const Chip& chip = cuts.chip[i];
      const double call =
          best + quantize_seconds(cuts.problem[i], chip, p) + chip.slower_clock * p.host;
      r[i] = groups.weight[i] * relative(std::max(call, p.floor), data.samples[i]->measured);
    }
  };
  return minimize(problem);
}

void apply_gemm(const std::vector<double>& x, const GemmPlan& plan, GemmModel& model) {
  model = plan.start;
  model.parameters = parameters_at(x, free_fields(plan), plan.start.parameters);
}

cost::ByName<double> plateaus(const std::vector<double>& x, const GemmPlan& plan,
                              const FitData& data) {
  const std::size_t shared = free_fields(plan).size();
  const Groups groups = levels_of(plan, data.samples);
  std::map<std::uint32_t, std::pair<double, double>> sums;
  for (std::size_t g = 0; g < groups.gpu_campaign.size(); ++g) {
    auto& [sum, count] = sums[groups.gpu_campaign[g].first];
    sum += x[shared + g], count += 1;
  }
  cost::ByName<double> result;
  for (const auto& [gpu, sum] : sums)
    result[data.dataset.machines[gpu].gpu.id] = std::exp(sum.first / sum.second);
  return result;
}

RowModel row_plan(std::string_view vendor, std::string_view name) {
  RowModel model;
  const bool amd = vendor == "amd";
  if (name == "softmax") {
    if (amd) model.block_short = model.block_long = 1024;
    return model;
  }
  model.block_short = model.block_long = amd ? 256 : 128;
  model.resident_row = 0;
  model.reread = 0.5;
  return model;
}

void apply_rows(const std::vector<double>& x, RowModel& model) {
  model.parameters = {.floor = std::exp(x[0]),
                      .host = std::exp(x[1]),
                      .traffic = std::exp(x[2]),
                      .mid = x[3],
                      .width = std::exp(x[4]),
                      .start = std::exp(x[5]),
                      .iteration = std::exp(x[6]),
                      .norm = 1.0 + std::exp(x[7])};
}

LeastSquaresResult fit_rows(const FitData& data, const RowModel& plan) {
  const Groups groups = group(data.samples);
  std::vector<RowGeometry> geometry;
  for (const Sample* s : data.samples) {
    geometry.push_back(
        row_geometry(s->work, std::get<ops::RowShape>(s->work.shape), chip_for(data, *s), plan));
  }
  const RowParameters p0;
  LeastSquares problem;
  problem.scale = 0.1;
  problem.shared = kRowSize;
  problem.start = {
      std::log(p0.floor), std::log(p0.host),  std::log(p0.traffic),   p0.mid,
      std::log(p0.width), std::log(p0.start), std::log(p0.iteration), std::log(p0.norm - 1)};
  problem.spread = {1e6, 1e6, 1, 1, 1, 1, 1, 0.4};
  problem.prior = kPriorStrength * std::sqrt(static_cast<double>(data.samples.size()));
  problem.max_iterations = 80;
  problem.group = groups.of;
  problem.residuals = [&](std::span<const double> x, std::span<double> r) {
    RowModel model = plan;
    apply_rows({x.begin(), x.end()}, model);
    const RowParameters& p = model.parameters;
    for (std::size_t i = 0; i < geometry.size(); ++i) {
      const double t = std::max(p.floor, p.host + row_time(geometry[i], p).time().base());
      r[i] = groups.weight[i] * relative(t, data.samples[i]->measured);
    }
  };
  return minimize(problem);
}

}  // namespace rooftile::calibration
