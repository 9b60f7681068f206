// SPDX-License-Identifier: Apache-2.0
//
// Measured convolutions in the layouts of DeepBench and NeuSight.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "catalogue.h"
#include "memory_file.h"
#include "study/conv_campaigns.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static rooftile::fuzz::MemoryFile file;
  rooftile::study::Campaigns campaigns;
  const auto added = rooftile::study::add_campaign(file.holding(data, size),
                                                   rooftile::fuzz::small_catalogue(), campaigns);
  if (!rooftile::fuzz::explained(added)) return 0;
  for (const auto& row : campaigns.neusight.rows) {
    if (row.gpu >= campaigns.neusight.gpus.size() || !(row.measured > 0)) std::abort();
  }
  for (const auto& row : campaigns.deepbench.rows) {
    if (row.gpu >= campaigns.deepbench.gpus.size()) std::abort();
  }
  return 0;
}
