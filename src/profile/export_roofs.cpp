// SPDX-License-Identifier: Apache-2.0
#include "profile/export_roofs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "profile/formula.h"
#include "profile/tensor_ops.h"

namespace rooftile::profile {

namespace {

using hardware::MemoryLevel;
using hardware::Pipe;
using hardware::RateKey;

/// peak_sustained (per cycle) times the clock of its unit.
struct PeakSource {
  std::optional<MemoryLevel> level;
  std::optional<RateKey> rate;
  double factor = 1;
  std::string_view peak, clock;
};

constexpr std::string_view kSmClock = "sm__cycles_elapsed.avg.per_second";

constexpr PeakSource level_peak(MemoryLevel level, std::string_view peak, std::string_view clock) {
  return {.level = level, .rate = {}, .factor = 1, .peak = peak, .clock = clock};
}

/// `factor` FLOPs for each of what the counter counts.
constexpr PeakSource rate_peak(DType dtype, Pipe pipe, double factor, std::string_view peak) {
  return {
      .level = {}, .rate = RateKey{dtype, pipe}, .factor = factor, .peak = peak, .clock = kSmClock};
}

constexpr std::array<PeakSource, 9> kPeakSources{{
    level_peak(MemoryLevel::Dram, "dram__bytes.sum.peak_sustained",
               "dram__cycles_elapsed.avg.per_second"),
    level_peak(MemoryLevel::L2, "lts__t_bytes.sum.peak_sustained",
               "lts__cycles_elapsed.avg.per_second"),
    level_peak(MemoryLevel::L1, "l1tex__t_bytes.sum.peak_sustained",
               "l1tex__cycles_elapsed.avg.per_second"),
    rate_peak(DType::Fp32, Pipe::Vector, 2,
              "sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained"),
    rate_peak(DType::Fp32, Pipe::Vector, 1,
              "derived__sm__sass_thread_inst_executed_op_ffma_pred_on_x2"),
    rate_peak(DType::Fp64, Pipe::Vector, 2,
              "sm__sass_thread_inst_executed_op_dfma_pred_on.sum.peak_sustained"),
    rate_peak(DType::Fp64, Pipe::Vector, 1,
              "derived__sm__sass_thread_inst_executed_op_dfma_pred_on_x2"),
    rate_peak(DType::Fp16, Pipe::Vector, 2,
              "sm__sass_thread_inst_executed_op_hfma_pred_on.sum.peak_sustained"),
    rate_peak(DType::Fp16, Pipe::Vector, 1,
              "derived__sm__sass_thread_inst_executed_op_hfma_pred_on_x2"),
}};

/// The peaks of tensor operations that the export has; dense counters before those that may count
/// sparse products too.
std::vector<PeakSource> tensor_peaks(const RawProfile& profile) {
  std::set<std::string_view> dense, others;
  for (const KernelSeries& kernel : profile.kernels) {
    for (const Column& column : kernel.columns) {
      if (!tensor_peak(column.metric)) continue;
      const bool says_dense = column.metric.find("_sparsity_off") != std::string::npos;
      (says_dense ? dense : others).insert(column.metric);
    }
  }
  std::vector<PeakSource> sources;
  for (const auto& metrics : {dense, others}) {
    for (const std::string_view metric : metrics) {
      const RateKey key = *tensor_peak(metric);
      sources.push_back(rate_peak(key.dtype, key.pipe, 1, metric));
    }
  }
  return sources;
}

}  // namespace

std::vector<ExportRoof> export_roofs(const RawProfile& profile) {
  std::vector<ExportRoof> roofs;
  std::vector<PeakSource> sources(kPeakSources.begin(), kPeakSources.end());
  for (const PeakSource& source : tensor_peaks(profile)) sources.push_back(source);
  for (const PeakSource& source : sources) {
    const bool known = std::any_of(roofs.begin(), roofs.end(), [&](const ExportRoof& roof) {
      return roof.level == source.level && roof.rate == source.rate;
    });
    if (known) continue;
    double best = 0.0;
    for (const KernelSeries& kernel : profile.kernels) {
      const Column* peak = find_counter(kernel, source.peak);
      const Column* clock = find_counter(kernel, source.clock);
      if (peak == nullptr || clock == nullptr) continue;
      best = std::max(best, source.factor * peak->mean() * clock->mean());
    }
    if (best <= 0.0) continue;
    roofs.push_back(
        {.level = source.level,
         .rate = source.rate,
         .value = best,
         .formula = fmt::format(fmt::runtime(source.factor == 1 ? "{1} * {2}" : "{0} * {1} * {2}"),
                                source.factor, source.peak, source.clock)});
  }
  return roofs;
}

}  // namespace rooftile::profile
