// SPDX-License-Identifier: Apache-2.0
//
// Closed forms of the bytes a kernel moves, fast enough for every kernel of every prediction
// (below a microsecond). One function per class of kernels; all of them keep
//
//   compulsory <= DRAM reads <= L2 reads <= L1 reads.
//
// Convolutions: the corrected DeLTA forms (load inefficiency, U_chan, passes). GEMMs: every tile
// loads its rows and columns, and CTAs of one column that share an SM share their columns; DRAM
// sees each operand once per pass of the waves over it, once when both fit into the L2. Vector
// kernels stream. Against the simulator the convolution forms are within about 1 % (L1), 12 % (L2)
// and 3 % (DRAM) on average on the 17 layers of the reference table, and worse on layers of a few
// tiles; sampled.h is the exact one.
#pragma once

#include "core/units.h"
#include "mapping/tile_plan.h"
#include "ops/kernel_work.h"
#include "traffic/implicit_gemm.h"

namespace rooftile::traffic {

/// Bytes read at each level, of both operands.
struct ReadBytes {
  double l1 = 0, l2 = 0, dram = 0;
  double least = 0;      ///< DRAM bytes of operands that are read once
  bool flushed = false;  ///< B is read again as the CTAs in flight flush it: fewer would read less
};

/// What of the machine the closed forms look at.
struct ClosedMachine {
  std::int64_t concurrent = 1;  ///< CTAs that run at a time
  std::int64_t sms = 1;         ///< that they run on
  double l2_bytes = 0;          ///< 0 where the size is unknown: nothing stays
  Access access{};
};

struct ClosedCut {
  CtaTile tile;
  std::int64_t split_k = 1;
};

/// Split-K: every part of k writes its partial sums of `output` bytes, and a reduction reads them
/// and writes the result. These bytes are read, and written in addition to the output: 2 split + 1
/// outputs in all.
double partial_sums(double output, double split);

struct OperandBytes {
  double a = 0, b = 0;
  [[nodiscard]] double sum() const { return a + b; }
};

/// The closed forms of a convolution with one tile: what does not depend on the machine is computed
/// once, as a study asks for the bytes on thousands of machines.
class ClosedConv {
 public:
  ClosedConv(const ops::ConvShape& conv, DType dtype, const CtaTile& tile, const Access& access);
  [[nodiscard]] ReadBytes on(const ClosedMachine& machine) const;

 private:
  std::int64_t rows_, columns_;  ///< of tiles
  double batch_;
  OperandBytes once_;    ///< every operand once, in whole sectors
  OperandBytes lines_;   ///< in whole lines, which is what they occupy
  OperandBytes l1_;      ///< what the SMs request
  OperandBytes unique_;  ///< what the CTAs need, each for itself
};

ReadBytes closed_conv(const ops::ConvShape& conv, DType dtype, const ClosedCut& cut,
                      const ClosedMachine& machine);
ReadBytes closed_gemm(const ops::GemmShape& gemm, DType dtype, const ClosedCut& cut,
                      const ClosedMachine& machine);
/// Rows that are too long for one CTA are read again in a second pass.
ReadBytes closed_rows(const ops::KernelWork& work, const ops::RowShape& shape,
                      const ClosedMachine& machine);
/// Each block of queries reads all keys and values it attends to.
ReadBytes closed_attention(const ops::KernelWork& work, const ops::AttentionShape& shape,
                           std::int64_t block, const ClosedMachine& machine);

/// DRAM reads of a tiled GEMM whose operands are read `a` and `b` bytes at least.
struct GemmPasses {
  double a = 1, b = 1;  ///< times each operand is read
};
GemmPasses column_passes(std::int64_t tiles_m, std::int64_t tiles_n, OperandBytes bytes,
                         const ClosedMachine& machine);

}  // namespace rooftile::traffic
