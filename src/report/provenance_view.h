// SPDX-License-Identifier: Apache-2.0
//
// Where a report comes from, as the last lines of all of them:
//
//   from: rooftile 0.1.0 3f0c1d2e4b5a,
//     gpu l4 embedded:9b1d04c8e2f7, model ./gpt2.json file:5c1e..
#pragma once

#include <span>
#include <string>

#include "core/provenance.h"
#include "rooftile/report.h"

namespace rooftile::report {

/// Version and commit, then every input with its origin and the first 12 digits of its SHA-256, in
/// lines of at most `width` columns. More than six files of a kind are counted, with the SHA-256 of
/// their own ones.
std::string provenance_to_text(const ProvenanceReport& provenance, int width, bool color);
/// The same on one line.
std::string provenance_to_line(const ProvenanceReport& provenance);

/// Of a table of several reports.
ProvenanceReport merged_provenance(std::span<const Report> reports);

}  // namespace rooftile::report
