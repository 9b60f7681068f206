// SPDX-License-Identifier: Apache-2.0
//
// From a bandwidth curve over the working set to one bandwidth per memory level. The levels come
// from the topology, not from the shape of the curve: each level owns the window of working sets
// that fit into it but not into the level before. Inside its window a level is a plateau: a run of
// neighbouring points that agree within 10 %, at least two and a third of the window's; its value
// is their median. Of several runs in a cache the best one counts, not the longest: others on the
// machine take a part of a shared cache, and then the larger sets of its window agree as well - on
// what memory gives. A window without agreeing points gives its fastest point, marked as no
// plateau.
//
// The windows keep away from the edges (1.5 times the level before, 0.8 of the level itself), where
// a set is served by two levels at once. Memory starts at four times the last cache: caches that do
// not replace the oldest line first keep a good part of a set of twice their size, and virtual
// machines show one slice of a cache of which their processors use several. Where memory shows no
// plateau, its largest set counts, which the caches help least.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "characterize/device.h"
#include "characterize/measurement.h"
#include "core/units.h"
#include "hardware/ceilings.h"

namespace rooftile::characterize {

inline constexpr const char* kMemoryName = "DRAM";
/// Working sets from this multiple of the last cache on belong to memory.
inline constexpr double kMemoryOverLastCache = 4.0;
/// The last cache of a machine that tells none: larger than that of most.
inline constexpr Bytes kAssumedLastCache = 32_MiB;

/// The working sets that a level serves alone.
struct LevelWindow {
  std::string name;
  Bytes low;                  ///< inclusive
  std::optional<Bytes> high;  ///< inclusive; absent for memory
  bool operator==(const LevelWindow&) const = default;
};

/// The windows of a pattern's curve. A cache that is apart is the only level of load_l1; chase sees
/// that of one unit; for the others it is not there, so that the window of the next level does not
/// begin where all L1 of a GPU end, which may be beyond its L2.
std::vector<LevelWindow> level_windows(std::span<const CacheLevel> caches, Pattern pattern);

/// The smallest working set that is served by memory.
Bytes smallest_memory_set(std::span<const CacheLevel> caches);

struct CurvePoint {
  Bytes working_set;
  double value = 0.0;  ///< bandwidth, or latency: anything with plateaus
  double low = 0.0, high = 0.0;
  bool operator==(const CurvePoint&) const = default;
};

struct Plateau {
  std::string level;
  double value = 0.0, low = 0.0, high = 0.0;
  Bytes from, to;           ///< the working sets that agree
  std::int64_t points = 0;  ///< how many agree; 1 means there is no plateau
  double best = 0.0;        ///< of all points of the window
  std::int64_t in_window = 0;
  bool operator==(const Plateau&) const = default;
};

/// Which end of a window's values is the undisturbed one when no points agree.
enum class Better : std::uint8_t { Larger, Smaller };

/// How far the best point of a window may be from its plateau before they contradict each other.
inline constexpr double kContradiction = 1.25;

/// `curve` in ascending order of the working set. Levels without any point are left out.
std::vector<Plateau> find_plateaus(std::span<const CurvePoint> curve,
                                   std::span<const LevelWindow> windows, Better better);

}  // namespace rooftile::characterize
