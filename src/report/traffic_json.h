// SPDX-License-Identifier: Apache-2.0
//
// `rooftile traffic` as a tree: bytes per memory level and layer, reuse, demand against the
// ceilings, time and limiter.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "rooftile/traffic.h"

namespace rooftile::report {

using rooftile::AlgorithmTraffic;
using rooftile::LayerTraffic;
using rooftile::LevelBytes;
using rooftile::TrafficReport;

/// What tells the kernels of a layer apart: its pass where it has one, else its phase.
inline const std::string& part_of_step(const LayerTraffic& layer) {
  return layer.pass.empty() ? layer.phase : layer.pass;
}

nlohmann::ordered_json traffic_json(const TrafficReport& report);

}  // namespace rooftile::report
