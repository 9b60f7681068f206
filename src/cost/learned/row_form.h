// SPDX-License-Identifier: Apache-2.0
//
// Time of vector kernels. Element-wise kernels stream:
//
//   t = max( bytes / (bandwidth * streaming),  elements * FLOP / peak )
//
// Row kernels (softmax, norms) read a row again when registers could not keep it and the rows in
// flight do not fit into the caches, and pay a latency per row:
//
//   x    = min(rows, SMs * blocks) * columns * size / (L2 + SMs * L1)
//   mem  = bytes / (bandwidth * streaming) * traffic * (1 + reread * sigmoid((x - mid) / width))
//   lat  = rows / (SMs * blocks) * (start + iteration * ceil(columns / (4 threads))) * slowness
//   t    = (mem^norm + lat^norm)^(1 / norm)
//
// with slowness = 1410 MHz / clock and blocks = threads of an SM / threads of a row, at most 32.
#pragma once

#include "cost/learned/chip.h"
#include "ops/kernel_work.h"

namespace rooftile::cost::learned {

/// The part of the row form that depends on no parameter.
struct RowGeometry {
  double stream_seconds = 0;  ///< of the compulsory bytes
  double rounds = 0;          ///< rows / rows in flight; 0 where a warp keeps its row
  double iterations = 1;
  double pressure = 0;  ///< x
  double reread = 0;
  double clock_ratio = 1;  ///< 1410 MHz / clock
};

RowGeometry row_geometry(const ops::KernelWork& work, const ops::RowShape& shape, const Chip& chip,
                         const RowModel& model);
Breakdown row_time(const RowGeometry& geometry, const RowParameters& p);

Breakdown pointwise_time(const ops::KernelWork& work, const Chip& chip,
                         const PointwiseModel& model);
/// Shortest call of the operator in an operator benchmark.
double pointwise_floor(const ops::KernelWork& work, const PointwiseModel& model);

}  // namespace rooftile::cost::learned
