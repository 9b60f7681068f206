// SPDX-License-Identifier: Apache-2.0
#include "report/gpu_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "core/operations.h"
#include "core/text.h"
#include "core/utf8.h"
#include "report/provenance_view.h"
#include "report/table.h"

namespace rooftile::report {

namespace {

using hardware::GpuSpec;
using hardware::LintedFile;
using hardware::LintFinding;
using hardware::Machine;
using hardware::MemoryLevel;
using hardware::Pipe;

constexpr std::string_view kUnknown = "-";
constexpr double kMiB = 1048576.0;
constexpr double kKiB = 1024.0;

/// The faster of the 16-bit tensor rates.
std::optional<FlopsPerSecond> best_16_bit(const GpuSpec& gpu) {
  std::optional<FlopsPerSecond> best;
  for (const DType dtype : {DType::Bf16, DType::Fp16}) {
    const auto it = gpu.peak.find({.dtype = dtype, .pipe = Pipe::Tensor});
    if (it != gpu.peak.end() && (!best || it->second > *best)) best = it->second;
  }
  return best;
}

/// Up to four significant digits without an exponent: 1978.9 -> "1979", 0.206 -> "0.206".
std::string number(double value) {
  return value >= 1000 ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
}

template <typename Q>
std::string scaled(const std::optional<Q>& value, double unit) {
  return value ? number(value->base() / unit) : std::string(kUnknown);
}

std::string integer(const std::optional<std::int64_t>& value) {
  return value ? fmt::format("{}", *value) : std::string(kUnknown);
}

/// A list item: "  - text", continued under the text.
std::string item(std::string_view text, int width) {
  std::string lines = wrapped(text, width, 4);
  if (lines.size() > 2) lines[2] = '-';
  return lines;
}

std::string headline(const GpuSpec& gpu, const GpuTextOptions& options) {
  std::string text = fmt::format("{} ({})\n", bold(gpu.name, options.color), visible(gpu.id));
  std::vector<std::string> facts{gpu.architecture, gpu.chip, gpu.isa};
  if (gpu.process) facts.push_back(*gpu.process);
  if (gpu.year) facts.push_back(fmt::format("{}", *gpu.year));
  if (gpu.power_watt) facts.push_back(fmt::format("{:g} W", *gpu.power_watt));
  if (gpu.devices > 1) facts.push_back(fmt::format("{} devices to software", gpu.devices));
  text += wrapped(fmt::format("{}", fmt::join(facts, ", ")), options.width, 2);
  if (!gpu.aliases.empty())
    text +=
        wrapped(fmt::format("also known as {}", fmt::join(gpu.aliases, ", ")), options.width, 2);
  return text;
}

std::string compute_lines(const GpuSpec& gpu, int width) {
  const std::string_view sm = gpu.vendor == hardware::Vendor::Amd ? "CU" : "SM";
  const auto mhz = [](Hertz clock) { return clock.base() / 1e6; };
  std::string clocks = fmt::format("boost {:g} MHz", mhz(gpu.clock.boost));
  if (gpu.clock.base) clocks = fmt::format("base {:g}, {}", mhz(*gpu.clock.base), clocks);
  if (gpu.clock.tensor && *gpu.clock.tensor != gpu.clock.boost)
    clocks += fmt::format(", tensor peaks at {:g} MHz", mhz(*gpu.clock.tensor));
  std::string text = wrapped(
      fmt::format("{} {}s x {} FP32 lanes; {}", gpu.sm.count, sm, gpu.sm.fp32_lanes, clocks), width,
      2);
  text += wrapped(
      fmt::format("per {}: {} threads, {} warps of {}, {} blocks, {} registers, {} KiB shared "
                  "({} KiB per block)",
                  sm, integer(gpu.sm.max_threads), integer(gpu.sm.max_warps), gpu.sm.warp_size,
                  integer(gpu.sm.max_blocks), integer(gpu.sm.registers),
                  scaled(gpu.sm.shared, kKiB), scaled(gpu.sm.shared_per_block, kKiB)),
      width, 2);
  for (const auto& [title, link] :
       {std::pair("link", gpu.interconnect), std::pair("host", gpu.pcie)}) {
    if (link)
      text += wrapped(fmt::format("{}: {}, {:g} GB/s per direction", title, link->name,
                                  link->per_direction.base() / 1e9),
                      width, 2);
  }
  return text;
}

std::string level_size(const GpuSpec& gpu, MemoryLevel level) {
  switch (level) {
    case MemoryLevel::L1:
      return scaled(gpu.l1.size, kKiB) +
             (gpu.l1.includes_shared ? " KiB/SM, with shared" : " KiB/SM");
    case MemoryLevel::L2: return scaled(gpu.l2.size, kMiB) + " MiB";
    case MemoryLevel::Dram:
      return fmt::format("{} GB {}", scaled(gpu.dram.size, 1e9), gpu.dram.type);
  }
  return {};
}

const hardware::MemorySpec& spec_of(const GpuSpec& gpu, MemoryLevel level) {
  switch (level) {
    case MemoryLevel::L1: return gpu.l1;
    case MemoryLevel::L2: return gpu.l2;
    case MemoryLevel::Dram: break;
  }
  return gpu.dram;
}

std::string memory_table(const Machine& machine, int width) {
  const GpuSpec& gpu = machine.gpu;
  Table table({{.title = "memory"},
               {.title = "size"},
               {.title = "GB/s", .align = Align::Right},
               {.title = "from"},
               {.title = "line/sector, B", .align = Align::Right},
               {.title = "latency, cycles", .align = Align::Right}});
  const auto row = [&](std::string name, std::string size,
                       const std::optional<hardware::Sourced<BytesPerSecond>>& bandwidth,
                       const hardware::MemorySpec& spec) {
    table.add({std::move(name), std::move(size),
               bandwidth ? number(bandwidth->value.base() / 1e9) : std::string(kUnknown),
               bandwidth ? name_of(bandwidth->source) : "unknown",
               fmt::format("{}/{}", scaled(spec.line, 1), scaled(spec.sector, 1)),
               scaled(spec.latency, 1)});
  };
  for (const MemoryLevel level : hardware::kMemoryLevels) {
    if (level == MemoryLevel::Dram && gpu.last_level) {
      std::optional<hardware::Sourced<BytesPerSecond>> bandwidth;
      if (gpu.last_level->bandwidth) bandwidth = {*gpu.last_level->bandwidth, {}};
      row("last level", scaled(gpu.last_level->size, kMiB) + " MiB", bandwidth, *gpu.last_level);
    }
    row(std::string(name_of(level)), level_size(gpu, level), machine.bandwidth(level),
        spec_of(gpu, level));
  }
  std::string text = table.render(width, 2);
  const hardware::MeasuredSpec& measured = gpu.measured;
  if (measured.dram_read || measured.dram_write || measured.dram_copy)
    text += fmt::format("  published dram streams: read {}, write {}, copy {} GB/s\n",
                        scaled(measured.dram_read, 1e9), scaled(measured.dram_write, 1e9),
                        scaled(measured.dram_copy, 1e9));
  if (measured.latency_clock)
    text +=
        fmt::format("  latencies were counted at {:g} MHz\n", measured.latency_clock->base() / 1e6);
  return text;
}

std::string rate_table(const Machine& machine, int width) {
  const GpuSpec& gpu = machine.gpu;
  Table table({{.title = "rate"},
               {.title = "TFLOP/s", .align = Align::Right},
               {.title = "from"},
               {.title = "FLOP/clk/SM", .align = Align::Right},
               {.title = "published", .align = Align::Right},
               {.title = "ridge L1", .align = Align::Right},
               {.title = "L2", .align = Align::Right},
               {.title = "DRAM, FLOP/B", .align = Align::Right}});
  for (const auto& [key, peak] : gpu.peak) {
    const auto ceiling = machine.rate_ceiling(key);
    const auto per_clock = gpu.sm.flop_per_clock.find(key);
    const auto published = gpu.measured.rate.find(key);
    std::vector<std::string> cells{
        name_of(key), number(ceiling->value.base() / 1e12), name_of(ceiling->source),
        per_clock == gpu.sm.flop_per_clock.end() ? std::string(kUnknown)
                                                 : number(per_clock->second),
        published == gpu.measured.rate.end()
            ? std::string(kUnknown)
            : fmt::format("{} ({:.0f} %)", number(published->second.base() / 1e12),
                          100.0 * (published->second / peak))};
    for (const MemoryLevel level : hardware::kMemoryLevels)
      cells.push_back(scaled(machine.ridge(level, key), 1));
    table.add(std::move(cells));
  }
  std::string text = table.render(width, 2);
  for (const auto& [key, peak] : gpu.peak) {
    if (is_integer(key.dtype)) text += fmt::format("  {} counts OP, not FLOP\n", name_of(key));
  }
  for (const auto& [key, rate] : gpu.peak_fp16_accumulate) {
    text += fmt::format("  {} with FP16 accumulation: {} TFLOP/s\n", name_of(key),
                        number(rate.base() / 1e12));
  }
  return text;
}

/// Allowed findings, one item per rule and reason.
std::string exceptions(const std::vector<LintFinding>& findings, int width) {
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> groups;
  for (const LintFinding& finding : findings) {
    if (finding.allowed) groups[{finding.rule, *finding.allowed}].push_back(finding.pointer);
  }
  std::string text;
  for (const auto& [key, pointers] : groups) {
    text += item(fmt::format("{} at {}{}: {}", key.first, pointers.front(),
                             pointers.size() > 1 ? fmt::format(" and {} more", pointers.size() - 1)
                                                 : std::string(),
                             key.second),
                 width);
  }
  return text;
}

/// The name without what other columns say: "NVIDIA H100 SXM5 80GB" -> "H100 SXM5".
std::string short_name(const GpuSpec& gpu) {
  std::string name;
  for (const std::string_view word : split(gpu.name, ' ')) {
    const bool vendor = to_lower(word) == name_of(gpu.vendor);
    const bool size = word.ends_with("GB") && parse_int(word.substr(0, word.size() - 2));
    if (vendor || size) continue;
    if (!name.empty()) name += ' ';
    name += word;
  }
  return name;
}

}  // namespace

std::string gpus_to_text(std::span<const GpuSpec> gpus, const Notes& notes, int width) {
  Table table({{.title = "id"},
               {.title = "name", .shrink = true},
               {.title = "year", .align = Align::Right},
               {.title = "SMs", .align = Align::Right},
               {.title = "MHz", .align = Align::Right},
               {.title = "FP32", .align = Align::Right},
               {.title = "16-bit", .align = Align::Right},
               {.title = "memory", .align = Align::Right},
               {.title = "GB/s", .align = Align::Right},
               {.title = "L2", .align = Align::Right},
               {.title = "W", .align = Align::Right}});
  for (const GpuSpec& gpu : gpus) {
    const auto fp32 = gpu.peak.find({.dtype = DType::Fp32, .pipe = Pipe::Vector});
    table.add({gpu.id, short_name(gpu), integer(gpu.year), fmt::format("{}", gpu.sm.count),
               number(gpu.clock.boost.base() / 1e6),
               fp32 == gpu.peak.end() ? std::string(kUnknown) : number(fp32->second.base() / 1e12),
               scaled(best_16_bit(gpu), 1e12),
               fmt::format("{} {:>2}", gpu.dram.type, scaled(gpu.dram.size, 1e9)),
               scaled(gpu.dram.bandwidth, 1e9), scaled(gpu.l2.size, kMiB),
               gpu.power_watt ? number(*gpu.power_watt) : std::string(kUnknown)});
  }
  return table.render(width, 0) +
         fmt::format(
             "{} GPUs. FP32 and the best 16-bit tensor rate are dense TFLOP/s, memory is GB, L2 "
             "MiB.\n"
             "`rooftile gpus ID` shows one with its sources.\n",
             gpus.size()) +
         provenance_to_text(notes.provenance, false);
}

std::string gpu_to_text(const Machine& machine, const Notes& notes, const GpuTextOptions& options) {
  const GpuSpec& gpu = machine.gpu;
  std::string text = headline(gpu, options) + "\n" + compute_lines(gpu, options.width) + "\n" +
                     memory_table(machine, options.width) + "\n" +
                     rate_table(machine, options.width);
  const auto findings = hardware::lint(gpu);
  for (const LintFinding& finding : findings) {
    if (!finding.allowed)
      text += item(fmt::format("lint: {} {}: {}", finding.rule, finding.pointer, finding.message),
                   options.width);
  }
  const std::string allowed = exceptions(findings, options.width);
  if (!allowed.empty()) text += "\n" + bold("Declared exceptions", options.color) + "\n" + allowed;
  if (!gpu.doubts.empty()) {
    text += "\n" + bold("Doubts", options.color) + "\n";
    for (const std::string& doubt : gpu.doubts) text += item(doubt, options.width);
  }
  text += "\n" + bold("Sources", options.color) + "\n";
  for (const auto& [pointer, source] : gpu.sources) {
    text +=
        item(fmt::format("{}: {}", pointer.empty() ? "general" : pointer, source), options.width);
  }
  return text + dim(visible(gpu.file), options.color) + "\n" +
         provenance_to_text(notes.provenance, options.color);
}

std::string lint_to_text(std::span<const LintedFile> files, const Notes& notes, int width) {
  std::string text;
  std::string allowed;
  std::size_t findings = 0;
  std::size_t declared = 0;
  for (const LintedFile& file : files) {
    if (file.error) {
      ++findings;
      text += to_string(*file.error);
    }
    for (const LintFinding& finding : file.findings) {
      ++(finding.allowed ? declared : findings);
      if (!finding.allowed)
        text += item(
            fmt::format("{}:{}: {}: {}", file.file, finding.pointer, finding.rule, finding.message),
            width);
    }
    const std::string own = exceptions(file.findings, width);
    if (!own.empty()) allowed += fmt::format("{}\n{}", visible(file.id), own);
  }
  if (!allowed.empty()) text += "Exceptions that the files declare:\n" + allowed;
  text += fmt::format("{} file{}, {} rules: {} finding{}, {} declared exception{}\n", files.size(),
                      files.size() == 1 ? "" : "s", hardware::lint_rules().size(), findings,
                      findings == 1 ? "" : "s", declared, declared == 1 ? "" : "s");
  return text + provenance_to_text(notes.provenance, false);
}

}  // namespace rooftile::report
