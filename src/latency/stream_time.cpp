// SPDX-License-Identifier: Apache-2.0
#include "latency/stream_time.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "tile/occupancy.h"

namespace rooftile::latency {

namespace {

constexpr double kOutputsPerThread = 64;  // 8 x 8 accumulators
constexpr std::int64_t kRegistersPerThread = 128;
constexpr double kWarpTileM = 64, kWarpTileN = 32;
constexpr std::int64_t kMaxActive = 8;

double shared_bytes_per_cta(const StreamTile& tile, double element) {
  return 2 * (tile.m + tile.n) * tile.k * element;  // double buffered
}

/// Clocks of one CTA iteration in each throughput stream.
struct Streams {
  double compute = 0, shared = 0, l1 = 0, l2 = 0;
  [[nodiscard]] double slowest() const { return std::max({compute, shared, l1, l2}); }
  [[nodiscard]] Bottleneck label() const {
    const double most = slowest();
    if (most == compute) return Bottleneck::Compute;
    if (most == shared) return Bottleneck::Shared;
    return most == l1 ? Bottleneck::L1 : Bottleneck::L2;
  }
};

Streams streams_of(const TimeMachine& g, const StreamWork& w, const StreamTile& tile,
                   double iterations, double extra) {
  const double warps = std::max(1.0, tile.m * tile.n / (kWarpTileM * kWarpTileN));
  Streams s;
  s.compute = tile.m * tile.n * tile.k / g.lanes * (g.issue + extra);
  s.shared = ((tile.m + tile.n) + (kWarpTileM + kWarpTileN) * warps) * tile.k * w.element /
             g.shared_bandwidth.base();
  // Matrix units read whole fragments: operands move once per warp tile of twice the width.
  if (g.tensor) s.shared /= 2;
  if (g.l1_bandwidth) s.l1 = w.l1 / iterations / g.l1_bandwidth->base();
  if (g.l2_bandwidth) {
    const double per_sm = g.l2_bandwidth->base() / g.sms / g.clock.base();
    s.l2 = w.l2 / iterations / per_sm;
  }
  return s;
}

}  // namespace

traffic::CtaTile cta_tile(const StreamTile& tile) {
  return {.m = static_cast<std::int64_t>(tile.m),
          .n = static_cast<std::int64_t>(tile.n),
          .k = static_cast<std::int64_t>(tile.k)};
}

double StreamTime::total() const {
  return std::sqrt(sm * sm + dram * dram);
}

std::string_view name_of(Bottleneck bottleneck) {
  switch (bottleneck) {
    case Bottleneck::Compute: return "compute";
    case Bottleneck::Shared: return "shared";
    case Bottleneck::L1: return "l1";
    case Bottleneck::L2: return "l2";
    case Bottleneck::Dram: return "dram";
    case Bottleneck::Latency: return "latency";
    case Bottleneck::Launch: return "launch";
  }
  return "?";
}

Limiter limiter_of(Bottleneck bottleneck) {
  switch (bottleneck) {
    case Bottleneck::Compute:
    case Bottleneck::Latency: return Limiter::Compute;
    case Bottleneck::Shared:
    case Bottleneck::L1: return Limiter::L1;
    case Bottleneck::L2: return Limiter::L2;
    case Bottleneck::Dram: return Limiter::Dram;
    case Bottleneck::Launch: return Limiter::Launch;
  }
  return Limiter::Compute;
}

double active_ctas(const TimeMachine& g, const StreamTile& tile, double element) {
  tile::SmLimits sm{.registers = static_cast<std::int64_t>(g.registers),
                    .max_threads = {},
                    .max_blocks = kMaxActive,
                    .shared = {}};
  if (g.shared.base() > 0) sm.shared = g.shared;
  const tile::CtaNeeds cta{
      .threads = static_cast<std::int64_t>(tile.m * tile.n / kOutputsPerThread),
      .registers_per_thread = kRegistersPerThread,
      .shared = Bytes::from_base(shared_bytes_per_cta(tile, element))};
  return static_cast<double>(tile::active_ctas(cta, sm));
}

Bytes l1_data_size(const TimeMachine& g, const StreamTile& tile, double element) {
  if (!g.l1_includes_shared) return g.l1_size;
  const Bytes used =
      Bytes::from_base(active_ctas(g, tile, element) * shared_bytes_per_cta(tile, element));
  return max(g.l1_size - used, g.l1_size / 8.0);
}

StreamTuning stream_tuning(const TimeMachine& g, double extra) {
  return {.extra = extra, .prologue = g.constants.prologue, .epilogue = g.constants.epilogue};
}

StreamTime stream_time(const TimeMachine& g, const StreamWork& w, const StreamTile& tile,
                       const StreamTuning& tuning) {
  StreamTime out;
  out.tile = tile;
  out.split = w.split;
  const double active = active_ctas(g, tile, w.element);
  const double nk = std::ceil(w.k / tile.k / w.split);
  out.ctas = std::ceil(w.m / tile.m) * std::ceil(w.n / tile.n) * w.split * w.batch;
  out.concurrent = g.sms * active;
  const Streams s = streams_of(g, w, tile, out.ctas * nk, tuning.extra);
  const double latency = g.constants.latency_floor + g.constants.latency_miss / w.taps;
  const double slowest = s.slowest();
  const auto iteration = [&](double x) {
    return x > 0 ? std::max(x * slowest, s.compute + latency) : 0.0;
  };
  const double per_sm = std::ceil(out.ctas / g.sms);
  const double full = std::floor(per_sm / active);
  const double rest = per_sm - full * active;
  const double clocks = nk * (full * iteration(active) + iteration(rest)) +
                        per_sm * (tuning.prologue + tuning.epilogue * tile.m * tile.n / 128);
  out.sm = clocks / g.clock.base();
  out.compute = nk * per_sm * s.compute / g.clock.base();
  out.dram = w.dram / (kDramFraction * g.dram_bandwidth.base());
  const double throughput = nk * per_sm * slowest;
  if (out.dram >= out.sm) {
    out.bottleneck = Bottleneck::Dram;
  } else if (clocks > 2 * throughput) {
    out.bottleneck = Bottleneck::Latency;  // more than half of the time nothing is busy
  } else {
    out.bottleneck = s.label();
  }
  return out;
}

}  // namespace rooftile::latency
