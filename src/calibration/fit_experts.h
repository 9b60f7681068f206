// SPDX-License-Identifier: Apache-2.0
//
// Grouped products of 16-bit experts. Serving engines run them with kernels of their own, which cut
// and reach less than the library's: rows of whole mixtures of experts tell by how much.
#pragma once

#include "calibration/dataset.h"
#include "cost/learned/weights.h"

namespace rooftile::calibration {

/// DeviceModel::experts of NVIDIA's GPUs and what a call adds (PointwiseModel::call), from mixtures
/// of experts on the GPUs that are not left out; `weights` knows the other kernels already. Nothing
/// happens without enough rows.
void fit_experts(const Dataset& dataset, std::optional<std::uint32_t> left_out,
                 cost::learned::Weights& weights);

}  // namespace rooftile::calibration
