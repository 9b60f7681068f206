// SPDX-License-Identifier: Apache-2.0
//
// The checkpoint of a fit: what was read can be written and read back.
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "calibration/checkpoint.h"
#include "memory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static rooftile::fuzz::MemoryFile file;
  const auto results = rooftile::calibration::read_checkpoint(
      file.holding(data, size), "key", {{"nvidia/linear", 3}, {"amd/bmm", 2}});
  if (!rooftile::fuzz::explained(results)) return 0;
  for (const auto& [name, values] : *results) {
    for (const double value : values) {
      if (!std::isfinite(value)) std::abort();
    }
  }
  return 0;
}
