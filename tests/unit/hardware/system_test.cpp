// SPDX-License-Identifier: Apache-2.0
#include "hardware/system.h"

#include <gtest/gtest.h>

#include <tuple>

#include "hardware/load.h"
#include "temporary_folder.h"

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

double network_gbps(const GroupLink& link) {
  return link.network ? link.network->per_direction.base() / 1e9 : 0.0;
}

// Nodes of four GPUs that share 8 GB/s of network.
TEST(System, LinksOfGroups) {
  const auto system = parse_system(kSystem, "x.json");
  ASSERT_TRUE(system) << to_string(system.error());
  const auto inside = link_of(*system, {.size = 4, .stride = 1, .stage = 4, .total = 4});
  ASSERT_TRUE(inside);
  EXPECT_EQ(inside->kind, LinkKind::Pcie);
  EXPECT_NEAR(inside->per_direction.base(), 15.75e9, 1);
  EXPECT_EQ(inside->in_node, 4);
  EXPECT_FALSE(inside->network);
  // Eight neighbours fill two nodes: all of their network.
  const auto filled = link_of(*system, {.size = 8, .stride = 1, .stage = 8, .total = 8});
  ASSERT_TRUE(filled && filled->network);
  EXPECT_EQ(filled->in_node, 4);
  EXPECT_EQ(filled->nodes, 2);
  EXPECT_NEAR(network_gbps(*filled), 8.0, 1e-9);
  // Replicas of pairs, two in a node: half of it, and two groups share the node.
  const auto pairs = link_of(*system, {.size = 4, .stride = 2, .stage = 8, .total = 8});
  ASSERT_TRUE(pairs && pairs->network);
  EXPECT_EQ(pairs->in_node, 2);
  EXPECT_NEAR(network_gbps(*pairs), 4.0, 1e-9);
  EXPECT_NEAR(pairs->network->at_most.base(), 4e9, 1);
  // Replicas of nodes: one GPU's share.
  const auto single = link_of(*system, {.size = 2, .stride = 4, .stage = 8, .total = 8});
  ASSERT_TRUE(single && single->network);
  EXPECT_EQ(single->in_node, 1);
  EXPECT_NEAR(network_gbps(*single), 2.0, 1e-9);
  // Groups of four inside their nodes do not care how many nodes there are.
  const auto near = link_of(*system, {.size = 4, .stride = 1, .stage = 16, .total = 16});
  ASSERT_TRUE(near);
  EXPECT_FALSE(near->network);
  // Of groups of three the second one lies in two nodes, with one GPU in the first and two in the
  // second of them.
  const auto across = link_of(*system, {.size = 3, .stride = 1, .stage = 6, .total = 6});
  ASSERT_TRUE(across && across->network);
  EXPECT_EQ(across->in_node, 2);
  EXPECT_NEAR(network_gbps(*across), 2.0, 1e-9);
}

TEST(System, LinksOfStages) {
  const auto system = parse_system(kSystem, "x.json");
  ASSERT_TRUE(system) << to_string(system.error());
  // Stages of two GPUs: every second border is one of nodes, and two GPUs cross it.
  const auto borders = stage_links(*system, 2, 8);
  ASSERT_TRUE(borders);
  ASSERT_EQ(borders->size(), 3U);
  EXPECT_FALSE((*borders)[0].network);
  ASSERT_TRUE((*borders)[1].network);
  EXPECT_FALSE((*borders)[2].network);
  EXPECT_NEAR(network_gbps((*borders)[1]), 2.0, 1e-9);
  EXPECT_NEAR((*borders)[1].network->at_most.base(), 4e9, 1);
}

TEST(System, Errors) {
  EXPECT_EQ(message(changed(kSystem, "\"gpus\": 4", "\"gpus\": 0")),
            "x.json:/gpus: 0 is outside 1 to 1024");
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

TEST(System, RatesAreThoseOfLinks) {
  EXPECT_EQ(message(changed(kSystem, "PCIe 3.0 x16\", \"per_direction\": \"15.75 GB/s",
                            "slots\", \"per_direction\": \"15.75 MB/s")),
            "x.json:/link/per_direction: 15.8 MB/s is not between 1.00 GB/s and 5.00 TB/s; 1000 "
            "times as much would be plausible: wrong prefix?");
  EXPECT_EQ(message(changed(kSystem, "8 GB/s", "8 kB/s")),
            "x.json:/network/per_direction: 8.00 kB/s is not between 100 MB/s and 20.0 TB/s; "
            "1000000 times as much would be plausible: wrong prefix?");
  EXPECT_EQ(message(changed(kSystem, "Ethernet", "8 x NDR InfiniBand 400 Gb/s")),
            "x.json:/network/per_direction: \"8 x NDR InfiniBand 400 Gb/s\" gives 400 GB/s in one "
            "direction, the file says 8");
  EXPECT_EQ(message(changed(changed(kSystem, "Ethernet", "10 Gb/s Ethernet"), "8 GB/s", "10 GB/s")),
            "x.json:/network/per_direction: \"10 Gb/s Ethernet\" gives 1.25 GB/s in one direction, "
            "the file says 10: bits for bytes?");
}

TEST(System, UnknownNamesSuggest) {
  const auto system = load_system(Catalog::embedded(), "dgx-h10");
  ASSERT_FALSE(system);
  EXPECT_EQ(system.error().message, "unknown system \"dgx-h10\"");
  EXPECT_NE(system.error().hint.find("dgx-h100"), std::string::npos);
}

// An overlay wins by id and by alias, also where its file or id comes later in the alphabet.
TEST(System, AUsersSystemWinsAndNamesWhatItReplaces) {
  const rooftile::testing::TemporaryFolder folder;
  const std::string same_id =
      folder.write("systems/z.json", changed(kSystem, "\"box\"", "\"dgx-h100\""));
  const std::string same_alias =
      folder.write("systems/y.json", changed(changed(kSystem, "\"box\"", "\"zbox\""), "\"gpu\"",
                                             "\"aliases\": [\"dgx-a100\"], \"gpu\""));
  Catalog catalog = Catalog::embedded();
  ASSERT_TRUE(catalog.overlay(folder.path().string()));
  for (const auto& [name, file, replaced] :
       {std::tuple("dgx-h100", same_id, "catalog:systems/nvidia_dgx_h100.json"),
        std::tuple("dgx-a100", same_alias, "catalog:systems/nvidia_dgx_a100.json"),
        std::tuple("zbox", same_alias, "")}) {
    const auto system = load_system(catalog, name);
    ASSERT_TRUE(system) << to_string(system.error());
    EXPECT_EQ(system->name, "Test Box") << name;
    EXPECT_EQ(system->input.kind, "system");
    EXPECT_EQ(system->input.origin, "overlay");
    EXPECT_EQ(system->input.file, file);
    EXPECT_EQ(system->input.replaces, replaced);
  }
  EXPECT_EQ(load_system(catalog, "dgx-h200")->input.origin, "embedded");
  EXPECT_EQ(load_system(catalog, same_id)->input.origin, "file");
}

TEST(System, ABridgeJoinsTwo) {
  const Catalog catalog = Catalog::embedded();
  const auto gpu = load_gpu(catalog, "a100-pcie-40gb");
  ASSERT_TRUE(gpu);
  EXPECT_EQ(system_of(catalog, *gpu, 2)->kind, LinkKind::Fabric);
  EXPECT_EQ(system_of(catalog, *gpu, 4)->kind, LinkKind::Pcie);
}

TEST(System, GpusJoinAsManyAsTheirFilesSay) {
  const Catalog catalog = Catalog::embedded();
  for (const auto& [id, most] : {std::pair("h100-sxm", 8), std::pair("gb200", 72),
                                 std::pair("mi300a", 8), std::pair("t4", 8)}) {
    const auto gpu = load_gpu(catalog, id);
    ASSERT_TRUE(gpu) << id;
    EXPECT_TRUE(system_of(catalog, *gpu, most)) << id;
    EXPECT_FALSE(system_of(catalog, *gpu, most + 1)) << id;
  }
  const auto error = system_of(catalog, *load_gpu(catalog, "h100-sxm"), 9).error();
  EXPECT_EQ(error.message,
            "9 GPUs are more than the 8 that the links of one NVIDIA H100 SXM5 80GB connect");
  EXPECT_EQ(error.hint, "say what connects the nodes: --system dgx-h100 or --system FILE");
  EXPECT_EQ(system_of(catalog, *load_gpu(catalog, "t4"), 9).error().hint,
            "say what connects the nodes: --system pcie-3-box or --system FILE");
}

// A file that does not say how many GPUs its links join means those of one host, as the boxes do.
TEST(System, EveryShippedGpuSaysHowManyItJoins) {
  const Catalog catalog = Catalog::embedded();
  const auto gpus = list_gpus(catalog);
  ASSERT_TRUE(gpus);
  for (const GpuSpec& gpu : *gpus) {
    EXPECT_TRUE(!gpu.interconnect || gpu.interconnect->gpus) << gpu.id;
  }
  const auto systems = list_systems(catalog);
  ASSERT_TRUE(systems);
  for (const SystemSpec& system : *systems) {
    EXPECT_TRUE(system.kind != LinkKind::Pcie || system.gpus == 8) << system.id;
  }
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
    EXPECT_EQ(gpu->interconnect->gpus, system.gpus) << system.id;
  }
}

}  // namespace
}  // namespace rooftile::hardware
