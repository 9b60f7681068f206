// SPDX-License-Identifier: Apache-2.0
// Everything of the characterize layer that reads foreign text: ERT's JSON and tables, samples.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "characterize/cpu/topology.h"
#include "characterize/environment.h"
#include "characterize/ert_json.h"
#include "characterize/ert_rule.h"
#include "characterize/samples_file.h"

using namespace rooftile::characterize;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto ceilings = read_ert_json(text, "fuzz")) {
    for (const auto& [level, measured] : ceilings->bandwidth) {
      if (!std::isfinite(measured.value.base())) std::abort();
    }
    if (!read_ert_json(write_ert_json(*ceilings), "again"))
      std::abort();  // what is written is read
  }
  if (const auto blocks = read_ert_trials(text, "fuzz")) {
    std::vector<std::vector<ErtTrial>> experiments;
    for (const ErtBlock& block : *blocks) experiments.push_back(block.trials);
    (void)summarize_ert(reduce_ert_trials(experiments), {});
  }
  if (const auto samples = read_samples(text, "fuzz")) {
    if (!read_samples(write_samples(*samples), "again")) std::abort();
  }
  (void)cpu::parse_cpu_list(text);
  (void)parse_proc_stat(text);
  return 0;
}
