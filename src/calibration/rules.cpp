// SPDX-License-Identifier: Apache-2.0
#include "calibration/rules.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "cost/attained.h"
#include "cost/learned/classes.h"
#include "cost/learned/learned.h"
#include "cost/learned/row_form.h"

namespace rooftile::calibration {

namespace {

using namespace cost::learned;

// A board is power-limited in dense FP32 products when they demand this much of its power with the
// usual load, which also serves where no limited board is seen.
constexpr double kLimited = 1.15;
constexpr double kUsualLoad = 1.25;

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double roofline(const Dataset& dataset, const Sample& s) {
  return dram_roofline(*cost::bind(s.work, dataset.machines[s.gpu]));  // checked when read
}

double stream_seconds(const Dataset& dataset, const Sample& s) {
  return s.work.bytes().base() / dataset.machines[s.gpu].gpu.dram.bandwidth->base();
}

bool is_power(const Sample& s) {
  return s.work.op == "pow" || s.work.op == "powu";
}

/// Median of streaming time over time of the largest element-wise rows, their overhead removed.
void measure_streaming(const Dataset& dataset, const Samples& samples, cost::Streaming& streaming) {
  constexpr double kOverhead = 0.012e-3;
  constexpr double kLarge = 4e8;     // bytes
  constexpr double kLargeAmd = 1e8;  // its campaign has fewer large rows
  constexpr std::size_t kEnough = 10;
  std::map<std::uint32_t, std::vector<double>> ratios;
  for (const Sample* s : of_class(samples, "elementwise")) {
    const bool amd = dataset.machines[s->gpu].gpu.vendor == hardware::Vendor::Amd;
    if (is_power(*s) || s->work.bytes().base() < (amd ? kLargeAmd : kLarge)) continue;
    ratios[s->gpu].push_back(stream_seconds(dataset, *s) / (s->measured - kOverhead));
  }
  std::map<std::string, std::vector<double>> siblings;
  std::map<std::string, std::vector<double>> kinds{{"hbm", {streaming.usual}},
                                                   {"gddr", {streaming.usual}}};
  for (auto& [gpu, values] : ratios) {
    if (values.size() < kEnough) continue;
    const hardware::GpuSpec& spec = dataset.machines[gpu].gpu;
    const double fraction = std::clamp(median(values), 0.1, 1.0);
    streaming.measured[spec.id] = fraction;
    siblings[cost::sibling_key(spec)].push_back(fraction);
    if (spec.dram.known) kinds[spec.dram.known->kind].push_back(fraction);
  }
  for (const auto& [key, values] : siblings) streaming.sibling[key] = mean(values);
  for (const auto& [key, values] : kinds) streaming.memory[key] = mean(values);
}

double log_mean(const std::vector<double>& values, double prior, double weight) {
  double sum = weight * std::log(prior);
  for (const double value : values) sum += std::log(value);
  const double count = static_cast<double>(values.size()) + weight;
  return count > 0 ? std::exp(sum / count) : prior;
}

const hardware::Machine* machine_by_id(const Dataset& dataset, std::string_view id) {
  for (const hardware::Machine& machine : dataset.machines) {
    if (machine.gpu.id == id) return &machine;
  }
  return nullptr;
}

}  // namespace

void set_tables(const std::vector<hardware::GpuSpec>& catalogue, Weights& weights) {
  for (const hardware::GpuSpec& gpu : catalogue) {
    const std::string& family = gpu.arch.library.kernel_family;
    if (family != gpu.isa) weights.families[gpu.isa] = family;
  }
}

void set_streaming(const Dataset& dataset, const Samples& samples,
                   const std::vector<hardware::GpuSpec>& catalogue, Weights& weights) {
  cost::Streaming& streaming = weights.constants.streaming;
  streaming = {cost::starting<cost::AttainedShares>(), {}, {}, {}, {}};
  measure_streaming(dataset, samples, streaming);
  // The same memory system on two boards (PCIe and SXM) counts as one: the mean of what was
  // measured, for both.
  const auto same_memory = [](const hardware::GpuSpec& a, const hardware::GpuSpec& b) {
    return a.chip == b.chip && a.dram.type == b.dram.type && a.dram.bandwidth && b.dram.bandwidth &&
           std::fabs(*a.dram.bandwidth / *b.dram.bandwidth - 1) < 0.01;
  };
  std::map<std::string, std::vector<double>> siblings;
  for (const hardware::GpuSpec& gpu : catalogue) {
    std::vector<double> figures;
    for (const hardware::GpuSpec& other : catalogue) {
      if (same_memory(gpu, other) && cost::published_fraction(other))
        figures.push_back(*cost::published_fraction(other));
    }
    if (figures.empty()) continue;
    streaming.published[gpu.id] = log_mean(figures, 1.0, 0.0);
    if (cost::published_fraction(gpu))
      siblings[cost::sibling_key(gpu)].push_back(streaming.published[gpu.id]);
  }
  for (const auto& [key, values] : siblings) streaming.sibling.try_emplace(key, mean(values));
}

void set_ceilings(const std::vector<hardware::GpuSpec>& catalogue, Weights& weights) {
  for (const hardware::GpuSpec& gpu : catalogue) {
    for (const auto& [key, rate] : gpu.measured.rate) {
      if (const auto ceiling = published_ceiling(gpu, key))
        weights.ceilings[name_of(key)][gpu.chip][gpu.id] = *ceiling;
    }
  }
}

void set_plateau_rule(const Dataset& dataset, const GemmPlan& plan, Units units,
                      const Plateau* dense, const Weights& weights, Plateau& rule) {
  const bool tensor = units == Units::Tensor16 || units == Units::Tensor8;
  const DType dtype =
      units == Units::Tensor8 ? DType::Fp8E4m3 : (tensor ? DType::Bf16 : DType::Fp32);
  std::map<std::string, std::vector<double>> families;
  std::vector<double> steady;
  std::vector<double> loads;
  bool power_rule = false;
  for (const auto& [id, level] : rule.measured) {
    const hardware::Machine& machine = *machine_by_id(dataset, id);
    const hardware::GpuSpec& gpu = machine.gpu;
    const hardware::RateKey key = *machine.best_units(dtype, true);  // checked when read
    rule.boards[gpu.chip][id] = {.factor = level, .watt_per_tflop = watt_per_tflop(gpu, key)};
    if (tensor) {
      rule.tensor = true;
      rule.above_ceiling = false;
      steady.push_back(level / cost::tensor_slowdown(gpu, key, weights.constants.clock)
                                   .value_or(ceiling_factor(gpu, key, weights)));
      families[gpu.arch.library.tensor_family].push_back(steady.back());
      continue;
    }
    const auto peak = gpu.peak.find(key);
    const bool modelled = gpu.vendor == hardware::Vendor::Nvidia;
    power_rule = power_rule || modelled;
    const auto tau =
        modelled && peak != gpu.peak.end()
            ? cost::power_demand(gpu, peak->second.base(), kUsualLoad, weights.constants.clock)
            : std::nullopt;
    if (tau && *tau > kLimited) {
      loads.push_back(kUsualLoad * level / *tau);
      continue;
    }
    // AMD's products stay so far below the published ceilings that those do not limit them.
    rule.above_ceiling = gpu.vendor == hardware::Vendor::Nvidia;
    steady.push_back(level / (rule.above_ceiling ? ceiling_factor(gpu, key, weights) : 1.0));
    families[gpu.arch.library.kernel_family].push_back(steady.back());
  }
  for (const auto& [family, values] : families) rule.kappa[family] = log_mean(values, 1.0, 0.0);
  rule.generic = log_mean(steady, plan.kappa_prior, steady.empty() ? 1.0 : plan.prior_weight);
  if (!power_rule) return;
  rule.load = loads.empty() ? kUsualLoad : mean(loads);
  if (units == Units::BatchedFp32 && dense != nullptr)
    rule.load = dense->load * rule.generic / dense->generic;
}

void set_named_tiles(const Dataset& dataset, const Samples& samples, GemmModel& model) {
  constexpr double kShare = 0.05;  // rarer tiles are exceptions
  std::map<std::string, std::map<std::pair<std::int64_t, std::int64_t>, double>> counts;
  std::map<std::string, double> totals;
  for (const Sample* s : samples) {
    if (!s->tile) continue;
    const std::string& isa = dataset.machines[s->gpu].gpu.isa;
    counts[isa][{s->tile->along_n, s->tile->along_m}] += 1;
    totals[isa] += 1;
  }
  for (const auto& [isa, tiles] : counts) {
    for (const auto& [tile, count] : tiles) {
      if (count >= kShare * totals[isa])
        model.tiles_of[isa].push_back({.along_n = tile.first, .along_m = tile.second});
    }
  }
}

std::optional<double> shortest_call(const Samples& samples) {
  constexpr double kSmall = 4e5;  // bytes
  // Hosts differ by a factor of two: a slow one says less about others than a fast one does.
  constexpr double kShare = 0.25;
  std::vector<double> times;
  for (const Sample* s : samples) {
    if (s->work.bytes().base() < kSmall) times.push_back(s->measured);
  }
  if (times.empty()) return std::nullopt;
  return quantile(std::move(times), kShare);
}

PointwiseModel fit_pointwise(const FitData& data, std::string_view vendor) {
  PointwiseModel model;
  std::map<std::string, Samples> by_op;
  std::vector<double> overheads;
  for (const Sample* s : data.samples) {
    const double bytes = s->work.bytes().base();
    by_op[s->work.op].push_back(s);
    if (bytes > 2e7 && bytes < 2e8 && !is_power(*s)) {
      const hardware::GpuSpec& gpu = data.dataset.machines[s->gpu].gpu;
      overheads.push_back(s->measured -
                          stream_seconds(data.dataset, *s) /
                              cost::streaming_fraction(gpu, data.weights.constants.streaming));
    }
  }
  for (const auto& [op, samples] : by_op) {
    if (const auto floor = shortest_call(samples)) model.floor[op] = *floor;
  }
  if (!overheads.empty()) model.host = std::clamp(median(overheads), 4e-6, 30e-6);
  if (vendor == "amd") {
    // ROCm's pow is arithmetic-bound: 385 FLOP per element on both GPUs measured.
    constexpr double kPowFlop = 385;
    model.flop_per_element = {{"pow", kPowFlop}, {"powu", kPowFlop}};
  }
  return model;
}

ConvModel fit_conv(const FitData& data) {
  const auto predictor = make_learned(data.weights);
  std::map<std::uint32_t, cost::Estimator> estimators;
  std::map<std::uint32_t, std::vector<double>> overheads;
  for (const Sample* s : data.samples) {
    if (s->host) continue;
    const hardware::Machine& machine = data.dataset.machines[s->gpu];
    auto& estimator = estimators.try_emplace(s->gpu, *predictor, machine).first->second;
    const auto job = *cost::bind(s->work, machine);  // checked when read
    const Seconds gap = cost::launch_gap(machine, data.weights.constants.step);
    overheads[s->gpu].push_back(s->measured - (estimator.estimate(job).time - gap).base());
  }
  // The overhead of the campaign grows with the row number, at a pace that differs from host to
  // host: the lower quartile is nearer to a fresh one than the median.
  std::vector<double> quartiles;
  for (auto& [gpu, values] : overheads) quartiles.push_back(quantile(std::move(values), 0.25));
  return {.host = std::clamp(median(quartiles), 0.0, 1e-3)};
}

namespace {

TrivialLine nearest_line(const std::vector<double>& roofs, const std::vector<double>& measured) {
  constexpr std::array kOverheads{0.0, 2e-6, 4e-6, 1e-5, 2e-5, 3e-5, 4e-5, 5e-5, 1e-4, 2e-4, 3e-4};
  TrivialLine best;
  double best_error = 1e300;
  std::vector<double> errors(roofs.size());
  for (int step = 0; step <= 35; ++step) {
    const double utilization = 0.3 + 0.02 * step;
    for (const double overhead : kOverheads) {
      for (std::size_t i = 0; i < roofs.size(); ++i)
        errors[i] = std::fabs((roofs[i] / utilization + overhead) / measured[i] - 1);
      const double error = median(errors);
      if (error < best_error)
        best_error = error, best = {.utilization = utilization, .overhead = overhead};
    }
  }
  return best;
}

}  // namespace

TrivialLine fit_trivial(const Dataset& dataset, const Samples& samples) {
  std::vector<double> roofs;
  std::vector<double> measured;
  for (const Sample* s : samples)
    roofs.push_back(roofline(dataset, *s)), measured.push_back(s->measured);
  return nearest_line(roofs, measured);
}

double ring_roofline(const Collective& row) {
  const auto n = static_cast<double>(row.gpus);
  return (row.bytes * (2 * (n - 1) / n) / row.link.per_direction).base();
}

std::optional<TrivialLine> fit_trivial_ring(const Dataset& dataset,
                                            std::optional<std::uint32_t> left_out) {
  std::vector<double> roofs;
  std::vector<double> measured;
  for (const Collective& row : dataset.collectives) {
    if (row.gpu == left_out) continue;
    roofs.push_back(ring_roofline(row)), measured.push_back(row.measured);
  }
  if (roofs.empty()) return std::nullopt;
  return nearest_line(roofs, measured);
}

Range range_of(const Dataset& dataset, const Samples& samples) {
  Range range;
  std::set<std::string> vendors;
  std::set<std::string> dtypes;
  for (const Sample* s : samples) {
    vendors.emplace(name_of(dataset.machines[s->gpu].gpu.vendor));
    dtypes.emplace(name_of(s->work.dtype));
    for_each_dimension(s->work, [&](std::string_view name, double value) {
      const auto [it, added] = range.dimensions.try_emplace(std::string(name));
      auto& [low, high] = it->second;
      low = added ? value : std::min(low, value);
      high = added ? value : std::max(high, value);
    });
  }
  range.vendors.assign(vendors.begin(), vendors.end());
  range.dtypes.assign(dtypes.begin(), dtypes.end());
  return range;
}

}  // namespace rooftile::calibration
