// SPDX-License-Identifier: Apache-2.0
//
// A report of `predict` once more: its request is run again, with the files that it names, and
// every number is compared with the one in the report, bit for bit. Files are looked for under the
// paths of the report, so a replay runs where the report was made.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/catalog.h"
#include "core/json.h"
#include "core/result.h"
#include "report/replay.h"
#include "rooftile/request.h"
#include "study/session.h"

namespace rooftile::study {

/// What a report says; the text may come from anywhere.
struct RecordedReport {
  std::string file;
  JsonDocument document;
  Request request;
  double total_ms = 0;
  std::optional<ProvenanceReport> provenance;  ///< reports of earlier versions have none
};

/// `file` is what errors call the text.
Result<RecordedReport> parse_report(std::string_view text, const std::string& file);
Result<RecordedReport> load_report(const std::string& path);

/// The results in `then` that are others, or missing, in `now`; both are reports.
std::vector<report::ReplayDifference> compare_results(const JsonView& then, const JsonView& now);

/// The embedded catalogue with the overlays of the request, or with `folders` where there are any.
Result<Catalog> replay_catalog(const RecordedReport& recorded,
                               const std::vector<std::string>& folders);

Result<report::ReplayReport> replay(const RecordedReport& recorded, const Session& session);

}  // namespace rooftile::study
