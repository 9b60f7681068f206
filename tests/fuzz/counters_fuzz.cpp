// SPDX-License-Identifier: Apache-2.0
//
// Counted bytes of products and convolutions, next to those of the predicted kernels.
#include <cstdint>
#include <cstdlib>

#include "calibration/validate_counters.h"
#include "catalogue.h"
#include "memory_file.h"
#include "report/validation_view.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static rooftile::fuzz::MemoryFile file;
  auto csv = rooftile::CsvReader::open(file.holding(data, size), {});
  if (!rooftile::fuzz::explained(csv)) return 0;
  const auto header = rooftile::CsvHeader::read(*csv);
  if (!rooftile::fuzz::explained(header)) return 0;
  const auto table =
      rooftile::calibration::validate_counters(*csv, *header, rooftile::fuzz::architectures());
  if (!rooftile::fuzz::explained(table)) return 0;
  if (rooftile::report::validation_to_json(*table).empty()) std::abort();
  return 0;
}
