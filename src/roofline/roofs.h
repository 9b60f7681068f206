// SPDX-License-Identifier: Apache-2.0
//
// The roofs of a chart and where each is from. In order of preference, roof by roof:
//   measured    ceilings of --machine, ERT or rocm-amdgpu-bench results given with the exports
//   export      peak_sustained times the measured clock, from the profiler's own counters
//   datasheet   the catalogue's GPU (published measurements where it has them)
// Nothing is filled in from another machine: a level without a roof has none in the chart.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/units.h"
#include "hardware/gpu_spec.h"
#include "hardware/machine.h"
#include "profile/kernel_record.h"
#include "profile/raw_profile.h"

namespace rooftile::roofline {

struct MemoryRoof {
  std::string name;  ///< "l1", "l2", "dram", or another level of the machine ("l3", "lds")
  std::optional<hardware::MemoryLevel> level;
  BytesPerSecond bandwidth;
  std::string source;
};

struct ComputeRoof {
  hardware::RateKey key;
  FlopsPerSecond rate;
  std::string source;
};

struct Roofs {
  std::string machine;  ///< name of the device, where known
  std::vector<MemoryRoof> memory;
  std::vector<ComputeRoof> compute;
  std::optional<Hertz> clock;       ///< the SM clock that the compute roofs hold for
  std::optional<Hertz> boost = {};  ///< of the data sheet, where the roofs were scaled from it
  std::optional<Seconds> launch;    ///< measured launch overhead

  [[nodiscard]] std::optional<BytesPerSecond> bandwidth(hardware::MemoryLevel level) const;
  [[nodiscard]] std::optional<FlopsPerSecond> rate(hardware::RateKey key) const;
  /// The highest compute roof, for the chart's ceiling.
  [[nodiscard]] std::optional<FlopsPerSecond> highest() const;
  /// "measured", "export", "datasheet", or several of them.
  [[nodiscard]] std::string provenance() const;
};

Roofs roofs_of(const hardware::Machine& machine);
/// Measured ceilings alone, of a machine that no catalogue knows.
Roofs roofs_of(const hardware::Ceilings& ceilings);
Roofs roofs_of(std::span<const profile::ExportRoof> roofs, std::optional<Hertz> clock);
/// Roofs and ERT sweeps that came with the exports; sweeps are reduced by ERT's own rule.
Roofs roofs_of(std::span<const hardware::MeasuredRoof> roofs,
               std::span<const hardware::SweepSample> sweep);

/// The roofs of a data sheet at another SM clock than its own: compute and L1 follow the clock, L2
/// and DRAM have clocks of their own, and what was measured stays as it is.
Roofs at_clock(Roofs roofs, Hertz clock, const hardware::Machine& machine);

/// `first` completed with what only `second` has.
Roofs prefer(Roofs first, const Roofs& second);

}  // namespace rooftile::roofline
