// SPDX-License-Identifier: Apache-2.0
#include "characterize/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "characterize/plateau.h"
#include "core/text.h"

namespace rooftile::characterize {

namespace {

struct EffortSettings {
  double sets_per_octave = 0;  ///< density of the working sets of the sweep
  double memory_factor = 0;    ///< largest working set over the last cache
  std::int64_t max_flops = 0;  ///< largest FLOPs per element of the intensity sweep
  StoppingRule stopping;
  Seconds target_run, warm_up, second_look;
};

EffortSettings settings(Effort effort) {
  const auto s = [](double v) { return Seconds::from_base(v); };
  switch (effort) {
    case Effort::Quick:
      return {1.0, 8.0, 512, {12, 40, 0.02, 0.95, s(0.05)}, s(5e-4), s(0.01), s(12)};
    case Effort::Normal:
      return {2.0, 12.0, 1024, {20, 200, 0.01, 0.95, s(0.2)}, s(1e-3), s(0.03), s(60)};
    case Effort::Thorough:
      return {4.0, 16.0, 1024, {36, 1000, 0.005, 0.95, s(1.0)}, s(2e-3), s(0.1), s(300)};
  }
  return {};
}

Bytes largest_set(const DeviceDescription& device, const PlanOptions& options, double factor) {
  const Bytes last = smallest_memory_set(device.caches) / kMemoryOverLastCache;
  Bytes largest = options.max_working_set.value_or(max(last * factor, 64_MiB));
  if (device.memory) largest = min(largest, *device.memory * 0.5);
  return largest;
}

/// Logarithmic steps from one granule per unit to the largest set. Those of memory start exactly
/// where memory starts and are never wider than half an octave: it must show a plateau too.
std::vector<Bytes> working_sets(const DeviceDescription& device, Bytes largest, double per_octave) {
  const auto units = static_cast<double>(device.units);
  const Bytes granule = device.set_granule;
  std::vector<Bytes> sets;
  const auto add = [&](Bytes from, Bytes to, double step) {
    for (Bytes set = from; set <= to * 1.0001; set *= step) {
      const double blocks = std::max(1.0, std::round(set / units / granule));
      const Bytes rounded = granule * (blocks * units);
      if (sets.empty() || rounded > sets.back()) sets.push_back(rounded);
    }
  };
  const Bytes memory = smallest_memory_set(device.caches);
  add(granule * units, min(largest, memory * 0.99), std::exp2(1.0 / per_octave));
  add(memory, largest, std::exp2(1.0 / std::max(per_octave, 2.0)));
  if (sets.empty()) sets.push_back(granule * units);
  return sets;
}

/// Half of the smallest cache: everything the intensity sweep touches stays in it.
Bytes smallest_cache_set(const DeviceDescription& device, const std::vector<Bytes>& sets) {
  const auto smallest = std::find_if(device.caches.begin(), device.caches.end(),
                                     [](const CacheLevel& cache) { return !cache.apart; });
  Bytes best = sets.front();
  for (const Bytes set : sets) {
    if (smallest != device.caches.end() && set <= smallest->capacity * 0.55) best = set;
  }
  return best;
}

/// Powers of two per unit, from 4 KiB to what fits into its L1: the kernel's slices are such.
std::vector<Bytes> l1_sets(const DeviceDescription& device) {
  constexpr Bytes kLargest = 128_KiB;  // of one pass of a block's loads
  std::vector<Bytes> sets;
  for (const CacheLevel& cache : device.caches) {
    if (!cache.apart) continue;
    const auto instances = static_cast<double>(cache.instances);
    const Bytes most = min(cache.capacity / instances * 0.8, kLargest);
    for (Bytes slice = 4_KiB; slice <= most; slice *= 2.0) sets.push_back(slice * instances);
  }
  return sets;
}

/// Chains of one thread that sees the L1 of its own unit: from 4 KiB on.
std::vector<Bytes> chain_sets(const DeviceDescription& device, Bytes largest, double per_octave) {
  DeviceDescription one = device;
  one.units = 1;
  one.set_granule = 4_KiB;
  return working_sets(one, largest, per_octave);
}

/// Others may take a part of a shared cache: chains that find little room in it are what is left of
/// it then. Quarter octaves from twice to four times the level before, where that is inside.
std::vector<Bytes> with_small_chains(const DeviceDescription& device, std::vector<Bytes> sets) {
  const auto units = static_cast<double>(device.units);
  for (std::size_t i = 1; i < device.caches.size(); ++i) {
    for (const double factor : {2.0, 2.38, 2.83, 3.36}) {
      const Bytes set = device.caches[i - 1].capacity * factor;
      if (set > device.caches[i].capacity * 0.8 || set > sets.back()) continue;
      sets.push_back(device.set_granule * (std::round(set / units / device.set_granule) * units));
      std::inplace_merge(sets.begin(), sets.end() - 1, sets.end());
    }
  }
  sets.erase(std::unique(sets.begin(), sets.end()), sets.end());
  return sets;
}

/// Sizes of copies over links: enough for the full rate, and where it begins.
std::vector<Bytes> copy_sets(const DeviceDescription& device) {
  std::vector<Bytes> sets;
  for (const Bytes set : {1_MiB, 16_MiB, 64_MiB, 256_MiB}) {
    if (!device.memory || set <= *device.memory * 0.25) sets.push_back(set);
  }
  return sets;
}

bool wanted(const PlanOptions& options, const Capability& c) {
  const auto has = [](const auto& list, auto value) {
    return list.empty() || std::find(list.begin(), list.end(), value) != list.end();
  };
  return has(options.dtypes, c.dtype) && has(options.patterns, c.pattern);
}

/// Streaming patterns do not depend on the number format; they run in the widest wanted one, update
/// in the widest that has a kernel of one FLOP per element.
bool is_bandwidth_format(const Capability& c, const std::vector<Capability>& all,
                         const PlanOptions& options) {
  if (c.least_flops > 1) return false;
  return std::none_of(all.begin(), all.end(), [&](const Capability& other) {
    return wanted(options, other) && other.pattern == c.pattern && other.least_flops <= 1 &&
           size_of(other.dtype) > size_of(c.dtype);
  });
}

void add_intensity_sweep(const Capability& c, Bytes cached, Bytes in_memory, std::int64_t max_flops,
                         std::vector<Case>& cases) {
  for (const Bytes set : {cached, in_memory}) {
    for (std::int64_t flops = c.least_flops; flops <= max_flops; flops *= 2) {
      cases.push_back({.pattern = c.pattern,
                       .dtype = c.dtype,
                       .pipe = c.pipe,
                       .working_set = set,
                       .flops_per_element = flops});
    }
    if (cached == in_memory) break;
  }
}

struct SetLists {
  std::vector<Bytes> sets;    ///< of all streaming patterns
  std::vector<Bytes> update;  ///< of the update pattern
  std::vector<Bytes> chains;  ///< of chase
};

void add_cases(const Capability& c, const DeviceDescription& device, const SetLists& lists,
               const EffortSettings& effort, bool bandwidth_format, std::vector<Case>& cases) {
  const std::vector<Bytes>& sets = lists.sets;
  const Case base{.pattern = c.pattern,
                  .dtype = c.dtype,
                  .pipe = c.pipe,
                  .working_set = {},
                  .flops_per_element = 0};
  const auto with_set = [&](Bytes set, std::int64_t flops) {
    Case what = base;
    what.working_set = set;
    what.flops_per_element = flops;
    return what;
  };
  const auto add_all = [&](const std::vector<Bytes>& list) {
    for (const Bytes set : list) cases.push_back(with_set(set, 0));
  };
  if (c.pattern == Pattern::Update) {
    // The bandwidth curve of ERT (1 FLOP per element) in one format, the intensities in all.
    if (bandwidth_format) {
      for (const Bytes set : lists.update) cases.push_back(with_set(set, 1));
    }
    add_intensity_sweep(c, smallest_cache_set(device, sets), sets.back(), effort.max_flops, cases);
  } else if (c.pattern == Pattern::LoadL1) {
    add_all(l1_sets(device));
  } else if (is_streaming(c.pattern)) {
    if (bandwidth_format) add_all(sets);
  } else if (c.pattern == Pattern::Shared) {
    if (bandwidth_format)
      cases.push_back(with_set(device.set_granule * static_cast<double>(device.units), 0));
  } else if (c.pattern == Pattern::Chase) {
    add_all(lists.chains);
  } else if (is_chase(c.pattern)) {
    cases.push_back(with_set(4_MiB, 0));  // beyond what an L1 may keep of it
  } else if (is_link_copy(c.pattern)) {
    add_all(copy_sets(device));
  } else {
    cases.push_back(base);
  }
}

/// "load, store in fp64; update in fp64, fp32": what can be asked for.
std::string describe_capabilities(const std::vector<Capability>& capabilities) {
  std::vector<std::pair<std::string, std::string>> groups;  // formats, patterns that run in them
  for (const Pattern pattern : kAllPatterns) {
    std::vector<std::string_view> formats;
    for (const Capability& c : capabilities) {
      if (c.pattern == pattern) formats.push_back(name_of(c.dtype));
    }
    if (formats.empty()) continue;
    const std::string key = fmt::format("{}", fmt::join(formats, ", "));
    const auto found = std::find_if(groups.begin(), groups.end(),
                                    [&key](const auto& group) { return group.first == key; });
    if (found == groups.end()) {
      groups.emplace_back(key, name_of(pattern));
    } else {
      found->second += fmt::format(", {}", name_of(pattern));
    }
  }
  std::string out;
  for (const auto& [formats, patterns] : groups) {
    out += fmt::format("{}{} in {}", out.empty() ? "" : "; ", patterns, formats);
  }
  return out;
}

/// Everything that was asked for by name must be measured by something.
Status check_wanted(const DeviceDescription& device, const std::vector<Capability>& capabilities,
                    const PlanOptions& options) {
  const auto any = [&](const auto& matches) {
    return std::any_of(capabilities.begin(), capabilities.end(),
                       [&](const Capability& c) { return wanted(options, c) && matches(c); });
  };
  const auto names = [](const auto& list) {
    std::vector<std::string_view> out;
    for (const auto item : list) out.push_back(name_of(item));
    return out;
  };
  std::string missing;
  for (const DType dtype : options.dtypes) {
    if (any([dtype](const Capability& c) { return c.dtype == dtype; })) continue;
    missing = name_of(dtype);
    if (!options.patterns.empty()) {
      missing += fmt::format(" with {}", fmt::join(names(options.patterns), ", "));
    }
  }
  for (const Pattern pattern : options.patterns) {
    if (any([pattern](const Capability& c) { return c.pattern == pattern; })) continue;
    missing = name_of(pattern);
    if (!options.dtypes.empty()) {
      missing += fmt::format(" in {}", fmt::join(names(options.dtypes), ", "));
    }
  }
  if (missing.empty()) return {};
  return unsupported(device.backend + ":" + device.name, "no kernel measures " + missing,
                     fmt::format("this device can run {}", describe_capabilities(capabilities)));
}

/// A case costs its warm-up, its repetitions and what filling and first passes take; memory-sized
/// sets are counted with 10 GB/s, a rate that every machine in question exceeds.
Seconds estimate_time(const std::vector<Case>& cases, const EffortSettings& effort) {
  Seconds total;
  for (const Case& what : cases) {
    const Seconds pass = what.working_set / BytesPerSecond::from_base(1e10);
    const auto repetitions = static_cast<double>(effort.stopping.min_repetitions);
    const Seconds timed = max(effort.stopping.budget, max(effort.target_run, pass) * repetitions);
    total += timed + effort.warm_up + pass * 3.0;
  }
  return total;
}

}  // namespace

Result<Plan> make_plan(const DeviceDescription& device, const std::vector<Capability>& capabilities,
                       const PlanOptions& options) {
  ROOFTILE_CHECK(check_wanted(device, capabilities, options));
  const EffortSettings effort = settings(options.effort);
  const Bytes largest = largest_set(device, options, effort.memory_factor);
  constexpr double kErtSetsPerOctave = 7.27;  // 1 / log2(1.1)
  const auto sets_of = [&](double per_octave) { return working_sets(device, largest, per_octave); };
  const SetLists sets{
      .sets = sets_of(effort.sets_per_octave),
      .update = sets_of(options.dense_update ? kErtSetsPerOctave : effort.sets_per_octave),
      .chains = std::any_of(device.caches.begin(), device.caches.end(),
                            [](const CacheLevel& cache) { return cache.apart; })
                    ? chain_sets(device, largest, effort.sets_per_octave)
                    : with_small_chains(device, sets_of(effort.sets_per_octave))};
  Plan plan{.cases = {},
            .stopping = effort.stopping,
            .target_run = effort.target_run,
            .warm_up = effort.warm_up,
            .second_look = effort.second_look,
            .estimate = {}};
  constexpr double kQuickLimit = 50;  // of the minute that is promised; starting takes its time too
  if (options.effort == Effort::Quick) plan.limit = Seconds::from_base(kQuickLimit);
  for (const Capability& c : capabilities) {
    if (!wanted(options, c)) continue;
    add_cases(c, device, sets, effort, is_bandwidth_format(c, capabilities, options), plan.cases);
  }
  // The bandwidth curve and the intensity sweep share their 1-FLOP points.
  std::vector<Case> unique;
  for (const Case& what : plan.cases) {
    if (std::find(unique.begin(), unique.end(), what) == unique.end()) unique.push_back(what);
  }
  plan.cases = std::move(unique);
  plan.estimate = estimate_time(plan.cases, effort);
  return plan;
}

std::string fingerprint(const DeviceDescription& device, const Plan& plan) {
  // FNV-1a over everything that decides what the samples mean.
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  const auto mix = [&hash](std::string_view text) {
    for (const char c : text) {
      hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    }
  };
  mix(fmt::format("{}|{}|{}|{}|{}|", device.backend, device.name, device.isa, device.units,
                  device.workers));
  mix(fmt::format("{}|{}|{}|", plan.stopping.min_repetitions, plan.stopping.target_error,
                  plan.target_run.base()));
  for (const Case& what : plan.cases) mix(describe(what) + "|");
  return fmt::format("{:016x}", hash);
}

}  // namespace rooftile::characterize
