// SPDX-License-Identifier: Apache-2.0
//
// The inputs of a result (rooftile/provenance.h). A loader makes the record of the file that it has
// read, from the bytes that it has parsed; whoever computes something collects the records.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/catalog.h"
#include "rooftile/provenance.h"

namespace rooftile {

/// Hashes the bytes of the file.
Input make_input(std::string_view kind, std::string_view name, const Catalog::File& file);
/// Of what is compiled in and reads no file.
Input make_builtin_input(std::string_view kind, std::string_view name);

/// Appends those that `all` does not have yet. Those without a kind (a system made of a GPU's own
/// links, a predictor that was just fitted) are not files and left out.
void add_inputs(const std::vector<Input>& more, std::vector<Input>& all);

/// Version, commit and every input once, those of a kind together.
ProvenanceReport make_provenance(const std::vector<Input>& inputs);
/// docs/format/report.md
nlohmann::ordered_json provenance_json(const ProvenanceReport& provenance);

/// A sentence for each overlay that stands in for a file of the catalogue.
std::vector<std::string> replacement_notes(const ProvenanceReport& provenance);

/// Sets `provenance` of a report and adds the notes about replaced files to its `warnings`.
template <typename Report>
void set_provenance(const std::vector<Input>& inputs, Report& report) {
  report.provenance = make_provenance(inputs);
  for (std::string& note : replacement_notes(report.provenance)) {
    report.warnings.push_back(std::move(note));
  }
}

}  // namespace rooftile
