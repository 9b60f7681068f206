// SPDX-License-Identifier: Apache-2.0
//
// Every file in data/gpus, and every device name that measured data is known to use.
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "core/csv.h"
#include "core/json.h"
#include "hardware/lint.h"
#include "hardware/load.h"
#include "shared_data.h"

namespace rooftile::hardware {
namespace {

namespace fs = std::filesystem;

std::vector<GpuSpec> shipped() {
  auto gpus = list_gpus(Catalog::embedded());
  EXPECT_TRUE(gpus) << to_string(gpus.error());
  return gpus ? *std::move(gpus) : std::vector<GpuSpec>{};
}

TEST(ShippedGpus, AllLoadAndCoverTheGenerations) {
  const auto gpus = shipped();
  EXPECT_GE(gpus.size(), 55U);
  std::set<std::string> architectures;
  for (const GpuSpec& gpu : gpus) architectures.insert(gpu.architecture);
  for (const char* wanted : {"maxwell", "pascal", "volta", "turing", "ampere", "ada", "hopper",
                             "blackwell", "cdna1", "cdna2", "cdna3", "cdna4", "xe_hpc"}) {
    EXPECT_TRUE(architectures.contains(wanted)) << wanted;
  }
}

TEST(ShippedGpus, AllLintClean) {
  for (const GpuSpec& gpu : shipped()) {
    for (const LintFinding& finding : lint(gpu)) {
      EXPECT_TRUE(finding.allowed)
          << gpu.id << ": " << finding.rule << " " << finding.pointer << ": " << finding.message;
    }
  }
}

TEST(ShippedGpus, FileNamesFollowTheName) {
  for (const GpuSpec& gpu : shipped()) {
    EXPECT_EQ(gpu.file, "catalog:gpus/" + gpu_file_stem(gpu.name) + ".json");
  }
}

TEST(ShippedGpus, NamesAreUniqueAndResolve) {
  const Catalog catalog = Catalog::embedded();
  std::map<std::string, std::string> owner;
  for (const GpuEntry& entry : gpu_entries(catalog)) {
    std::vector<std::string> names = entry.aliases;
    names.push_back(entry.id);
    names.push_back(entry.name);
    for (const std::string& name : names) {
      const auto [it, fresh] = owner.emplace(normalized_gpu_name(name), entry.file);
      // The id and the full name of one file may be the same word ("p100-pcie-16gb").
      EXPECT_TRUE(fresh || it->second == entry.file)
          << name << " of " << entry.file << " is taken by " << it->second;
      const auto gpu = load_gpu(catalog, name);
      ASSERT_TRUE(gpu) << name << ": " << to_string(gpu.error());
      EXPECT_EQ(gpu->id, entry.id) << name;
    }
  }
}

TEST(ShippedGpus, HeadsAgreeWithTheParser) {
  const Catalog catalog = Catalog::embedded();
  std::map<std::string, GpuSpec> by_id;
  for (GpuSpec& gpu : shipped()) by_id.emplace(gpu.id, std::move(gpu));
  for (const GpuEntry& entry : gpu_entries(catalog)) {
    ASSERT_TRUE(by_id.contains(entry.id)) << entry.file;
    EXPECT_EQ(by_id.at(entry.id).name, entry.name);
    EXPECT_EQ(by_id.at(entry.id).aliases, entry.aliases);
  }
}

/// Names in device queries, in NeuSight's, DeepBench's and AIConfigurator's data, and as typed.
constexpr std::array<std::pair<const char*, const char*>, 47> kNames{{
    {"AMD Instinct MI100", "mi100"},
    {"AMD Instinct MI210", "mi210"},
    {"AMD Instinct MI250", "mi250"},
    {"AMD_Instinct_MI250", "mi250"},
    {"NVIDIA A100-PCIE-40GB", "a100-pcie-40gb"},
    {"NVIDIA A100-SXM4-40GB", "a100-sxm-40gb"},
    {"NVIDIA A100-SXM4-80GB", "a100-sxm-80gb"},
    {"NVIDIA A100 80GB PCIe", "a100-pcie-80gb"},
    {"NVIDIA_A100_80GB_PCIe", "a100-pcie-80gb"},
    {"NVIDIA H100 80GB HBM3", "h100-sxm"},
    {"NVIDIA H100 PCIe", "h100-pcie"},
    {"NVIDIA H100 NVL", "h100-nvl"},
    {"NVIDIA H200", "h200-sxm"},
    {"NVIDIA L4", "l4"},
    {"NVIDIA L40S", "l40s"},
    {"Tesla P100-PCIE-16GB", "p100-pcie-16gb"},
    {"Tesla P100-SXM2-16GB", "p100-sxm2-16gb"},
    {"Tesla P4", "p4"},
    {"Tesla T4", "t4"},
    {"Tesla V100-PCIE-32GB", "v100-pcie-32gb"},
    {"Tesla V100-SXM2-16GB", "v100-sxm2-16gb"},
    {"V100-SXM2-16GB", "v100-sxm2-16gb"},
    {"P100", "p100-pcie-16gb"},
    {"V100", "v100-sxm2-16gb"},
    {"TitanXp", "titan-xp"},
    {"TITANXp", "titan-xp"},
    {"TitanX_Pascal", "titan-x-pascal"},
    {"TITAN X Pascal", "titan-x-pascal"},
    {"TitanX", "titan-x-maxwell"},
    {"M40", "m40"},
    {"a100_sxm", "a100-sxm-80gb"},
    {"a100_pcie", "a100-pcie-80gb"},
    {"h100_sxm", "h100-sxm"},
    {"h200_sxm", "h200-sxm"},
    {"b200_sxm", "b200-sxm"},
    {"gb200", "gb200"},
    {"gb300", "gb300"},
    {"l40s", "l40s"},
    {"b60", "arc-pro-b60"},
    {"H100", "h100-sxm"},
    {"NVIDIA GeForce RTX 4090", "rtx-4090"},
    {"GeForce RTX 3090", "rtx-3090"},
    {"RTX 5090", "rtx-5090"},
    {"AMD Instinct MI300X", "mi300x"},
    {"AMD Instinct MI355X", "mi355x"},
    {"mi250-board", "mi250-board"},
    {"MI250X", "mi250x"},
}};

TEST(ShippedGpus, KnownDeviceNamesResolve) {
  const Catalog catalog = Catalog::embedded();
  for (const auto& [name, id] : kNames) {
    const auto gpu = load_gpu(catalog, name);
    ASSERT_TRUE(gpu) << to_string(gpu.error());
    EXPECT_EQ(gpu->id, id) << name;
  }
}

TEST(ShippedGpus, SiblingsHaveTheSameSmOrChip) {
  std::map<std::string, GpuSpec> by_id;
  for (GpuSpec& gpu : shipped()) by_id.emplace(gpu.id, std::move(gpu));
  std::size_t count = 0;
  for (const auto& [id, gpu] : by_id) {
    for (const auto& [key, sibling] : gpu.measured.sibling) {
      ASSERT_TRUE(by_id.contains(sibling)) << id << ": " << sibling;
      const GpuSpec& other = by_id.at(sibling);
      EXPECT_NE(id, sibling);
      EXPECT_EQ(gpu.isa, other.isa) << id;
      EXPECT_FALSE(other.measured.sibling.contains(key)) << id << ": of a sibling's sibling";
      if (key == "l1_per_sm") {
        EXPECT_EQ(gpu.measured.l1_per_sm, other.measured.l1_per_sm) << id;
      } else {
        ASSERT_TRUE(other.measured.l2_read) << id;
        // "Aldebaran (1 GCD)" is the die of "Aldebaran".
        EXPECT_EQ(gpu.chip.substr(0, gpu.chip.find(" (")),
                  other.chip.substr(0, other.chip.find(" (")))
            << id;
      }
      ++count;
    }
  }
  EXPECT_GE(count, 39U);
}

TEST(ShippedGpus, Mi250IsOneDie) {
  const auto gpu = load_gpu(Catalog::embedded(), "mi250");
  ASSERT_TRUE(gpu);
  EXPECT_EQ(gpu->sm.count, 104);
  EXPECT_DOUBLE_EQ(gpu->dram.size->base(), 64e9);
  EXPECT_DOUBLE_EQ(gpu->peak.at({DType::Fp32, Pipe::Tensor}).base(), 45.3e12);
}

std::set<std::string> devices_in(const fs::path& file, std::string_view column) {
  std::set<std::string> devices;
  auto csv = CsvReader::open(file.string(), {});
  EXPECT_TRUE(csv);
  const auto header = CsvHeader::read(*csv);
  EXPECT_TRUE(header);
  const auto index = header->find(column);
  if (!index) return devices;
  while (csv->next().value_or(false)) devices.emplace((*csv)[*index]);
  return devices;
}

TEST(SharedData, EveryDeviceResolves) {
  if (!rooftile::testing::has_shared_data("neusight/devices"))
    GTEST_SKIP() << "measured data not found: set ROOFTILE_DATA to its folder";
  const fs::path data = rooftile::testing::shared_data();
  std::set<std::string> devices;
  for (const char* column : {"device", "gpu"}) {
    for (const char* file :
         {"neusight/labels.csv", "neusight/labels_per_node.csv", "neusight/nvidia/softmax.csv",
          "neusight/nvidia/conv.csv", "neusight/amd/softmax.csv", "deepbench/conv.csv",
          "delta/lru_reference.csv"}) {
      devices.merge(devices_in(data / file, column));
    }
  }
  for (const auto& entry : fs::directory_iterator(data / "neusight/devices")) {
    std::ifstream in(entry.path());
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const auto document = JsonDocument::parse(text, entry.path().string());
    ASSERT_TRUE(document);
    devices.insert(document->root().at("Device")->string().value_or(""));
  }
  for (const auto& entry : fs::directory_iterator(data / "aiconfigurator")) {
    const std::string stem = entry.path().stem().string();
    if (stem.starts_with("gemm_")) devices.insert(stem.substr(5));
  }
  EXPECT_GE(devices.size(), 20U);
  const Catalog catalog = Catalog::embedded();
  for (const std::string& device : devices) {
    const auto gpu = load_gpu(catalog, device);
    EXPECT_TRUE(gpu) << to_string(gpu.error());
  }
}

}  // namespace
}  // namespace rooftile::hardware
