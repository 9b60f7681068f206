// SPDX-License-Identifier: Apache-2.0
//
// Measured whole steps: bytes -> rows -> predictions -> evaluation -> every writer.
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "calibration/steps.h"
#include "catalogue.h"
#include "memory_file.h"
#include "report/describe.h"
#include "study/session.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static rooftile::fuzz::MemoryFile file;
  static const rooftile::study::Session session([] {
    rooftile::Catalog files = rooftile::fuzz::small_catalogue();
    const rooftile::Catalog all = rooftile::Catalog::embedded();
    files.add("predictors/default/weights.json",
              all.read("predictors/default/weights.json").value().content);
    return files;
  }());
  const auto evaluation = session.evaluate_steps({.file = file.holding(data, size)}, {});
  if (!rooftile::fuzz::explained(evaluation)) return 0;
  if (rooftile::report::describe(*evaluation).data.json().is_null()) std::abort();
  return 0;
}
