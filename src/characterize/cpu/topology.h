// SPDX-License-Identifier: Apache-2.0
//
// Which processors this process may run on, and which caches they share: from hwloc where it was
// there at build time, else from /sys. Nothing is assumed about a machine that tells nothing: then
// there are processors without caches.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "characterize/device.h"
#include "core/result.h"
#include "core/units.h"

namespace rooftile::characterize::cpu {

/// One hardware thread.
struct Processor {
  std::int64_t index = 0;    ///< as the operating system counts
  std::int64_t core = 0;     ///< physical core; hardware threads of a core share it
  std::int64_t package = 0;  ///< socket
  std::int64_t node = 0;     ///< NUMA node
  bool operator==(const Processor&) const = default;
};

struct Cache {
  std::int64_t level = 1;
  Bytes size;
  std::optional<Bytes> line;
  std::vector<std::int64_t> processors;  ///< indices of those that share it, ascending
  bool operator==(const Cache&) const = default;
};

struct Topology {
  std::string model;                  ///< "AMD EPYC 7763 64-Core Processor"
  std::vector<Processor> processors;  ///< those this process may use, ascending index
  std::vector<Cache> caches;          ///< data and unified ones, level by level
  std::optional<Bytes> memory;
  std::optional<Hertz> max_clock;  ///< highest of the processors, as the system states it
  bool operator==(const Topology&) const = default;
};

/// The machine this runs on.
Topology load_topology();
/// The same without hwloc; `root` is "/" but for tests.
Topology load_topology_from_sysfs(const std::string& root);

/// One hardware thread per core, as many as wanted (all when absent), nearest ones first.
std::vector<Processor> choose_processors(const Topology& topology,
                                         std::optional<std::int64_t> threads);

/// The caches behind the chosen processors, as levels with their capacity in total.
std::vector<CacheLevel> cache_levels(const Topology& topology,
                                     const std::vector<Processor>& processors);

/// "0-3,8" -> 0 1 2 3 8; nothing for malformed text or more than 65536 entries.
std::optional<std::vector<std::int64_t>> parse_cpu_list(std::string_view text);

}  // namespace rooftile::characterize::cpu
