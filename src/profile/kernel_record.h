// SPDX-License-Identifier: Apache-2.0
//
// A measured kernel: what the roofline needs to know about all launches of one kernel name.
// Absent means not measured, never zero: a kernel without FLOP counters has no FLOPs, a kernel
// whose counters are all zero has zero FLOPs ("zero-AI").
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/units.h"
#include "hardware/gpu_spec.h"
#include "profile/raw_profile.h"
#include "profile/timeline.h"

namespace rooftile::profile {

/// What an export without times says of a kernel: a point under the roofs all the same.
struct Rates {
  std::map<hardware::RateKey, FlopsPerSecond> flops_by;
  std::optional<FlopsPerSecond> flops;
  std::array<std::optional<BytesPerSecond>, 3> bytes;  ///< indexed by hardware::MemoryLevel
};

/// The share of its peak that each unit reached, by the profiler's own account (the Speed of Light
/// section of Nsight Compute).
struct SpeedOfLight {
  std::optional<double> compute;
  std::array<std::optional<double>, 3> level;  ///< indexed by hardware::MemoryLevel

  [[nodiscard]] bool any() const { return compute || level[0] || level[1] || level[2]; }
};

struct KernelRecord {
  std::string name;
  std::int64_t launches = 0;
  std::optional<Seconds> time;                  ///< sum over the launches
  std::map<hardware::RateKey, Flops> flops_by;  ///< per precision and pipe, where counted
  std::optional<Flops> flops;                   ///< sum of the above
  bool flops_complete = true;                   ///< false: some counter is missing, a lower bound
  std::array<std::optional<Bytes>, 3> bytes;    ///< indexed by hardware::MemoryLevel
  std::optional<Bytes> system_bytes;            ///< over PCIe or NVLink
  std::optional<Rates> rates;                   ///< only where the export has no times
  SpeedOfLight speed_of_light;
  std::optional<Hertz> clock;       ///< SM clock, mean over launches
  std::int64_t short_launches = 0;  ///< launches shorter than the limit asked for
  Seconds short_time;               ///< their total time
  std::optional<std::array<std::int64_t, 3>> grid, block;  ///< of the first launch
  /// Launches that are alike (same grid, same instruction counts), each as a record of its own with
  /// `ordinals`; only where they were asked for and the export lists launches one by one.
  std::vector<KernelRecord> groups;
  std::vector<std::int64_t> ordinals;  ///< of a group: its places in the order of all launches
  std::optional<TracedWork> traced;    ///< of a group: what a trace says that it computes
  /// FLOPs and DRAM bytes follow from the shapes of a trace's operators: what was asked for, each
  /// operand moved once, not what was counted.
  bool from_shapes = false;
  /// The kernel that most often follows, and how often; empty where launches are not listed.
  std::string next = {};
  std::int64_t next_launches = 0;
  /// Of a predicted convolution ("winograd_fused"): its FLOPs are those of the direct algorithm.
  std::string algorithm = {};

  [[nodiscard]] std::optional<Bytes> bytes_at(hardware::MemoryLevel level) const {
    return bytes[static_cast<std::size_t>(level)];
  }
  [[nodiscard]] bool zero_ai() const { return flops && flops->base() == 0.0; }
};

/// A formula that was used, as text, and for how many kernels.
struct FormulaUse {
  std::string quantity;  ///< "fp32 flops", "dram bytes", "time"
  std::string text;      ///< "sm__..fadd..sum + sm__..fmul..sum + 2 * sm__..ffma..sum"
  std::int64_t kernels = 0;
};

/// A roof computed from the export itself (peak_sustained times clock).
struct ExportRoof {
  std::optional<hardware::MemoryLevel> level;
  std::optional<hardware::RateKey> rate;
  double value = 0.0;  ///< byte/s or FLOP/s
  std::string formula;
};

struct Warning {
  std::string name;  ///< "missing-metrics", "above-roof": stable, one per kind of finding
  std::string message;
};

/// One run (one export, or several joined ones), evaluated.
struct Run {
  std::string label;
  std::vector<KernelRecord> kernels;
  std::vector<FormulaUse> formulas;
  std::vector<ExportRoof> export_roofs;
  std::vector<Warning> warnings;
  std::optional<Timeline> timeline;  ///< of exports that say when launches began
};

}  // namespace rooftile::profile
