// SPDX-License-Identifier: Apache-2.0
//
// Time of a tiled GEMM from DeLTA's streams [Lym19]: each main-loop iteration of a CTA loads a
// slice of A and B (global-load stream), moves it through shared memory and multiplies it. Per SM
// and iteration, x CTAs that share the SM take
//
//   t_cs   = bm * bn * bk / lanes * issue                     compute stream, clocks
//   t_sas  = ((bm + bn) + (64 + 32) * warps) * bk * bytes / BW_shared
//   t_l1   = bytes per iteration / BW                         where the rate is known
//   t(x)   = max(x * max(t_cs, t_sas, t_l1), t_cs + L)        L = exposed load latency
//   t_sm   = nk * (full * t(act) + t(rest)) + per_sm * (prologue + epilogue * bm * bn / 128)
//   t_l2   = bytes / BW                                       of the whole kernel: one shared pipe
//   t      = sqrt(max(t_sm, t_l2)^2 + t_dram^2)               partial overlap with DRAM
//
// per_sm = ceil(CTAs / SMs), full = per_sm / act batches of act co-resident CTAs and a rest, so
// waves and their tail are in it; act is the largest power of two of CTAs that fit. One set of
// constants for all GPUs, fitted on FP32 implicit-GEMM convolutions of Maxwell to Turing parts;
// compute-bound rows dominate there, so the L1, L2 and shared-memory terms are not tested by
// measurements. Matrix units are an extrapolation.
#pragma once

#include <cstdint>
#include <string_view>

#include "cost/estimate.h"
#include "cost/time_machine.h"
#include "traffic/closed.h"

namespace rooftile::cost {

/// A tiled matrix product, per launch.
struct StreamWork {
  double m = 0, n = 0, k = 0;
  double batch = 1;       ///< products, or groups of a convolution
  double split = 1;       ///< CTAs that share an output tile along k
  double taps = 1;        ///< iterations that share loaded data in L1 (filter taps)
  double element = 4;     ///< bytes
  double l1 = 0, l2 = 0;  ///< bytes read over the whole kernel
  double dram = 0;        ///< bytes read and written
};

struct StreamTuning {
  double extra = 0;                   ///< added to TimeMachine::issue
  double prologue = 0, epilogue = 0;  ///< clocks per CTA; per CTA and 128 outputs
};
/// The prologue and epilogue of the machine's constants.
StreamTuning stream_tuning(const TimeMachine& machine, double extra);

struct StreamTile {
  double m = 128, n = 128, k = 8;
};

/// The tile in whole numbers, as the traffic layer wants it.
traffic::CtaTile cta_tile(const StreamTile& tile);

struct StreamTime {
  double sm = 0, dram = 0;  ///< seconds; `sm` is at least what the L2 needs
  double compute = 0;       ///< seconds of `sm` that multiply-adds alone would take
  double throughput = 0;    ///< seconds that the busiest SM needs at least, L2 and DRAM aside
  bool l2_binds = false;    ///< `sm` is the L2's time
  Resource limiter = Resource::Compute;
  StreamTile tile;
  double split = 1;
  double ctas = 1, concurrent = 1;
  double rows = 1;  ///< of CTAs along m
  [[nodiscard]] double total() const;
  [[nodiscard]] Breakdown breakdown() const;
};

/// CTAs of an SM that run as one batch: a power of two. With these, more co-resident CTAs are never
/// slower, as t(2x) <= 2 t(x) and t(x + y) <= t(x) + t(y). Other numbers may leave a smaller rest
/// that hides nothing.
double batch_size(double active);

/// CTAs of a tile that an SM holds: by registers (64 outputs and 128 registers per thread), shared
/// memory (two buffers) and at most TimeMachine::most_active.
double active_ctas(const TimeMachine& machine, const StreamTile& tile, double element);

/// Registers of a CTA of the tile, and its shared memory: two buffers of a slice of both operands.
std::int64_t cta_registers(const traffic::CtaTile& tile);
Bytes cta_shared(const StreamTile& tile, double element);
/// Whether an SM can hold a CTA of the tile; shared memory of unknown size holds any.
bool fits_sm(const TimeMachine& machine, const StreamTile& tile, double element);

/// L1 left for data while `active` CTAs of the tile hold their shared memory.
Bytes l1_data_size(const TimeMachine& machine, const StreamTile& tile, double element);

StreamTime stream_time(const TimeMachine& machine, const StreamWork& work, const StreamTile& tile,
                       const StreamTuning& tuning);

}  // namespace rooftile::cost
