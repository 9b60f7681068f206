// SPDX-License-Identifier: Apache-2.0
#include "report/tile_view.h"

#include <nlohmann/json.hpp>

#include "report/accuracy_table.h"
#include "report/json_text.h"
#include "report/provenance_view.h"

namespace rooftile::report {

namespace {

AccuracyTable table_of(std::span<const calibration::TileAgreement> report) {
  AccuracyTable table{.titles = {"group", "rows", "exact %", "nn", "same area %", "nn",
                                 "time shift %", "nn", "error %", "nn", "launched"},
                      .rows = {}};
  for (const calibration::TileAgreement& a : report) {
    table.rows.push_back({a.group, std::to_string(a.rows), percent(a.ours.exact),
                          percent(a.nearest.exact), percent(a.ours.same_area),
                          percent(a.nearest.same_area), percent(a.ours.shift),
                          percent(a.nearest.shift), percent(a.ours.error), percent(a.nearest.error),
                          percent(a.launched_error)});
  }
  return table;
}

constexpr const char* kLegend =
    "Every GPU with weights and tiles of the other GPUs only; the truth is the launched kernel's "
    "name.\nnn: tile of the nearest measured shape in raw units. Time shift: time with the chosen "
    "tile against\ntime with the launched one, by the fitted form; error: against the measured "
    "time, in the last column\nwith the launched tile.\n\n";

nlohmann::ordered_json json_of(const calibration::TileChoice& choice) {
  return {{"exact", choice.exact},
          {"same_area", choice.same_area},
          {"time_shift", choice.shift},
          {"mean_error", choice.error}};
}

}  // namespace

std::string tiles_to_text(std::span<const calibration::TileAgreement> report,
                          const ProvenanceReport& provenance) {
  constexpr int kWidth = 110;
  return kLegend + table_of(report).to_text(kWidth) + "\n" + provenance_to_text(provenance, false);
}

std::string tiles_to_markdown(std::span<const calibration::TileAgreement> report) {
  return std::string("# Accuracy: tiles\n\n") + kLegend + table_of(report).to_markdown();
}

std::string tiles_to_json(std::span<const calibration::TileAgreement> report,
                          const ProvenanceReport& provenance) {
  nlohmann::ordered_json json{{"schema", 1}, {"summary", nlohmann::ordered_json::array()}};
  for (const calibration::TileAgreement& a : report) {
    json["summary"].push_back({{"group", a.group},
                               {"rows", a.rows},
                               {"ours", json_of(a.ours)},
                               {"nearest", json_of(a.nearest)},
                               {"launched_error", a.launched_error}});
  }
  json["provenance"] = provenance_json(provenance);
  return json_text(json, 1);
}

}  // namespace rooftile::report
