// SPDX-License-Identifier: Apache-2.0
//
// How a kernel is cut: tile, grid, waves. A kernel is a set of equal tiles that the SMs run
// independently; `concurrent` tiles run at a time, so the grid takes ceil(tiles / concurrent)
// waves and the last one may leave SMs idle. That loss is `wave_factor`, kept apart from the
// roofline bound so that a report can name it.
#pragma once

#include <cstdint>
#include <string>

#include "hardware/gpu_spec.h"
#include "ops/kernel_work.h"

namespace rooftile::mapping {

struct TilePlan {
  std::int64_t tile_m = 1;  ///< GEMM rows; rows of a row-wise operator
  std::int64_t tile_n = 1;  ///< GEMM columns; elements per tile of a vector operator
  std::int64_t tile_k = 0;  ///< depth of one main-loop step, 0 where there is none
  std::int64_t split_k = 1;
  std::int64_t cluster = 1;     ///< CTAs along m that load their columns of B once, by multicast
  std::int64_t tiles = 1;       ///< CTAs in the grid, split-K included
  std::int64_t concurrent = 1;  ///< CTAs the GPU runs at a time

  /// tiles / concurrent; below 1 the GPU is not filled.
  [[nodiscard]] double waves() const {
    return static_cast<double>(tiles) / static_cast<double>(concurrent);
  }
  /// Time of whole waves over time of the same tiles spread evenly, >= 1.
  [[nodiscard]] double wave_factor() const;
  /// "128x64", "1x1024"
  [[nodiscard]] std::string label() const;
};

/// The implicit GEMM of a convolution, per group: [Lym19] M = B*Ho*Wo, N = Co, K = Ci*Hf*Wf.
ops::GemmShape implicit_gemm(const ops::ConvShape& conv);

/// Cuts `work` for `gpu`. Total: every valid work has a plan.
TilePlan decompose(const ops::KernelWork& work, const hardware::GpuSpec& gpu);

}  // namespace rooftile::mapping
