// SPDX-License-Identifier: Apache-2.0
//
// What the catalogue's checks know about instruction sets and memories, against a committed table:
// also of those that no shipped GPU has yet.
#include "hardware/arch_limits.h"
#include "hardware/arch_table.h"
#include "regression/table.h"

namespace rooftile::hardware {
namespace {

constexpr const char* kTable = "tests/regression/architectures.csv";

std::string optional_text(const std::optional<std::int64_t>& value) {
  return value ? std::to_string(*value) : "";
}

testing::Table table_now() {
  testing::Table table{.path = kTable, .columns = {"of", "property", "value"}, .rows = {}};
  const auto add = [&](std::string_view of, std::string_view property, std::string value) {
    if (!value.empty()) {
      table.rows.push_back({std::string(of), std::string(property), std::move(value)});
    }
  };
  for (const ArchLimits& arch : known_architectures()) {
    add(arch.isa, "architecture", std::string(arch.architecture));
    add(arch.isa, "registers", optional_text(arch.registers));
    add(arch.isa, "max_threads", optional_text(arch.max_threads));
    add(arch.isa, "max_blocks", optional_text(arch.max_blocks));
    add(arch.isa, "l2_least_mib", testing::number_text(arch.l2_least_mib));
    add(arch.isa, "l2_most_mib", testing::number_text(arch.l2_most_mib));
    for (const Pipe pipe : {Pipe::Vector, Pipe::Tensor}) {
      for (const DType dtype : kAllDTypes) {
        const RateKey key{.dtype = dtype, .pipe = pipe};
        const auto rate = arch_flop_per_clock(arch.isa, key);
        if (rate) add(arch.isa, name_of(key), testing::number_text(*rate));
      }
    }
  }
  for (const DramType& type : known_dram_types()) {
    add(type.name, "least_gbit", testing::number_text(type.least_gbit));
    add(type.name, "most_gbit", testing::number_text(type.most_gbit));
    add(type.name, "device_bits", std::to_string(type.device_bits));
    add(type.name, "least_gb", testing::number_text(type.least_gb));
    add(type.name, "most_gb", testing::number_text(type.most_gb));
  }
  return table;
}

TEST(Architectures, AreThoseOfTheTable) {
  testing::compare_whole_table(table_now());
}

}  // namespace
}  // namespace rooftile::hardware
