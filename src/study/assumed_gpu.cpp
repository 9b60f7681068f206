// SPDX-License-Identifier: Apache-2.0
#include "study/assumed_gpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/text.h"
#include "hardware/load.h"

namespace rooftile::study {

namespace {

constexpr double kSameClock = 0.02;   ///< what is left of a locked clock
constexpr double kSameMemory = 0.02;  ///< of the bandwidth

/// Library kernels are named after the oldest generation that can run them, so the newest name is
/// what counts. Only Volta's tables come without a compute capability.
std::string_view capability_in_names(const std::vector<roofline::NamedRun>& runs) {
  constexpr std::array<std::string_view, 6> kNewer{"turing_", "ampere_", "hopper_",
                                                   "sm80_",   "sm86_",   "sm90_"};
  bool volta = false;
  for (const auto& named : runs) {
    for (const profile::KernelRecord& kernel : named.run.kernels) {
      const std::string name = to_lower(kernel.name);
      volta = volta || name.starts_with("volta_");
      for (const std::string_view newer : kNewer) {
        if (name.starts_with(newer)) return {};
      }
    }
  }
  return volta ? "7.0" : "";
}

double distance(const hardware::GpuSpec& gpu, Hertz clock) {
  return std::abs(*gpu.clock.base / clock - 1.0);
}

bool same_roofs(const hardware::GpuSpec& a, const hardware::GpuSpec& b) {
  if (!a.dram.bandwidth || !b.dram.bandwidth) return false;
  return a.sm.count == b.sm.count && a.sm.fp32_lanes == b.sm.fp32_lanes &&
         std::abs(*a.dram.bandwidth / *b.dram.bandwidth - 1.0) <= kSameMemory;
}

}  // namespace

std::optional<Hertz> mean_clock(const std::vector<roofline::NamedRun>& runs) {
  double weighted = 0.0, time = 0.0;
  for (const auto& named : runs) {
    for (const auto& kernel : named.run.kernels) {
      if (!kernel.clock || !kernel.time) continue;
      weighted += kernel.clock->base() * kernel.time->base();
      time += kernel.time->base();
    }
  }
  if (!(time > 0.0)) return std::nullopt;
  return Hertz::from_base(weighted / time);
}

Result<std::optional<AssumedGpu>> assumed_gpu(const std::vector<roofline::NamedRun>& runs,
                                              std::string_view isa, const Catalog& catalog) {
  const bool roofs = std::any_of(runs.begin(), runs.end(),
                                 [](const auto& named) { return !named.run.export_roofs.empty(); });
  const auto clock = mean_clock(runs);
  const std::string_view capability = isa.empty() ? capability_in_names(runs) : isa;
  if (roofs || !clock || capability.empty()) return std::nullopt;
  ROOFTILE_TRY(const auto gpus, hardware::list_gpus(catalog));
  std::vector<hardware::GpuSpec> at_base;
  for (const hardware::GpuSpec& gpu : gpus) {
    const bool here = gpu.isa == capability && gpu.clock.base;
    if (here && distance(gpu, *clock) <= kSameClock) at_base.push_back(gpu);
  }
  if (at_base.empty()) return std::nullopt;
  const auto nearest = std::min_element(
      at_base.begin(), at_base.end(),
      [&](const auto& a, const auto& b) { return distance(a, *clock) < distance(b, *clock); });
  const bool alike = std::all_of(at_base.begin(), at_base.end(),
                                 [&](const auto& gpu) { return same_roofs(gpu, *nearest); });
  if (!alike) return std::nullopt;
  ROOFTILE_TRY(hardware::Machine machine, hardware::load_machine(catalog, nearest->id, {}));
  std::string message = fmt::format(
      "the exports do not name their GPU; compute capability {}{} and {:.0f} MHz, near the base "
      "clock of {} ({:.0f} MHz): its roofs are used. State the GPU with --gpu",
      capability, isa.empty() ? " (by the names of kernels)" : "", clock->base() * 1e-6,
      nearest->id, nearest->clock.base->base() * 1e-6);
  return AssumedGpu{.machine = std::move(machine), .warning = {"assumed-gpu", std::move(message)}};
}

Status suggest_gpus(const Catalog& catalog, std::string_view isa, roofline::Chart& chart) {
  for (profile::Warning& warning : chart.warnings) {
    if (warning.name != "no-roofs" || isa.empty()) continue;
    ROOFTILE_TRY(const auto gpus, hardware::list_gpus(catalog));
    std::string list;
    for (const hardware::GpuSpec& gpu : gpus) {
      if (gpu.isa.starts_with(isa)) list += (list.empty() ? "" : ", ") + gpu.id;
    }
    if (!list.empty()) warning.message += fmt::format(" (with {}: {})", isa, list);
  }
  return {};
}

}  // namespace rooftile::study
