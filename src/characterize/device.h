// SPDX-License-Identifier: Apache-2.0
//
// What a back end offers to the sweep: a description, the micro-kernels it can run, and timing of
// a prepared one. The sweep, the statistics and the reduction see nothing else, so that they are
// tested with a fake device and the back ends stay small.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "characterize/measurement.h"
#include "core/result.h"
#include "core/units.h"
#include "hardware/gpu_spec.h"

namespace rooftile::characterize {

/// A cache (or scratchpad) of the machine, as the system describes it.
struct CacheLevel {
  std::string name;            ///< "L1", "L2", "L3"
  Bytes capacity;              ///< of all instances the workers use together
  std::int64_t instances = 1;  ///< how many of them the workers use
  std::optional<Bytes> line;
  /// Only load_l1 and, one unit at a time, chase see it; everything else goes past it (L1 of GPUs).
  bool apart = false;
  bool operator==(const CacheLevel&) const = default;
};

/// FLOP that all units together can do per cycle.
struct FlopLimit {
  FlopsPerCycle value;
  bool exact = false;  ///< of this architecture; else of the widest one known, an upper bound only
  bool operator==(const FlopLimit&) const = default;
};

/// What no measurement can exceed, of all units together; plausibility.h multiplies by the clock.
struct UnitLimits {
  std::map<hardware::RateKey, FlopLimit> flops;  ///< of every format that the device runs
  BytesPerCycle load, store;                     ///< between the units and their nearest cache
  BytesPerCycle shared;                          ///< from the scratchpads, where there are some
};

struct DeviceDescription {
  std::string backend;             ///< "cpu", "opencl", "cuda", "hip"
  std::string name;                ///< as the vendor calls it
  std::string isa;                 ///< "avx2+fma", "9.0", "gfx90a"
  std::string driver;              ///< version of driver and runtime; may be empty
  std::int64_t units = 1;          ///< cores or SMs in use
  std::int64_t workers = 1;        ///< threads (CPU), resident threads (GPU)
  std::vector<CacheLevel> caches;  ///< smallest first; memory itself is not in the list
  Bytes set_granule = 4_KiB;       ///< working sets per unit are multiples of this
  std::optional<Bytes> memory;     ///< size of the main (device) memory
  std::optional<Hertz> max_clock;  ///< as the device states it; boosts may go beyond
  UnitLimits limits;
  std::vector<std::string> notes;  ///< what limits the measurement, for the report
};

/// One of the patterns and number formats a device can run.
struct Capability {
  Pattern pattern = Pattern::Load;
  DType dtype = DType::Fp64;
  hardware::Pipe pipe = hardware::Pipe::Vector;
  /// Update: FLOPs per element of the smallest kernel; those of all powers of two from there exist.
  std::int64_t least_flops = 1;
  bool operator==(const Capability&) const = default;
};

class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  [[nodiscard]] const DeviceDescription& description() const { return do_description(); }
  [[nodiscard]] std::vector<Capability> capabilities() const { return do_capabilities(); }
  /// Allocates and initialises what the case needs. The working set may be rounded to what the
  /// kernel can divide; the returned work is exact for what will run.
  Result<PassWork> prepare(const Case& what) { return do_prepare(what); }
  /// Runs `passes` passes of the prepared case and returns the time of all of them.
  Result<Seconds> run(std::int64_t passes) { return do_run(passes); }
  /// The clock of the fastest unit now, measured, where the device allows it. What was prepared is
  /// lost.
  std::optional<Hertz> observe_clock() { return do_observe_clock(); }

 private:
  [[nodiscard]] virtual const DeviceDescription& do_description() const = 0;
  [[nodiscard]] virtual std::vector<Capability> do_capabilities() const = 0;
  virtual Result<PassWork> do_prepare(const Case& what) = 0;
  virtual Result<Seconds> do_run(std::int64_t passes) = 0;
  virtual std::optional<Hertz> do_observe_clock() = 0;
};

}  // namespace rooftile::characterize
