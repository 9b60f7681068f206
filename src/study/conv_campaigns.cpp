// SPDX-License-Identifier: Apache-2.0
#include "study/conv_campaigns.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>

#include "calibration/plausible.h"
#include "core/csv.h"
#include "cost/bound.h"
#include "ops/any_op.h"

namespace rooftile::study {

namespace {

Result<std::size_t> find_gpu(const std::string& name, std::vector<CampaignGpu>& gpus,
                             const Catalog& catalog) {
  const auto known = std::find_if(gpus.begin(), gpus.end(),
                                  [&](const CampaignGpu& gpu) { return gpu.name == name; });
  if (known != gpus.end()) return static_cast<std::size_t>(known - gpus.begin());
  ROOFTILE_TRY(auto machine, hardware::load_machine(catalog, name, std::nullopt));
  const auto rate = machine.best_rate(DType::Fp32, true);
  if (!rate) return unsupported(machine.gpu.file, "states no fp32 rate");
  gpus.push_back({.name = name, .machine = std::move(machine), .rate = *rate});
  return gpus.size() - 1;
}

/// Numbers of the current record by column name.
class Fields {
 public:
  Fields(const CsvReader& csv, const CsvHeader& header) : csv_(csv), header_(header) {}
  [[nodiscard]] Result<std::int64_t> integer(std::string_view name) const {
    ROOFTILE_TRY(const std::size_t column, header_.column(name));
    return csv_.integer(column);
  }
  [[nodiscard]] Result<std::string> text(std::string_view name) const {
    ROOFTILE_TRY(const std::size_t column, header_.column(name));
    return std::string(csv_[column]);
  }
  /// Milliseconds to seconds; an empty field, or 0, was not measured.
  [[nodiscard]] Result<std::optional<double>> time(std::string_view name) const {
    ROOFTILE_TRY(const std::size_t column, header_.column(name));
    if (csv_[column].empty()) return std::nullopt;
    ROOFTILE_TRY(const double ms, csv_.number(column));
    if (ms < 0) {
      return bad_input(csv_.where(column), fmt::format("{} ms is no kernel time", ms),
                       "times are positive milliseconds");
    }
    return ms > 0 ? std::optional(ms * 1e-3) : std::nullopt;
  }

 private:
  const CsvReader& csv_;
  const CsvHeader& header_;
};

using Column = std::pair<const char*, std::int64_t*>;

Status read_columns(const Fields& fields, std::span<const Column> columns) {
  for (const auto& [name, value] : columns) {
    ROOFTILE_TRY(*value, fields.integer(name));
  }
  return {};
}

Result<ops::ConvShape> deepbench_shape(const Fields& fields) {
  ops::ConvShape c;
  const std::array<Column, 11> columns{{{"n", &c.n},
                                        {"c", &c.c},
                                        {"h", &c.h},
                                        {"w", &c.w},
                                        {"k", &c.k},
                                        {"r", &c.r},
                                        {"s", &c.s},
                                        {"pad_h", &c.pad_h},
                                        {"pad_w", &c.pad_w},
                                        {"stride_h", &c.stride_h},
                                        {"stride_w", &c.stride_w}}};
  ROOFTILE_CHECK(read_columns(fields, columns));
  ROOFTILE_CHECK(ops::Conv2d{.conv = c}.check());
  return c;
}

Result<ops::ConvShape> neusight_shape(const Fields& fields) {
  ops::ConvShape c;
  const std::array<Column, 7> columns{{{"b", &c.n},
                                       {"c_in", &c.c},
                                       {"c_out", &c.k},
                                       {"hw", &c.h},
                                       {"filter", &c.r},
                                       {"stride", &c.stride_h},
                                       {"padding", &c.pad_h}}};
  ROOFTILE_CHECK(read_columns(fields, columns));
  c.w = c.h;
  c.s = c.r;
  c.stride_w = c.stride_h;
  c.pad_w = c.pad_h;
  ROOFTILE_CHECK(ops::Conv2d{.conv = c}.check());
  return c;
}

/// GPUs in the order of their names, so that tables do not depend on the order of rows.
template <typename Row>
void sort_gpus(std::vector<CampaignGpu>& gpus, std::vector<Row>& rows) {
  std::vector<std::size_t> order(gpus.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return gpus[a].name < gpus[b].name; });
  std::vector<std::size_t> place(gpus.size());
  std::vector<CampaignGpu> sorted;
  for (std::size_t i = 0; i < order.size(); ++i) {
    place[order[i]] = i;
    sorted.push_back(std::move(gpus[order[i]]));
  }
  gpus = std::move(sorted);
  for (Row& row : rows) row.gpu = place[row.gpu];
}

Status read_deepbench(CsvReader& csv, const CsvHeader& header, const Catalog& catalog,
                      DeepBench& out) {
  const Fields fields(csv, header);
  while (true) {
    ROOFTILE_TRY(const bool more, csv.next());
    if (!more) break;
    ROOFTILE_CHECK(header.check_width(csv));
    ROOFTILE_TRY(const std::string dtype, fields.text("dtype"));
    if (dtype != "fp32") continue;
    DeepBenchRow row;
    row.line = static_cast<std::uint32_t>(csv.line());
    ROOFTILE_TRY(const std::string name, fields.text("gpu"));
    ROOFTILE_TRY(row.gpu, find_gpu(name, out.gpus, catalog));
    ROOFTILE_TRY(row.conv, deepbench_shape(fields));
    ROOFTILE_TRY(row.algorithm, fields.text("fwd_algorithm"));
    ROOFTILE_TRY(row.forward, fields.time("fwd_ms"));
    ROOFTILE_TRY(row.data, fields.time("bwd_data_ms"));
    ROOFTILE_TRY(row.filter, fields.time("bwd_filter_ms"));
    out.rows.push_back(std::move(row));
  }
  sort_gpus(out.gpus, out.rows);
  return {};
}

Status read_neusight(CsvReader& csv, const CsvHeader& header, const Catalog& catalog,
                     NeuSight& out) {
  std::map<std::size_t, std::int64_t> serial;
  const Fields fields(csv, header);
  while (true) {
    ROOFTILE_TRY(const bool more, csv.next());
    if (!more) break;
    ROOFTILE_CHECK(header.check_width(csv));
    NeuSightRow row;
    row.line = static_cast<std::uint32_t>(csv.line());
    ROOFTILE_TRY(const std::string name, fields.text("device"));
    ROOFTILE_TRY(row.gpu, find_gpu(name, out.gpus, catalog));
    ROOFTILE_TRY(row.conv, neusight_shape(fields));
    ROOFTILE_TRY(row.algorithm, fields.text("algorithm"));
    ROOFTILE_TRY(row.kernel, fields.text("kernel"));
    ROOFTILE_TRY(const auto measured, fields.time("latency_ms"));
    row.index = serial[row.gpu]++;
    if (!measured) continue;
    row.measured = *measured;
    out.rows.push_back(std::move(row));
  }
  sort_gpus(out.gpus, out.rows);
  return {};
}

/// The FLOPs of the fastest algorithm at the peak.
double least_seconds(const ops::ConvShape& conv, const CampaignGpu& gpu) {
  ops::KernelList works;
  ops::forward(ops::Conv2d{.conv = conv}, {.precision = ops::precision_of(DType::Fp32)}, works);
  return (cost::least_flops(works.front()) / gpu.rate).base();
}

}  // namespace

std::optional<std::string> time_warning(const std::string& file, const DeepBench& data) {
  std::vector<calibration::TimedRow> rows;
  for (const DeepBenchRow& row : data.rows) {
    if (row.forward)
      rows.push_back({.measured = *row.forward,
                      .bound = least_seconds(row.conv, data.gpus[row.gpu]),
                      .line = row.line});
  }
  return calibration::check_times(file, rows).warning();
}

std::optional<std::string> time_warning(const std::string& file, const NeuSight& data) {
  std::vector<calibration::TimedRow> rows;
  for (const NeuSightRow& row : data.rows) {
    rows.push_back({.measured = row.measured,
                    .bound = least_seconds(row.conv, data.gpus[row.gpu]),
                    .line = row.line});
  }
  return calibration::check_times(file, rows).warning();
}

double CampaignGpu::peak() const {
  return 2.0 * static_cast<double>(machine.gpu.sm.count) *
         static_cast<double>(machine.gpu.sm.fp32_lanes) * machine.gpu.clock.boost.base();
}

cost::TimeMachine CampaignGpu::timed(const cost::TimeConstants& constants) const {
  return cost::make_time_machine(machine, rate, DType::Fp32, true,
                                 {.constants = constants, .architectures = {}});
}

double DeepBenchRow::rate(double seconds) const {
  return 2.0 * static_cast<double>(conv.n * conv.p() * conv.q()) *
         static_cast<double>(conv.k * conv.c * conv.r * conv.s) / seconds;
}

bool NeuSightRow::implicit() const {
  return algorithm == "implicit_gemm" && kernel.find("scudnn_128x") != std::string::npos;
}

Status add_campaign(CsvReader& csv, const CsvHeader& header, const Catalog& catalog,
                    Campaigns& campaigns) {
  if (header.find("fwd_ms") && campaigns.deepbench.rows.empty()) {
    return read_deepbench(csv, header, catalog, campaigns.deepbench);
  }
  if (header.find("c_in") && campaigns.neusight.rows.empty()) {
    return read_neusight(csv, header, catalog, campaigns.neusight);
  }
  return bad_input(csv.name(),
                   "is neither DeepBench's nor NeuSight's conv.csv, or the second of a kind",
                   "columns fwd_ms (DeepBench) or c_in (NeuSight) tell them apart");
}

Status add_campaign(const std::string& file, const Catalog& catalog, Campaigns& campaigns) {
  ROOFTILE_TRY(CsvReader csv, CsvReader::open(file, {}));
  ROOFTILE_TRY(const CsvHeader header, CsvHeader::read(csv));
  return add_campaign(csv, header, catalog, campaigns);
}

}  // namespace rooftile::study
