// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>

#include "calibration/dataset.h"
#include "catalogue.h"
#include "memory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static rooftile::fuzz::MemoryFile file;
  rooftile::calibration::Dataset dataset;
  const auto read = rooftile::calibration::read_dataset(file.holding(data, size),
                                                        rooftile::fuzz::small_catalogue(), dataset);
  if (!rooftile::fuzz::explained(read)) return 0;
  for (const rooftile::calibration::Sample& sample : dataset.samples) {
    if (!(sample.measured > 0)) std::abort();
    if (sample.gpu >= dataset.machines.size()) std::abort();
    if (sample.campaign >= dataset.campaigns.size()) std::abort();
  }
  return 0;
}
