// SPDX-License-Identifier: Apache-2.0
//
// Bytes of a tiled matrix product at every level, from its cut. Every tile loads its rows of A and
// its columns of B; the tiles of a thread-block cluster run side by side along m and load their
// columns once for all of them (multicast). What the running tiles share comes from L2, as
// libraries run the grid in square patches; the larger those panels are against the L2, the more of
// what is requested again misses it:
//
//   dram = compulsory + (l2 - compulsory) sigmoid((log2(panels / L2 size) - mid) / width)
//
// A product that is repeated finds what it left in the L2: its activations and results when all
// its bytes fit, its weights when all copies of them that take turns fit as well. Of bytes that
// come again after `distance` other bytes,
//
//   sigmoid((log2(distance / L2 size) - reuse_mid) / reuse_width)
//
// have left the cache; partial sums of split-K come again at once.
#pragma once

#include "ops/kernel_work.h"

namespace rooftile::traffic {

struct ProductCut {
  double tile_m = 128, tile_n = 128;
  double split = 1;
  double cluster = 1;  ///< tiles along m
};

/// What of the machine the bytes depend on.
struct ProductMachine {
  double sms = 1;
  double l2_bytes = 0;  ///< 0 where the size is unknown: everything stays
};

/// Calibrated: which part of the panels that tiles share misses the L2.
struct PanelMisses {
  double mid = 2;  ///< log2(panels / L2 size) at which half of them does
  double width = 0.5;
  double reuse_mid = -0.6;  ///< log2(distance / L2 size) at which half of what comes again does
  double reuse_width = 0.25;

  /// Of bytes that come again after so many others, as log2(distance / L2 size).
  [[nodiscard]] double left_cache(double distance) const;
};

/// Reads and writes together.
struct ProductBytes {
  double l1 = 0, l2 = 0;
  double compulsory = 0;  ///< operands and results once, partial sums of split-K there and back
  double partial = 0;     ///< partial sums, one way
  double panels = 0;      ///< log2(bytes that the running tiles share / L2 size)
  // Of a product that is repeated: what moves through it and what stays the same.
  double activations = 0, weights = 0;  ///< activations and results; weights
  double near = kNever, far = kNever;   ///< log2(distance / L2 size) of either
  double partial_distance = kNever;

  static constexpr double kNever = 60;  ///< comes from DRAM whatever the cache

  [[nodiscard]] double dram(const PanelMisses& misses) const;
};

/// `bytes` is all that the kernel moves if every tile finds the rest in L2, `in_bytes` and
/// `out_bytes` are of an element.
struct ProductWork {
  ops::GemmShape shape;
  double bytes = 0;
  double in_bytes = 4, out_bytes = 4;
  double right_bytes = 0;  ///< of the second operand, where it is stored narrower; 0 = in_bytes
  double copies = 0;       ///< of the weights that take turns when it is repeated; 0 = it is not
};
ProductWork product_work(const ops::KernelWork& work, const ops::GemmShape& shape,
                         double copies = 0);

ProductBytes product_bytes(const ProductWork& work, const ProductCut& cut,
                           const ProductMachine& machine);

}  // namespace rooftile::traffic
