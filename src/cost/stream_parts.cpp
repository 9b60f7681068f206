// SPDX-License-Identifier: Apache-2.0
#include "cost/stream_parts.h"

#include "core/integer.h"
#include "ops/operator.h"

namespace rooftile::cost {

using traffic::ReadBytes;

double element_of(DType dtype) {
  return real(traffic::element_bytes(dtype));
}

double result_element_of(DType dtype) {
  return size_of(ops::precision_of(dtype).storage).base();
}

StreamTile tile_of(const TimeMachine& g, const Edges& edges, double element) {
  return {.m = edges[0], .n = edges[1], .k = real(g.access.sector_bytes) / element};
}

bool leaves_out(const TimeMachine& g, std::span<const Edges> tiles, const Edges& edges,
                double element) {
  const auto fits = [&](const Edges& e) { return fits_sm(g, tile_of(g, e, element), element); };
  return !fits(edges) && std::any_of(tiles.begin(), tiles.end(), fits);
}

void bind_to_levels(const TimeMachine& g, const ReadBytes& read, StreamTime& time) {
  const auto bind = [&time](Resource level, double seconds) {
    if (seconds <= time.sm) return;
    time.sm = seconds;
    if (seconds > time.dram) time.limiter = level;
  };
  if (g.l2_bandwidth) bind(Resource::L2, read.l2 / g.l2_bandwidth->base());
  if (g.l1_bandwidth) {
    bind(Resource::L1, read.l1 / (g.sms * g.clock.base() * g.l1_bandwidth->base()));
  }
}

traffic::ClosedCut cut_of(const StreamTile& tile, double split) {
  return {.tile = cta_tile(tile), .split_k = static_cast<std::int64_t>(split)};
}

traffic::ClosedMachine closed_machine(const TimeMachine& g, const StreamTile& tile,
                                      double element) {
  return {.concurrent = static_cast<std::int64_t>(g.sms * active_ctas(g, tile, element)),
          .sms = std::max<std::int64_t>(1, static_cast<std::int64_t>(g.sms)),
          .l2_bytes = g.l2_size.base(),
          .access = g.access};
}

ReadBytes with_partial_sums(const ReadBytes& read, double output, double split) {
  const double partial = traffic::partial_sums(output, split);
  return {.l1 = read.l1 + partial, .l2 = read.l2 + partial, .dram = read.dram + partial};
}

double timed_output(double output, double split) {
  return split > 1 ? 2 * split * output : output;
}

StreamWork stream_work(const ops::GemmShape& gemm, double element) {
  return {.m = real(gemm.m),
          .n = real(gemm.n),
          .k = real(gemm.k),
          .batch = real(gemm.batch),
          .element = element};
}

double output_bytes(const ops::GemmShape& gemm, DType dtype) {
  return real(gemm.m) * real(gemm.n) * real(gemm.batch) * result_element_of(dtype);
}

}  // namespace rooftile::cost
