// SPDX-License-Identifier: Apache-2.0
#include "profile/ncu_columns.h"

#include <fmt/format.h>

namespace rooftile::profile {

NcuColumns find_ncu_columns(const LineFields& header) {
  const auto column = [&header](std::string_view name) { return header.find(name); };
  NcuColumns at;
  at.kernel = column("Kernel Name");
  at.id = column("ID");
  at.process = column("Process ID");
  at.metric = column("Metric Name");
  at.unit = column("Metric Unit");
  at.value = column("Metric Value");
  at.section = column("Section Name");
  at.invocations = column("Invocations");
  at.average = column("Average");
  at.count = column("Count");
  at.grid = column("Grid Size");
  at.block = column("Block Size");
  at.cc = column("CC");
  at.device_name = column("device__attribute_display_name");
  at.cc_major = column("device__attribute_compute_capability_major");
  at.cc_minor = column("device__attribute_compute_capability_minor");
  at.sm_count = column("device__attribute_multiprocessor_count");
  for (std::size_t i = 0; i < 3; ++i) {
    at.grid_dim[i] = column(fmt::format("launch__grid_dim_{:c}", "xyz"[i]));
    at.block_dim[i] = column(fmt::format("launch__block_dim_{:c}", "xyz"[i]));
  }
  return at;
}

Status check_decided(const NumberFormat& numbers, const std::string& file) {
  const auto guessed = numbers.guessed();
  if (!guessed) return {};
  return bad_input(file,
                   fmt::format("nothing tells whether {} means {} or {}", guessed->text,
                               guessed->value, guessed->value * 1000),
                   "export again in a locale that leaves no doubt: LC_ALL=C ncu --csv --page raw "
                   "--print-units base --import report.ncu-rep");
}

}  // namespace rooftile::profile
