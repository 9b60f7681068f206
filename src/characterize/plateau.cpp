// SPDX-License-Identifier: Apache-2.0
#include "characterize/plateau.h"

#include <algorithm>
#include <cstddef>

namespace rooftile::characterize {

namespace {

constexpr double kAboveLevelBefore = 1.5;
constexpr double kInsideLevel = 0.8;
constexpr double kRounding = 0.98;  // sets are rounded down to what the kernels can divide
constexpr double kTolerance = 0.10;

struct Group {
  std::size_t begin, end;
  double median;
  [[nodiscard]] std::size_t size() const { return end - begin; }
};

double median_of(std::span<const CurvePoint> points) {
  std::vector<double> values;
  for (const CurvePoint& p : points) values.push_back(p.value);
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2.0;
}

bool agree(std::span<const CurvePoint> points, double median) {
  return std::all_of(points.begin(), points.end(), [median](const CurvePoint& p) {
    return p.value >= median * (1.0 - kTolerance) && p.value <= median * (1.0 + kTolerance);
  });
}

enum class Tie : std::uint8_t { Better, Last };

/// The longest run of agreeing neighbours; of equally long ones the better or the last one.
Group longest_group(std::span<const CurvePoint> points, Better better, Tie tie) {
  Group best{0, 1, points[0].value};
  for (std::size_t begin = 0; begin < points.size(); ++begin) {
    for (std::size_t end = begin + 1; end <= points.size(); ++end) {
      const auto run = points.subspan(begin, end - begin);
      const double median = median_of(run);
      if (!agree(run, median)) continue;
      const bool longer = end - begin > best.size();
      const bool improves = better == Better::Larger ? median > best.median : median < best.median;
      const bool wins = tie == Tie::Last || improves;
      if (longer || (end - begin == best.size() && wins)) best = {begin, end, median};
    }
  }
  return best;
}

}  // namespace

std::vector<LevelWindow> level_windows(std::span<const CacheLevel> caches) {
  std::vector<LevelWindow> out;
  Bytes before;
  for (const CacheLevel& cache : caches) {
    out.push_back({.name = cache.name,
                   .low = before * kAboveLevelBefore,
                   .high = cache.capacity * kInsideLevel});
    before = cache.capacity;
  }
  out.push_back(
      {.name = kMemoryName, .low = smallest_memory_set(caches) * kRounding, .high = std::nullopt});
  return out;
}

Bytes smallest_memory_set(std::span<const CacheLevel> caches) {
  return (caches.empty() ? kAssumedLastCache : caches.back().capacity) * kMemoryOverLastCache;
}

std::vector<Plateau> find_plateaus(std::span<const CurvePoint> curve,
                                   std::span<const LevelWindow> windows, Better better) {
  std::vector<Plateau> out;
  for (const LevelWindow& window : windows) {
    std::vector<CurvePoint> inside;
    for (const CurvePoint& p : curve) {
      if (p.working_set >= window.low && (!window.high || p.working_set <= *window.high)) {
        inside.push_back(p);
      }
    }
    if (inside.empty()) continue;
    const Group group = longest_group(inside, better, window.high ? Tie::Better : Tie::Last);
    const auto run = std::span(inside).subspan(group.begin, group.size());
    Plateau plateau{.level = window.name,
                    .value = group.median,
                    .low = run[0].low,
                    .high = run[0].high,
                    .from = run.front().working_set,
                    .to = run.back().working_set,
                    .points = static_cast<std::int64_t>(group.size())};
    for (const CurvePoint& p : run) {
      plateau.low = std::min(plateau.low, p.low);
      plateau.high = std::max(plateau.high, p.high);
    }
    out.push_back(std::move(plateau));
  }
  return out;
}

}  // namespace rooftile::characterize
