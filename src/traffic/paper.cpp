// SPDX-License-Identifier: Apache-2.0
#include "traffic/paper.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "core/integer.h"
#include "traffic/conv_forms.h"

namespace rooftile::traffic {

namespace {

constexpr std::int64_t kTileStarts = 64;  // sampled by the interval algorithm
constexpr std::int64_t kSector = 8;       // FP32 elements
constexpr std::int64_t kWarp = 32;

/// The taps [begin, end) of one channel.
struct TapRange {
  std::int64_t begin = 0, end = 0;
};

using Intervals = std::vector<std::pair<std::int64_t, std::int64_t>>;

/// Sectors of one segment of an output row, [q0, q1] in row `row` of all images.
void add_segment(const ops::ConvShape& c, TapRange taps, std::int64_t row, std::int64_t q0,
                 std::int64_t q1, Intervals& out) {
  const std::int64_t first = taps.begin / c.s;
  const std::int64_t last = (taps.end - 1) / c.s;
  for (std::int64_t r = first; r <= last; ++r) {
    const std::int64_t s0 = r == first ? taps.begin % c.s : 0;
    const std::int64_t s1 = r == last ? (taps.end - 1) % c.s : c.s - 1;
    const std::int64_t y = row % c.p() * c.stride_h + r * c.dilation_h - c.pad_h;
    const std::int64_t x0 =
        std::max<std::int64_t>(0, q0 * c.stride_w + s0 * c.dilation_w - c.pad_w);
    const std::int64_t x1 = std::min(c.w - 1, q1 * c.stride_w + s1 * c.dilation_w - c.pad_w);
    if (y < 0 || y >= c.h || x0 > x1) continue;
    const std::int64_t base = (row / c.p() * c.c * c.h + y) * c.w;
    out.emplace_back((base + x0) / kSector, (base + x1) / kSector);
  }
}

/// Distinct elements (whole sectors) that outputs [m0, m0 + rows) need of one channel.
double unique_elements(const ops::ConvShape& c, std::int64_t m0, std::int64_t rows, TapRange taps) {
  const std::int64_t q = c.q();
  const std::int64_t m_end = std::min(m0 + rows, c.n * c.p() * q);
  Intervals intervals;
  for (std::int64_t m = m0; m < m_end;) {
    const std::int64_t end = std::min(m_end, (m / q + 1) * q);
    add_segment(c, taps, m / q, m % q, m % q + (end - m) - 1, intervals);
    m = end;
  }
  std::sort(intervals.begin(), intervals.end());
  std::int64_t sectors = 0;
  std::int64_t reached = -1;
  for (const auto& [first, last] : intervals) {
    sectors += std::max<std::int64_t>(0, last - std::max(first, reached + 1) + 1);
    reached = std::max(reached, last);
  }
  return real(sectors * kSector);
}

/// Starts of full tiles until the alignment repeats, at most about 64 of them.
std::vector<std::int64_t> tile_starts(const ops::ConvShape& c, const CtaTile& tile) {
  const std::int64_t plane = c.p() * c.q();
  const std::int64_t period = plane / std::gcd(plane, tile.m);
  const std::int64_t tiles = std::max<std::int64_t>(1, c.n * plane / tile.m);
  const std::int64_t count = std::min(period, tiles);
  std::vector<std::int64_t> starts;
  for (std::int64_t i = 0; i < count; i += std::max<std::int64_t>(1, count / kTileStarts)) {
    starts.push_back(i * tile.m);
  }
  return starts;
}

/// U_chan: all taps of a channel, amortised over the iterations that they take.
double interval_reuse(const ops::ConvShape& c, const CtaTile& tile) {
  double sum = 0;
  const auto starts = tile_starts(c, tile);
  for (const std::int64_t m0 : starts) sum += unique_elements(c, m0, tile.m, {0, c.r * c.s});
  return sum / real(std::ssize(starts)) * real(tile.k) / real(c.r * c.s);
}

/// U_iter: each iteration on its own.
double interval_no_reuse(const ops::ConvShape& c, const CtaTile& tile) {
  const std::int64_t taps = c.r * c.s;
  const std::int64_t phases = taps / std::gcd(taps, tile.k);
  double sum = 0;
  const auto starts = tile_starts(c, tile);
  for (const std::int64_t m0 : starts) {
    for (std::int64_t i = 0; i < phases; ++i) {
      std::int64_t k = i * tile.k;
      const std::int64_t end = k + tile.k;
      while (k < end) {
        const std::int64_t stop = std::min(end, (k / taps + 1) * taps);
        sum += unique_elements(c, m0, tile.m, {k % taps, stop - k / taps * taps});
        k = stop;
      }
    }
  }
  return sum / real(std::ssize(starts) * phases);
}

}  // namespace

PaperForms paper_forms(const ops::ConvShape& c, const CtaTile& tile) {
  const double padded = real(c.w + 2 * c.pad_w);
  const double bm = real(tile.m);
  const double bk = real(tile.k);
  const double wf = real(c.s);
  const double stride = real(c.stride_w);
  PaperForms f;
  f.mli_ifmap = padded * stride / (padded - wf + 1);
  f.mli_ifmap_closed = input_inefficiency(c, kSector, kWarp);
  f.mli_filter_unaligned = (2 * (bk - 1) + (8 - (bk - 1))) / bk;
  f.mli_filter = row_inefficiency(c.c / c.groups * c.r * c.s, tile.k, kSector);
  f.dist_v = bm * f.mli_ifmap;
  f.dist_h = (bk - 1) / wf * (real(c.w) - wf + 1 + stride * (wf - bk + 1)) +
             (wf - bk + 1) / wf * stride * (bk - 1);
  f.a_dist_v = f.dist_v * bk / real(c.r * c.s);
  const double ho = (real(c.h + 2 * c.pad_h) - real(c.r) + 1) / real(c.stride_h);
  f.a_dist_h = f.dist_h * (1 + bm / (ho * ho));
  f.unique_paper = f.a_dist_v + f.a_dist_h;
  f.unique_closed = unique_input(c, tile, kSector);
  f.unique_reuse = interval_reuse(c, tile);
  f.unique_no_reuse = interval_no_reuse(c, tile);
  return f;
}

PaperTraffic paper_traffic(const ops::ConvShape& c, const CtaTile& tile) {
  const PaperForms f = paper_forms(c, tile);
  const double m = real(c.n * c.p() * c.q());
  const double n = real(c.k);
  const double k = real(c.c * c.r * c.s);
  const double rows = std::ceil(m / real(tile.m));
  const double columns = std::ceil(n / real(tile.n));
  return {.l1 = 4 * (m * k * f.mli_ifmap * columns + n * k * f.mli_filter_unaligned * rows),
          .l2 = 4 * (f.unique_paper + real(tile.n * tile.k)) * k / real(tile.k) * rows * columns,
          .dram_read = 4 * (real(c.n * c.c * c.h * c.w) * columns + k * n),
          .dram_written = 4 * m * n};
}

}  // namespace rooftile::traffic
