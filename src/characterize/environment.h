// SPDX-License-Identifier: Apache-2.0
//
// What the machine did while it was measured: how busy others kept it, how much the hypervisor took
// away, and whether the clock moved. The numbers come from /proc and from the device's own clock;
// where they cannot be read nothing is claimed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/units.h"

namespace rooftile::characterize {

/// Processor time since boot, in ticks, of the whole machine, and of this process.
struct ProcessorTimes {
  double busy = 0.0, idle = 0.0, stolen = 0.0;
  double own = 0.0;
  bool operator==(const ProcessorTimes&) const = default;
};

/// Reads the "cpu" line of /proc/stat; nothing for malformed text.
std::optional<ProcessorTimes> parse_proc_stat(std::string_view text);
/// The machine now.
std::optional<ProcessorTimes> observe_processor_times();

struct BackgroundLoad {
  double others_fraction = 0.0;  ///< of the machine's processor time, used by other processes
  double stolen_fraction = 0.0;  ///< taken by the hypervisor
  bool operator==(const BackgroundLoad&) const = default;
};
BackgroundLoad background_load(const ProcessorTimes& before, const ProcessorTimes& after);

/// "background load: ..." and the like, for what makes the results doubtful.
std::vector<std::string> load_warnings(const BackgroundLoad& load);
/// A warning when the clock differs by more than 3 % between the observations.
std::optional<std::string> clock_warning(const std::vector<Hertz>& observed);

/// Host, kernel, governor and so on, as far as they can be read.
std::vector<std::pair<std::string, std::string>> host_environment();
/// Today as ISO 8601 (UTC).
std::string today();

}  // namespace rooftile::characterize
