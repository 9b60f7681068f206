// SPDX-License-Identifier: Apache-2.0
#include "cost/gemm_time.h"

#include <limits>

#include "core/integer.h"

namespace rooftile::cost {

using traffic::ReadBytes;

GemmCandidate run_gemm(const ops::GemmShape& gemm, DType dtype, const TimeMachine& g,
                       const GemmCut& cut) {
  GemmCandidate out;
  out.read = traffic::closed_gemm(gemm, dtype, cut_of(cut.tile, cut.split),
                                  closed_machine(g, cut.tile, element_of(dtype)));
  out.time = time_gemm(gemm, dtype, g, cut, out.read);
  return out;
}

StreamTime time_gemm(const ops::GemmShape& gemm, DType dtype, const TimeMachine& g,
                     const GemmCut& cut, const ReadBytes& read) {
  const double element = element_of(dtype);
  StreamWork work = stream_work(gemm, element);
  work.taps = cut.taps;
  work.split = cut.split;
  work.l1 = read.l1;
  work.l2 = read.l2;
  work.dram = read.dram + timed_output(output_bytes(gemm, element), cut.split);
  return stream_time(g, work, cut.tile, stream_tuning(g, cut.extra));
}

double element_of(DType dtype) {
  return real(traffic::element_bytes(dtype));
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

double output_bytes(const ops::GemmShape& gemm, double element) {
  return real(gemm.m) * real(gemm.n) * real(gemm.batch) * element;
}

namespace {

bool is_vector_product(const ops::GemmShape& gemm) {
  return std::min(gemm.m, gemm.n) == 1;
}

/// Every element of the matrix is loaded once and multiplied once: the slowest level's time.
GemmCandidate vector_product(const ops::GemmShape& gemm, DType dtype, const TimeMachine& g) {
  constexpr double kInstructions = 2;  // per element: a multiply-add, and its share of a load
  constexpr double kOutputs = 128, kResident = 8;  // of a CTA; CTAs of an SM
  const double element = element_of(dtype);
  const double k = real(gemm.k) * real(gemm.batch);
  const double bytes = (real(gemm.m) + real(gemm.n)) * k * element;
  GemmCandidate out;
  out.vector = true;
  out.read = {.l1 = bytes, .l2 = bytes, .dram = bytes, .least = bytes};
  out.written = output_bytes(gemm, element);
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

GemmCandidate gemm_candidate(const ops::GemmShape& gemm, DType dtype, const TimeMachine& g) {
  const double element = element_of(dtype);
  const double output = output_bytes(gemm, element);
  GemmCandidate best;
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
      const GemmCandidate run = fastest_part(g, least, [&](const TimeMachine& part) {
        return run_gemm(gemm, dtype, part,
                        {.tile = tile, .split = split, .extra = g.constants.nonfused_extra});
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

}  // namespace rooftile::cost
