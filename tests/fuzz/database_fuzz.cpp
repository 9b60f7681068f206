// SPDX-License-Identifier: Apache-2.0
#include "profile_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return rooftile::profile::fuzz_importer(rooftile::profile::import_database, data, size);
}
