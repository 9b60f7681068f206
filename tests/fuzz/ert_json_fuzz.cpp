// SPDX-License-Identifier: Apache-2.0
// What characterize reads of other programs: results of ERT, samples.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "characterize/cpu/topology.h"
#include "characterize/environment.h"
#include "characterize/samples_file.h"
#include "hardware/ert.h"
#include "hardware/roof_file.h"

using namespace rooftile::characterize;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  using namespace rooftile::hardware;
  for (const RoofReader& reader : roof_readers()) {
    const auto file = reader.read(text, "fuzz");
    if (!file) continue;
    const auto ceilings = ceilings_of(*file, "fuzz");
    if (!ceilings) continue;
    for (const auto& [level, measured] : ceilings->bandwidth) {
      if (!std::isfinite(measured.value.base())) std::abort();
    }
    if (!read_ert(write_ert_json(*ceilings), "again")) std::abort();  // what is written is read
  }
  if (const auto samples = read_samples(text, "fuzz")) {
    if (!read_samples(write_samples(*samples), "again")) std::abort();
  }
  (void)cpu::parse_cpu_list(text);
  (void)parse_proc_stat(text);
  return 0;
}
