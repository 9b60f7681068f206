// SPDX-License-Identifier: Apache-2.0
//
// The table that a validation ends in.
#pragma once

#include <string>
#include <vector>

#include "rooftile/provenance.h"

namespace rooftile::calibration {

struct ValidationTable {
  std::string title;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> notes;
  ProvenanceReport provenance{};
};

}  // namespace rooftile::calibration
