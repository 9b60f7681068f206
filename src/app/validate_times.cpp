// SPDX-License-Identifier: Apache-2.0
#include "app/validate_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

#include "hardware/machine.h"
#include "latency/conv_time.h"
#include "latency/predictor.h"
#include "ops/any_op.h"

namespace rooftile::app {

namespace {

constexpr double kDeepBenchCall = 15e-6;  // seconds per call, a property of the campaign
constexpr double kImpossible = 0.97;      // of the peak
constexpr double kFlatOverhead = 280e-6;
constexpr std::int64_t kDriftRows = 250;
constexpr double kInterval = 1.3;

/// Geometric error of one column.
struct Error {
  double sum = 0, bias = 0;
  std::int64_t count = 0, inside = 0;
  void add(double predicted, double measured) {
    const double log_ratio = std::log(predicted / measured);
    sum += std::abs(log_ratio);
    bias += log_ratio;
    inside += std::abs(log_ratio) <= std::log(kInterval) ? 1 : 0;
    ++count;
  }
  [[nodiscard]] double mean() const { return std::exp(sum / static_cast<double>(count)) - 1; }
  [[nodiscard]] std::string text() const {
    if (count == 0) return "-";
    const auto n = static_cast<double>(count);
    return fmt::format("{:.1f} % ({:.2f})", 100 * mean(), std::exp(bias / n));
  }
  [[nodiscard]] std::string inside_text() const {
    if (count == 0) return "-";
    return fmt::format("{:.0f} %",
                       100.0 * static_cast<double>(inside) / static_cast<double>(count));
  }
};

struct Gpu {
  latency::TimeMachine machine;
  double peak = 0;  ///< FLOP/s at boost
};

/// Loads each GPU of a file once, by the file's own name for it.
class Gpus {
 public:
  explicit Gpus(const Catalog& catalog) : catalog_(catalog) {}
  Result<const Gpu*> find(const std::string& name) {
    if (const auto it = gpus_.find(name); it != gpus_.end()) return &it->second;
    ROOFTILE_TRY(const auto machine, hardware::load_machine(catalog_, name, std::nullopt));
    const auto rate = machine.best_rate(DType::Fp32, true);
    if (!rate) return unsupported(machine.gpu.file, "states no fp32 rate");
    const double peak = 2.0 * static_cast<double>(machine.gpu.sm.count) *
                        static_cast<double>(machine.gpu.sm.fp32_lanes) *
                        machine.gpu.clock.boost.base();
    const auto [it, inserted] = gpus_.emplace(
        name, Gpu{.machine = latency::make_time_machine(machine, *rate, DType::Fp32, true),
                  .peak = peak});
    return &it->second;
  }

 private:
  const Catalog& catalog_;
  std::map<std::string, Gpu> gpus_;
};

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
  /// Milliseconds to seconds; an empty field was not measured.
  [[nodiscard]] Result<std::optional<double>> time(std::string_view name) const {
    ROOFTILE_TRY(const std::size_t column, header_.column(name));
    if (csv_[column].empty()) return std::nullopt;
    ROOFTILE_TRY(const double ms, csv_.number(column));
    if (ms <= 0) return std::nullopt;
    return ms * 1e-3;
  }

 private:
  const CsvReader& csv_;
  const CsvHeader& header_;
};

Result<ops::ConvShape> deepbench_shape(const Fields& fields) {
  ops::ConvShape c;
  const std::array<std::pair<const char*, std::int64_t*>, 11> columns{{{"n", &c.n},
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
  for (const auto& [name, value] : columns) {
    ROOFTILE_TRY(*value, fields.integer(name));
  }
  ROOFTILE_CHECK(ops::Conv2d{.conv = c}.check());
  return c;
}

/// Predicted seconds of the best algorithm, or of the implicit GEMM.
double predict(ops::ConvShape conv, ops::ConvPass pass, const Gpu& gpu,
               const latency::ConvTimeOptions& options) {
  conv.pass = pass;
  return latency::conv_candidates(conv, DType::Fp32, gpu.machine, options).front().seconds();
}

struct DeepBenchErrors {
  Error implicit, forward, data, filter;
  std::int64_t dropped = 0;
};

Status add_deepbench_row(const Fields& fields, const std::string& name, const Gpu& gpu,
                         DeepBenchErrors& errors) {
  ROOFTILE_TRY(const ops::ConvShape conv, deepbench_shape(fields));
  ROOFTILE_TRY(const std::string algorithm, fields.text("fwd_algorithm"));
  ROOFTILE_TRY(const auto forward, fields.time("fwd_ms"));
  ROOFTILE_TRY(const auto data, fields.time("bwd_data_ms"));
  ROOFTILE_TRY(const auto filter, fields.time("bwd_filter_ms"));
  if (forward) {
    const double flops = 2.0 * static_cast<double>(conv.n * conv.p() * conv.q()) *
                         static_cast<double>(conv.k * conv.c * conv.r * conv.s);
    if (algorithm.starts_with("IMPLICIT")) {
      if (flops / *forward > kImpossible * gpu.peak) {
        ++errors.dropped;
      } else {
        errors.implicit.add(
            predict(conv, ops::ConvPass::Forward, gpu, {.implicit_gemm_only = true}) +
                kDeepBenchCall,
            *forward);
      }
    }
    errors.forward.add(predict(conv, ops::ConvPass::Forward, gpu, {}) + kDeepBenchCall, *forward);
  }
  if (data) {
    errors.data.add(predict(conv, ops::ConvPass::DataGradient, gpu, {}) + kDeepBenchCall, *data);
  }
  // The campaigns of P100 and TITAN Xp ran a cuDNN with Winograd filter gradients.
  const bool winograd = name == "P100" || name == "TitanXp";
  if (filter) {
    errors.filter.add(
        predict(conv, ops::ConvPass::FilterGradient, gpu, {.winograd_filter_gradient = winograd}) +
            kDeepBenchCall,
        *filter);
  }
  return {};
}

struct NeuSightRow {
  std::string gpu;
  bool implicit = false;     ///< ran scudnn_128x* as implicit GEMM
  bool named_right = false;  ///< the chosen algorithm is the one that ran
  std::int64_t index = 0;    ///< of the GPU's rows, in the order of the campaign
  double measured = 0, implicit_time = 0, chosen_time = 0;
};

bool same_algorithm(latency::ConvAlgorithm chosen, const std::string& algorithm,
                    const std::string& kernel) {
  std::string ran = "implicit";
  if (algorithm == "fft") ran = "fft";
  if (algorithm == "winograd") {
    ran = kernel.find("sgemm_") != std::string::npos ? "winograd_nonfused" : "winograd_fused";
  }
  return name_of(chosen).starts_with(ran);
}

Result<NeuSightRow> neusight_row(const Fields& fields, Gpus& gpus,
                                 std::map<std::string, std::int64_t>& serial) {
  NeuSightRow row;
  ROOFTILE_TRY(row.gpu, fields.text("device"));
  ROOFTILE_TRY(const Gpu* gpu, gpus.find(row.gpu));
  ops::ConvShape c;
  ROOFTILE_TRY(c.n, fields.integer("b"));
  ROOFTILE_TRY(c.c, fields.integer("c_in"));
  ROOFTILE_TRY(c.k, fields.integer("c_out"));
  ROOFTILE_TRY(c.h, fields.integer("hw"));
  ROOFTILE_TRY(c.r, fields.integer("filter"));
  ROOFTILE_TRY(c.stride_h, fields.integer("stride"));
  ROOFTILE_TRY(c.pad_h, fields.integer("padding"));
  c.w = c.h;
  c.s = c.r;
  c.stride_w = c.stride_h;
  c.pad_w = c.pad_h;
  ROOFTILE_CHECK(ops::Conv2d{.conv = c}.check());
  ROOFTILE_TRY(const std::string algorithm, fields.text("algorithm"));
  ROOFTILE_TRY(const std::string kernel, fields.text("kernel"));
  ROOFTILE_TRY(const auto measured, fields.time("latency_ms"));
  row.measured = measured.value_or(0);
  const auto all = latency::conv_candidates(c, DType::Fp32, gpu->machine, {});
  row.chosen_time = all.front().seconds();
  for (const latency::ConvCandidate& candidate : all) {
    if (candidate.algorithm == latency::ConvAlgorithm::ImplicitGemm) {
      row.implicit_time = candidate.seconds();
    }
  }
  row.implicit = algorithm == "implicit_gemm" && kernel.find("scudnn_128x") != std::string::npos;
  row.named_right = same_algorithm(all.front().algorithm, algorithm, kernel);
  row.index = serial[row.gpu]++;
  return row;
}

double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Seconds of host time per GPU and block of rows.
using Drift = std::map<std::string, std::map<std::int64_t, double>>;

Drift drift_of(const std::vector<NeuSightRow>& rows) {
  std::map<std::string, std::map<std::int64_t, std::vector<double>>> residuals;
  for (const NeuSightRow& row : rows) {
    residuals[row.gpu][row.index / kDriftRows].push_back(row.measured - row.chosen_time);
  }
  Drift drift;
  for (auto& [gpu, blocks] : residuals) {
    for (auto& [block, values] : blocks) drift[gpu][block] = std::max(0.0, median(values));
  }
  return drift;
}

/// The drift that the other GPUs of the file show at the same place.
double drift_elsewhere(const Drift& drift, const std::string& gpu, std::int64_t block) {
  double sum = 0;
  double count = 0;
  for (const auto& [other, blocks] : drift) {
    if (other == gpu || blocks.empty()) continue;
    const auto it = blocks.find(block);
    sum += it != blocks.end() ? it->second : blocks.rbegin()->second;
    count += 1;
  }
  return count > 0 ? sum / count : 0.0;
}

struct NeuSightErrors {
  Error implicit, implicit_flat, implicit_elsewhere, all, all_flat, all_elsewhere;
  std::int64_t right = 0, rows = 0;
};

}  // namespace

Result<report::ValidationTable> validate_deepbench(CsvReader& csv, const CsvHeader& header,
                                                   const Catalog& catalog) {
  Gpus gpus(catalog);
  std::map<std::string, DeepBenchErrors> per_gpu;
  const Fields fields(csv, header);
  while (true) {
    ROOFTILE_TRY(const bool more, csv.next());
    if (!more) break;
    ROOFTILE_CHECK(header.check_width(csv));
    ROOFTILE_TRY(const std::string dtype, fields.text("dtype"));
    if (dtype != "fp32") continue;
    ROOFTILE_TRY(const std::string name, fields.text("gpu"));
    ROOFTILE_TRY(const Gpu* gpu, gpus.find(name));
    ROOFTILE_CHECK(add_deepbench_row(fields, name, *gpu, per_gpu[name]));
  }
  report::ValidationTable table;
  table.title = "DeepBench convolutions, FP32: geometric error (predicted / measured)";
  table.columns = {"GPU",
                   "forward, implicit GEMM",
                   "n",
                   "left out",
                   "within 1.3",
                   "forward, all rows, choice",
                   "backward data",
                   "backward filter"};
  for (const auto& [name, e] : per_gpu) {
    table.rows.push_back({name, e.implicit.text(), std::to_string(e.implicit.count),
                          std::to_string(e.dropped), e.implicit.inside_text(), e.forward.text(),
                          e.data.text(), e.filter.text()});
  }
  table.notes = {
      "Left out: rows labelled implicit GEMM above 0.97 of the FP32 peak at boost clock.",
      "15 us per call are added for the host. The factors of the backward passes were fitted on",
      "these rows; the forward constants on these and NeuSight's together."};
  return table;
}

Result<report::ValidationTable> validate_neusight(CsvReader& csv, const CsvHeader& header,
                                                  const Catalog& catalog) {
  Gpus gpus(catalog);
  std::vector<NeuSightRow> rows;
  std::map<std::string, std::int64_t> serial;
  const Fields fields(csv, header);
  while (true) {
    ROOFTILE_TRY(const bool more, csv.next());
    if (!more) break;
    ROOFTILE_CHECK(header.check_width(csv));
    ROOFTILE_TRY(NeuSightRow row, neusight_row(fields, gpus, serial));
    if (row.measured > 0) rows.push_back(std::move(row));
  }
  const Drift drift = drift_of(rows);
  std::map<std::string, NeuSightErrors> per_gpu;
  for (const NeuSightRow& row : rows) {
    NeuSightErrors& e = per_gpu[row.gpu];
    const std::int64_t block = row.index / kDriftRows;
    const double own = drift.at(row.gpu).at(block);
    const double elsewhere = drift_elsewhere(drift, row.gpu, block);
    if (row.implicit) {
      e.implicit.add(row.implicit_time + own, row.measured);
      e.implicit_flat.add(row.implicit_time + kFlatOverhead, row.measured);
      e.implicit_elsewhere.add(row.implicit_time + elsewhere, row.measured);
    }
    e.all.add(row.chosen_time + own, row.measured);
    e.all_flat.add(row.chosen_time + kFlatOverhead, row.measured);
    e.all_elsewhere.add(row.chosen_time + elsewhere, row.measured);
    e.right += row.named_right ? 1 : 0;
    ++e.rows;
  }
  report::ValidationTable table;
  table.title = "NeuSight convolutions, FP32 3x3 forward: geometric error (predicted / measured)";
  table.columns = {"GPU",
                   "implicit n",
                   "drift removed",
                   "flat 280 us",
                   "others' drift",
                   "all n",
                   "drift removed, choice",
                   "flat 280 us, choice",
                   "others' drift, choice",
                   "algorithm right",
                   "drift first/last us"};
  for (const auto& [name, e] : per_gpu) {
    const auto& blocks = drift.at(name);
    table.rows.push_back({name, std::to_string(e.implicit.count), e.implicit.text(),
                          e.implicit_flat.text(), e.implicit_elsewhere.text(),
                          std::to_string(e.all.count), e.all.text(), e.all_flat.text(),
                          e.all_elsewhere.text(),
                          fmt::format("{:.0f} %", 100.0 * static_cast<double>(e.right) /
                                                      static_cast<double>(e.rows)),
                          fmt::format("{:.0f} / {:.0f}", blocks.begin()->second * 1e6,
                                      blocks.rbegin()->second * 1e6)});
  }
  table.notes = {
      "Every row of this campaign carries host time that grows with the row number. \"Drift",
      "removed\" takes the median residual of 250 rows of the GPU itself, \"others' drift\" that "
      "of",
      "the other GPUs, \"flat\" one constant (chosen on these rows). The predictor knows none."};
  return table;
}

}  // namespace rooftile::app
