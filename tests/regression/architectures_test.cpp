// SPDX-License-Identifier: Apache-2.0
//
// What the files say about instruction sets and memories, against a committed table: a slip in one
// of them shows, also where no shipped GPU would notice.
#include "hardware/architecture.h"
#include "hardware/memory_type.h"
#include "regression/table.h"

namespace rooftile::hardware {
namespace {

constexpr const char* kTable = "tests/regression/architectures.csv";
constexpr double kMiB = 1024.0 * 1024.0;

using Add = std::function<void(std::string_view of, std::string_view property, std::string value)>;

std::string optional_text(const std::optional<std::int64_t>& value) {
  return value ? std::to_string(*value) : "";
}

void add_sm(const Architecture& arch, const Add& add) {
  add(arch.isa, "architecture", arch.name);
  add(arch.isa, "vendor", std::string(name_of(arch.vendor)));
  add(arch.isa, "warp_size", std::to_string(arch.sm.warp_size));
  add(arch.isa, "schedulers", std::to_string(arch.sm.schedulers));
  add(arch.isa, "registers", optional_text(arch.sm.registers));
  add(arch.isa, "max_threads", optional_text(arch.sm.max_threads));
  add(arch.isa, "max_blocks", optional_text(arch.sm.max_blocks));
  for (const Pipe pipe : {Pipe::Vector, Pipe::Tensor}) {
    for (const DType dtype : kAllDTypes) {
      const auto rate = arch.sm.flop_per_clock.find({.dtype = dtype, .pipe = pipe});
      if (rate != arch.sm.flop_per_clock.end())
        add(arch.isa, name_of(rate->first), testing::number_text(rate->second));
    }
  }
}

void add_rest(const Architecture& arch, const Add& add) {
  const auto flag = [](bool value) { return std::string(value ? "yes" : "no"); };
  add(arch.isa, "sector_bytes", testing::number_text(arch.memory.sector.base()));
  add(arch.isa, "line_bytes", testing::number_text(arch.memory.line.base()));
  if (arch.memory.l1)
    add(arch.isa, "l1_kib", testing::number_text(arch.memory.l1->base() / 1024.0));
  if (arch.memory.l2) {
    add(arch.isa, "l2_least_mib", testing::number_text(arch.memory.l2->least.base() / kMiB));
    add(arch.isa, "l2_most_mib", testing::number_text(arch.memory.l2->most.base() / kMiB));
  }
  add(arch.isa, "kernel_family", arch.library.kernel_family);
  add(arch.isa, "one_winograd_shape", flag(arch.library.one_winograd_shape));
  add(arch.isa, "winograd_filter_gradient", flag(arch.library.winograd_filter_gradient));
  add(arch.isa, "cluster", testing::number_text(static_cast<double>(arch.library.cluster)));
  if (arch.sm.exponentials_per_clock)
    add(arch.isa, "exponentials_per_clock", testing::number_text(*arch.sm.exponentials_per_clock));
  if (const auto& attention = arch.library.attention) {
    add(arch.isa, "attention_family", attention->family);
    add(arch.isa, "attention_rows", testing::number_text(static_cast<double>(attention->rows)));
    add(arch.isa, "attention_granule",
        testing::number_text(static_cast<double>(attention->granule)));
    add(arch.isa, "attention_packs_groups", flag(attention->packs_groups));
    add(arch.isa, "attention_split_numbers",
        testing::number_text(static_cast<double>(attention->split_numbers)));
    add(arch.isa, "attention_splits_windows", flag(attention->splits_windows));
  }
  if (!arch.counters) return;
  add(arch.isa, "tool", std::string(name_of(arch.counters->tool)));
  if (const auto flop = arch.counters->tensor_instruction_flop)
    add(arch.isa, "tensor_instruction_flop", testing::number_text(*flop));
  if (const auto request = arch.counters->request)
    add(arch.isa, "request_bytes", testing::number_text(request->base()));
}

testing::Table table_now() {
  testing::Table table{.path = kTable, .columns = {"of", "property", "value"}, .rows = {}};
  const Add add = [&](std::string_view of, std::string_view property, std::string value) {
    if (!value.empty()) {
      table.rows.push_back({std::string(of), std::string(property), std::move(value)});
    }
  };
  const Catalog catalog = Catalog::embedded();
  const auto architectures = list_architectures(catalog).value();
  for (const Architecture& arch : architectures) {
    add_sm(arch, add);
    add_rest(arch, add);
  }
  for (const std::string& name : memory_type_names(catalog)) {
    const MemoryType type = find_memory_type(catalog, name).value().value();
    add(name, "kind", type.kind);
    add(name, "least_gbit", testing::number_text(type.least_gbit));
    add(name, "most_gbit", testing::number_text(type.most_gbit));
    add(name, "device_bits", std::to_string(type.device_bits));
    add(name, "least_gb", testing::number_text(type.least_gb));
    add(name, "most_gb", testing::number_text(type.most_gb));
  }
  return table;
}

TEST(Architectures, AreThoseOfTheTable) {
  testing::compare_whole_table(table_now());
}

}  // namespace
}  // namespace rooftile::hardware
