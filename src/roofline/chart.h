// SPDX-License-Identifier: Apache-2.0
//
// Measured kernels under roofs: the value behind every roofline view.
//   GFLOP/s <= min(peak, bandwidth(level) * AI(level)),  AI(level) = FLOPs / bytes(level)  [Yang20]
// Stated as times, so that kernels of mixed precision and kernels without FLOPs have a roof too:
//   bound = max over precisions p of FLOPs_p / peak_p  and over levels l of bytes_l / bandwidth_l
//   limiter = where the maximum is, fraction of roof = bound / measured time
// Pipes are taken as fully overlapped, so the bound is never too high. Kernels with zero FLOPs have
// no place on logarithmic axes and are counted apart (zero-AI census).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/units.h"
#include "profile/kernel_record.h"
#include "roofline/roofs.h"
#include "rooftile/provenance.h"

namespace rooftile::roofline {

/// The terms of the bound of one kernel, all launches together.
struct BoundTerms {
  std::optional<Seconds> compute;               ///< of the slowest pipe
  std::string compute_roof;                     ///< "fp16_tensor"; empty without a roof
  std::array<std::optional<Seconds>, 3> level;  ///< indexed by hardware::MemoryLevel
  Seconds launch;                               ///< launches times the overhead
};

/// What the models expect of a kernel whose shape is known, all launches together.
struct Prediction {
  std::int64_t launches = 0;             ///< whose shapes are known, of all launches of the kernel
  std::optional<Seconds> measured = {};  ///< of those launches
  std::string match;  ///< how the shape was found: "tile and grid", or the operator of the model
  std::string shape;  ///< "4096x4096x1024"
  Seconds time, low, high;
  Flops flops;
  std::array<Bytes, 3> bytes;  ///< indexed by hardware::MemoryLevel
  std::string limiter;
  std::string rate;            ///< the compute roof that it is expected to run under: "tf32_tensor"
  std::string algorithm = {};  ///< of a convolution
  std::string above_roof = {};  ///< why it lies above that roof; empty: it does not
};

struct Point {
  profile::KernelRecord record;
  std::string short_name;
  std::string phase;                                     ///< label of the run
  double time_fraction = 0.0;                            ///< of the whole chart's time
  std::array<std::optional<FlopsPerByte>, 3> intensity;  ///< indexed by hardware::MemoryLevel
  std::optional<FlopsPerSecond> rate;
  BoundTerms terms;
  std::optional<Seconds> bound;            ///< without the launch overhead
  std::string limiter;                     ///< "compute", "l1", "l2", "dram"; empty: unknown
  std::optional<double> fraction_of_roof;  ///< bound / time
  std::string above_roof;                  ///< why it lies above its roof; empty: it does not
  bool launch_bound = false;               ///< most of the time is launch overhead
  std::optional<Prediction> predicted;     ///< with --predict, where the shape is known
  std::string advice;                      ///< what holds it and what would help, in one sentence
  Seconds gain;                            ///< that its roof allows, where the advice is about it
};

struct Census {
  std::int64_t kernels = 0, launches = 0;
  double launch_fraction = 0.0, time_fraction = 0.0;
};

/// Sums over kernels; intensities are ratios of sums, not means of ratios.
struct Total {
  std::int64_t kernels = 0, launches = 0;
  Seconds time, short_time;
  bool timed = false;  ///< false: no kernel has a time, and `time` says nothing
  std::int64_t short_launches = 0;
  std::optional<Flops> flops, tensor_flops;
  bool flops_complete = true;  ///< false: of some kernel FLOPs are missing, a lower bound
  std::array<std::optional<Bytes>, 3> bytes;
  Seconds tensor_time;  ///< of kernels that use the matrix units
  Census zero_ai;
  std::int64_t uncounted = 0;  ///< kernels whose FLOPs nobody counted: zero or not

  [[nodiscard]] std::optional<FlopsPerByte> intensity(hardware::MemoryLevel level) const;
  [[nodiscard]] std::optional<FlopsPerSecond> rate() const;
  /// Some kernel is known to have no FLOPs, or all are known to have some: where FLOPs were not
  /// counted, none is unknown and not zero.
  [[nodiscard]] bool knows_zero_ai() const {
    return uncounted < kernels && (uncounted == 0 || zero_ai.kernels > 0);
  }
};

struct Phase {
  std::string label;
  std::vector<std::string> files;
  Total total;
  std::optional<profile::Timeline> timeline = {};
};

/// What two sides of a row have in common (roofline/compare.h).
enum class PairedBy : std::uint8_t { Nothing, Name, Operation, Class };
/// "name", "operation", "class", or "" for a kernel that only one run has.
std::string_view name_of(PairedBy paired);

/// Two runs side by side, the largest difference of time first.
struct Difference {
  std::string name, short_name;
  std::optional<profile::KernelRecord> first, second;
  Seconds delta;  ///< second minus first
  PairedBy paired = PairedBy::Nothing;
  std::string change = {};  ///< "appeared", "vanished", "fp32 -> fp16_tensor"; empty: none
};

struct Comparison {
  std::string first, second;
  std::vector<Difference> kernels = {};  ///< or classes of kernels, where the kernels differ
  std::vector<Difference> classes = {};  ///< tensor, vector, zero-AI, uncounted
  double paired_first = 0.0, paired_second = 0.0;  ///< share of the time in rows with both sides
};

struct Chart {
  std::string title;
  Roofs roofs;
  Seconds launch_overhead;
  std::vector<Point> points;  ///< by time, longest first
  Total total;
  std::vector<Phase> phases;
  std::optional<Comparison> comparison;      ///< of the first two runs
  std::vector<Comparison> more_comparisons;  ///< of each further run with the first one
  std::vector<profile::FormulaUse> formulas;
  ProvenanceReport provenance;
  std::vector<profile::Warning> warnings;
  bool binary_units = false;  ///< GFLOP/s divided by 2^30, as the authors' tables
};

struct ChartOptions {
  /// Per launch; 4.2 us was measured on V100 [time-based Roofline, arXiv 2009.04598].
  Seconds launch_overhead = Seconds::from_base(4.2e-6);
  bool group_by_phase = false;  ///< one point per run instead of one per kernel
  bool compare = false;         ///< two or more runs: fill the comparisons
  bool binary_units = false;
  double above_roof_tolerance = 0.05;
};

/// One run with its files, for the phases.
struct NamedRun {
  profile::Run run;
  std::vector<std::string> files;
};

Chart make_chart(std::vector<NamedRun> runs, const Roofs& roofs, const ChartOptions& options);

/// Some of its FLOPs are done by the matrix units.
bool uses_tensor(const profile::KernelRecord& record);

/// All kernels as one record.
profile::KernelRecord sum_records(const std::vector<profile::KernelRecord>& records,
                                  std::string name);

/// "void at::native::vectorized_elementwise_kernel<4, at::native::add_kernel(...)...>(...)" ->
/// "vectorized_elementwise_kernel<add_kernel>"
std::string short_kernel_name(std::string_view full);

/// Why a kernel can be faster than its roof allows, as far as the data tell: an algorithm with
/// fewer operations than are counted (an effective rate), a higher clock, a roof that was measured,
/// or numbers that do not belong together. Empty for a kernel that is not above its roof.
std::string above_roof_reason(const Point& point, const Roofs& roofs);
std::string above_roof_reason(const Prediction& prediction, const Roofs& roofs);

/// Named warnings about the chart: points above their roof, bytes in the wrong order, clocks,
/// launch-bound populations, precisions without a roof.
std::vector<profile::Warning> check(const Chart& chart, const ChartOptions& options);

}  // namespace rooftile::roofline
