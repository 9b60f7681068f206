// SPDX-License-Identifier: Apache-2.0
//
// Every file in data/architectures and data/memory_types, and that the GPU files fit to them.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "hardware/lint.h"
#include "hardware/load.h"

namespace rooftile::hardware {
namespace {

TEST(ShippedArchitectures, AllLoadAndLintClean) {
  const Catalog catalog = Catalog::embedded();
  const auto list = list_architectures(catalog);
  ASSERT_TRUE(list) << to_string(list.error());
  EXPECT_GE(list->size(), 19U);
  for (const Architecture& arch : *list) {
    EXPECT_EQ(arch.file, "catalog:architectures/" + arch.isa + ".json");
    for (const LintFinding& finding : lint(arch)) {
      ADD_FAILURE() << arch.isa << ": " << finding.rule << " " << finding.pointer << ": "
                    << finding.message;
    }
    EXPECT_EQ(arch.counters.has_value(), arch.vendor != Vendor::Intel) << arch.isa;
    const auto vendor = vendor_of_isa(arch.isa);
    EXPECT_TRUE(!vendor || *vendor == arch.vendor) << arch.isa;
  }
}

TEST(ShippedArchitectures, EachIsThatOfAShippedGpu) {
  const auto gpus = list_gpus(Catalog::embedded());
  ASSERT_TRUE(gpus) << to_string(gpus.error());
  std::set<std::string> used;
  for (const GpuSpec& gpu : *gpus) {
    EXPECT_EQ(gpu.arch.isa, gpu.isa);
    EXPECT_TRUE(gpu.dram.known) << gpu.id << ": " << gpu.dram.type;
    used.insert(gpu.isa);
  }
  for (const std::string& isa : architecture_names(Catalog::embedded())) {
    EXPECT_TRUE(used.contains(isa)) << isa;
  }
}

// Lanes that a scheduler feeds per clock: 32 on Maxwell, Pascal, and from compute capability 8.6
// on; 16 on Volta, Turing and the A100.
TEST(ShippedArchitectures, SchedulersFeedTheLanesThatTheWhitePapersSay) {
  const auto lanes = [](const char* isa) {
    const auto arch = load_architecture(Catalog::embedded(), isa).value();
    return arch.sm.flop_per_clock.at({DType::Fp32, Pipe::Vector}) / 2.0 /
           static_cast<double>(arch.sm.schedulers);
  };
  for (const char* isa : {"5.2", "6.0", "6.1", "8.6", "8.9", "9.0", "10.0", "10.3", "12.0"}) {
    EXPECT_EQ(lanes(isa), 32) << isa;
  }
  for (const char* isa : {"7.0", "7.5", "8.0", "gfx906", "gfx90a", "PVC", "BMG"}) {
    EXPECT_EQ(lanes(isa), 16) << isa;
  }
}

TEST(ShippedMemoryTypes, AllLoad) {
  const Catalog catalog = Catalog::embedded();
  const auto names = memory_type_names(catalog);
  EXPECT_GE(names.size(), 12U);
  for (const std::string& name : names) {
    const auto type = find_memory_type(catalog, name);
    ASSERT_TRUE(type) << to_string(type.error());
    EXPECT_EQ((*type)->kind, name.starts_with("HBM") ? "hbm" : "gddr") << name;
  }
}

}  // namespace
}  // namespace rooftile::hardware
