// SPDX-License-Identifier: Apache-2.0
#include "cost/stream_time.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "mapping/occupancy.h"

namespace rooftile::cost {

namespace {

constexpr double kOutputsPerThread = 64;  // 8 x 8 accumulators
constexpr std::int64_t kRegistersPerThread = 128;
constexpr double kWarpTileM = 64, kWarpTileN = 32;

/// Clocks of one CTA iteration in each throughput stream.
struct Streams {
  double compute = 0, shared = 0, l1 = 0;
  [[nodiscard]] double slowest() const { return std::max({compute, shared, l1}); }
  [[nodiscard]] Resource label() const {
    const double most = slowest();
    if (most == compute) return Resource::Compute;
    return most == shared ? Resource::Shared : Resource::L1;
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
  return s;
}

/// Clocks of an SM's CTAs, and what they go to.
struct SmClocks {
  double total = 0;
  double stream = 0;    ///< bound by the slowest stream
  double multiply = 0;  ///< of a lone CTA, which adds up with the latency of its loads
  [[nodiscard]] double idle() const { return total - stream - multiply; }
};

/// `per_sm` CTAs, `batch` at a time, `iterations` each; `overhead` clocks of a CTA besides.
struct SmWork {
  double per_sm, batch, iterations, overhead;
};

SmClocks clocks_of(const Streams& s, double latency, const SmWork& work) {
  SmClocks out{.total = work.per_sm * work.overhead};
  const auto add = [&](double x, double times) {
    const double throughput = x * s.slowest();
    const double exposed = s.compute + latency;
    out.total += times * std::max(throughput, exposed);
    (throughput >= exposed ? out.stream : out.multiply) +=
        times * (throughput >= exposed ? throughput : s.compute);
  };
  const double full = std::floor(work.per_sm / work.batch);
  const double rest = work.per_sm - full * work.batch;
  if (full > 0) add(work.batch, full * work.iterations);
  if (rest > 0) add(rest, work.iterations);
  return out;
}

/// What most of the time goes to, so that more of it is what helps most.
Resource label_of(const SmClocks& clocks, const Streams& s) {
  if (clocks.stream >= std::max(clocks.multiply, clocks.idle())) return s.label();
  return clocks.multiply >= clocks.idle() ? Resource::Compute : Resource::Latency;
}

}  // namespace

double batch_size(double active) {
  return static_cast<double>(std::bit_floor(static_cast<std::uint64_t>(active)));
}

traffic::CtaTile cta_tile(const StreamTile& tile) {
  return {.m = static_cast<std::int64_t>(tile.m),
          .n = static_cast<std::int64_t>(tile.n),
          .k = static_cast<std::int64_t>(tile.k)};
}

double StreamTime::total() const {
  return std::sqrt(sm * sm + dram * dram);
}

Breakdown StreamTime::breakdown() const {
  Breakdown out;
  out.of(Resource::Compute) = Seconds::from_base(std::min(compute, sm));
  if (limiter == Resource::Dram && dram < sm) {  // kernels in between move bytes: all in `sm`
    out.of(Resource::Dram) = Seconds::from_base(total());
    return out;
  }
  out.join = 2;
  out.of(Resource::Dram) = Seconds::from_base(dram);
  out.of(limiter == Resource::Dram ? Resource::Compute : limiter) = Seconds::from_base(sm);
  return out;
}

double active_ctas(const TimeMachine& g, const StreamTile& tile, double element) {
  mapping::SmLimits sm{.registers = static_cast<std::int64_t>(g.registers),
                       .max_threads = {},
                       .max_blocks = static_cast<std::int64_t>(g.most_active),
                       .shared = {}};
  if (g.shared.base() > 0) sm.shared = g.shared;
  const mapping::CtaNeeds cta{
      .threads = static_cast<std::int64_t>(tile.m * tile.n / kOutputsPerThread),
      .registers_per_thread = kRegistersPerThread,
      .shared = cta_shared(tile, element)};
  return static_cast<double>(mapping::active_ctas(cta, sm));
}

std::int64_t cta_registers(const traffic::CtaTile& tile) {
  return tile.m * tile.n / static_cast<std::int64_t>(kOutputsPerThread) * kRegistersPerThread;
}

Bytes cta_shared(const StreamTile& tile, double element) {
  return Bytes::from_base(2 * (tile.m + tile.n) * tile.k * element);
}

bool fits_sm(const TimeMachine& g, const StreamTile& tile, double element) {
  return static_cast<double>(cta_registers(cta_tile(tile))) <= g.registers &&
         (g.shared.base() <= 0 || cta_shared(tile, element) <= g.shared);
}

Bytes l1_data_size(const TimeMachine& g, const StreamTile& tile, double element) {
  if (!g.l1_includes_shared) return g.l1_size;
  const Bytes used = cta_shared(tile, element) * active_ctas(g, tile, element);
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
  out.rows = std::ceil(w.m / tile.m);
  out.ctas = out.rows * std::ceil(w.n / tile.n) * w.split * w.batch;
  out.concurrent = g.sms * active;
  const Streams s = streams_of(g, w, tile, out.ctas * nk, tuning.extra);
  const double latency = g.constants.latency_floor + g.constants.latency_miss / w.taps;
  const double per_sm = std::ceil(out.ctas / g.sms);
  const double overhead = tuning.prologue + tuning.epilogue * tile.m * tile.n / 128;
  const SmClocks clocks = clocks_of(
      s, latency,
      {.per_sm = per_sm, .batch = batch_size(active), .iterations = nk, .overhead = overhead});
  out.sm = clocks.total / g.clock.base();
  out.compute = nk * per_sm * s.compute / g.clock.base();
  out.throughput = per_sm * (nk * s.slowest() + overhead) / g.clock.base();
  out.dram = w.dram / g.dram_bandwidth.base();
  const double l2 = g.l2_bandwidth ? w.l2 / g.l2_bandwidth->base() : 0.0;
  out.l2_binds = l2 > out.sm;
  out.sm = std::max(out.sm, l2);
  if (out.dram >= out.sm) {
    out.limiter = Resource::Dram;
  } else {
    out.limiter = out.l2_binds ? Resource::L2 : label_of(clocks, s);
  }
  return out;
}

}  // namespace rooftile::cost
