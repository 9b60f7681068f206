// SPDX-License-Identifier: Apache-2.0
//
// What an importer delivers: for every kernel name the values of every counter, in launch order and
// in base units (bytes, seconds, hertz, counts). Nothing is interpreted here: which counters make a
// FLOP is the business of formula.h. Kernels are columns, not launches, so that
//   - the twelve one-metric runs of the paper join by name and occurrence (merge()),
//   - a run can be subtracted from another one (subtract(), docs/format/profiles.md),
//   - a 2 GB export shrinks to 8 bytes per useful value.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/result.h"
#include "hardware/roof_file.h"
#include "ops/collective.h"
#include "ops/kernel_work.h"

namespace rooftile::profile {

using Dim3 = std::array<std::int64_t, 3>;

/// Values of one counter of one kernel. A value stands for `weights[i]` launches and is then their
/// mean (summaries, nvprof); no weights means one launch each.
struct Column {
  std::string metric;
  std::vector<double> values;
  std::vector<double> weights;
  std::int64_t missing = 0;            ///< launches for which the tool printed n/a
  std::vector<std::size_t> gaps = {};  ///< which ones, where values stand for one launch each

  [[nodiscard]] double sum() const;       ///< over launches
  [[nodiscard]] double mean() const;      ///< per launch; values must not be empty
  [[nodiscard]] double launches() const;  ///< counted ones and missing ones
};

/// The part of a training step that a framework's trace shows a launch in.
enum class TracePhase : std::uint8_t { Unknown, Forward, Backward, Optimizer };

/// What an operator of a trace asks of one launch: FLOPs and compulsory bytes follow from shapes.
struct TracedWork {
  std::string operation;  ///< "aten::addmm"
  ops::KernelWork work;
  double share = 1.0;  ///< of the work, where several launches of one kernel do it
  std::optional<ops::Collective> collective = {};  ///< where it moves data between GPUs

  bool operator==(const TracedWork&) const = default;
};

/// One launch of a kernel, for exports that list them.
struct Launch {
  std::int64_t ordinal = 0;  ///< in the order of the export, over all kernels
  std::optional<Dim3> grid, block;
  std::optional<double> begin = {};   ///< seconds since the first launch of the export
  std::optional<double> called = {};  ///< when the host called for it, on the same clock
  std::int64_t device = 0;
  std::uint32_t range = 0;  ///< which of RawProfile::ranges it is in, from 1; 0: none
  std::uint32_t work = 0;   ///< which of RawProfile::works it does, from 1; 0: not known
  TracePhase phase = TracePhase::Unknown;
};

/// Something else that the device was busy with.
struct Activity {
  double begin = 0.0, end = 0.0;  ///< seconds, as Launch::begin
  std::int64_t device = 0;
};

inline constexpr std::int64_t kMaxLaunches = std::int64_t{1} << 18;  ///< listed one by one

struct KernelSeries {
  std::string name;  ///< as the tool wrote it
  std::vector<Column> columns;
  std::optional<Dim3> grid, block;  ///< of the first launch
  std::vector<Launch> launch_list;  ///< empty in summaries; of the first launches in huge exports
  std::int64_t rows = 0;            ///< launches seen, for exports without a usable counter

  [[nodiscard]] const Column* find(std::string_view metric) const;
  [[nodiscard]] std::int64_t launches() const;
};

/// What the export says about the device.
struct DeviceFacts {
  std::string name;  ///< "NVIDIA A100-SXM4-40GB", "MI200"; may be empty
  std::string isa;   ///< compute capability "8.0" or "gfx90a"; may be empty
  std::optional<std::int64_t> sm_count;
};

struct RawProfile {
  std::string format;              ///< importer's name: "ncu-csv", "kineto", ...
  std::vector<std::string> files;  ///< what was read, in order
  DeviceFacts device;
  std::vector<KernelSeries> kernels;
  std::vector<hardware::MeasuredRoof> roofs;  ///< that came with the export
  std::vector<hardware::SweepSample> sweep;   ///< of ERT
  std::vector<std::string> notes;             ///< things a reader should know, one sentence each
  /// Nests of annotations (NVTX ranges, user annotations) that launches are in, outermost first.
  std::vector<std::vector<std::string>> ranges;
  std::vector<Activity> copies;   ///< copies and fills, which are not kernels
  std::vector<TracedWork> works;  ///< of operators whose shapes a trace recorded
  std::int64_t ignored_metrics = 0;
  std::int64_t counters = 0;  ///< extensive counters seen, used or not

  [[nodiscard]] bool has_metric(std::string_view metric) const;
};

/// Builds a RawProfile; importers only say "kernel, metric, value".
class ProfileBuilder {
 public:
  ProfileBuilder(std::string format, std::string file);

  std::size_t kernel(std::string_view name);
  KernelSeries& series(std::size_t kernel) { return profile_.kernels[kernel]; }
  /// Adds a value in base units standing for `weight` launches.
  void add(std::size_t kernel, std::string_view metric, double value, double weight);
  void add_missing(std::size_t kernel, std::string_view metric, std::int64_t launches);
  /// A launch, with what the export states of it; the ordinal is set here.
  void add_launch(std::size_t kernel, Launch launch);
  /// As add(), but `other` is the value if the file turns out to use a decimal comma.
  void add_ambiguous(std::size_t kernel, std::string_view metric, double value, double other,
                     double weight);
  RawProfile& profile() { return profile_; }
  /// Finishes: puts ambiguous numbers right when `decimal_comma`.
  RawProfile finish(bool decimal_comma);

 private:
  struct Patch {
    std::size_t kernel, column, index;
    double value;
  };
  Column& column(std::size_t kernel, std::string_view metric);

  RawProfile profile_;
  std::unordered_map<std::string, std::size_t> index_;
  std::size_t last_kernel_ = 0;
  std::size_t last_column_ = 0;
  std::int64_t launches_ = 0;
  std::vector<Patch> patches_;
};

/// True for counters that some formula can use; others are not stored.
bool is_used_metric(std::string_view metric);

/// Joins the counters of two exports of the same run by kernel name and occurrence. A counter that
/// both have: two passes over the same launches (as many of them, and other counters as well) count
/// once; otherwise `b` holds further launches, which are appended.
RawProfile merge(RawProfile a, const RawProfile& b);

/// How much the two look like exports of one run, in [0, 1]: kernels in common, launched equally
/// often. Zero when they share a counter other than those of time, which every pass of a profiler
/// repeats, or when they share less than half of the kernels of the smaller one.
double affinity(const RawProfile& a, const RawProfile& b);

/// The kernel without the launches that lack a counter which others have, so that all sums are over
/// the same launches; nothing when none lacks any, when all do, or when launches are not listed.
std::optional<KernelSeries> complete_launches(const KernelSeries& kernel);

/// Every counter has one value or gap per launch, and every launch is listed.
bool lists_launches(const KernelSeries& kernel);
/// The launches that are marked; the kernel must list them.
KernelSeries keep_launches(const KernelSeries& kernel, const std::vector<bool>& kept);

/// `whole` without the launches of `part`: of every kernel that `part` launched c times, the first
/// c launches are dropped (the order of launches is assumed to be the same).
Result<RawProfile> subtract(const RawProfile& whole, const RawProfile& part);

}  // namespace rooftile::profile
