// SPDX-License-Identifier: Apache-2.0
#include "profile/rates.h"

#include <array>
#include <string_view>

#include "profile/formula.h"

namespace rooftile::profile {

namespace {

constexpr std::array<std::pair<Quantity, DType>, 3> kVectorRates{
    {{Quantity::Fp64, DType::Fp64}, {Quantity::Fp32, DType::Fp32}, {Quantity::Fp16, DType::Fp16}}};
constexpr std::array kByteRates{Quantity::L1, Quantity::L2, Quantity::Dram};

std::optional<double> mean_share(const KernelSeries& kernel, const KernelTime* time,
                                 std::initializer_list<std::string_view> metrics) {
  for (const std::string_view metric : metrics) {
    const Column* column = find_counter(kernel, metric);
    if (column == nullptr) continue;
    const bool weighted = time != nullptr && column->weights.empty() && column->missing == 0 &&
                          time->total > 0.0 && time->per_launch.size() == column->values.size();
    if (!weighted) return 0.01 * column->mean();
    double sum = 0.0;
    for (std::size_t i = 0; i < column->values.size(); ++i) {
      sum += column->values[i] * time->per_launch[i];
    }
    return 0.01 * sum / time->total;
  }
  return std::nullopt;
}

}  // namespace

std::optional<RatesFound> rates_of(const KernelSeries& kernel, const Counting& counting) {
  RatesFound found;
  for (const auto& [quantity, dtype] : kVectorRates) {
    const auto value = evaluate_rate(quantity, kernel, counting);
    if (!value) continue;
    const auto rate = FlopsPerSecond::from_base(value->value);
    found.rates.flops_by[{dtype, hardware::Pipe::Vector}] = rate;
    found.rates.flops = found.rates.flops.value_or(FlopsPerSecond{}) + rate;
    found.formulas.emplace_back(std::string(name_of(quantity)) + " per second", value->text);
  }
  for (std::size_t level = 0; level < kByteRates.size(); ++level) {
    const auto value = evaluate_rate(kByteRates[level], kernel, counting);
    if (!value) continue;
    found.rates.bytes[level] = BytesPerSecond::from_base(value->value);
    found.formulas.emplace_back(std::string(name_of(kByteRates[level])) + " per second",
                                value->text);
  }
  if (found.formulas.empty()) return std::nullopt;
  return found;
}

SpeedOfLight speed_of_light(const KernelSeries& kernel, const KernelTime* time) {
  SpeedOfLight shares;
  shares.compute = mean_share(kernel, time, {"sm__throughput.avg.pct_of_peak_sustained_elapsed"});
  shares.level[0] = mean_share(kernel, time,
                               {"l1tex__throughput.avg.pct_of_peak_sustained_elapsed",
                                "l1tex__throughput.avg.pct_of_peak_sustained_active"});
  shares.level[1] = mean_share(kernel, time,
                               {"lts__throughput.avg.pct_of_peak_sustained_elapsed",
                                "lts__t_bytes.avg.pct_of_peak_sustained_elapsed"});
  shares.level[2] = mean_share(kernel, time,
                               {"gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
                                "dram__throughput.avg.pct_of_peak_sustained_elapsed"});
  return shares;
}

}  // namespace rooftile::profile
