// SPDX-License-Identifier: Apache-2.0
//
// What the kernels of an eager framework move (execution::TensorsMoved), from traced nodes: the time
// of a node without the host's part, at the bandwidth that streaming kernels attain on its GPU, is
// bytes, and bytes over those of the node's own tensor are tensors. Of each GPU the median over the
// nodes of at least half the size of its largest, as caches and launches blur small ones; of a
// vendor the median over its GPUs, where it has any, else over all GPUs. Copies that launched
// nothing are not looked at.
#pragma once

#include <cstdint>
#include <optional>

#include "calibration/dataset.h"
#include "calibration/fit_links.h"
#include "cost/constants.h"

namespace rooftile::calibration {

struct FittedEager {
  cost::EagerByVendor constants;
  Seen seen;
};
/// `others` has what streaming kernels attain and what a launch takes. A kind of kernel that no
/// node shows keeps its start; nothing without any nodes.
std::optional<FittedEager> fit_eager(const Dataset& dataset, std::optional<std::uint32_t> left_out,
                                     const cost::Constants& others);

}  // namespace rooftile::calibration
