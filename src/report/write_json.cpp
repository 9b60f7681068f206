// SPDX-License-Identifier: Apache-2.0
//
// The tree of a document, as docs/format describes it.
#include <nlohmann/json.hpp>

#include "report/json_text.h"
#include "report/writer.h"

namespace rooftile::report {

namespace {

std::string write_json(const Document& document, const WriteOptions& /*options*/) {
  return json_text(document.data.json());
}

}  // namespace

Writer json_writer() {
  return {.name = "json", .endings = {".json"}, .make = write_json};
}

}  // namespace rooftile::report
