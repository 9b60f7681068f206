// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>

#include "calibration/conv_campaigns.h"
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
    if (sample.algorithm >= dataset.algorithms.size()) std::abort();
  }
  for (const auto& row : dataset.collectives) {
    if (!(row.measured > 0) || row.gpus < 2 || row.gpu >= dataset.machines.size()) std::abort();
  }
  for (const auto& layer : dataset.layers) {
    if (!(layer.measured > 0) || layer.kernels.empty()) std::abort();
  }
  for (const auto& call : dataset.host_calls) {
    if (!(call.measured > 0)) std::abort();
  }
  (void)rooftile::calibration::campaigns_of(dataset);
  return 0;
}
