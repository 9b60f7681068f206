// SPDX-License-Identifier: Apache-2.0
#include "calibration/validation.h"

#include <fmt/format.h>

#include <utility>

namespace rooftile::calibration {

void ComparedBytes::add(EvaluatedBytes row, double compulsory) {
  const Compared bytes{.measured = row.measured_bytes, .predicted = row.predicted_bytes};
  row.error = bytes.error();
  ErrorGroups::Baselines baselines;
  if (compulsory > 0) baselines.emplace_back("bound", compulsory);
  const std::string group = fmt::format("{}/{}", row.model, row.level);
  groups_.add(group, bytes, baselines);
  if (!row.group.empty()) groups_.add(fmt::format("{}/{}", group, row.group), bytes, baselines);
  rows_.push_back(std::move(row));
}

void ComparedBytes::finish(ValidationTable& table) && {
  table.bytes = std::move(rows_);
  table.summary = groups_.summary();
}

}  // namespace rooftile::calibration
