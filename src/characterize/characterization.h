// SPDX-License-Identifier: Apache-2.0
//
// What a sweep says about the machine: bandwidth per memory level and access pattern, latency per
// level, peak rate per number format, launch overhead, and the doubts about them. A ceiling of the
// roofline is the best of the patterns at its level, because a roof has to bound all of them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "characterize/device.h"
#include "characterize/environment.h"
#include "characterize/measurement.h"
#include "characterize/plateau.h"
#include "core/units.h"
#include "hardware/ceilings.h"

namespace rooftile::characterize {

/// How bandwidth curves become levels.
enum class LevelRule : std::uint8_t {
  Topology,  ///< plateaus in the windows of the machine's caches (plateau.h)
  Ert,       ///< histogram bands as ERT 1.1.0 (hardware/ert_rule.h), named by their order
  Ert2019    ///< the same with the threshold of its successors
};

struct LevelBandwidth {
  Pattern pattern = Pattern::Load;
  Plateau plateau;
  bool operator==(const LevelBandwidth&) const = default;
};

struct Characterization {
  DeviceDescription device;
  std::vector<Sample> samples;
  std::vector<LevelBandwidth> bandwidths;  ///< level by level, pattern by pattern
  std::vector<Plateau> latencies;          ///< seconds per dependent load
  std::map<hardware::RateKey, hardware::Measured<FlopsPerSecond>> rates;
  std::optional<hardware::Measured<BytesPerSecond>> shared;
  std::optional<hardware::Measured<Seconds>> launch;
  /// What is not a ceiling of the roofline: other forms of products, links, and waiting.
  struct Aside {
    Case what;
    double value = 0.0;  ///< FLOP/s, B/s or seconds, as the pattern has it
    bool operator==(const Aside&) const = default;
  };
  std::vector<Aside> asides;
  std::vector<Hertz> clocks;  ///< observed before, between and after the measurements
  std::vector<std::string> warnings;
};

/// "mma_sparse fp16" and "1.98 PFLOP/s", "copy_in" and "24.6 GB/s", "chase_host" and "1.2 us".
std::pair<std::string, std::string> describe(const Characterization::Aside& aside);

Characterization reduce(const DeviceDescription& device, std::vector<Sample> samples,
                        const std::vector<Hertz>& clocks, LevelRule rule);

/// The best pattern of each level, in the order of the levels.
std::vector<LevelBandwidth> best_bandwidths(const Characterization& result);

/// What the rest of the program works with; `tool` is name and version.
hardware::Ceilings to_ceilings(const Characterization& result, const std::string& tool);

}  // namespace rooftile::characterize
