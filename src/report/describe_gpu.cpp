// SPDX-License-Identifier: Apache-2.0
//
// `rooftile gpus ID`: one GPU with its sources. A ridge point is peak / bandwidth of a level, in
// FLOP per byte: kernels with less work per byte than that are bound by the level.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/operations.h"
#include "report/describe.h"
#include "report/gpu_json.h"
#include "report/gpu_words.h"

namespace rooftile::report {

namespace {

using hardware::GpuSpec;
using hardware::LintFinding;
using hardware::Machine;
using hardware::MemoryLevel;
using nlohmann::ordered_json;

constexpr std::string_view kUnknown = "-";
constexpr double kMiB = 1048576.0, kKiB = 1024.0;

/// Up to four significant digits without an exponent: 1978.9 -> "1979", 0.206 -> "0.206".
std::string short_number(double value) {
  return value >= 1000 ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
}

template <typename Q>
std::string scaled_text(const std::optional<Q>& value, double unit) {
  return value ? short_number(value->base() / unit) : std::string(kUnknown);
}

std::string integer_text(const std::optional<std::int64_t>& value) {
  return value ? fmt::format("{}", *value) : std::string(kUnknown);
}

std::string identity_text(const GpuSpec& gpu) {
  std::vector<std::string> facts{gpu.architecture, gpu.chip, gpu.isa};
  if (gpu.process) facts.push_back(*gpu.process);
  if (gpu.year) facts.push_back(fmt::format("{}", *gpu.year));
  if (gpu.power_watt) facts.push_back(fmt::format("{:g} W", *gpu.power_watt));
  if (gpu.devices > 1) facts.push_back(fmt::format("{} devices to software", gpu.devices));
  return fmt::format("{}", fmt::join(facts, ", "));
}

Facts gpu_facts(const GpuSpec& gpu) {
  const std::string_view sm = gpu.vendor == hardware::Vendor::Amd ? "CU" : "SM";
  const auto mhz = [](Hertz clock) { return clock.base() / 1e6; };
  std::string clocks = fmt::format("boost {:g} MHz", mhz(gpu.clock.boost));
  if (gpu.clock.base) clocks = fmt::format("base {:g}, {}", mhz(*gpu.clock.base), clocks);
  if (gpu.clock.tensor && *gpu.clock.tensor != gpu.clock.boost)
    clocks += fmt::format(", tensor peaks at {:g} MHz", mhz(*gpu.clock.tensor));
  Facts facts{.rows = {{"chip", identity_text(gpu)}}};
  if (!gpu.aliases.empty())
    facts.rows.push_back({"also known as", fmt::format("{}", fmt::join(gpu.aliases, ", "))});
  facts.rows.push_back({"compute", fmt::format("{} {}s x {} FP32 lanes; {}", gpu.sm.count, sm,
                                               gpu.sm.fp32_lanes, clocks)});
  facts.rows.push_back(
      {fmt::format("per {}", sm),
       fmt::format("{} threads, {} warps of {}, {} blocks, {} registers, {} KiB shared ({} KiB per "
                   "block)",
                   integer_text(gpu.sm.max_threads), integer_text(gpu.sm.max_warps),
                   gpu.sm.warp_size, integer_text(gpu.sm.max_blocks),
                   integer_text(gpu.sm.registers), scaled_text(gpu.sm.shared, kKiB),
                   scaled_text(gpu.sm.shared_per_block, kKiB))});
  for (const auto& [title, link] :
       {std::pair("link", &gpu.interconnect), std::pair("host", &gpu.pcie)}) {
    if (*link)
      facts.rows.push_back({title, fmt::format("{}, {:g} GB/s per direction", (*link)->name,
                                               (*link)->per_direction.base() / 1e9)});
  }
  return facts;
}

std::string level_size(const GpuSpec& gpu, MemoryLevel level) {
  switch (level) {
    case MemoryLevel::L1:
      return scaled_text(gpu.l1.size, kKiB) +
             (gpu.l1.includes_shared ? " KiB/SM, with shared" : " KiB/SM");
    case MemoryLevel::L2: return scaled_text(gpu.l2.size, kMiB) + " MiB";
    case MemoryLevel::Dram:
      return fmt::format("{} GB {}", scaled_text(gpu.dram.size, 1e9), gpu.dram.type);
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

Table memory_table(const Machine& machine) {
  const GpuSpec& gpu = machine.gpu;
  ordered_json rows = ordered_json::array();
  const auto row = [&](std::string name, std::string size,
                       const std::optional<hardware::Sourced<BytesPerSecond>>& bandwidth,
                       const hardware::MemorySpec& spec) {
    ordered_json one{{"memory", std::move(name)}, {"size", std::move(size)}};
    if (bandwidth) one["gb_per_s"] = bandwidth->value.base() / 1e9;
    one["from"] = bandwidth ? std::string(name_of(bandwidth->source)) : "unknown";
    one["line"] = fmt::format("{}/{}", scaled_text(spec.line, 1), scaled_text(spec.sector, 1));
    if (spec.latency) one["latency"] = spec.latency->base();
    rows.push_back(std::move(one));
  };
  for (const MemoryLevel level : hardware::kMemoryLevels) {
    if (level == MemoryLevel::Dram && gpu.last_level) {
      std::optional<hardware::Sourced<BytesPerSecond>> bandwidth;
      if (gpu.last_level->bandwidth) bandwidth = {*gpu.last_level->bandwidth, {}};
      row("last level", scaled_text(gpu.last_level->size, kMiB) + " MiB", bandwidth,
          *gpu.last_level);
    }
    row(std::string(name_of(level)), level_size(gpu, level), machine.bandwidth(level),
        spec_of(gpu, level));
  }
  return {.kind = "memory",
          .rows = {.own = std::move(rows)},
          .columns = {{.title = "memory", .fields = {{"memory"}}, .rank = Rank::Identity},
                      {.title = "size", .fields = {{"size"}}},
                      {.title = "GB/s", .fields = {{"gb_per_s"}}, .unit = Unit::Number},
                      {.title = "from", .fields = {{"from"}}, .form = Form::Prose},
                      {.title = "line/sector, B", .fields = {{"line"}}, .rank = Rank::Detail},
                      {.title = "latency, cycles",
                       .fields = {{"latency"}},
                       .unit = Unit::Number,
                       .rank = Rank::Useful}},
          .indent = 2,
          .data = false};
}

Table rate_table(const Machine& machine) {
  const GpuSpec& gpu = machine.gpu;
  ordered_json rows = ordered_json::array();
  for (const auto& [key, peak] : gpu.peak) {
    const auto ceiling = machine.rate_ceiling(key);
    const auto per_clock = gpu.sm.flop_per_clock.find(key);
    const auto published = gpu.measured.rate.find(key);
    ordered_json one{{"rate", name_of(key)},
                     {"tflops", ceiling->value.base() / 1e12},
                     {"from", name_of(ceiling->source)}};
    if (per_clock != gpu.sm.flop_per_clock.end()) one["per_clock"] = per_clock->second;
    if (published != gpu.measured.rate.end())
      one["published"] = fmt::format("{} ({:.0f} %)", short_number(published->second.base() / 1e12),
                                     100.0 * (published->second / peak));
    for (const MemoryLevel level : hardware::kMemoryLevels) {
      if (const auto ridge = machine.ridge(level, key))
        one["ridge"][std::string(name_of(level))] = ridge->base();
    }
    rows.push_back(std::move(one));
  }
  return {.kind = "rate",
          .rows = {.own = std::move(rows)},
          .columns = {{.title = "rate", .fields = {{"rate"}}, .rank = Rank::Identity},
                      {.title = "TFLOP/s", .fields = {{"tflops"}}, .unit = Unit::Number},
                      {.title = "from", .fields = {{"from"}}, .form = Form::Prose},
                      {.title = "FLOP/clk/SM",
                       .fields = {{"per_clock"}},
                       .unit = Unit::Number,
                       .rank = Rank::Detail},
                      {.title = "published", .fields = {{"published"}}, .rank = Rank::Extra},
                      {.title = "ridge L1/L2/DRAM, FLOP/B",
                       .fields = {{"ridge/l1"}, {"ridge/l2"}, {"ridge/dram"}},
                       .unit = Unit::Number,
                       .rank = Rank::Useful}},
          .indent = 2,
          .data = false};
}

/// One line per rate and level.
Table ridge_table(const Machine& machine) {
  ordered_json rows = ordered_json::array();
  for (const auto& [key, peak] : machine.gpu.peak) {
    const auto rate = machine.rate_ceiling(key);
    for (const MemoryLevel at : hardware::kMemoryLevels) {
      const auto bandwidth = machine.bandwidth(at);
      if (!bandwidth) continue;
      rows.push_back({{"gpu", machine.gpu.id},
                      {"rate", name_of(key)},
                      {"flop_per_s", rate->value.base()},
                      {"rate_from", name_of(rate->source)},
                      {"level", name_of(at)},
                      {"bytes_per_s", bandwidth->value.base()},
                      {"level_from", name_of(bandwidth->source)},
                      {"ridge_flop_per_byte", machine.ridge(at, key)->base()}});
    }
  }
  std::vector<Column> columns;
  for (const char* name : {"gpu", "rate", "flop_per_s", "rate_from", "level", "bytes_per_s",
                           "level_from", "ridge_flop_per_byte"})
    columns.push_back({.title = name, .fields = {{name}}});
  return {.kind = "ridge",
          .rows = {.own = std::move(rows)},
          .columns = std::move(columns),
          .shown = false};
}

Note measured_note(const GpuSpec& gpu) {
  Note note;
  const hardware::MeasuredSpec& measured = gpu.measured;
  if (measured.dram_read || measured.dram_write || measured.dram_copy)
    note.lines.push_back(fmt::format("published dram streams: read {}, write {}, copy {} GB/s",
                                     scaled_text(measured.dram_read, 1e9),
                                     scaled_text(measured.dram_write, 1e9),
                                     scaled_text(measured.dram_copy, 1e9)));
  if (measured.latency_clock)
    note.lines.push_back(
        fmt::format("latencies were counted at {:g} MHz", measured.latency_clock->base() / 1e6));
  for (const auto& [key, peak] : gpu.peak) {
    if (is_integer(key.dtype))
      note.lines.push_back(fmt::format("{} counts OP, not FLOP", name_of(key)));
  }
  for (const auto& [key, rate] : gpu.peak_fp16_accumulate)
    note.lines.push_back(fmt::format("{} with FP16 accumulation: {} TFLOP/s", name_of(key),
                                     short_number(rate.base() / 1e12)));
  return note;
}

void add_list(std::string title, std::vector<std::string> items, Document& document) {
  if (items.empty()) return;
  document.sections.emplace_back(
      Note{.title = std::move(title), .lines = std::move(items), .list = true});
}

void add_lint(const GpuSpec& gpu, Document& document) {
  std::vector<std::string> findings, declared;
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> groups;
  for (const LintFinding& finding : hardware::lint(gpu)) {
    if (finding.allowed) {
      groups[{finding.rule, *finding.allowed}].push_back(finding.pointer);
    } else {
      findings.push_back(fmt::format("{} {}: {}", finding.rule, finding.pointer, finding.message));
    }
  }
  for (const auto& [key, pointers] : groups)
    declared.push_back(exception_text(key.first, key.second, pointers));
  add_list("Lint", std::move(findings), document);
  add_list("Declared exceptions", std::move(declared), document);
}

}  // namespace

Document describe(const Machine& machine, const Notes& notes) {
  const GpuSpec& gpu = machine.gpu;
  Document document;
  document.title = fmt::format("{} ({})", gpu.name, gpu.id);
  document.data = gpu_json(machine, notes);
  document.sections.emplace_back(gpu_facts(gpu));
  document.sections.emplace_back(memory_table(machine));
  document.sections.emplace_back(rate_table(machine));
  if (Note note = measured_note(gpu); !note.lines.empty())
    document.sections.emplace_back(std::move(note));
  document.sections.emplace_back(ridge_table(machine));
  add_lint(gpu, document);
  add_list("Doubts", gpu.doubts, document);
  std::vector<std::string> sources;
  for (const auto& [pointer, source] : gpu.sources)
    sources.push_back(fmt::format("{}: {}", pointer.empty() ? "general" : pointer, source));
  add_list("Sources", std::move(sources), document);
  document.sections.emplace_back(Facts{.rows = {{"file", gpu.file}}});
  document.warnings = warnings_of(notes.warnings);
  document.provenance = notes.provenance;
  return document;
}

}  // namespace rooftile::report
