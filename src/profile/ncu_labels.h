// SPDX-License-Identifier: Apache-2.0
//
// Nsight Compute's details page prints labels ("Duration") instead of counter names. The same label
// occurs in several sections with different meaning ("Memory Throughput" is a percentage in one and
// bytes per second in another), so the key is (section, label).
#pragma once

#include <optional>
#include <string_view>

namespace rooftile::profile {

/// A launch, or a kernel of a summary, in text mode.
bool is_launch_line(std::string_view line);

/// The counter behind a printed metric: the name itself when it is one ("dram__bytes.sum", also
/// inside "DRAM Bytes (dram__bytes.sum)"), else the counter of a known label; nothing otherwise.
std::optional<std::string_view> ncu_counter(std::string_view section, std::string_view metric);

/// True for names of the form "unit__counter".
bool looks_like_counter(std::string_view name);

}  // namespace rooftile::profile
