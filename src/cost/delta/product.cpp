// SPDX-License-Identifier: Apache-2.0
#include "cost/delta/product.h"

#include <limits>

#include "core/integer.h"

namespace rooftile::cost::delta {

namespace {

constexpr double kNoMisses = 1e9;  // taps of a product, whose loads are prefetched

/// With one tile.
Product run_tile(const ops::GemmShape& gemm, DType dtype, const TimeMachine& g,
                 const StreamTile& tile, double split) {
  const double element = element_of(dtype);
  Product out;
  out.read =
      traffic::closed_gemm(gemm, dtype, cut_of(tile, split), closed_machine(g, tile, element));
  StreamWork work = stream_work(gemm, element);
  work.taps = kNoMisses;
  work.split = split;
  work.l1 = out.read.l1;
  work.l2 = out.read.l2;
  work.dram = out.read.dram + timed_output(output_bytes(gemm, dtype), split);
  out.time = stream_time(g, work, tile, stream_tuning(g, 0));
  return out;
}

bool is_vector_product(const ops::GemmShape& gemm) {
  return std::min(gemm.m, gemm.n) == 1;
}

/// Every element of the matrix is loaded once and multiplied once: the slowest level's time.
Product vector_product(const ops::GemmShape& gemm, DType dtype, const TimeMachine& g) {
  constexpr double kInstructions = 2;  // per element: a multiply-add, and its share of a load
  constexpr double kOutputs = 128, kResident = 8;  // of a CTA; CTAs of an SM
  const double element = element_of(dtype);
  const double k = real(gemm.k) * real(gemm.batch);
  const double bytes = (real(gemm.m) + real(gemm.n)) * k * element;
  Product out;
  out.read = {.l1 = bytes, .l2 = bytes, .dram = bytes, .least = bytes};
  out.written = output_bytes(gemm, dtype);
  out.time.compute = real(gemm.m) * real(gemm.n) * k / (g.sms * g.clock.base() * g.vector_lanes);
  out.time.sm = kInstructions * out.time.compute;
  out.time.dram = (bytes + out.written) / g.dram_bandwidth.base();
  if (out.time.dram >= out.time.sm) out.time.limiter = Resource::Dram;
  bind_to_levels(g, out.read, out.time);
  out.time.tile = {.m = gemm.m == 1 ? 1 : kOutputs, .n = gemm.m == 1 ? kOutputs : 1, .k = 1};
  out.time.ctas = std::ceil(real(std::max(gemm.m, gemm.n)) / kOutputs) * real(gemm.batch);
  out.time.concurrent = g.sms * kResident;
  return out;
}

}  // namespace

Product fastest_product(const ops::GemmShape& gemm, DType dtype, const TimeMachine& g) {
  const double element = element_of(dtype);
  const double output = output_bytes(gemm, dtype);
  Product best;
  double least = std::numeric_limits<double>::infinity();
  if (is_vector_product(gemm)) {
    best = vector_product(gemm, dtype, g);
    least = best.time.total();
  }
  for (double split = 1; split <= kMaxSplit; split *= 2) {
    double fewest = std::numeric_limits<double>::infinity();
    for (const Edges& edges : kGemmTiles) {
      if (leaves_out(g, kGemmTiles, edges, element)) continue;
      const StreamTile tile = tile_of(g, edges, element);
      const Product run = fastest_part(g, least, [&](const TimeMachine& part) {
        return run_tile(gemm, dtype, part, tile, split);
      });
      fewest = std::min(fewest, run.time.ctas);
      if (run.time.total() >= least) continue;
      least = run.time.total();
      best = {.time = run.time,
              .read = with_partial_sums(run.read, output, split),
              .written = output + traffic::partial_sums(output, split)};
    }
    // Parts of k pay only while the grid of the largest tile leaves room on the SMs.
    if (fewest >= g.most_active * g.sms) break;
  }
  return best;
}

}  // namespace rooftile::cost::delta
