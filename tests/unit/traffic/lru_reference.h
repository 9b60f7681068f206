// SPDX-License-Identifier: Apache-2.0
//
// The rows of delta/lru_reference.csv: 17 layers on three cache configurations, with every
// intermediate value of the paper's forms and the counts of an independent simulation.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/csv.h"
#include "shared_data.h"
#include "traffic/cache_sim.h"

namespace rooftile::traffic {

struct ReferenceRow {
  std::string layer;
  ops::ConvShape conv;
  CtaTile tile;
  CacheMachine machine;
  std::map<std::string, double> value;  ///< all numeric columns
};

inline constexpr const char* kReferenceFile = "delta/lru_reference.csv";

inline Result<std::vector<ReferenceRow>> read_reference() {
  const std::string path = (testing::shared_data() / kReferenceFile).string();
  ROOFTILE_TRY(CsvReader csv, CsvReader::open(path, {}));
  ROOFTILE_TRY(const CsvHeader header, CsvHeader::read(csv));
  std::vector<ReferenceRow> rows;
  while (true) {
    ROOFTILE_TRY(const bool more, csv.next());
    if (!more) return rows;
    ReferenceRow row;
    row.layer = csv[0];
    for (std::size_t i = 0; i < header.size(); ++i) {
      if (const auto number = csv.number(i)) row.value[header.names()[i]] = *number;
    }
    const auto integer = [&row](const char* name) {
      return static_cast<std::int64_t>(row.value.at(name));
    };
    row.conv = {.n = integer("B"),
                .c = integer("C"),
                .h = integer("H"),
                .w = integer("W"),
                .k = integer("K"),
                .r = integer("R"),
                .s = integer("S")};
    row.conv.stride_h = row.conv.stride_w = integer("stride");
    row.conv.pad_h = row.conv.pad_w = integer("pad");
    row.tile = {.m = integer("blkM"), .n = integer("blkN"), .k = integer("blkK")};
    row.machine.sm_count = integer("nSM");
    row.machine.active_ctas = integer("actCTA");
    row.machine.l1_bytes = integer("L1KB") * 1024;
    row.machine.l2_bytes = integer("L2KB") * 1024;
    rows.push_back(std::move(row));
  }
}

}  // namespace rooftile::traffic
