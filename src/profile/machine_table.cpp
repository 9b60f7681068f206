// SPDX-License-Identifier: Apache-2.0
//
// Small tables that come with exports and describe the machine, not kernels:
//   roofline.csv of rocm-amdgpu-bench (device,HBMBw,...,MFMAF16Flops,...: GB/s and GFLOP/s)
//   sysinfo.csv of rocprof-compute (gpu_model, gpu_arch, cu_per_gpu, ...)
//   agent_info.csv of rocprofv3 (Agent_Type, Name "gfx942", Product_Name, Cu_Count, ...)
//   a table of peaks: label,peak_flops,peak_bandwidth (FLOP/s and byte/s)
#include <fmt/format.h>

#include <array>

#include "core/text.h"
#include "profile/delimited.h"
#include "profile/importer.h"

namespace rooftile::profile {

namespace {

using hardware::MemoryLevel;
using hardware::Pipe;
using hardware::RateKey;

struct BenchColumn {
  std::string_view column, label;
  std::optional<MemoryLevel> level;
  std::optional<RateKey> rate;
};

// Data type names of rocm-amdgpu-bench; MFMA is AMD's matrix pipe.
const std::array<BenchColumn, 14> kBench{{
    {"HBMBw", "HBM", MemoryLevel::Dram, {}},
    {"L2Bw", "L2", MemoryLevel::L2, {}},
    {"L1Bw", "L1", MemoryLevel::L1, {}},
    {"LDSBw", "LDS", {}, {}},
    {"FP16Flops", "FP16", {}, RateKey{DType::Fp16, Pipe::Vector}},
    {"FP32Flops", "FP32", {}, RateKey{DType::Fp32, Pipe::Vector}},
    {"FP64Flops", "FP64", {}, RateKey{DType::Fp64, Pipe::Vector}},
    {"MFMAF8Flops", "MFMA FP8", {}, RateKey{DType::Fp8E4m3, Pipe::Tensor}},
    {"MFMAF16Flops", "MFMA FP16", {}, RateKey{DType::Fp16, Pipe::Tensor}},
    {"MFMABF16Flops", "MFMA BF16", {}, RateKey{DType::Bf16, Pipe::Tensor}},
    {"MFMAF32Flops", "MFMA FP32", {}, RateKey{DType::Fp32, Pipe::Tensor}},
    {"MFMAF64Flops", "MFMA FP64", {}, RateKey{DType::Fp64, Pipe::Tensor}},
    {"MFMAI8Ops", "MFMA INT8", {}, RateKey{DType::Int8, Pipe::Tensor}},
    {"MFMAF6F4Flops", "MFMA FP4", {}, RateKey{DType::Fp4, Pipe::Tensor}},
}};

Status add_roof(std::string_view text, double unit, MeasuredRoof roof, const TextSource& source,
                RawProfile& profile) {
  const auto value = parse_double(trim(text));
  if (!value || !(*value >= 0.0)) {
    return bad_input(source.where(),
                     fmt::format("\"{}\" is not a rate for {}", printable(text), roof.label));
  }
  roof.value = *value * unit;
  roof.source = source.name();
  if (roof.value > 0.0) profile.roofs.push_back(std::move(roof));
  return {};
}

Status bench_row(const LineFields& header, const LineFields& row, const TextSource& source,
                 RawProfile& profile) {
  for (const BenchColumn& column : kBench) {
    const auto index = header.find(column.column);
    if (!index) continue;
    MeasuredRoof roof{.label = std::string(column.label),
                      .level = column.level,
                      .rate = column.rate,
                      .value = 0.0,
                      .memory = column.column.ends_with("Bw"),
                      .source = {}};
    ROOFTILE_CHECK(add_roof(row[*index], 1e9, std::move(roof), source, profile));
  }
  return {};
}

Status peaks_row(const LineFields& header, const LineFields& row, const TextSource& source,
                 RawProfile& profile) {
  const auto label = header.find("label");
  const std::string name = label ? std::string(trim(row[*label])) : std::string();
  // A theoretical row beside a measured one is not a ceiling that was reached.
  if (name.starts_with("theor")) return {};
  MeasuredRoof compute{.label = name + " FP32",
                       .level = {},
                       .rate = RateKey{DType::Fp32, Pipe::Vector},
                       .value = 0.0,
                       .memory = false,
                       .source = {}};
  MeasuredRoof memory{.label = name + " DRAM",
                      .level = MemoryLevel::Dram,
                      .rate = {},
                      .value = 0.0,
                      .memory = true,
                      .source = {}};
  ROOFTILE_CHECK(
      add_roof(row[*header.find("peak_flops")], 1.0, std::move(compute), source, profile));
  return add_roof(row[*header.find("peak_bandwidth")], 1.0, std::move(memory), source, profile);
}

void sysinfo_row(const LineFields& header, const LineFields& row, RawProfile& profile) {
  const auto text = [&](std::string_view column) {
    const auto index = header.find(column);
    return index ? trim(row[*index]) : std::string_view();
  };
  profile.device.name = text("gpu_model").empty() ? text("gpu_soc") : text("gpu_model");
  profile.device.isa = text("gpu_arch").empty() ? text("gpu_soc") : text("gpu_arch");
  profile.device.sm_count = parse_int(text("cu_per_gpu"));
}

/// The first GPU of the list stands for all.
void agent_row(const LineFields& header, const LineFields& row, RawProfile& profile) {
  const auto text = [&](std::string_view column) {
    const auto index = header.find(column);
    return index ? trim(row[*index]) : std::string_view();
  };
  if (text("Agent_Type") != "GPU" || !profile.device.isa.empty()) return;
  profile.device.name = text("Product_Name");
  profile.device.isa = text("Name");
  profile.device.sm_count = parse_int(text("Cu_Count"));
}

enum class Table : std::uint8_t { None, Bench, Peaks, Sysinfo, Agents };

struct Recognised {
  Table table = Table::None;
  char delimiter = ',';
};

/// The columns that tell a table must be there with one delimiter.
Recognised table_of(std::string_view line) {
  const auto has = [line](std::string_view first, std::string_view second) {
    const auto delimiter = header_delimiter(line, first);
    return delimiter && delimiter == header_delimiter(line, second) ? delimiter : std::nullopt;
  };
  if (const auto delimiter = has("HBMBw", "HBMBw")) return {Table::Bench, *delimiter};
  if (const auto delimiter = has("peak_flops", "peak_bandwidth")) {
    return {Table::Peaks, *delimiter};
  }
  if (const auto delimiter = has("workload_name", "rocm_version")) {
    return {Table::Sysinfo, *delimiter};
  }
  if (const auto delimiter = has("Agent_Type", "Product_Name")) {
    return {Table::Agents, *delimiter};
  }
  return {};
}

}  // namespace

bool recognises_machine_table(std::string_view head) {
  std::string_view line = head.substr(0, head.find('\n'));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return table_of(line).table != Table::None;
}

Result<RawProfile> import_machine_table(TextSource& source) {
  RawProfile profile;
  profile.format = "machine-table";
  profile.files.push_back(source.name());
  std::string_view line;
  ROOFTILE_TRY(const bool any, source.next_line(line));
  const std::string header_line(any ? line : std::string_view());
  const auto [table, delimiter] = table_of(header_line);
  LineFields header, row;
  header.split(header_line, delimiter);
  bool done = false;
  while (true) {
    ROOFTILE_TRY(const bool more, source.next_line(line));
    if (!more) break;
    if (trim(line).empty() || done) continue;
    if (!row.split(line, delimiter) || row.size() < header.size()) {
      return bad_input(source.where(), fmt::format("the row has {} fields, the header has {}",
                                                   row.size(), header.size()));
    }
    switch (table) {
      case Table::Bench: ROOFTILE_CHECK(bench_row(header, row, source, profile)); break;
      case Table::Peaks: ROOFTILE_CHECK(peaks_row(header, row, source, profile)); break;
      case Table::Sysinfo: sysinfo_row(header, row, profile); break;
      case Table::Agents: agent_row(header, row, profile); break;
      case Table::None: return bad_input(source.name(), "the table has no known columns");
    }
    // The first device stands for all.
    done = table != Table::Peaks && table != Table::Agents;
  }
  return profile;
}

}  // namespace rooftile::profile
