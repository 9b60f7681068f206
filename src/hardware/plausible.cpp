// SPDX-License-Identifier: Apache-2.0
#include "hardware/plausible.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/provenance.h"
#include "core/text.h"
#include "hardware/catalog_files.h"
#include "hardware/lint_checks.h"

namespace rooftile::hardware {

namespace {

// Processors also have such ceilings, so the ranges reach further down than those of GPUs.
constexpr Plausible kBandwidth{1e9, 1e15, "B/s"};
constexpr Plausible kRate{1e8, 1e18, "FLOP/s"};
constexpr Plausible kLaunch{1e-8, 1e-3, "s"};

/// Clocks of a short run may exceed the quoted ones, and so may a measured ceiling.
constexpr double kAbove = 1.05;

/// One measured value, what the data sheet says, and where it stands.
struct Compared {
  std::string pointer;
  double measured = 0;
  std::optional<double> sheet;
  const Plausible& range;
};

std::string text_of(double value, const Plausible& range) {
  return range.unit == "B/s" ? format_rate(BytesPerSecond::from_base(value), 4)
                             : format_rate(FlopsPerSecond::from_base(value), 4);
}

std::optional<double> base_of(const std::optional<Sourced<BytesPerSecond>>& ceiling) {
  return ceiling ? std::optional(ceiling->value.base()) : std::nullopt;
}

std::vector<Compared> compared(const Ceilings& ceilings, const GpuSpec* gpu) {
  const std::optional<Machine> sheet =
      gpu != nullptr ? std::optional(Machine{.gpu = *gpu, .ceilings = {}}) : std::nullopt;
  std::vector<Compared> values;
  for (const auto& [level, value] : ceilings.bandwidth) {
    values.push_back({.pointer = fmt::format("/bandwidth/{}", name_of(level)),
                      .measured = value.value.base(),
                      .sheet = sheet ? base_of(sheet->bandwidth(level)) : std::nullopt,
                      .range = kBandwidth});
  }
  if (ceilings.last_level)
    values.push_back({.pointer = "/bandwidth/last_level",
                      .measured = ceilings.last_level->value.base(),
                      .sheet = {},
                      .range = kBandwidth});
  if (ceilings.shared)
    values.push_back({.pointer = "/bandwidth/shared",
                      .measured = ceilings.shared->value.base(),
                      .sheet = {},
                      .range = kBandwidth});
  for (const auto& [key, value] : ceilings.rate) {
    const auto peak = sheet ? sheet->rate(key.dtype, key.pipe) : std::nullopt;
    values.push_back({.pointer = fmt::format("/rate/{}", name_of(key)),
                      .measured = value.value.base(),
                      .sheet = peak ? std::optional(peak->base()) : std::nullopt,
                      .range = kRate});
  }
  return values;
}

/// L1 >= L2 >= last level >= DRAM.
void check_order(const Ceilings& ceilings, LintReport& report) {
  std::vector<std::pair<std::string_view, BytesPerSecond>> levels;
  const auto add = [&](MemoryLevel level) {
    const auto it = ceilings.bandwidth.find(level);
    if (it != ceilings.bandwidth.end()) levels.emplace_back(name_of(level), it->second.value);
  };
  add(MemoryLevel::L1);
  add(MemoryLevel::L2);
  if (ceilings.last_level) levels.emplace_back("last_level", ceilings.last_level->value);
  add(MemoryLevel::Dram);
  for (std::size_t i = 1; i < levels.size(); ++i) {
    if (levels[i].second > levels[i - 1].second * kAbove)
      report.add(fmt::format("/bandwidth/{}", levels[i].first),
                 fmt::format("{} is faster than {} with {}", format_rate(levels[i].second, 4),
                             levels[i - 1].first, format_rate(levels[i - 1].second, 4)));
  }
}

std::vector<LintFinding> lint_ceilings(const Ceilings& ceilings, const GpuSpec* gpu) {
  std::vector<LintFinding> findings;
  LintReport slips(kUnitSlip, findings);
  const std::vector<Compared> values = compared(ceilings, gpu);
  for (const Compared& value : values) {
    if (!is_within(value.measured, value.range)) {
      expect(value.measured, value.range, value.pointer, slips);
    } else if (value.sheet) {
      expect_near(
          value.measured,
          {.value = *value.sheet,
           .what = fmt::format("the {} of {}", text_of(*value.sheet, value.range), gpu->id)},
          value.pointer, slips);
    }
  }
  if (ceilings.launch) expect(ceilings.launch->value.base(), kLaunch, "/launch", slips);
  if (!findings.empty()) return findings;  // the rest would repeat the same mistake
  LintReport above("above-data-sheet", findings);
  for (const Compared& value : values) {
    if (value.sheet && value.measured > *value.sheet * kAbove)
      above.add(value.pointer, fmt::format("measured {} is above the {} of {}",
                                           text_of(value.measured, value.range),
                                           text_of(*value.sheet, value.range), gpu->id));
  }
  LintReport order("bandwidth-order", findings);
  check_order(ceilings, order);
  return findings;
}

Status refuse(std::span<const LintFinding> findings, const std::string& file,
              const std::string& hint) {
  const auto worst = std::find_if(findings.begin(), findings.end(), is_refused);
  if (worst == findings.end()) return {};
  return bad_input(file + ":" + worst->pointer, fmt::format("{} (unit-slip)", worst->message),
                   hint);
}

Status refuse_ceilings(std::span<const LintFinding> findings, const Ceilings& ceilings) {
  return refuse(findings, ceilings.file,
                "correct the number, or leave it out: what is not stated is taken from the data "
                "sheet");
}

void add_warnings(std::span<const LintFinding> findings, const std::string& file,
                  std::vector<std::string>& warnings) {
  for (const LintFinding& finding : findings) {
    if (finding.allowed || is_refused(finding)) continue;
    warnings.push_back(
        fmt::format("lint: {}:{}: {} ({})", file, finding.pointer, finding.message, finding.rule));
  }
}

}  // namespace

std::vector<LintFinding> lint(const Ceilings& ceilings, const GpuSpec& gpu) {
  return lint_ceilings(ceilings, &gpu);
}

std::vector<LintFinding> lint(const Ceilings& ceilings) {
  return lint_ceilings(ceilings, nullptr);
}

Status check_plausible(const GpuSpec& gpu) {
  return refuse(lint(gpu), gpu.file,
                fmt::format("correct the number (rooftile gpus --lint {} shows all findings), or "
                            "declare the exception with its reason (docs/format/gpu.md)",
                            gpu.file));
}

Status check_plausible(const Machine& machine) {
  ROOFTILE_CHECK(check_plausible(machine.gpu));
  if (!machine.ceilings) return {};
  return refuse_ceilings(lint(*machine.ceilings, machine.gpu), *machine.ceilings);
}

Status check_plausible(const Ceilings& ceilings) {
  return refuse_ceilings(lint(ceilings), ceilings);
}

std::vector<Input> lint_inputs(const GpuSpec& gpu, const Catalog& catalog) {
  const std::string name = memory_type_file(gpu.dram.type);
  if (catalog.layer(name) == 0) return {};
  const auto file = catalog.read(name);
  return file ? std::vector{make_input("memory_type", gpu.dram.type, *file)} : std::vector<Input>{};
}

std::vector<std::string> warnings_of(const Machine& machine) {
  std::vector<std::string> warnings;
  add_warnings(lint(machine.gpu), machine.gpu.file, warnings);
  if (machine.ceilings)
    add_warnings(lint(*machine.ceilings, machine.gpu), machine.ceilings->file, warnings);
  return warnings;
}

std::vector<std::string> warnings_of(const Ceilings& ceilings) {
  std::vector<std::string> warnings;
  add_warnings(lint(ceilings), ceilings.file, warnings);
  return warnings;
}

std::vector<std::string> warnings_of(const SystemSpec& system, const GpuSpec& gpu) {
  const std::optional<LinkSpec>& own =
      system.kind == LinkKind::Fabric ? gpu.interconnect : gpu.pcie;
  std::vector<std::string> warnings;
  if (own && system.link.per_direction > own->per_direction * kAbove) {
    warnings.push_back(
        fmt::format("lint: {}:/link/per_direction: {} is more than the {} of {} has ({})",
                    system.file, format_rate(system.link.per_direction, 4), own->name, gpu.id,
                    format_rate(own->per_direction, 4)));
  }
  if (own && own->gpus && system.gpus > *own->gpus) {
    warnings.push_back(fmt::format("lint: {}:/gpus: {} GPUs on one {}, which joins {} of {}",
                                   system.file, system.gpus, own->name, *own->gpus, gpu.id));
  }
  return warnings;
}

}  // namespace rooftile::hardware
