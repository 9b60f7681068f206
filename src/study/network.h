// SPDX-License-Identifier: Apache-2.0
//
// The links between the GPUs of a step.
#pragma once

#include <optional>

#include "aggregate/parallel.h"
#include "core/catalog.h"
#include "core/result.h"
#include "hardware/gpu_spec.h"
#include "hardware/system.h"
#include "rooftile/request.h"

namespace rooftile::study {

struct Network {
  std::optional<hardware::SystemSpec> system;  ///< nothing for a single GPU
  aggregate::Interconnect links;
};

/// The system of the request, or one node of the GPU's own links, and what its groups share.
Result<Network> find_network(const Request& request, const hardware::GpuSpec& gpu,
                             const aggregate::Parallelism& parallelism, const Catalog& catalog);

}  // namespace rooftile::study
