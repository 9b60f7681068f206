// SPDX-License-Identifier: Apache-2.0
//
// A matrix product as the baseline `delta` times it, by its streams: the fastest of a library's
// tiles, with split-K where the grid is small, or a kernel that streams the matrix where the other
// operand is a vector. No other predictor reads it.
#pragma once

#include "cost/stream_parts.h"

namespace rooftile::cost::delta {

struct Product {
  StreamTime time = {};
  traffic::ReadBytes read = {};
  double written = 0;
};

/// The fastest tile and split, or the kernel of a matrix and a vector.
Product fastest_product(const ops::GemmShape& gemm, DType dtype, const TimeMachine& machine);

}  // namespace rooftile::cost::delta
