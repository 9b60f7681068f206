// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "fit/dataset.h"

// The reader takes a path: the input lives in an anonymous file.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const int file = memfd_create("rooftile_fuzz", 0);
  if (file < 0) return 0;
  if (write(file, data, size) == static_cast<ssize_t>(size)) {
    rooftile::fit::Dataset dataset;
    (void)rooftile::fit::read_dataset("/proc/self/fd/" + std::to_string(file),
                                      rooftile::Catalog::embedded(), dataset);
  }
  close(file);
  return 0;
}
