// SPDX-License-Identifier: Apache-2.0
#include "profile/formula.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <unordered_set>

#include "core/text.h"
#include "profile/tensor_ops.h"

namespace rooftile::profile {

namespace {

/// "sm__x" for "smsp__x" and the other way round; both count the same when summed.
std::optional<std::string> twin(std::string_view metric) {
  if (metric.starts_with("smsp__sass")) return "sm__" + std::string(metric.substr(6));
  if (metric.starts_with("sm__sass")) return "smsp__" + std::string(metric.substr(4));
  return std::nullopt;
}

// Counters that are not part of a formula of the table: time, clocks and peaks.
constexpr std::array kOtherCounters{
    std::string_view("gpu__time_duration.sum"),
    std::string_view("gpu__time_duration.avg"),
    std::string_view("gpu__time_duration.max"),
    std::string_view("gpu__time_duration_measured_user.sum"),
    std::string_view("gpu__time_active.avg"),
    std::string_view("gpu__time_active.sum"),
    std::string_view("sm__cycles_elapsed.avg"),
    std::string_view("sm__cycles_elapsed.max"),
    std::string_view("sm__cycles_elapsed.avg.per_second"),
    std::string_view("smsp__cycles_elapsed.avg.per_second"),
    std::string_view("smsp__cycles_elapsed.avg"),
    std::string_view("gpc__cycles_elapsed.max"),
    std::string_view("gpc__cycles_elapsed.avg.per_second"),
    std::string_view("dram__cycles_elapsed.avg.per_second"),
    std::string_view("lts__cycles_elapsed.avg.per_second"),
    std::string_view("l1tex__cycles_elapsed.avg.per_second"),
    std::string_view("dram__bytes.sum.peak_sustained"),
    std::string_view("lts__t_bytes.sum.peak_sustained"),
    std::string_view("l1tex__t_bytes.sum.peak_sustained"),
    std::string_view("sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained"),
    std::string_view("sm__sass_thread_inst_executed_op_dfma_pred_on.sum.peak_sustained"),
    std::string_view("sm__sass_thread_inst_executed_op_hfma_pred_on.sum.peak_sustained"),
    std::string_view("derived__sm__sass_thread_inst_executed_op_ffma_pred_on_x2"),
    std::string_view("derived__sm__sass_thread_inst_executed_op_dfma_pred_on_x2"),
    std::string_view("derived__sm__sass_thread_inst_executed_op_hfma_pred_on_x2"),
    std::string_view("sm__inst_executed_pipe_tensor.sum.peak_sustained"),
    std::string_view("duration"),
    std::string_view("sm__throughput.avg.pct_of_peak_sustained_elapsed"),
    std::string_view("l1tex__throughput.avg.pct_of_peak_sustained_active"),
    std::string_view("l1tex__throughput.avg.pct_of_peak_sustained_elapsed"),
    std::string_view("lts__throughput.avg.pct_of_peak_sustained_elapsed"),
    std::string_view("lts__t_bytes.avg.pct_of_peak_sustained_elapsed"),
    std::string_view("gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"),
    std::string_view("dram__throughput.avg.pct_of_peak_sustained_elapsed"),
};

const std::unordered_set<std::string_view>& used_counters() {
  static const std::unordered_set<std::string_view> all_used = [] {
    std::unordered_set<std::string_view> used(kOtherCounters.begin(), kOtherCounters.end());
    for (const Quantity quantity : kQuantities) {
      for (const Formula& formula : formulas(quantity)) {
        for (const Term& term : formula.terms) used.insert(term.metric);
      }
    }
    return used;
  }();
  return all_used;
}

}  // namespace

bool is_used_metric(std::string_view metric) {
  if (used_counters().contains(metric) || is_tensor_counter(metric) || is_tensor_share(metric)) {
    return true;
  }
  const auto other = twin(metric);
  return other && used_counters().contains(*other);
}

std::string_view name_of(Quantity quantity) {
  switch (quantity) {
    case Quantity::Fp64: return "fp64 flops";
    case Quantity::Fp32: return "fp32 flops";
    case Quantity::Fp16: return "fp16 flops";
    case Quantity::L1: return "l1 bytes";
    case Quantity::L2: return "l2 bytes";
    case Quantity::Dram: return "dram bytes";
    case Quantity::System: return "system bytes";
  }
  return "";
}

std::string_view name_of(On on) {
  switch (on) {
    case On::Any: return "any";
    case On::Amd: return "amd";
    case On::Amd64: return "amd 64 B";
    case On::Amd128: return "amd 128 B";
    case On::Packed: return "packed fp32";
    case On::Plain: return "no packed fp32";
  }
  return "";
}

const Column* find_counter(const KernelSeries& kernel, std::string_view metric) {
  const Column* column = kernel.find(metric);
  if (column == nullptr || column->values.empty()) {
    const auto other = twin(metric);
    column = other ? kernel.find(*other) : nullptr;
  }
  return column != nullptr && !column->values.empty() ? column : nullptr;
}

namespace {

bool holds(On on, const Counting& counting) {
  const bool amd = counting.is(hardware::Profiler::Rocprof);
  switch (on) {
    case On::Any: return true;
    case On::Amd: return amd;
    case On::Amd64: return amd && counting.facts->request == 64_B;
    case On::Amd128: return amd && counting.facts->request == 128_B;
    case On::Packed: return counting.packed_fp32;
    case On::Plain: return !counting.packed_fp32;
  }
  return false;
}

const Column* clock_of(const KernelSeries& kernel) {
  for (const std::string_view metric :
       {"smsp__cycles_elapsed.avg.per_second", "sm__cycles_elapsed.avg.per_second"}) {
    if (const Column* column = find_counter(kernel, metric)) return column;
  }
  return nullptr;
}

/// One value per launch, none missing.
bool complete(const Column& column, std::size_t launches) {
  return column.weights.empty() && column.missing == 0 && column.values.size() == launches;
}

std::string_view scale_text(Scale scale, bool cycles) {
  switch (scale) {
    case Scale::None: return "";
    case Scale::Time: return " * time";
    case Scale::ClockTime: return cycles ? " * smsp__cycles_elapsed.avg" : " * clock * time";
  }
  return "";
}

std::optional<Evaluated> apply(const Formula& formula, const KernelSeries& kernel,
                               const KernelTime* time) {
  Evaluated result;
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < formula.terms.size(); ++i) {
    const Term& term = formula.terms[i];
    const Column* column = find_counter(kernel, term.metric);
    if (column == nullptr) {
      if (i < formula.required) return std::nullopt;
      if (formula.required == 0) result.missing.push_back(term.metric);
      continue;
    }
    const auto sum = sum_of_rate(*column, kernel, formula.scale, time);
    if (!sum) return std::nullopt;
    result.partial = result.partial || column->missing > 0;
    result.value += term.factor * *sum;
    const double factor = parts.empty() ? term.factor : std::abs(term.factor);
    if (!parts.empty()) parts.emplace_back(term.factor < 0 ? " - " : " + ");
    parts.push_back(factor == 1.0 ? column->metric
                                  : fmt::format("{} * {}", factor, column->metric));
  }
  if (parts.empty()) return std::nullopt;
  for (const std::string& part : parts) result.text += part;
  if (formula.scale != Scale::None) {
    result.text = parts.size() > 1 ? "(" + result.text + ")" : result.text;
    result.text += scale_text(formula.scale, time != nullptr && !time->cycles.empty());
  }
  result.value = std::max(result.value, 0.0);
  return result;
}

}  // namespace

std::optional<double> sum_of_rate(const Column& rate, const KernelSeries& kernel, Scale scale,
                                  const KernelTime* time) {
  if (scale == Scale::None) return rate.sum();
  if (time == nullptr) return std::nullopt;
  if (scale == Scale::ClockTime && !time->cycles.empty() && complete(rate, time->cycles.size())) {
    return std::inner_product(rate.values.begin(), rate.values.end(), time->cycles.begin(), 0.0);
  }
  const Column* clock = scale == Scale::ClockTime ? clock_of(kernel) : nullptr;
  if (scale == Scale::ClockTime && clock == nullptr) return std::nullopt;
  const std::size_t launches = time->per_launch.size();
  if (launches > 0 && complete(rate, launches) && (!clock || complete(*clock, launches))) {
    double sum = 0.0;
    for (std::size_t i = 0; i < launches; ++i) {
      sum += rate.values[i] * time->per_launch[i] * (clock ? clock->values[i] : 1.0);
    }
    return sum;
  }
  return rate.mean() * time->total * (clock ? clock->mean() : 1.0);
}

std::optional<Evaluated> evaluate_quantity(Quantity quantity, const KernelSeries& kernel,
                                           const Counting& counting, const KernelTime* time) {
  for (const Formula& formula : formulas(quantity)) {
    if (!holds(formula.on, counting)) continue;
    if (auto result = apply(formula, kernel, time)) return result;
  }
  return std::nullopt;
}

std::optional<Evaluated> evaluate_rate(Quantity quantity, const KernelSeries& kernel,
                                       const Counting& counting) {
  const std::int64_t launches = kernel.launches();
  if (launches < 1) return std::nullopt;
  // Counts of launches that last a second each are rates.
  const KernelTime second{.total = static_cast<double>(launches), .per_launch = {}, .text = {}};
  for (const Formula& formula : formulas(quantity)) {
    if (formula.scale == Scale::None || !holds(formula.on, counting)) continue;
    auto result = apply(formula, kernel, &second);
    if (!result) continue;
    result->value /= static_cast<double>(launches);
    result->text = result->text.substr(0, result->text.rfind(" * time"));
    return result;
  }
  return std::nullopt;
}

}  // namespace rooftile::profile
