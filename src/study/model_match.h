// SPDX-License-Identifier: Apache-2.0
//
// Which operator of a model each launch of a profile is. Only products (matrix products and the
// three passes of convolutions) are matched: their kernels say in their names what they are, and
// nothing else in a step is worth as much. Two rules, per kind of product:
//   in order    the profile has as many launches of the kind as the step has (or a multiple: the
//               step was repeated), and no tile, grid or FLOP count speaks against the pairs
//   by content  otherwise a launch is the operator whose tiles fill its grid and whose FLOPs
//               agree within 5 %, where all operators that fit have the same shape
// Helpers (transforms of layouts, of Winograd's algorithm, of split sums) are not products.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "aggregate/step.h"
#include "profile/kernel_record.h"

namespace rooftile::study {

enum class ProductKind : std::uint8_t { Gemm, ConvForward, ConvData, ConvFilter };

/// What a kernel's name says; nothing for kernels that are not products.
std::optional<ProductKind> product_kind(std::string_view kernel_name);

/// Rows and columns of the tile of the output that a kernel names: "..gemm_128x64_..".
struct TileName {
  std::int64_t m = 0, n = 0;
};
std::optional<TileName> tile_of(std::string_view kernel_name);

struct Match {
  const aggregate::OperatorEstimate* op = nullptr;
  bool in_order = false;
};

/// Launch (ordinal) -> operator, for the launches that can be told. `records` must have groups.
std::map<std::int64_t, Match> match_step(const std::vector<const profile::KernelRecord*>& records,
                                         const std::vector<aggregate::OperatorEstimate>& step);

}  // namespace rooftile::study
