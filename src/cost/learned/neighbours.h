// SPDX-License-Identifier: Apache-2.0
//
// Measured products near a shape. A form knows how products run in general; a library also has
// exceptions (an odd tile, a slow kernel for one head size) that no data sheet tells. A product
// that was measured on the same instruction set ran the same kernels, so what the form missed there
// is added here:
//
//   c = share sum(K r) / (sum(K) + doubt),   K = (1 - d^2 / radius^2)^2 for d < radius
//
// r is log(measured / form) less the median of its campaign, because a campaign's level is no
// property of a shape; d is the distance in octaves of m, n and k and in shares of octaves of the
// batch (cost::NeighbourConstants). `share` is 1 for the same instruction set, else `foreign`, for
// the mean over the instruction sets that have neighbours. Far from every measured shape c is 0.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cost/constants.h"
#include "ops/kernel_work.h"

namespace rooftile::cost::learned {

/// log2 of m, n, k and, scaled down, of the batch.
using ShapePoint = std::array<float, 4>;
ShapePoint shape_point(const ops::GemmShape& shape, const NeighbourConstants& constants);

struct Neighbour {
  ShapePoint at{};
  float residual = 0;
};

struct Neighbours {
  /// By instruction set, in ascending order of m.
  std::map<std::string, std::vector<Neighbour>, std::less<>> of;
  double foreign = 0;
};

/// c of the shape on a GPU with this instruction set.
double neighbour_correction(const Neighbours& neighbours, const NeighbourConstants& constants,
                            std::string_view isa, const ops::GemmShape& shape);

/// Shapes are remembered on this grid.
inline constexpr float kCellsPerOctave = 4;

/// Six characters per neighbour, in ascending order, coordinates rounded to the grid; what
/// `decode_neighbours` reads. Nothing for text that is not such a list.
std::string encode_neighbours(std::vector<Neighbour> list);
std::optional<std::vector<Neighbour>> decode_neighbours(std::string_view text);

}  // namespace rooftile::cost::learned
