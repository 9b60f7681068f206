// SPDX-License-Identifier: Apache-2.0
#include "characterize/characterization.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/operations.h"
#include "core/text.h"
#include "hardware/ert_rule.h"

namespace rooftile::characterize {

namespace {

using hardware::MemoryLevel;
using hardware::RateKey;

hardware::Measured<FlopsPerSecond> measured_rate(const Sample& s) {
  return {.value = flop_rate(s),
          .low = s.work.flops / s.time.high,
          .high = s.work.flops / s.time.low,
          .samples = s.time.repetitions};
}

/// The curve of a pattern over the working set; the intensity sweep is not part of it.
std::vector<CurvePoint> curve_of(const std::vector<Sample>& samples, Pattern pattern) {
  std::vector<CurvePoint> curve;
  for (const Sample& s : curve_over_sets(samples, pattern)) {
    if (pattern == Pattern::Chase) {
      const double steps = static_cast<double>(s.work.steps);
      curve.push_back({s.what.working_set, s.time.fast.base() / steps, s.time.low.base() / steps,
                       s.time.high.base() / steps});
    } else {
      curve.push_back({s.what.working_set, bandwidth(s).base(), (s.work.bytes / s.time.high).base(),
                       (s.work.bytes / s.time.low).base()});
    }
  }
  std::sort(curve.begin(), curve.end(),
            [](const CurvePoint& a, const CurvePoint& b) { return a.working_set < b.working_set; });
  return curve;
}

/// ERT looks at one pattern only, and at medians.
void reduce_by_ert(const hardware::ErtRule& rule, Characterization& out) {
  std::vector<hardware::ErtPoint> points;
  for (const Sample& s : curve_over_sets(out.samples, Pattern::Update)) {
    points.push_back({.working_set = s.what.working_set,
                      .bandwidth = s.work.bytes / s.time.median,
                      .rate = s.work.flops / s.time.median});
  }
  std::sort(points.begin(), points.end(),
            [](const auto& a, const auto& b) { return a.working_set < b.working_set; });
  for (const hardware::ErtLevel& level : hardware::summarize_ert(points, rule).levels) {
    const double value = level.bandwidth.base();
    out.bandwidths.push_back({.pattern = Pattern::Update,
                              .plateau = {.level = level.name,
                                          .value = value,
                                          .low = value,
                                          .high = value,
                                          .from = points.front().working_set,
                                          .to = points.back().working_set,
                                          .points = 7}});
  }
}

void reduce_by_topology(Characterization& out) {
  std::vector<LevelBandwidth> found;
  for (const Pattern pattern : kAllPatterns) {
    if (!is_streaming(pattern)) continue;
    const std::vector<CurvePoint> curve = curve_of(out.samples, pattern);
    const auto windows = level_windows(out.device.caches, pattern);
    for (Plateau& p : find_plateaus(curve, windows, Better::Larger)) {
      found.push_back({.pattern = pattern, .plateau = std::move(p)});
    }
  }
  std::vector<std::string> levels;
  for (const CacheLevel& cache : out.device.caches) levels.push_back(cache.name);
  levels.emplace_back(kMemoryName);
  for (const std::string& level : levels) {
    for (const LevelBandwidth& b : found) {
      if (b.plateau.level == level) out.bandwidths.push_back(b);
    }
  }
}

/// Chains in a cache that others did not disturb: half of the runs took little more than the fast
/// ones. Memory is disturbed by nothing that would make it another level.
std::vector<Sample> calm_chains(const Characterization& result) {
  constexpr double kCalm = 1.3;
  const Bytes memory = smallest_memory_set(result.device.caches) * 0.9;
  std::vector<Sample> out;
  for (const Sample& s : result.samples) {
    const bool is_calm = s.time.median <= s.time.fast * kCalm || s.what.working_set >= memory;
    if (s.what.pattern == Pattern::Chase && is_calm) out.push_back(s);
  }
  return out;
}

/// Why another run would give another latency of a cache; nothing when it would not.
std::optional<std::string> unrepeatable(const Plateau* plateau, const Plateau* memory) {
  constexpr double kNearlyMemory = 0.5;
  if (plateau == nullptr) return "every chain that fits into it was disturbed";
  if ((plateau->points < 2 && plateau->in_window > 1) ||
      plateau->value > plateau->best * kContradiction) {
    return fmt::format("chains that fit into it took {:.3g} ns at best but did not agree",
                       plateau->best * 1e9);
  }
  if (memory != nullptr && plateau->value > memory->value * kNearlyMemory) {
    return fmt::format("{:.3g} ns are nearly those of memory", plateau->value * 1e9);
  }
  return std::nullopt;
}

/// A latency is given where the chains inside of a level agree. Where something else used the cache
/// meanwhile, another run would give another value: none is given.
void reduce_latencies(Characterization& out) {
  const auto windows = level_windows(out.device.caches, Pattern::Chase);
  const auto all = find_plateaus(curve_of(out.samples, Pattern::Chase), windows, Better::Smaller);
  const auto calm =
      find_plateaus(curve_of(calm_chains(out), Pattern::Chase), windows, Better::Smaller);
  const auto named = [&calm](const std::string& level) {
    const auto found = std::find_if(calm.begin(), calm.end(),
                                    [&level](const Plateau& p) { return p.level == level; });
    return found == calm.end() ? nullptr : &*found;
  };
  for (const Plateau& level : all) {
    const Plateau* plateau = named(level.level);
    const auto reason =
        level.level == kMemoryName ? std::nullopt : unrepeatable(plateau, named(kMemoryName));
    if (!reason) {
      out.latencies.push_back(*plateau);
      continue;
    }
    out.warnings.push_back(fmt::format(
        "the latency of {} is left out: {}; others use the cache too", level.level, *reason));
  }
}

/// The best of every other form of products, of the links, and of waiting.
void reduce_asides(Characterization& out) {
  for (const Sample& s : out.samples) {
    const Pattern pattern = s.what.pattern;
    const bool is_rate = pattern == Pattern::MmaSync || pattern == Pattern::MmaSparse;
    const bool is_time = pattern == Pattern::ChaseHost || pattern == Pattern::ChasePeer ||
                         pattern == Pattern::LaunchWait;
    if (!is_rate && !is_time && !is_link_copy(pattern)) continue;
    const double value = is_rate   ? flop_rate(s).base()
                         : is_time ? step_time(s).base()
                                   : bandwidth(s).base();
    const auto same = std::find_if(out.asides.begin(), out.asides.end(), [&](const auto& aside) {
      return aside.what.pattern == pattern && aside.what.dtype == s.what.dtype;
    });
    if (same == out.asides.end()) {
      out.asides.push_back({.what = s.what, .value = value});
    } else if (value > same->value) {  // of times there is one case each
      *same = {.what = s.what, .value = value};
    }
  }
}

void reduce_rates(Characterization& out) {
  for (const Sample& s : out.samples) {
    if (s.what.pattern == Pattern::Update || s.what.pattern == Pattern::Mma) {
      const RateKey key{.dtype = s.what.dtype, .pipe = s.what.pipe};
      const auto found = out.rates.find(key);
      if (found == out.rates.end() || flop_rate(s) > found->second.value) {
        out.rates[key] = measured_rate(s);
      }
    } else if (s.what.pattern == Pattern::Shared) {
      if (!out.shared || bandwidth(s) > out.shared->value) {
        out.shared = hardware::Measured<BytesPerSecond>{.value = bandwidth(s),
                                                        .low = s.work.bytes / s.time.high,
                                                        .high = s.work.bytes / s.time.low,
                                                        .samples = s.time.repetitions};
      }
    } else if (s.what.pattern == Pattern::Launch) {
      const auto steps = static_cast<double>(s.work.steps);
      out.launch = hardware::Measured<Seconds>{.value = s.time.fast / steps,
                                               .low = s.time.low / steps,
                                               .high = s.time.high / steps,
                                               .samples = s.time.repetitions};
    }
  }
}

void warn_about_levels(Characterization& out) {
  const std::vector<LevelBandwidth> best = best_bandwidths(out);
  for (std::size_t i = 1; i < best.size(); ++i) {
    if (best[i].plateau.value > best[i - 1].plateau.value) {
      out.warnings.push_back(fmt::format("{} came out faster than {}: was the machine disturbed?",
                                         best[i].plateau.level, best[i - 1].plateau.level));
    }
  }
  for (const LevelBandwidth& b : best) {
    if (b.plateau.points < 2) {
      out.warnings.push_back(
          fmt::format("{} shows no plateau; its bandwidth is that of {} point", b.plateau.level,
                      b.plateau.level == kMemoryName ? "the largest" : "the fastest"));
    }
  }
  if (!best.empty() && best.back().plateau.level != kMemoryName) {
    out.warnings.push_back(
        fmt::format("memory was not measured: no working set is {:.0f} times the last cache",
                    kMemoryOverLastCache));
  }
  // Memory close to the cache before it: the sets may fit into one that the system hides.
  constexpr double kSuspicious = 0.8;
  if (best.size() >= 2 && best.back().plateau.level == kMemoryName &&
      best.back().plateau.value > best[best.size() - 2].plateau.value * kSuspicious) {
    out.warnings.push_back(
        fmt::format("{} is nearly as fast as {}: its working sets may fit into a cache that the "
                    "system does not report; repeat with a larger --max-working-set",
                    kMemoryName, best[best.size() - 2].plateau.level));
  }
  for (const CacheLevel& cache : out.device.caches) {
    const bool seen = std::any_of(best.begin(), best.end(), [&](const LevelBandwidth& b) {
      return b.plateau.level == cache.name;
    });
    if (!seen && !best.empty()) {
      out.warnings.push_back(
          fmt::format("{} was not measured: no working set lies inside of it "
                      "and outside of the level before",
                      cache.name));
    }
  }
}

void warn_about_samples(Characterization& out) {
  const auto loose = std::count_if(out.samples.begin(), out.samples.end(),
                                   [](const Sample& s) { return !s.converged; });
  if (loose * 4 > static_cast<std::ptrdiff_t>(out.samples.size())) {
    out.warnings.push_back(
        fmt::format("{} of {} measurements did not reach the wanted confidence; the machine is "
                    "busy or the time per measurement is too short (see --thorough)",
                    loose, out.samples.size()));
  }
  if (auto warning = clock_warning(out.clocks)) out.warnings.push_back(*std::move(warning));
}

std::optional<MemoryLevel> level_named(const std::string& name) {
  if (name == "L1") return MemoryLevel::L1;
  if (name == "L2") return MemoryLevel::L2;
  if (name == kMemoryName) return MemoryLevel::Dram;
  return std::nullopt;
}

hardware::Measured<BytesPerSecond> measured_bandwidth(const Plateau& p) {
  return {.value = BytesPerSecond::from_base(p.value),
          .low = BytesPerSecond::from_base(p.low),
          .high = BytesPerSecond::from_base(p.high),
          .samples = p.points};
}

void add_notes(const Characterization& result, hardware::Ceilings& out) {
  for (const LevelBandwidth& b : best_bandwidths(result)) {
    std::string patterns;
    for (const LevelBandwidth& other : result.bandwidths) {
      if (other.plateau.level != b.plateau.level) continue;
      patterns += fmt::format("{}{} {:.4g}", patterns.empty() ? "" : ", ", name_of(other.pattern),
                              other.plateau.value * 1e-9);
    }
    out.notes.push_back(fmt::format("{} in GB/s: {}; the ceiling is {}", b.plateau.level, patterns,
                                    name_of(b.pattern)));
  }
  for (const std::string& note : result.device.notes) out.notes.push_back(note);
  for (const std::string& warning : result.warnings) out.notes.push_back("warning: " + warning);
}

/// What is no ceiling of the roofline, by the names of levels and patterns.
void add_asides(const Characterization& result, hardware::Ceilings& out) {
  for (const Plateau& p : result.latencies) {
    out.latency[to_lower(p.level)] = {.value = Seconds::from_base(p.value),
                                      .low = Seconds::from_base(p.low),
                                      .high = Seconds::from_base(p.high),
                                      .samples = p.points};
  }
  for (const auto& aside : result.asides) {
    const std::string name = describe(aside).first;
    if (is_product(aside.what.pattern)) {
      out.product[name].value = FlopsPerSecond::from_base(aside.value);
    } else if (is_link_copy(aside.what.pattern)) {
      out.link[name].value = BytesPerSecond::from_base(aside.value);
    } else {
      out.latency[name].value = Seconds::from_base(aside.value);
    }
  }
}

}  // namespace

std::pair<std::string, std::string> describe(const Characterization::Aside& aside) {
  const Case& what = aside.what;
  if (is_product(what.pattern)) {
    return {fmt::format("{} {}", name_of(what.pattern), name_of(what.dtype)),
            format_rate(FlopsPerSecond::from_base(aside.value), what.dtype, 3)};
  }
  return {std::string(name_of(what.pattern)),
          is_link_copy(what.pattern) ? format_rate(BytesPerSecond::from_base(aside.value))
                                     : format_time(Seconds::from_base(aside.value))};
}

Characterization reduce(const DeviceDescription& device, std::vector<Sample> samples,
                        const std::vector<Hertz>& clocks, LevelRule rule) {
  Characterization out;
  out.device = device;
  out.samples = std::move(samples);
  out.clocks = clocks;
  switch (rule) {
    case LevelRule::Topology: reduce_by_topology(out); break;
    case LevelRule::Ert: reduce_by_ert({.gap = 1.25}, out); break;
    case LevelRule::Ert2019: reduce_by_ert({.gap = 1.15}, out); break;
  }
  reduce_latencies(out);
  reduce_rates(out);
  reduce_asides(out);
  if (rule == LevelRule::Topology) warn_about_levels(out);
  warn_about_samples(out);
  return out;
}

std::vector<LevelBandwidth> best_bandwidths(const Characterization& result) {
  std::vector<LevelBandwidth> best;
  for (const LevelBandwidth& b : result.bandwidths) {
    if (best.empty() || best.back().plateau.level != b.plateau.level) {
      best.push_back(b);
    } else if (b.plateau.value > best.back().plateau.value) {
      best.back() = b;
    }
  }
  return best;
}

hardware::Ceilings to_ceilings(const Characterization& result, const std::string& tool) {
  hardware::Ceilings out;
  out.device = result.device.name;
  out.tool = tool;
  out.date = today();
  const auto fact = [&out](const char* key, std::string value) {
    if (!value.empty()) out.environment.emplace_back(key, std::move(value));
  };
  fact("backend", result.device.backend);
  fact("isa", result.device.isa);
  fact("driver", result.device.driver);
  fact("units", std::to_string(result.device.units));
  fact("workers", std::to_string(result.device.workers));
  if (!result.clocks.empty()) {
    const auto [low, high] = std::minmax_element(result.clocks.begin(), result.clocks.end());
    fact("observed_clock",
         fmt::format("{:.3f} to {:.3f} GHz", low->base() * 1e-9, high->base() * 1e-9));
  }
  for (auto& [key, value] : host_environment()) out.environment.emplace_back(key, value);
  for (const LevelBandwidth& b : best_bandwidths(result)) {
    if (const auto level = level_named(b.plateau.level)) {
      out.bandwidth[*level] = measured_bandwidth(b.plateau);
    } else {
      out.last_level = measured_bandwidth(b.plateau);  // L3; L4 where there is one
    }
  }
  out.rate = result.rates;
  out.shared = result.shared;
  out.launch = result.launch;
  add_asides(result, out);
  add_notes(result, out);
  return out;
}

}  // namespace rooftile::characterize
