// SPDX-License-Identifier: Apache-2.0
//
// What kernels that are timed by their streams (stream_time.h) share: tiles, the conversion to the
// closed forms' types, and the search for the part of a machine that a kernel should use. CTAs that
// run at the same time compete for L2: with fewer of them a kernel may read less, so one that is
// bound by L2, or whose operands flush each other, tries fewer SMs and fewer CTAs per SM. More of
// either never makes a kernel slower, but for the 1 % of kWorthwhile.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "cost/stream_time.h"

namespace rooftile::cost {

/// Outputs of a CTA along m and n.
using Edges = std::array<double, 2>;
/// Tiles of a library's products, as the baseline `delta` and limits of what-if machines see them.
inline constexpr std::array<Edges, 5> kGemmTiles{
    {{64, 64}, {128, 64}, {32, 128}, {128, 32}, {128, 128}}};
inline constexpr double kMaxSplit = 32;

/// No kernel is faster than L1 and L2 deliver its bytes: for times without streams of their own.
void bind_to_levels(const TimeMachine& machine, const traffic::ReadBytes& read, StreamTime& time);

/// Bytes of an element of the operands, and of the results: products of 8-bit operands write 16 bit.
double element_of(DType dtype);
double result_element_of(DType dtype);
double output_bytes(const ops::GemmShape& gemm, DType dtype);

/// One sector along k.
StreamTile tile_of(const TimeMachine& machine, const Edges& edges, double element);
/// Whether a search leaves the tile out: it does not fit into an SM, and another of them does.
bool leaves_out(const TimeMachine& machine, std::span<const Edges> tiles, const Edges& edges,
                double element);
traffic::ClosedCut cut_of(const StreamTile& tile, double split);
traffic::ClosedMachine closed_machine(const TimeMachine& machine, const StreamTile& tile,
                                      double element);
/// Without bytes.
StreamWork stream_work(const ops::GemmShape& gemm, double element);

/// The reduction of a split-K kernel loads the partial sums through all levels.
traffic::ReadBytes with_partial_sums(const traffic::ReadBytes& read, double output, double split);
/// Output bytes that the time counts. The constants are fitted with the partial sums written and
/// read, without the reduction's own output, which the reported bytes have.
double timed_output(double output, double split);

/// A part that is less than 1 % faster is not searched for: filters that are read again are often a
/// small share of a layer's bytes, and a study asks for thousands of machines per second.
inline constexpr double kWorthwhile = 0.99;

/// The fastest of `evaluate` (a value with `time` and `read`) on the machine and on parts of it:
/// fewer SMs, as many as more CTAs per SM leave busy, and fewer co-resident CTAs. Parts that cannot
/// take less than `limit` seconds are not searched.
template <typename Evaluate>
auto fastest_part(const TimeMachine& machine, double limit, const Evaluate& evaluate) {
  auto best = evaluate(machine);
  if (!best.read.flushed && !best.time.l2_binds) return best;
  // Otherwise all SMs and all CTAs that fit read least and finish first.
  const double ctas = best.time.ctas;
  const double most_active = best.time.concurrent / machine.sms;
  const double least_per_sm = std::ceil(ctas / machine.sms);
  const double throughput = best.time.throughput / least_per_sm;  // of one CTA per SM
  // What no part undercuts: the streams of its SMs, the SMs' time of the whole machine (unless L2
  // set it) as often as they run more batches of CTAs, and every operand once from DRAM.
  const double batch = batch_size(most_active);
  const double least_sm = best.time.l2_binds ? 0.0 : best.time.sm;
  const double least_dram = best.time.dram - std::max(0.0, best.read.dram - best.read.least) /
                                                 machine.dram_bandwidth.base();
  // All numbers up to a batch of four, then whole batches: they are what runs at a time.
  const auto fewer = [](double active) {
    return active <= 4 ? active - 1 : std::max(4.0, batch_size(active - 1));
  };
  double per_sm = least_per_sm;
  for (int tried = 0; tried < 64; ++tried) {
    const double more = std::floor(per_sm / batch) / std::ceil(least_per_sm / batch);
    const double undercut =
        std::hypot(std::max(per_sm * throughput, least_sm * std::max(1.0, more)), least_dram);
    if (undercut >= std::min(limit, kWorthwhile * best.time.total())) break;
    TimeMachine part = machine;
    part.sms = 0;
    const double fewest = std::ceil(ctas / per_sm);
    // Whole columns of CTAs put the same rows side by side on an SM.
    const double columns = std::ceil(fewest / best.time.rows) * best.time.rows;
    for (const double sms : {fewest, std::min(columns, machine.sms)}) {
      if (sms == part.sms) continue;
      part.sms = sms;
      for (double active = most_active; active >= 1; active = fewer(active)) {
        part.most_active = active;
        auto candidate = evaluate(part);
        if (candidate.time.total() < best.time.total()) best = candidate;
        if (!candidate.read.flushed) break;  // fewer would only share less
      }
    }
    if (fewest <= 1) break;
    per_sm = std::max(per_sm + 1, std::floor(per_sm * 1.05));
  }
  return best;
}

}  // namespace rooftile::cost
