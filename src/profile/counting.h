// SPDX-License-Identifier: Apache-2.0
//
// The device whose counters are read, as far as it decides how they are read: the facts of its
// architecture (hardware/architecture.h, or of its nearest relative where it has no file), and
// which counters its chips have (profile/metric_table.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/catalog.h"
#include "core/result.h"
#include "hardware/architecture.h"

namespace rooftile::profile {

struct Counting {
  std::string isa;  ///< as the export or the catalogue says; may be empty
  std::optional<hardware::CounterFacts> facts;  ///< nothing where the device is unknown
  bool packed_fp32 = false;  ///< FADD2, FMUL2 and FFMA2 count pairs, apart from FADD, FMUL and FFMA
  std::string relative;      ///< the isa whose facts these are, where the device has no file
  /// Only the family is known ("gfx9"), and its chips count requests of different sizes.
  bool request_unknown = false;

  [[nodiscard]] bool is(hardware::Profiler tool) const { return facts && facts->tool == tool; }
};

Result<Counting> counting_of(const Catalog& catalog, std::string_view isa);

}  // namespace rooftile::profile
