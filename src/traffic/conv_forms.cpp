// SPDX-License-Identifier: Apache-2.0
#include "traffic/conv_forms.h"

#include <algorithm>
#include <numeric>

#include "core/integer.h"

namespace rooftile::traffic {

namespace {

constexpr std::int64_t kMaxTaps = 64;  // longer filters are sampled: their columns repeat

std::int64_t mod(std::int64_t a, std::int64_t b) {
  return ((a % b) + b) % b;
}

/// Sectors per warp load of consecutive outputs for filter column s.
double sectors_per_warp(const ops::ConvShape& c, std::int64_t s, std::int64_t g8,
                        std::int64_t lanes) {
  const double others = real(lanes - 1);
  const std::int64_t q = c.q();
  const std::int64_t outputs = c.p() * q;
  const std::int64_t plane = c.h * c.w;
  const std::int64_t stride = std::min(c.stride_w, g8);
  if (c.stride_w == 1 && q == c.w) {  // contiguous across output rows
    std::int64_t g = std::gcd(std::gcd(g8, c.r > 1 ? c.w : plane), plane);
    if ((c.c * plane) % g8 != 0 || outputs % g8 != 0) g = std::gcd(g, outputs);
    const std::int64_t o = mod(s * c.dilation_w - c.pad_w, g);
    double sum = 0;
    for (std::int64_t j = 0; j < g8 / g; ++j) sum += real(((j * g + o) % g8 + lanes - 1) / g8 + 1);
    const double crossings = c.c > 1 ? (1.0 - 1.0 / real(g8)) * others / real(outputs) : 0.0;
    return sum / real(g8 / g) + crossings;
  }
  const std::int64_t gap = c.w - q;
  if (c.stride_w == 1 && gap < 0) {  // wide padding: rows follow each other, the padding is skipped
    return (real(lanes) * real(c.w) / real(q) - 1) / real(g8) + 1;
  }
  if (c.stride_w == 1 && gap >= 1 && gap < g8) {
    return (real(lanes) + real(gap) * others / real(q) - 1) / real(g8) + 1;
  }
  if (c.r == 1 && c.s == 1 && c.stride_w * q == c.w && (c.w * c.stride_w) % g8 == 0) {
    return std::max(1.0, real(lanes) * real(stride) / real(g8));
  }
  const double segments = 1 + others / real(q);
  return segments + (real(lanes) - segments) * real(stride) / real(g8);
}

}  // namespace

double inside_fraction(const Axis& a) {
  const std::int64_t step = std::max<std::int64_t>(1, a.taps / kMaxTaps);
  double inside = 0;
  double pairs = 0;
  for (std::int64_t t = 0; t < a.taps; t += step) {
    // outputs o with 0 <= o * stride + offset < size
    const std::int64_t offset = t * a.dilation - a.pad;
    const std::int64_t low = offset >= 0 ? 0 : (-offset + a.stride - 1) / a.stride;
    const std::int64_t high = offset >= a.size ? -1 : (a.size - 1 - offset) / a.stride;
    inside += real(std::max<std::int64_t>(0, std::min(high, a.outputs - 1) - low + 1));
    pairs += real(a.outputs);
  }
  return inside / pairs;
}

double input_inefficiency(const ops::ConvShape& c, std::int64_t sector, std::int64_t lanes) {
  const std::int64_t step = std::max<std::int64_t>(1, c.s / kMaxTaps);
  double sum = 0;
  double columns = 0;
  for (std::int64_t s = 0; s < c.s; s += step, columns += 1)
    sum += sectors_per_warp(c, s, sector, lanes);
  const double rows = inside_fraction({c.p(), c.r, c.stride_h, c.dilation_h, c.pad_h, c.h});
  return sum / columns * rows * real(sector) / real(lanes);
}

double row_inefficiency(std::int64_t pitch, std::int64_t depth, std::int64_t sector) {
  const std::int64_t g = std::gcd(std::gcd(pitch, depth), sector);
  double sectors = 0;
  for (std::int64_t j = 0; j < sector / g; ++j) sectors += real((j * g + depth - 1) / sector + 1);
  return real(sector) / real(depth) * sectors / real(sector / g);
}

double unique_input(const ops::ConvShape& c, const CtaTile& tile, std::int64_t sector) {
  const double bm = real(tile.m);
  const double bk = real(tile.k);
  const double q = real(c.q());
  const double stride = real(std::min(c.stride_w, sector));
  const double images = 1 + (bm - 1) / real(c.p() * c.q());
  const double taps = real(c.r * c.s);
  const double slack = real(sector - 1);  // a segment begins anywhere in its first sector
  if (c.r * c.s == 1) {
    const bool aligned = (c.h * c.w) % sector == 0;
    const double segments = c.stride_w == 1 ? images : 1 + (bm - 1) / q;
    return bk * (bm * stride + (aligned ? 0.0 : slack * segments));
  }
  const std::int64_t reach_h = c.dilation_h * (c.r - 1) + 1;
  const std::int64_t reach_w = c.dilation_w * (c.s - 1) + 1;
  if (c.q() >= tile.m) {
    const double segments = 1 + (bm - 1) / q;
    const double length = bm / segments;
    return segments * real(c.r) * ((length - 1) * stride + real(reach_w) + slack) * bk / taps;
  }
  const double output_rows = bm / images / q;
  const double rows = c.r >= c.stride_h
                          ? output_rows * real(c.stride_h) + real(reach_h - c.stride_h)
                          : output_rows * real(c.r);
  const double pixels = std::min(real(c.h * c.w), rows * real(c.w) + real(reach_w - 1));
  return images * (pixels + slack) * bk / taps;
}

}  // namespace rooftile::traffic
