// SPDX-License-Identifier: Apache-2.0
#include "aggregate/scaling.h"

#include <algorithm>
#include <cmath>

namespace rooftile::aggregate {

using hardware::Factors;
using hardware::MachineKey;

namespace {

constexpr std::array kLadder{1.0, 1.1, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 6.0, 8.0};
constexpr double kLeastSaving = 1e-9;  // of cost, above rounding
constexpr double kGain = 0.05;         // from doubling; below this nothing is gained

/// Positions on kLadder.
using Rungs = std::array<std::size_t, hardware::kMachineKeys>;

Factors factors_of(const Rungs& rungs) {
  Factors factors;
  for (const MachineKey key : hardware::kAllMachineKeys) {
    factors.set(key, kLadder[rungs[static_cast<std::size_t>(key)]]);
  }
  return factors;
}

/// Lowers quantities while the step still takes at most `limit` seconds, the dearest rung first;
/// then exchanges rungs of one quantity for cheaper ones of another.
class Descent {
 public:
  Descent(const ScalingStudy& study, double limit, const CostModel& cost)
      : study_(study), limit_(limit), cost_(cost) {}

  [[nodiscard]] bool fast_enough(const Rungs& rungs) {
    ++variants_;
    return study_.step(factors_of(rungs)).total.base() <= limit_;
  }

  void run(Rungs& rungs) {
    do {
      descend(rungs);
    } while (exchange(rungs));
  }

  [[nodiscard]] std::int64_t variants() const { return variants_; }

 private:
  void descend(Rungs& rungs) {
    bool changed = true;
    while (changed) {
      changed = false;
      for (const std::size_t r : by_saving(rungs)) {
        Rungs lower = rungs;
        --lower[r];
        if (fast_enough(lower)) {
          rungs = lower;
          changed = true;
          break;
        }
      }
    }
  }

  /// One or two rungs more of a quantity for fewer of another, where that is cheaper. Of the ways
  /// to lower the other only the smallest that saves is tried: more would be slower still.
  [[nodiscard]] bool exchange(Rungs& rungs) {
    constexpr std::size_t kMostSteps = 2;
    const double now = cost_.cost(factors_of(rungs));
    for (std::size_t up = 0; up < hardware::kMachineKeys; ++up) {
      for (std::size_t steps = 1; steps <= kMostSteps && rungs[up] + steps < kLadder.size();
           ++steps) {
        for (std::size_t down = 0; down < hardware::kMachineKeys; ++down) {
          Rungs other = rungs;
          other[up] += steps;
          if (down == up) continue;
          while (other[down] > 0 && cost_.cost(factors_of(other)) >= now - kLeastSaving)
            --other[down];
          if (cost_.cost(factors_of(other)) >= now - kLeastSaving || !fast_enough(other)) continue;
          rungs = other;
          return true;
        }
      }
    }
    return false;
  }

  /// Quantities above 1, the one whose next rung down saves most first.
  [[nodiscard]] std::vector<std::size_t> by_saving(const Rungs& rungs) const {
    std::vector<std::pair<double, std::size_t>> savings;
    const double now = cost_.cost(factors_of(rungs));
    for (std::size_t r = 0; r < hardware::kMachineKeys; ++r) {
      if (rungs[r] == 0) continue;
      Rungs lower = rungs;
      --lower[r];
      savings.emplace_back(now - cost_.cost(factors_of(lower)), r);
    }
    std::sort(savings.begin(), savings.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    std::vector<std::size_t> order;
    for (const auto& [saving, r] : savings) order.push_back(r);
    return order;
  }

  const ScalingStudy& study_;
  double limit_;
  const CostModel& cost_;
  std::int64_t variants_ = 0;
};

/// The lowest factor from which on no doubling pays, by quarters of octaves from the top: whole SMs
/// make the time a staircase, so a search for the first one could stop on a step.
constexpr int kPerOctave = 4;
constexpr int kMost = 4 * kPerOctave;                       // 16 times
using Ladder = std::array<double, kMost + kPerOctave + 1>;  ///< seconds

double factor_at(int i) {
  return std::exp2(static_cast<double>(i) / kPerOctave);
}

BalancePoint balance_of(MachineKey key, const Ladder& seconds) {
  int point = kMost;
  while (point > 0) {
    const auto before = static_cast<std::size_t>(point - 1);
    if (seconds[before] > seconds[before + kPerOctave] * (1 + kGain)) break;
    --point;
  }
  return {.key = key,
          .factor = factor_at(point),
          .speedup = seconds[0] / seconds[static_cast<std::size_t>(point)],
          .speedup_at_2x = seconds[0] / seconds[kPerOctave]};
}

/// Only what models read: copied for every variant.
hardware::Machine without_texts(hardware::Machine machine) {
  hardware::GpuSpec& gpu = machine.gpu;
  gpu.aliases.clear(), gpu.sources.clear(), gpu.doubts.clear(), gpu.lint_allow.clear();
  if (machine.ceilings) {
    machine.ceilings->environment.clear();
    machine.ceilings->notes.clear();
  }
  return machine;
}

}  // namespace

Result<ScalingStudy> ScalingStudy::make(std::span<const execution::Launch> kernels,
                                        const hardware::Machine& machine,
                                        const cost::Predictor& predictor,
                                        const LaunchCosts& costs) {
  ROOFTILE_CHECK(predictor.check(machine));
  ScalingStudy study(without_texts(machine), predictor, costs);
  for (const execution::Launch& kernel : kernels) {
    ROOFTILE_CHECK(cost::bind(kernel.work, machine));
    auto same =
        std::find_if(study.kernels_.begin(), study.kernels_.end(),
                     [&kernel](const auto& earlier) { return earlier.work == kernel.work; });
    if (same == study.kernels_.end()) {
      same = study.kernels_.insert(same, kernel);
    } else {
      same->count += kernel.count;
    }
    Launched launched{.launch = kernel,
                      .kernel = static_cast<std::size_t>(same - study.kernels_.begin())};
    launched.launch.work = {};
    launched.launch.work.flops = kernel.work.flops;
    study.order_.push_back(std::move(launched));
  }
  return study;
}

cost::Estimator ScalingStudy::estimator(const hardware::Machine& machine) const {
  cost::Estimator on = predictor_->on(machine);
  if (costs_.gap) on.set_gap(*costs_.gap);
  return on;
}

cost::Estimate ScalingStudy::estimate(std::size_t index, cost::Estimator& on) const {
  const execution::Launch& kernel = kernels_[index];
  const auto job = on.bind(kernel.work);  // rates exist: checked by make()
  return on.estimate(*job);
}

cost::Estimate ScalingStudy::kernel(std::size_t index, const Factors& factors) const {
  const hardware::Machine machine = hardware::scaled(machine_, factors);
  cost::Estimator on = estimator(machine);
  return estimate(index, on);
}

std::vector<cost::Estimate> ScalingStudy::launches(const Factors& factors) const {
  const hardware::Machine machine = hardware::scaled(machine_, factors);
  cost::Estimator on = estimator(machine);
  std::vector<cost::Estimate> estimates;
  for (std::size_t i = 0; i < kernels_.size(); ++i) estimates.push_back(estimate(i, on));
  return estimates;
}

StepSum ScalingStudy::sum(std::span<const cost::Estimate> estimates) const {
  StepSum sum(costs_.step);
  for (const Launched& launched : order_) sum.add(launched.launch, estimates[launched.kernel]);
  return sum;
}

StepEstimate ScalingStudy::step(const Factors& factors) const {
  return sum(launches(factors)).step();
}

namespace {

/// What a variant adds to the logarithm of a kernel's error. The shipped number: of 528 BF16
/// products that were measured on H100 SXM and on H200 (AIConfigurator), 80 % of the ratios lie
/// within 0.116 of those of an H100 with 1.432 times its DRAM bandwidth, which is 0.32 per unit;
/// the difference of two campaigns is in it.
double added_width(const Factors& factors, const cost::IntervalConstants& widths) {
  double sum = 0;
  for (const MachineKey key : hardware::kAllMachineKeys) sum += std::abs(std::log(factors.of(key)));
  return widths.per_factor * sum;
}

/// Half-widths of the logarithm below and above; nothing where no interval is stated.
struct LogWidths {
  double below = 0, above = 0;
};

cost::Estimate with_interval(cost::Estimate estimate, const LogWidths& widths) {
  estimate.low = max(estimate.time * std::exp(-widths.below), estimate.bound);
  estimate.high = estimate.time * std::exp(widths.above);
  return estimate;
}

}  // namespace

VariantEstimate variant(const ScalingStudy& study, const Factors& factors) {
  const double added = added_width(factors, study.predictor().constants().intervals);
  const auto before = study.launches(Factors{});
  std::vector<cost::Estimate> all = study.launches(factors);
  std::vector<cost::Estimate> own = all;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const cost::Estimate& from = before[i];
    const bool stated = from.low < from.high;
    const double width = stated ? added : 0.0;
    all[i] = with_interval(all[i], {.below = std::log(from.time / from.low) + width,
                                    .above = std::log(from.high / from.time) + width});
    own[i] = with_interval(own[i], {.below = width, .above = width});
  }
  const Seconds total = study.sum(before).step().total;
  const StepEstimate relative = study.sum(own).step(1.0);
  return {.step = study.sum(all).step(),
          .speedup = total / relative.total,
          .speedup_low = total / relative.high,
          .speedup_high = total / relative.low};
}

double CostModel::cost(const Factors& factors) const {
  double sum = 0;
  for (const MachineKey key : hardware::kAllMachineKeys) {
    const double f = factors.of(key);
    sum +=
        weight[static_cast<std::size_t>(key)] * (key == MachineKey::Clock ? f * f * f - 1 : f - 1);
  }
  return sum;
}

BalancePoints balance_points(const ScalingStudy& study) {
  const std::size_t kernels = study.kernels().size();
  BalancePoints points;
  points.kernels.resize(kernels);
  for (const MachineKey key : hardware::kAllMachineKeys) {
    const auto index = static_cast<std::size_t>(key);
    Ladder step{};
    std::vector<Ladder> alone(kernels);
    for (std::size_t i = 0; i < step.size(); ++i) {
      const auto launches = study.launches(Factors::one(key, factor_at(static_cast<int>(i))));
      for (std::size_t k = 0; k < kernels; ++k) alone[k][i] = launches[k].time.base();
      step[i] = study.sum(launches).step().total.base();
    }
    points.step[index] = balance_of(key, step);
    for (std::size_t k = 0; k < kernels; ++k) {
      points.kernels[k][index] = balance_of(key, alone[k]);
    }
  }
  return points;
}

std::optional<Optimum> optimize(const ScalingStudy& study, double target, const CostModel& cost) {
  const double base = study.step(Factors{}).total.base();
  Descent descent(study, base / target, cost);
  std::optional<Optimum> best;
  // Starts: everything scaled, and the same without each of the ways to add compute.
  const std::array<std::vector<MachineKey>, 5> left_out{{{},
                                                         {MachineKey::Sms},
                                                         {MachineKey::Clock},
                                                         {MachineKey::Sms, MachineKey::Clock},
                                                         {MachineKey::Lanes, MachineKey::Clock}}};
  for (const std::vector<MachineKey>& fixed : left_out) {
    for (std::size_t rung = 1; rung < kLadder.size(); ++rung) {
      Rungs rungs;
      rungs.fill(rung);
      for (const MachineKey key : fixed) rungs[static_cast<std::size_t>(key)] = 0;
      if (!descent.fast_enough(rungs)) continue;
      descent.run(rungs);
      const Factors factors = factors_of(rungs);
      if (!best || cost.cost(factors) < best->cost) {
        best = Optimum{.factors = factors,
                       .cost = cost.cost(factors),
                       .speedup = base / study.step(factors).total.base()};
      }
      break;
    }
  }
  if (best) best->variants = descent.variants();
  return best;
}

}  // namespace rooftile::aggregate
