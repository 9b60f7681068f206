// SPDX-License-Identifier: Apache-2.0
//
// How well the tile of a matrix product is chosen on a GPU that was left out of the fit. The truth
// is the tile in the launched kernel's name. Ours is the fastest cut of the fitted form; the rival
// is NeuSight's: the tile of the nearest measured shape on the other GPUs of the vendor, in raw
// units. A tile is the same in either orientation only if both sides agree; kernels of one area are
// nearly equally fast, so the latency that a wrong tile costs is reported next to the hit rate: the
// fitted form's time with the chosen tile against its time with the launched one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "calibration/dataset.h"
#include "calibration/fit.h"

namespace rooftile::calibration {

struct TileChoice {
  double exact = 0;      ///< part of the rows with the launched tile
  double same_area = 0;  ///< part of the rows with a tile of the launched one's area
  double shift = 0;      ///< mean |time with the choice / time with the launched tile - 1|
  double error = 0;      ///< mean |time with the choice / measured time - 1|
};

struct TileAgreement {
  std::string group;  ///< "linear", "linear/t4"
  std::int64_t rows = 0;
  TileChoice ours, nearest;
  double launched_error = 0;  ///< the same with the launched tile: what the form itself misses
};

struct TileReportOptions {
  std::size_t rows = 500;  ///< queries per GPU and campaign; the rival's table has all shapes
  std::uint64_t seed = 1;  ///< of their choice
};

/// `fits` must have left out each GPU. Rows whose kernel names no tile are not counted; empty when
/// there are none.
std::vector<TileAgreement> compare_tiles(const Dataset& dataset, const Fits& fits,
                                         const TileReportOptions& options);

}  // namespace rooftile::calibration
