// SPDX-License-Identifier: Apache-2.0
//
// Measured ceilings of one machine: what `rooftile characterize` (or another tool) sustained per
// memory level and per kind of arithmetic, with the environment it was measured in. One JSON file
// per run, docs/format/machine.md. Ceilings replace the numbers of the data sheet where they are
// present and say nothing about the rest; they hold for the clocks and the power cap of the run.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"
#include "core/units.h"
#include "hardware/calibration.h"
#include "hardware/gpu_spec.h"

namespace rooftile::hardware {

/// A measured value with the interval its samples span.
template <typename Q>
struct Measured {
  Q value{};
  std::optional<Q> low, high;           ///< e.g. the quartiles; the tool says which
  std::optional<std::int64_t> samples;  ///< how many runs stand behind the value

  auto operator<=>(const Measured&) const = default;
};

struct Ceilings {
  std::string device;              ///< as the driver names it
  std::optional<std::string> gpu;  ///< id in the catalogue, where the device is a known GPU
  std::string tool;                ///< name and version
  std::string date;                ///< ISO 8601, "2026-11-15"
  /// Driver, clocks (locked?), ECC, power cap, compiler, host: whatever the run depended on.
  std::vector<std::pair<std::string, std::string>> environment;
  std::map<MemoryLevel, Measured<BytesPerSecond>> bandwidth;
  std::optional<Measured<BytesPerSecond>> last_level;  ///< L3 of a CPU, Infinity Cache
  std::optional<Measured<BytesPerSecond>> shared;      ///< shared memory (LDS)
  std::map<RateKey, Measured<FlopsPerSecond>> rate;
  std::optional<Measured<Seconds>> launch;  ///< of an empty kernel
  /// What no model computes with, by name: waiting for one load or a launch ("l2", "chase_host"),
  /// copies over links ("copy_in"), other forms of products ("mma_sparse fp16").
  std::map<std::string, Measured<Seconds>> latency;
  std::map<std::string, Measured<BytesPerSecond>> link;
  std::map<std::string, Measured<FlopsPerSecond>> product;
  std::optional<Calibration> calibration;  ///< what `rooftile calibrate` fitted
  std::vector<std::string> notes;
  std::string file;  ///< where it was loaded from
  Input input;       ///< the record of that file

  /// Of a host processor (`characterize --backend cpu`): no GPU has these ceilings.
  [[nodiscard]] bool of_processor() const;
  bool operator==(const Ceilings&) const = default;
};

/// A machine file; `file` is what errors call the text.
Result<Ceilings> parse_ceilings(std::string_view text, std::string file);
/// What --machine of every command takes: a machine file, or the roofs that another tool measured
/// (hardware/roof_file.h); the format is recognised from the content.
Result<Ceilings> load_ceilings(const std::string& path);

/// The file's text; parse_ceilings() reads it back to the same value.
std::string to_json(const Ceilings& ceilings);

}  // namespace rooftile::hardware
