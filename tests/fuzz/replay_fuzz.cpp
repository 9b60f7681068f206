// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "report/request_json.h"
#include "study/replay.h"

// A report that is read has the results that it has, and its request survives being written.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto report = rooftile::study::parse_report(text, "fuzz.json");
  if (!report) return 0;
  const rooftile::JsonView root = report->document.root();
  if (!rooftile::study::compare_results(root, root).empty()) std::abort();
  const std::string written = rooftile::report::request_json(report->request).dump();
  const auto document = rooftile::JsonDocument::parse(written, "again.json");
  if (!document) std::abort();
  const auto again = rooftile::report::read_request(document->root());
  if (!again || rooftile::report::request_json(*again).dump() != written) std::abort();
  return 0;
}
