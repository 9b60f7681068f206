// SPDX-License-Identifier: Apache-2.0
#include "latency/scaling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text.h"

namespace rooftile::latency {

namespace {

constexpr std::array kLadder{1.0, 1.1, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 6.0, 8.0};
constexpr double kLeastSaving = 1e-9;  // of cost, above rounding
constexpr double kGain = 0.05;         // from doubling; below this nothing is gained

/// Positions on kLadder.
using Rungs = std::array<std::size_t, kResources>;

Factors factors_of(const Rungs& rungs) {
  Factors factors;
  for (const Resource r : kAllResources) {
    factors.set(r, kLadder[rungs[static_cast<std::size_t>(r)]]);
  }
  return factors;
}

/// Lowers resources while the step still takes at most `limit` seconds, the dearest rung first;
/// then exchanges rungs of one resource for cheaper ones of another.
class Descent {
 public:
  Descent(const ScalingStudy& study, double limit, const CostModel& cost)
      : study_(study), limit_(limit), cost_(cost) {}

  [[nodiscard]] bool fast_enough(const Rungs& rungs) {
    ++variants_;
    return study_.step(factors_of(rungs)).seconds <= limit_;
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

  /// One or two rungs more of a resource for fewer of another, where that is cheaper. Of the ways
  /// to lower the other only the smallest that saves is tried: more would be slower still.
  [[nodiscard]] bool exchange(Rungs& rungs) {
    constexpr std::size_t kMostSteps = 2;
    const double now = cost_.cost(factors_of(rungs));
    for (std::size_t up = 0; up < kResources; ++up) {
      for (std::size_t steps = 1; steps <= kMostSteps && rungs[up] + steps < kLadder.size();
           ++steps) {
        for (std::size_t down = 0; down < kResources; ++down) {
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

  /// Resources above 1, the one whose next rung down saves most first.
  [[nodiscard]] std::vector<std::size_t> by_saving(const Rungs& rungs) const {
    std::vector<std::pair<double, std::size_t>> savings;
    const double now = cost_.cost(factors_of(rungs));
    for (std::size_t r = 0; r < kResources; ++r) {
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
template <typename Time>
BalancePoint find_balance(Resource resource, const Time& time) {
  constexpr int kPerOctave = 4;
  constexpr int kMost = 4 * kPerOctave;  // 16 times
  std::array<double, kMost + kPerOctave + 1> seconds{};
  const auto factor_at = [](int i) { return std::exp2(static_cast<double>(i) / kPerOctave); };
  for (int i = 0; i < std::ssize(seconds); ++i) {
    Factors factors;
    factors.set(resource, factor_at(i));
    seconds[static_cast<std::size_t>(i)] = time(factors);
  }
  int point = kMost;
  while (point > 0) {
    const auto before = static_cast<std::size_t>(point - 1);
    if (seconds[before] > seconds[before + kPerOctave] * (1 + kGain)) break;
    --point;
  }
  return {.resource = resource,
          .factor = factor_at(point),
          .speedup = seconds[0] / seconds[static_cast<std::size_t>(point)]};
}

}  // namespace

std::string_view name_of(Resource resource) {
  switch (resource) {
    case Resource::Sms: return "sms";
    case Resource::Lanes: return "lanes";
    case Resource::SmMemory: return "sm_memory";
    case Resource::SharedBandwidth: return "shared_bw";
    case Resource::L1Bandwidth: return "l1_bw";
    case Resource::L2Bandwidth: return "l2_bw";
    case Resource::L2Size: return "l2_size";
    case Resource::DramBandwidth: return "dram_bw";
    case Resource::Clock: return "clock";
  }
  return "?";
}

Result<Resource> parse_resource(std::string_view text) {
  std::vector<std::string_view> names;
  for (const Resource r : kAllResources) {
    if (name_of(r) == text) return r;
    names.push_back(name_of(r));
  }
  return usage_error(fmt::format("unknown resource \"{}\"", printable(text)),
                     did_you_mean(text, names, "resources are"));
}

TimeMachine scaled(const TimeMachine& machine, const Factors& f) {
  TimeMachine m = machine;
  m.sms = std::max(1.0, std::round(m.sms * f.of(Resource::Sms)));
  m.lanes *= f.of(Resource::Lanes);
  m.vector_lanes *= f.of(Resource::Lanes);
  m.registers *= f.of(Resource::SmMemory);
  m.shared *= f.of(Resource::SmMemory);
  m.shared_bandwidth *= f.of(Resource::SharedBandwidth);
  if (m.l1_bandwidth) *m.l1_bandwidth *= f.of(Resource::L1Bandwidth);
  if (m.l2_bandwidth) *m.l2_bandwidth *= f.of(Resource::L2Bandwidth);
  m.l2_size *= f.of(Resource::L2Size);
  m.dram_bandwidth *= f.of(Resource::DramBandwidth);
  m.clock *= f.of(Resource::Clock);
  return m;
}

Bottleneck StepOutcome::bottleneck() const {
  return static_cast<Bottleneck>(std::max_element(share.begin(), share.end()) - share.begin());
}

ScalingStudy::ScalingStudy(std::vector<ScalingKernel> kernels, hardware::GpuSpec gpu)
    : kernels_(std::move(kernels)) {
  gpu_.vendor = gpu.vendor;
  gpu_.sm = std::move(gpu.sm);
  gpu_.l1 = gpu.l1;
  gpu_.l2 = gpu.l2;
}

hardware::GpuSpec ScalingStudy::scaled_gpu(const Factors& factors) const {
  hardware::GpuSpec gpu = gpu_;
  gpu.sm.count = std::max<std::int64_t>(
      1, std::llround(static_cast<double>(gpu.sm.count) * factors.of(Resource::Sms)));
  if (gpu.l2.size) gpu.l2.size = *gpu.l2.size * factors.of(Resource::L2Size);
  return gpu;
}

KernelOutcome ScalingStudy::kernel(std::size_t index, const Factors& factors) const {
  const ScalingKernel& kernel = kernels_[index];
  const AnalyticalTime t =
      analytical_time(kernel.work, scaled(kernel.machine, factors), scaled_gpu(factors));
  return {.seconds = t.time.base(), .bottleneck = t.bottleneck, .algorithm = t.algorithm};
}

StepOutcome ScalingStudy::step(const Factors& factors) const {
  StepOutcome out;
  const hardware::GpuSpec gpu = scaled_gpu(factors);
  for (const ScalingKernel& kernel : kernels_) {
    const AnalyticalTime t = analytical_time(kernel.work, scaled(kernel.machine, factors), gpu);
    const double seconds = t.time.base() * kernel.count;
    out.seconds += seconds;
    out.share[static_cast<std::size_t>(t.bottleneck)] += seconds;
  }
  for (double& share : out.share) share /= out.seconds;
  return out;
}

double CostModel::cost(const Factors& factors) const {
  double sum = 0;
  for (const Resource r : kAllResources) {
    const double f = factors.of(r);
    sum += weight[static_cast<std::size_t>(r)] * (r == Resource::Clock ? f * f * f - 1 : f - 1);
  }
  return sum;
}

BalancePoint balance_point(const ScalingStudy& study, Resource resource) {
  return find_balance(resource, [&](const Factors& f) { return study.step(f).seconds; });
}

BalancePoint balance_point(const ScalingStudy& study, std::size_t kernel, Resource resource) {
  return find_balance(resource, [&](const Factors& f) { return study.kernel(kernel, f).seconds; });
}

std::optional<Optimum> optimize(const ScalingStudy& study, double target, const CostModel& cost) {
  const double base = study.step(Factors{}).seconds;
  Descent descent(study, base / target, cost);
  std::optional<Optimum> best;
  // Starts: everything scaled, and the same without each of the ways to add compute.
  const std::array<std::vector<Resource>, 5> left_out{{{},
                                                       {Resource::Sms},
                                                       {Resource::Clock},
                                                       {Resource::Sms, Resource::Clock},
                                                       {Resource::Lanes, Resource::Clock}}};
  for (const std::vector<Resource>& fixed : left_out) {
    for (std::size_t rung = 1; rung < kLadder.size(); ++rung) {
      Rungs rungs;
      rungs.fill(rung);
      for (const Resource r : fixed) rungs[static_cast<std::size_t>(r)] = 0;
      if (!descent.fast_enough(rungs)) continue;
      descent.run(rungs);
      const Factors factors = factors_of(rungs);
      if (!best || cost.cost(factors) < best->cost) {
        best = Optimum{.factors = factors,
                       .cost = cost.cost(factors),
                       .speedup = base / study.step(factors).seconds};
      }
      break;
    }
  }
  if (best) best->variants = descent.variants();
  return best;
}

}  // namespace rooftile::latency
