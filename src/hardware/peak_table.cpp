// SPDX-License-Identifier: Apache-2.0
//
// Tables of measured peaks:
//   roofline.csv of rocm-amdgpu-bench (device,HBMBw,...,MFMAF16Flops,...: GB/s and GFLOP/s)
//   label,peak_flops,peak_bandwidth (FLOP/s and byte/s)
#include <fmt/format.h>

#include <array>

#include "core/line_fields.h"
#include "core/number_of.h"
#include "core/text.h"
#include "hardware/roof_file.h"

namespace rooftile::hardware {

namespace {

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

struct Place {
  const std::string& name;
  std::int64_t line;
  [[nodiscard]] std::string where() const { return fmt::format("{}:{}", name, line); }
};

Status add_roof(std::string_view text, double unit, MeasuredRoof roof, const Place& place,
                RoofFile& file) {
  const auto value = parse_double(trim(text));
  if (!value || !(*value >= 0.0)) {
    return bad_input(place.where(),
                     fmt::format("\"{}\" is not a rate for {}", printable(text), roof.label));
  }
  roof.value = *value * unit;
  roof.source = place.name;
  roof.where = place.where();
  if (roof.value > 0.0) file.roofs.push_back(std::move(roof));
  return {};
}

Status bench_row(const LineFields& header, const LineFields& row, const Place& place,
                 RoofFile& file) {
  for (const BenchColumn& column : kBench) {
    const auto index = header.find(column.column);
    if (!index) continue;
    MeasuredRoof roof{.label = std::string(column.label),
                      .level = column.level,
                      .rate = column.rate,
                      .value = 0.0,
                      .memory = column.column.ends_with("Bw"),
                      .source = {},
                      .where = {}};
    ROOFTILE_CHECK(add_roof(row[*index], 1e9, std::move(roof), place, file));
  }
  return {};
}

Status peaks_row(const LineFields& header, const LineFields& row, const Place& place,
                 RoofFile& file) {
  const auto label = header.find("label");
  const std::string name = label ? std::string(trim(row[*label])) : std::string();
  // A theoretical row next to a measured one is not a ceiling that was reached.
  if (name.starts_with("theor")) return {};
  MeasuredRoof compute{.label = name + " FP32",
                       .level = {},
                       .rate = RateKey{DType::Fp32, Pipe::Vector},
                       .value = 0.0,
                       .memory = false,
                       .source = {},
                       .where = {}};
  MeasuredRoof memory{.label = name + " DRAM",
                      .level = MemoryLevel::Dram,
                      .rate = {},
                      .value = 0.0,
                      .memory = true,
                      .source = {},
                      .where = {}};
  ROOFTILE_CHECK(add_roof(row[*header.find("peak_flops")], 1.0, std::move(compute), place, file));
  return add_roof(row[*header.find("peak_bandwidth")], 1.0, std::move(memory), place, file);
}

enum class Table : std::uint8_t { None, Bench, Peaks };

struct Recognised {
  Table table = Table::None;
  char delimiter = ',';
};

/// The columns that tell a table must be there with one delimiter.
Recognised table_of(std::string_view line) {
  if (const auto delimiter = header_delimiter(line, "HBMBw")) return {Table::Bench, *delimiter};
  const auto delimiter = header_delimiter(line, "peak_flops");
  if (delimiter && delimiter == header_delimiter(line, "peak_bandwidth"))
    return {Table::Peaks, *delimiter};
  return {};
}

}  // namespace

bool recognises_peak_table(std::string_view head) {
  return table_of(trim(head.substr(0, head.find('\n')))).table != Table::None;
}

Result<RoofFile> read_peak_table(std::string_view text, const std::string& name) {
  RoofFile file;
  const std::vector<std::string_view> lines = split(text, '\n');
  const auto [table, delimiter] = table_of(trim(lines.front()));
  if (table == Table::None) return bad_input(name, "the table has no known columns");
  file.tool = table == Table::Bench ? "rocm-amdgpu-bench" : "table of peaks";
  LineFields header, row;
  header.split(trim(lines.front()), delimiter);
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::string_view line = trim(lines[i]);
    const Place place{.name = name, .line = static_cast<std::int64_t>(i) + 1};
    if (line.empty()) continue;
    if (!row.split(line, delimiter) || row.size() < header.size()) {
      return bad_input(place.where(), fmt::format("the row has {}, the header has {}",
                                                  number_of(row.size(), "field"), header.size()));
    }
    if (table == Table::Bench) {
      ROOFTILE_CHECK(bench_row(header, row, place, file));
      break;  // the first device stands for all
    }
    ROOFTILE_CHECK(peaks_row(header, row, place, file));
  }
  return file;
}

}  // namespace rooftile::hardware
