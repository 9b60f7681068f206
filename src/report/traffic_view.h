// SPDX-License-Identifier: Apache-2.0
//
// `rooftile traffic`: bytes per memory level and layer, reuse, demand against the ceilings, time
// and limiter; as text, JSON, CSV and as a picture.
#pragma once

#include <string>

#include "report/views.h"
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

std::string traffic_to_text(const TrafficReport& report, const TextOptions& options);
std::string traffic_to_json(const TrafficReport& report);
std::string traffic_to_csv(const TrafficReport& report);
/// One group of bars per layer (L1, L2, DRAM), coloured by level, with the limiter below.
std::string traffic_to_svg(const TrafficReport& report);

}  // namespace rooftile::report
