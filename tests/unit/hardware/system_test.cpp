// SPDX-License-Identifier: Apache-2.0
#include "hardware/system.h"

#include <gtest/gtest.h>

#include "hardware/load.h"

namespace rooftile::hardware {
namespace {

constexpr const char* kSystem = R"({
  "schema": 1, "name": "Test Box", "id": "box", "gpu": "t4", "gpus": 4,
  "link": { "kind": "pcie", "name": "PCIe 3.0 x16", "per_direction": "15.75 GB/s" },
  "network": { "name": "Ethernet", "per_direction": "8 GB/s" },
  "sources": { "": "made up" } })";

std::string changed(std::string text, const std::string& from, const std::string& to) {
  text.replace(text.find(from), from.size(), to);
  return text;
}

std::string message(const std::string& text) {
  const auto system = parse_system(text, "x.json");
  EXPECT_FALSE(system);
  return system ? "" : system.error().where + ": " + system.error().message;
}

TEST(System, LinksOfGroups) {
  const auto system = parse_system(kSystem, "x.json");
  ASSERT_TRUE(system) << to_string(system.error());
  EXPECT_EQ(link_of(*system, 4)->kind, LinkKind::Pcie);
  EXPECT_NEAR(link_of(*system, 4)->per_direction.base(), 15.75e9, 1);
  EXPECT_EQ(link_of(*system, 5)->kind, LinkKind::Network);
  EXPECT_NEAR(link_of(*system, 5)->per_direction.base(), 2e9, 1);  // 8 GB/s for four GPUs
}

TEST(System, Errors) {
  EXPECT_EQ(message(changed(kSystem, "\"gpus\": 4", "\"gpus\": 0")),
            "x.json:/gpus: 0 is outside of 1 to 1024");
  EXPECT_EQ(message(changed(kSystem, "\"pcie\"", "\"pci\"")),
            "x.json:/link/kind: unknown kind \"pci\"");
  EXPECT_EQ(message(changed(kSystem, "15.75", "31.5")),
            "x.json:/link/per_direction: \"PCIe 3.0 x16\" gives 15.75 GB/s in one direction, the "
            "file says 31.5: the sum of both directions?");
  EXPECT_EQ(message(changed(kSystem, "{ \"\": \"made up\" }", "{ \"/link\": \"made up\" }")),
            "x.json:/sources: no source for /gpus");
  EXPECT_EQ(message(changed(kSystem, "\"network\"", "\"net\"")),
            "x.json:/net: unknown key \"net\"");
}

TEST(System, UnknownNamesSuggest) {
  const auto system = load_system(Catalog::embedded(), "dgx-h10");
  ASSERT_FALSE(system);
  EXPECT_EQ(system.error().message, "unknown system \"dgx-h10\"");
  EXPECT_NE(system.error().hint.find("dgx-h100"), std::string::npos);
}

TEST(System, ABridgeJoinsTwo) {
  const auto gpu = load_gpu(Catalog::embedded(), "a100-pcie-40gb");
  ASSERT_TRUE(gpu);
  EXPECT_EQ(system_of(*gpu, 2)->kind, LinkKind::Fabric);
  EXPECT_EQ(system_of(*gpu, 4)->kind, LinkKind::Pcie);
}

TEST(System, ShippedFilesAgreeWithTheirGpus) {
  const auto systems = list_systems(Catalog::embedded());
  ASSERT_TRUE(systems) << to_string(systems.error());
  EXPECT_GE(systems->size(), 8U);
  for (const SystemSpec& system : *systems) {
    if (!system.gpu) continue;
    const auto gpu = load_gpu(Catalog::embedded(), *system.gpu);
    ASSERT_TRUE(gpu) << system.id;
    EXPECT_EQ(gpu->id, *system.gpu);
    ASSERT_TRUE(gpu->interconnect) << system.id;
    EXPECT_EQ(gpu->interconnect->per_direction, system.link.per_direction) << system.id;
  }
}

}  // namespace
}  // namespace rooftile::hardware
