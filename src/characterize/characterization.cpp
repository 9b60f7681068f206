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

void reduce_by_topology(std::span<const LevelWindow> windows, Characterization& out) {
  std::vector<LevelBandwidth> found;
  for (const Pattern pattern : kAllPatterns) {
    if (!is_streaming(pattern)) continue;
    const std::vector<CurvePoint> curve = curve_of(out.samples, pattern);
    for (Plateau& p : find_plateaus(curve, windows, Better::Larger)) {
      found.push_back({.pattern = pattern, .plateau = std::move(p)});
    }
  }
  for (const LevelWindow& window : windows) {
    for (LevelBandwidth& b : found) {
      if (b.plateau.level == window.name) out.bandwidths.push_back(b);
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
  for (const Plateau& p : result.latencies) {
    out.notes.push_back(fmt::format("{} latency {:.3g} ns", p.level, p.value * 1e9));
  }
  for (const std::string& note : result.device.notes) out.notes.push_back(note);
  for (const std::string& warning : result.warnings) out.notes.push_back("warning: " + warning);
}

}  // namespace

Characterization reduce(const DeviceDescription& device, std::vector<Sample> samples,
                        const std::vector<Hertz>& clocks, LevelRule rule) {
  Characterization out;
  out.device = device;
  out.samples = std::move(samples);
  out.clocks = clocks;
  const std::vector<LevelWindow> windows = level_windows(device.caches);
  switch (rule) {
    case LevelRule::Topology: reduce_by_topology(windows, out); break;
    case LevelRule::Ert: reduce_by_ert({.gap = 1.25}, out); break;
    case LevelRule::Ert2019: reduce_by_ert({.gap = 1.15}, out); break;
  }
  out.latencies = find_plateaus(curve_of(out.samples, Pattern::Chase), windows, Better::Smaller);
  reduce_rates(out);
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
  add_notes(result, out);
  return out;
}

std::string to_text(const Characterization& result) {
  std::string out = fmt::format("{} ({}, {}; {} units)\n\n", result.device.name,
                                result.device.backend, result.device.isa, result.device.units);
  out += fmt::format("{:<8} {:<10} {:>12} {:>26} {:>8}\n", "level", "pattern", "bandwidth",
                     "working sets", "points");
  for (const LevelBandwidth& b : result.bandwidths) {
    const Plateau& p = b.plateau;
    out += fmt::format("{:<8} {:<10} {:>12} {:>11.6g} to {:>7.6g} KiB {:>8}\n", p.level,
                       name_of(b.pattern), format_rate(BytesPerSecond::from_base(p.value)),
                       p.from.base() / 1024, p.to.base() / 1024, p.points);
  }
  if (!result.rates.empty())
    out += fmt::format("\n{:<14} {:>14} {:>12}\n", "format", "peak", "of limit");
  for (const auto& [key, rate] : result.rates) {
    std::string share = "-";
    const auto limit = result.device.limits.flops.find(key);
    const bool is_known = limit != result.device.limits.flops.end() && limit->second.exact;
    if (is_known && !result.clocks.empty()) {
      const Hertz clock = *std::max_element(result.clocks.begin(), result.clocks.end());
      share = fmt::format("{:.1f} %", rate.value / (limit->second.value * clock) * 100);
    }
    out += fmt::format("{:<14} {:>14} {:>12}\n",
                       fmt::format("{}{}", name_of(key.dtype),
                                   key.pipe == hardware::Pipe::Tensor ? "_tensor" : ""),
                       format_rate(rate.value, key.dtype, 3), share);
  }
  if (!result.latencies.empty()) out += "\nlatency of a dependent load\n";
  for (const Plateau& p : result.latencies) {
    out += fmt::format("{:<8} {:>10}\n", p.level, format_time(Seconds::from_base(p.value)));
  }
  if (!result.device.notes.empty()) out += "\n";
  for (const std::string& note : result.device.notes) out += note + "\n";
  if (result.shared) out += fmt::format("\nshared memory {}\n", format_rate(result.shared->value));
  if (result.launch)
    out += fmt::format("\nlaunch overhead {}\n", format_time(result.launch->value));
  return out;
}

}  // namespace rooftile::characterize
