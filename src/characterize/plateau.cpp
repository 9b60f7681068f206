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

bool improves(double value, double on, Better better) {
  return better == Better::Larger ? value > on : value < on;
}

/// Calls visit(begin, end, median) for every run of agreeing neighbours.
template <typename Visit>
void for_runs(std::span<const CurvePoint> points, const Visit& visit) {
  for (std::size_t begin = 0; begin < points.size(); ++begin) {
    for (std::size_t end = begin + 1; end <= points.size(); ++end) {
      const auto run = points.subspan(begin, end - begin);
      const double median = median_of(run);
      if (agree(run, median)) visit(begin, end, median);
    }
  }
}

/// Memory: the longest run, of equally long ones the last one.
Group longest_group(std::span<const CurvePoint> points) {
  Group best{0, 1, points[0].value};
  for_runs(points, [&best](std::size_t begin, std::size_t end, double median) {
    if (end - begin >= best.size()) best = {begin, end, median};
  });
  return best;
}

/// A cache: the best run of at least two points and a third of the window's, and then as long as
/// it gets; without one the best point.
Group best_group(std::span<const CurvePoint> points, Better better) {
  const std::size_t least = std::max<std::size_t>(2, points.size() / 3);
  Group best{0, 1, points[0].value};
  for_runs(points, [&](std::size_t begin, std::size_t end, double median) {
    const bool is_plateau = end - begin >= least, was_plateau = best.size() >= least;
    if (!is_plateau && (was_plateau || end - begin > 1)) return;
    const bool contains = begin <= best.begin && end >= best.end;
    if ((is_plateau && (!was_plateau || contains)) || improves(median, best.median, better)) {
      best = {begin, end, median};
    }
  });
  return best;
}

double best_value(std::span<const CurvePoint> points, Better better) {
  double best = points[0].value;
  for (const CurvePoint& p : points) {
    if (improves(p.value, best, better)) best = p.value;
  }
  return best;
}

}  // namespace

std::vector<LevelWindow> level_windows(std::span<const CacheLevel> caches, Pattern pattern) {
  std::vector<LevelWindow> out;
  Bytes before;
  for (const CacheLevel& cache : caches) {
    Bytes capacity = cache.capacity;
    if (cache.apart && pattern == Pattern::Chase) {
      capacity = capacity / static_cast<double>(cache.instances);
    } else if (cache.apart != (pattern == Pattern::LoadL1)) {
      continue;
    }
    out.push_back(
        {.name = cache.name, .low = before * kAboveLevelBefore, .high = capacity * kInsideLevel});
    before = capacity;
  }
  if (pattern == Pattern::LoadL1) return out;
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
    const Group group = window.high ? best_group(inside, better) : longest_group(inside);
    const auto run = std::span(inside).subspan(group.begin, group.size());
    Plateau plateau{.level = window.name,
                    .value = group.median,
                    .low = run[0].low,
                    .high = run[0].high,
                    .from = run.front().working_set,
                    .to = run.back().working_set,
                    .points = static_cast<std::int64_t>(group.size()),
                    .best = best_value(inside, better),
                    .in_window = static_cast<std::int64_t>(inside.size())};
    for (const CurvePoint& p : run) {
      plateau.low = std::min(plateau.low, p.low);
      plateau.high = std::max(plateau.high, p.high);
    }
    out.push_back(std::move(plateau));
  }
  return out;
}

}  // namespace rooftile::characterize
