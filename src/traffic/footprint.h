// SPDX-License-Identifier: Apache-2.0
//
// The blocks of image planes that a range of lanes touches under a range of filter taps. A block is
// a rectangle of pixels of one plane; taps of neighbouring rows touch the same blocks, which is how
// an operand tile is read again many iterations later.
#pragma once

#include <vector>

#include "traffic/implicit_gemm.h"

namespace rooftile::traffic {

struct BlockShape {
  std::int64_t rows = 1, columns = 1;  ///< pixels
};

/// Half-open.
struct Range {
  std::int64_t begin = 0, end = 0;
};

class Footprint {
 public:
  Footprint(const GatherView& view, const BlockShape& shape);

  /// Appends the blocks that `lanes` touch under the rows `taps` of the filter, each once, as
  /// image * blocks_per_plane() + block.
  void collect(const Range& lanes, const Range& taps, std::vector<std::int64_t>& out);

  [[nodiscard]] std::int64_t blocks_per_plane() const { return bands_ * segments_; }
  /// The block's part of the touched pixels of its plane.
  [[nodiscard]] double share(std::int64_t index) const {
    return shares_[static_cast<std::size_t>(index % blocks_per_plane())];
  }

 private:
  void collect_run(std::int64_t image, std::int64_t row, const Range& columns, const Range& taps,
                   std::vector<std::int64_t>& out);
  const GatherView& view_;
  BlockShape shape_;
  std::int64_t bands_, segments_;
  std::vector<double> shares_;
  std::int64_t serial_ = 0;
  std::vector<std::int64_t> seen_;  ///< per block of a plane: the last serial that appended it
};

}  // namespace rooftile::traffic
