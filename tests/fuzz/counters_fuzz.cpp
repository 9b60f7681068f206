// SPDX-License-Identifier: Apache-2.0
//
// Counted bytes of products and convolutions, next to those of the predicted kernels.
#include <cstdint>
#include <cstdlib>

#include "calibration/validate_counters.h"
#include "catalogue.h"
#include "memory_file.h"
#include "report/describe.h"
#include "report/writer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static rooftile::fuzz::MemoryFile file;
  const rooftile::Catalog& catalog = rooftile::fuzz::architectures();
  rooftile::calibration::Dataset dataset;
  const auto read = rooftile::calibration::read_dataset(file.holding(data, size), catalog, dataset);
  if (!rooftile::fuzz::explained(read)) return 0;
  const auto table =
      rooftile::calibration::validate_counters(dataset, rooftile::fuzz::default_predictor());
  const auto document = rooftile::report::describe(table);
  if (rooftile::report::write("json", document).empty()) std::abort();
  return 0;
}
