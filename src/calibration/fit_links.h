// SPDX-License-Identifier: Apache-2.0
//
// What collectives reach of a link, and what the host takes for a call: cost::LinkConstants and
// parts of cost::StepConstants, from measured all-reduces and from traced nodes that launch
// nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "calibration/dataset.h"
#include "cost/constants.h"

namespace rooftile::calibration {

/// Rows that a fit looked at, and on which GPUs (indices into Dataset::machines).
struct Seen {
  std::int64_t rows = 0;
  std::vector<std::uint32_t> gpus;  ///< sorted
};
/// Adds a row.
void look_at(std::uint32_t gpu, Seen& seen);

struct FittedLinks {
  cost::LinkConstants constants;
  Seen seen;
};
/// All-reduces of 4 KiB to 512 MiB over 2 and 4 GPUs of one node; GPUs count equally. A kind of
/// link that nobody measured takes the numbers of the other kind; nothing without any rows.
std::optional<FittedLinks> fit_links(const Dataset& dataset, std::optional<std::uint32_t> left_out);

struct FittedHost {
  double launch = 0;  ///< seconds: the median call
  double spread = 1;  ///< holds 80 % of the calls
  Seen seen;
};
std::optional<FittedHost> fit_host(const Dataset& dataset, std::optional<std::uint32_t> left_out);

}  // namespace rooftile::calibration
