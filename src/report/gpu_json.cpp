// SPDX-License-Identifier: Apache-2.0
#include "report/gpu_json.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "core/provenance.h"

namespace rooftile::report {

namespace {

using hardware::GpuSpec;
using hardware::LintedFile;
using hardware::LintFinding;
using hardware::Machine;
using hardware::MemoryLevel;
using hardware::Pipe;
using nlohmann::ordered_json;

template <typename T>
void put(ordered_json& object, const char* key, const std::optional<T>& value) {
  if (!value) return;
  if constexpr (requires { value->base(); }) {
    object[key] = value->base();
  } else {
    object[key] = *value;
  }
}

ordered_json rates(const std::map<hardware::RateKey, FlopsPerSecond>& map) {
  ordered_json out = ordered_json::object();
  for (const auto& [key, rate] : map) out[name_of(key)] = rate.base();
  return out;
}

ordered_json level(const hardware::MemorySpec& spec) {
  ordered_json out = ordered_json::object();
  put(out, "size_bytes", spec.size);
  put(out, "bandwidth_bytes_per_s", spec.bandwidth);
  put(out, "bandwidth_per_sm_bytes_per_clock", spec.bandwidth_per_sm);
  put(out, "line_bytes", spec.line);
  put(out, "sector_bytes", spec.sector);
  put(out, "latency_cycles", spec.latency);
  return out;
}

ordered_json identity(const GpuSpec& gpu) {
  ordered_json out{{"id", gpu.id},
                   {"name", gpu.name},
                   {"aliases", gpu.aliases},
                   {"vendor", name_of(gpu.vendor)},
                   {"architecture", gpu.architecture},
                   {"chip", gpu.chip},
                   {"isa", gpu.isa}};
  put(out, "process", gpu.process);
  put(out, "year", gpu.year);
  put(out, "power_w", gpu.power_watt);
  if (gpu.devices > 1) out["devices"] = gpu.devices;
  return out;
}

ordered_json sm(const GpuSpec& gpu) {
  ordered_json out{
      {"count", gpu.sm.count}, {"fp32_lanes", gpu.sm.fp32_lanes}, {"warp_size", gpu.sm.warp_size}};
  put(out, "max_threads", gpu.sm.max_threads);
  put(out, "max_warps", gpu.sm.max_warps);
  put(out, "max_blocks", gpu.sm.max_blocks);
  put(out, "registers", gpu.sm.registers);
  put(out, "shared_bytes", gpu.sm.shared);
  put(out, "shared_per_block_bytes", gpu.sm.shared_per_block);
  out["flop_per_clock"] = ordered_json::object();
  for (const auto& [key, value] : gpu.sm.flop_per_clock)
    out["flop_per_clock"][name_of(key)] = value;
  return out;
}

ordered_json memory(const GpuSpec& gpu) {
  ordered_json out;
  out["l1"] = level(gpu.l1);
  out["l1"]["includes_shared"] = gpu.l1.includes_shared;
  out["l2"] = level(gpu.l2);
  if (gpu.last_level) out["last_level"] = level(*gpu.last_level);
  out["dram"] = level(gpu.dram);
  out["dram"]["type"] = gpu.dram.type;
  put(out["dram"], "bus_bits", gpu.dram.bus_bits);
  put(out["dram"], "data_rate_gbit_per_pin", gpu.dram.gbit_per_pin);
  return out;
}

ordered_json measured(const GpuSpec& gpu) {
  ordered_json out = ordered_json::object();
  put(out, "dram_read_bytes_per_s", gpu.measured.dram_read);
  put(out, "dram_write_bytes_per_s", gpu.measured.dram_write);
  put(out, "dram_copy_bytes_per_s", gpu.measured.dram_copy);
  put(out, "l2_read_bytes_per_s", gpu.measured.l2_read);
  put(out, "l1_per_sm_bytes_per_clock", gpu.measured.l1_per_sm);
  put(out, "latency_clock_hz", gpu.measured.latency_clock);
  if (!gpu.measured.rate.empty()) out["rate_flop_per_s"] = rates(gpu.measured.rate);
  return out;
}

/// What the models use, and where each value is from.
ordered_json ceilings(const Machine& machine) {
  ordered_json bandwidth = ordered_json::object();
  ordered_json rate = ordered_json::object();
  ordered_json ridge = ordered_json::object();
  for (const MemoryLevel at : hardware::kMemoryLevels) {
    const auto value = machine.bandwidth(at);
    if (!value) continue;
    const std::string name(name_of(at));
    bandwidth[name] = {{"bytes_per_s", value->value.base()}, {"from", name_of(value->source)}};
    for (const auto& [key, peak] : machine.gpu.peak) {
      ridge[name][name_of(key)] = machine.ridge(at, key)->base();
    }
  }
  for (const auto& [key, peak] : machine.gpu.peak) {
    const auto value = machine.rate_ceiling(key);
    rate[name_of(key)] = {{"flop_per_s", value->value.base()}, {"from", name_of(value->source)}};
  }
  return {{"bandwidth", bandwidth}, {"rate", rate}, {"ridge_flop_per_byte", ridge}};
}

ordered_json finding_json(const LintFinding& finding) {
  ordered_json out{
      {"rule", finding.rule}, {"pointer", finding.pointer}, {"message", finding.message}};
  put(out, "allowed", finding.allowed);
  return out;
}

/// The faster of the 16-bit tensor rates.
std::optional<FlopsPerSecond> best_16_bit(const GpuSpec& gpu) {
  std::optional<FlopsPerSecond> best;
  for (const DType dtype : {DType::Bf16, DType::Fp16}) {
    const auto it = gpu.peak.find({.dtype = dtype, .pipe = Pipe::Tensor});
    if (it != gpu.peak.end() && (!best || it->second > *best)) best = it->second;
  }
  return best;
}

}  // namespace

ordered_json gpus_json(std::span<const GpuSpec> gpus, const Notes& notes) {
  ordered_json list = ordered_json::array();
  for (const GpuSpec& gpu : gpus) {
    ordered_json entry = identity(gpu);
    entry["sm_count"] = gpu.sm.count;
    entry["boost_clock_hz"] = gpu.clock.boost.base();
    put(entry, "dram_bytes", gpu.dram.size);
    put(entry, "dram_bytes_per_s", gpu.dram.bandwidth);
    put(entry, "l2_bytes", gpu.l2.size);
    entry["dram_type"] = gpu.dram.type;
    put(entry, "peak_16_bit_flop_per_s", best_16_bit(gpu));
    entry["peak_flop_per_s"] = rates(gpu.peak);
    list.push_back(std::move(entry));
  }
  return {{"schema", 1},
          {"gpus", list},
          {"provenance", provenance_json(notes.provenance)},
          {"warnings", notes.warnings}};
}

ordered_json gpu_json(const Machine& machine, const Notes& notes) {
  const GpuSpec& gpu = machine.gpu;
  ordered_json root{{"schema", 1}};
  root.update(identity(gpu));
  root["clock"] = {{"boost_hz", gpu.clock.boost.base()}};
  put(root["clock"], "base_hz", gpu.clock.base);
  put(root["clock"], "tensor_hz", gpu.clock.tensor);
  root["sm"] = sm(gpu);
  root["memory"] = memory(gpu);
  root["peak_flop_per_s"] = rates(gpu.peak);
  if (!gpu.peak_fp16_accumulate.empty())
    root["peak_fp16_accumulate_flop_per_s"] = rates(gpu.peak_fp16_accumulate);
  root["measured"] = measured(gpu);
  root["ceilings"] = ceilings(machine);
  root["links"] = ordered_json::object();
  for (const auto& [name, link] :
       {std::pair("interconnect", gpu.interconnect), std::pair("pcie", gpu.pcie)}) {
    if (link)
      root["links"][name] = {{"name", link->name},
                             {"bytes_per_s_per_direction", link->per_direction.base()}};
  }
  root["lint"] = ordered_json::array();
  for (const LintFinding& finding : hardware::lint(gpu))
    root["lint"].push_back(finding_json(finding));
  root["doubts"] = gpu.doubts;
  root["sources"] = ordered_json::object();
  for (const auto& [pointer, source] : gpu.sources) root["sources"][pointer] = source;
  root["file"] = gpu.file;
  root["provenance"] = provenance_json(notes.provenance);
  root["warnings"] = notes.warnings;
  return root;
}

ordered_json lint_json(std::span<const LintedFile> files, const Notes& notes) {
  ordered_json list = ordered_json::array();
  for (const LintedFile& file : files) {
    ordered_json entry{{"file", file.file}, {"id", file.id}};
    if (file.error)
      entry["error"] = {{"where", file.error->where},
                        {"message", file.error->message},
                        {"hint", file.error->hint}};
    entry["findings"] = ordered_json::array();
    for (const LintFinding& finding : file.findings)
      entry["findings"].push_back(finding_json(finding));
    list.push_back(std::move(entry));
  }
  return {{"schema", 1},
          {"clean", hardware::is_clean(files)},
          {"files", list},
          {"provenance", provenance_json(notes.provenance)},
          {"warnings", notes.warnings}};
}

}  // namespace rooftile::report
