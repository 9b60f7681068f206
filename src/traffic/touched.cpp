// SPDX-License-Identifier: Apache-2.0
#include "traffic/touched.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/integer.h"

namespace rooftile::traffic {

namespace {

/// Which of [0, bound) some (lane + cross) / div reaches along one axis.
struct AxisReach {
  std::int64_t lanes, lane_step, lane_offset;
  std::int64_t crosses, cross_step;
  std::int64_t div, bound;

  [[nodiscard]] bool reaches(std::int64_t position) const {
    for (std::int64_t c = 0; c < crosses; ++c) {
      const std::int64_t left = position * div - c * cross_step - lane_offset;
      if (left >= 0 && left % lane_step == 0 && left / lane_step < lanes) return true;
    }
    return false;
  }
  [[nodiscard]] std::vector<bool> all() const {
    std::vector<bool> reached(static_cast<std::size_t>(bound));
    for (std::int64_t i = 0; i < bound; ++i) reached[static_cast<std::size_t>(i)] = reaches(i);
    return reached;
  }
};

/// Counts the distinct units of image planes that follow each other in memory; two planes may share
/// the unit between them.
class PlaneCounter {
 public:
  PlaneCounter(const GatherView& view, std::int64_t bytes, std::int64_t unit)
      : view_(view), bytes_(bytes), unit_(unit) {}

  void add(std::int64_t plane, const std::vector<bool>& rows, const std::vector<bool>& columns) {
    const std::int64_t start = plane * view_.height * view_.width;
    for (std::int64_t y = 0; y < view_.height; ++y) {
      if (!rows[static_cast<std::size_t>(y)]) continue;
      for (std::int64_t x = 0; x < view_.width; ++x) {
        if (!columns[static_cast<std::size_t>(x)]) continue;
        const std::int64_t at = (start + y * view_.width + x) * bytes_ / unit_;
        if (at != last_) ++units_;
        last_ = at;
      }
    }
  }
  [[nodiscard]] std::int64_t units() const { return units_; }

 private:
  const GatherView& view_;
  std::int64_t bytes_, unit_;
  std::int64_t last_ = -1, units_ = 0;
};

}  // namespace

std::vector<bool> touched_rows(const GatherView& v) {
  const LaneGrid& l = v.lanes;
  return AxisReach{l.rows, l.step_y, l.offset_y, v.cross.rows, v.cross.step_y, v.div_y, v.height}
      .all();
}

std::vector<bool> touched_columns(const GatherView& v) {
  const LaneGrid& l = v.lanes;
  return AxisReach{l.columns,      l.step_x, l.offset_x, v.cross.columns,
                   v.cross.step_x, v.div_x,  v.width}
      .all();
}

double touched_bytes(const GatherView& v, std::int64_t bytes, std::int64_t unit) {
  const double whole = std::ceil(real(v.elements) * real(bytes) / real(unit)) * real(unit);
  // A dense matrix, and images so large that counting them would take seconds.
  if (v.cross.rows * v.cross.columns == 1 && v.lanes.step_x == 1 && v.lanes.rows == 1) return whole;
  constexpr std::int64_t kLargestPlane = 1 << 24;
  if (v.height > kLargestPlane / v.width) return whole;
  const std::vector<bool> rows = touched_rows(v);
  const std::vector<bool> columns = touched_columns(v);
  const auto complete = [](const std::vector<bool>& axis) {
    return std::find(axis.begin(), axis.end(), false) == axis.end();
  };
  if (complete(rows) && complete(columns)) return whole;
  const std::int64_t plane = v.height * v.width;
  const std::int64_t planes = v.elements / plane;
  // Planes until one starts on a unit again; beyond 2^27 elements 8 of them stand for the others.
  constexpr std::int64_t kMostElements = 1 << 27;
  const std::int64_t period = unit / std::gcd(unit, plane * bytes);
  const std::int64_t phases =
      std::min({planes, period, std::max<std::int64_t>(8, kMostElements / plane)});
  PlaneCounter counter(v, bytes, unit);
  std::int64_t rest = 0;  // units of the planes after the last whole period
  for (std::int64_t i = 0; i < phases; ++i) {
    if (i == planes % phases) rest = counter.units();
    counter.add(i, rows, columns);
  }
  return (real(planes / phases) * real(counter.units()) + real(rest)) * real(unit);
}

}  // namespace rooftile::traffic
