// SPDX-License-Identifier: Apache-2.0
//
// What is the same for all products of an architecture or of a memory type: the name that belongs
// to an instruction set, what fits on one SM, the L2 sizes of the known dies, the data rates and
// capacities of DRAM types. The ranges span the products of the catalogue and the commonly stated
// limits, with some slack; they are meant to catch slips and not to define a standard, so a new
// part may rightly leave them (and then widens them here, or declares an exception in its file).
// Lint compares files with it; no model reads it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace rooftile::hardware {

struct ArchLimits {
  std::string_view isa;
  std::string_view architecture;
  std::optional<std::int64_t> registers, max_threads, max_blocks;  ///< of one SM
  double l2_least_mib = 0, l2_most_mib = 0;                        ///< over the known dies
};

struct DramType {
  std::string_view name;
  double least_gbit, most_gbit;  ///< per pin
  std::int64_t device_bits;      ///< width of one stack or chip
  double least_gb, most_gb;      ///< capacity per that width
};

std::span<const ArchLimits> known_architectures();
std::span<const DramType> known_dram_types();

/// Nothing for an unknown ISA or type.
std::optional<ArchLimits> arch_limits(std::string_view isa);
std::optional<DramType> dram_type(std::string_view name);

}  // namespace rooftile::hardware
