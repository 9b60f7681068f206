// SPDX-License-Identifier: Apache-2.0
//
// `rooftile evaluate tiles` as bytes.
#pragma once

#include <span>
#include <string>

#include "calibration/tile_report.h"

namespace rooftile::report {

/// Hit rates and errors in percent, ours beside the nearest neighbour's.
std::string tiles_to_text(std::span<const calibration::TileAgreement> report,
                          const ProvenanceReport& provenance);
std::string tiles_to_markdown(std::span<const calibration::TileAgreement> report);
/// Fractions.
std::string tiles_to_json(std::span<const calibration::TileAgreement> report,
                          const ProvenanceReport& provenance);

}  // namespace rooftile::report
