// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>

#include "catalogue.h"
#include "fit/dataset.h"
#include "memory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static rooftile::fuzz::MemoryFile file;
  rooftile::fit::Dataset dataset;
  const auto read = rooftile::fit::read_dataset(file.holding(data, size),
                                                rooftile::fuzz::small_catalogue(), dataset);
  if (!rooftile::fuzz::explained(read)) return 0;
  for (const rooftile::fit::Sample& sample : dataset.samples) {
    if (!(sample.measured > 0)) std::abort();
    if (sample.gpu >= dataset.machines.size()) std::abort();
    if (sample.campaign >= dataset.campaigns.size()) std::abort();
  }
  return 0;
}
