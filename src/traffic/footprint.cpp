// SPDX-License-Identifier: Apache-2.0
#include "traffic/footprint.h"

#include <algorithm>

#include "traffic/touched.h"

namespace rooftile::traffic {

namespace {

/// Parts of the touched positions of an axis that lie in each piece of `piece` positions.
std::vector<double> piece_shares(const std::vector<bool>& touched, std::int64_t piece) {
  std::vector<double> shares(static_cast<std::size_t>(ceil_div(std::ssize(touched), piece)));
  double count = 0;
  for (std::size_t i = 0; i < touched.size(); ++i) {
    if (!touched[i]) continue;
    shares[i / static_cast<std::size_t>(piece)] += 1;
    ++count;
  }
  for (double& share : shares) share /= std::max(1.0, count);
  return shares;
}

std::int64_t floor_div(std::int64_t value, std::int64_t by) {
  return value >= 0 ? value / by : -ceil_div(-value, by);
}

}  // namespace

Footprint::Footprint(const GatherView& view, const BlockShape& shape)
    : view_(view),
      shape_(shape),
      bands_(ceil_div(view.height, shape.rows)),
      segments_(ceil_div(view.width, shape.columns)),
      seen_(static_cast<std::size_t>(bands_ * segments_)) {
  const std::vector<double> rows = piece_shares(touched_rows(view), shape.rows);
  const std::vector<double> columns = piece_shares(touched_columns(view), shape.columns);
  shares_.reserve(rows.size() * columns.size());
  for (const double row : rows) {
    for (const double column : columns) shares_.push_back(row * column);
  }
}

void Footprint::collect_run(std::int64_t image, std::int64_t row, const Range& columns,
                            const Range& taps, std::vector<std::int64_t>& out) {
  const GatherView& v = view_;
  const std::int64_t reach = (v.cross.columns - 1) * v.cross.step_x;
  const std::int64_t left =
      columns.begin * v.lanes.step_x + v.lanes.offset_x + std::min<std::int64_t>(0, reach);
  const std::int64_t right =
      (columns.end - 1) * v.lanes.step_x + v.lanes.offset_x + std::max<std::int64_t>(0, reach);
  const std::int64_t first = std::max<std::int64_t>(0, -floor_div(-left, v.div_x));
  const std::int64_t last = std::min(v.width - 1, floor_div(right, v.div_x));
  if (first > last) return;
  for (std::int64_t tap = taps.begin; tap < taps.end; ++tap) {
    const std::int64_t y = row * v.lanes.step_y + v.lanes.offset_y + tap * v.cross.step_y;
    if (y < 0 || y % v.div_y != 0 || y / v.div_y >= v.height) continue;
    const std::int64_t band = y / v.div_y / shape_.rows;
    for (std::int64_t s = first / shape_.columns; s <= last / shape_.columns; ++s) {
      const std::int64_t block = band * segments_ + s;
      std::int64_t& seen = seen_[static_cast<std::size_t>(block)];
      if (seen == serial_) continue;
      seen = serial_;
      out.push_back(image * blocks_per_plane() + block);
    }
  }
}

void Footprint::collect(const Range& lanes, const Range& taps, std::vector<std::int64_t>& out) {
  const LaneGrid& grid = view_.lanes;
  std::int64_t image = -1;
  for (std::int64_t at = lanes.begin; at < lanes.end;) {
    const std::int64_t line = at / grid.columns;
    const std::int64_t column = at % grid.columns;
    const std::int64_t length = std::min(grid.columns - column, lanes.end - at);
    if (line / grid.rows != image) ++serial_;
    image = line / grid.rows;
    collect_run(image, line % grid.rows, {column, column + length}, taps, out);
    at += length;
  }
}

}  // namespace rooftile::traffic
