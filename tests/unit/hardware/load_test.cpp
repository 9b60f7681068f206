// SPDX-License-Identifier: Apache-2.0
#include "hardware/load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "hardware/minimal_gpu.h"
#include "temporary_folder.h"

namespace rooftile::hardware {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string failure(const std::string& text) {
  const auto gpu = parse_gpu(text, "x.json", minimal_catalog());
  return gpu ? "no error" : to_string(gpu.error());
}

TEST(ParseGpu, ReadsEveryField) {
  const auto gpu = parse_gpu(minimal_gpu(), "x.json", minimal_catalog());
  ASSERT_TRUE(gpu) << to_string(gpu.error());
  EXPECT_EQ(gpu->id, "test-gpu");
  EXPECT_EQ(gpu->name, "Acme Test GPU 10GB");
  EXPECT_EQ(gpu->aliases, std::vector<std::string>{"Tester"});
  EXPECT_EQ(gpu->vendor, Vendor::Other);
  EXPECT_EQ(gpu->year, 2020);
  EXPECT_DOUBLE_EQ(gpu->clock.boost.base(), 1e9);
  EXPECT_FALSE(gpu->clock.base);
  EXPECT_EQ(gpu->sm.count, 10);
  EXPECT_DOUBLE_EQ(gpu->sm.shared->base(), 64 * 1024);
  EXPECT_DOUBLE_EQ(gpu->sm.flop_per_clock.at({DType::Bf16, Pipe::Tensor}), 1024);
  EXPECT_TRUE(gpu->l1.includes_shared);
  EXPECT_DOUBLE_EQ(gpu->l1.bandwidth_per_sm->base(), 128);
  EXPECT_DOUBLE_EQ(gpu->l2.size->base(), 4 * 1048576.0);
  EXPECT_FALSE(gpu->last_level);
  EXPECT_EQ(gpu->dram.type, "HBM2");
  EXPECT_EQ(gpu->dram.bus_bits, 1024);
  EXPECT_DOUBLE_EQ(*gpu->dram.gbit_per_pin, 2.0);
  EXPECT_DOUBLE_EQ(gpu->dram.bandwidth->base(), 256e9);
  EXPECT_DOUBLE_EQ(gpu->peak.at({DType::Fp32, Pipe::Vector}).base(), 1.28e12);
  EXPECT_DOUBLE_EQ(gpu->measured.l2_read->base(), 800e9);
  EXPECT_DOUBLE_EQ(gpu->pcie->per_direction.base(), 15.75e9);
  EXPECT_FALSE(gpu->interconnect);
  EXPECT_DOUBLE_EQ(*gpu->power_watt, 100);
  EXPECT_EQ(gpu->file, "x.json");
}

TEST(ParseGpu, RefusesUnknownKeysWithTheNearestOne) {
  EXPECT_THAT(failure(edited("\"count\"", "\"cout\"")), HasSubstr("count"));
  EXPECT_THAT(failure(edited("\"fp32\": \"1.28 TFLOP/s\"", "\"fp23\": \"1.28 TFLOP/s\"")),
              HasSubstr("x.json:/peak/fp23: unknown rate \"fp23\""));
  EXPECT_THAT(failure(edited("\"bandwidth_per_sm\"", "\"bandwith_per_sm\"")),
              HasSubstr("bandwidth_per_sm"));
}

TEST(ParseGpu, WantsUnitsAndValuesAboveZero) {
  EXPECT_THAT(failure(edited("\"256 GB/s\"", "\"256\"")),
              StartsWith("error: x.json:/memory/dram/bandwidth: \"256\" has no unit"));
  EXPECT_THAT(failure(edited("\"256 GB/s\"", "\"256 GB\"")), HasSubstr("unknown unit \"GB\""));
  EXPECT_THAT(failure(edited("\"256 GB/s\"", "\"0 GB/s\"")), HasSubstr("leave out"));
  EXPECT_THAT(failure(edited("\"100 W\"", "\"100\"")), HasSubstr("write for example \"300 W\""));
  EXPECT_THAT(failure(edited("\"2 Gbit/s\"", "\"-2 Gbit/s\"")),
              HasSubstr("/memory/dram/data_rate"));
  EXPECT_THAT(failure(edited("\"count\": 10", "\"count\": 0")), HasSubstr("/sm/count"));
  EXPECT_THAT(failure(edited("\"count\": 10", "\"count\": 1e30")), HasSubstr("/sm/count"));
}

TEST(ParseGpu, CountsBeginAtOne) {
  const auto one =
      parse_gpu(edited("\"max_blocks\": 16", "\"max_blocks\": 1"), "x.json", minimal_catalog());
  ASSERT_TRUE(one) << to_string(one.error());
  EXPECT_EQ(one->sm.max_blocks, 1);
  EXPECT_FALSE(
      parse_gpu(edited("\"max_blocks\": 16", "\"max_blocks\": 0"), "x.json", minimal_catalog()));
  EXPECT_TRUE(parse_gpu(edited("\"max_blocks\": 16", "\"max_blocks\": 16777216"), "x.json",
                        minimal_catalog()));
  EXPECT_FALSE(parse_gpu(edited("\"max_blocks\": 16", "\"max_blocks\": 16777217"), "x.json",
                         minimal_catalog()));
}

TEST(ParseGpu, RefusesNumbersWithoutASource) {
  EXPECT_THAT(failure(edited("\"/clock\": \"paper\",", "")),
              StartsWith("error: x.json:/sources: no source for /clock/boost"));
  EXPECT_THAT(failure(edited("\"/clock\": \"paper\"", "\"/clock\": \" \"")), HasSubstr("empty"));
  EXPECT_THAT(failure(edited("\"/clock\": \"paper\"", "\"/clok\": \"paper\"")),
              HasSubstr("did you mean \"/clock\"?"));
  // The empty pointer is the whole file.
  EXPECT_EQ(failure(edited("\"/clock\": \"paper\"", "\"\": \"paper\"")), "no error");
}

TEST(ParseGpu, RefusesOtherSchemasAndBadIds) {
  EXPECT_THAT(failure(edited("\"schema\": 1", "\"schema\": 2")), HasSubstr("schema 2"));
  EXPECT_THAT(failure(edited("\"test-gpu\"", "\"Test GPU\"")),
              HasSubstr("\"Test GPU\" is not a valid id"));
  EXPECT_THAT(failure("[]"), HasSubstr("x.json"));
  EXPECT_THAT(failure("{"), HasSubstr("not valid JSON"));
  EXPECT_THAT(failure(""), HasSubstr("x.json"));
}

TEST(ParseGpu, RefusesNamesThatWouldReachTheTerminal) {
  EXPECT_THAT(failure(edited("Acme Test GPU 10GB", "Acme \\u001b[31m GPU")),
              HasSubstr("has control characters"));
}

TEST(ParseGpu, WantsAReasonForAnAllowance) {
  EXPECT_THAT(failure(edited("\"power\": \"100 W\"",
                             "\"power\": \"100 W\", \"lint\": {\"allow\": {\"power\": \"\"}}")),
              HasSubstr("needs a reason"));
}

TEST(ParseGpu, ASiblingIsOfANumberThatIsThere) {
  const auto with = [](const char* sibling) {
    return failure(edited("\"latency_clock\"",
                          std::string("\"sibling\": ") + sibling + ", \"latency_clock\""));
  };
  EXPECT_EQ(with("{\"l1_per_sm\": \"other-gpu\"}"), "no error");
  EXPECT_THAT(with("{\"dram_read\": \"other-gpu\"}"),
              HasSubstr("known keys are l2_read, l1_per_sm"));
  EXPECT_THAT(failure(edited("\"l2_read\": \"800 GB/s\"", "\"sibling\": {\"l2_read\": \"x\"}")),
              HasSubstr("there is no /measured/l2_read"));
}

Catalog two_gpus() {
  Catalog catalog = bare_catalog();
  catalog.add("gpus/acme_test_gpu_10gb.json", minimal_gpu());
  std::string other = edited("\"test-gpu\"", "\"other-gpu\"");
  other.replace(other.find("Acme Test GPU 10GB"), 18, "Acme Other GPU 9GB");
  other.replace(other.find("[\"Tester\"]"), 10, "[\"Tesla V9-PCIE\"]");
  catalog.add("gpus/acme_other_gpu_9gb.json", other);
  return catalog;
}

TEST(LoadGpu, FindsIdsAliasesAndNamesInAnyCaseAndSpacing) {
  const Catalog catalog = two_gpus();
  for (const char* name : {"test-gpu", "TEST_GPU", "Test GPU", "tester", "acme test gpu 10gb"}) {
    const auto gpu = load_gpu(catalog, name);
    ASSERT_TRUE(gpu) << name << ": " << to_string(gpu.error());
    EXPECT_EQ(gpu->id, "test-gpu") << name;
    EXPECT_EQ(gpu->file, "catalog:gpus/acme_test_gpu_10gb.json");
  }
  for (const char* name : {"V9 PCIe", "NVIDIA Tesla V9-PCIE", "tesla_v9_pcie"}) {
    const auto gpu = load_gpu(catalog, name);
    ASSERT_TRUE(gpu) << name << ": " << to_string(gpu.error());
    EXPECT_EQ(gpu->id, "other-gpu") << name;
  }
}

TEST(LoadGpu, UnknownNamesGetSuggestions) {
  const Catalog catalog = two_gpus();
  const auto typo = load_gpu(catalog, "tost-gpu");
  ASSERT_FALSE(typo);
  EXPECT_EQ(typo.error().message, "unknown GPU \"tost-gpu\"");
  EXPECT_EQ(typo.error().hint, "did you mean \"test-gpu\"?");
  const auto part = load_gpu(catalog, "gpu");
  ASSERT_FALSE(part);
  EXPECT_EQ(part.error().hint, "did you mean other-gpu, test-gpu?");
  const auto far = load_gpu(catalog, "zzzzzzzzzz");
  ASSERT_FALSE(far);
  EXPECT_THAT(far.error().hint, HasSubstr("rooftile gpus"));
  EXPECT_FALSE(load_gpu(catalog, ""));
  EXPECT_FALSE(load_gpu(catalog, "---"));
}

TEST(LoadGpu, ANameWithTwoOwnersIsAnError) {
  Catalog catalog = two_gpus();
  catalog.add("gpus/copy.json", minimal_gpu());
  const auto gpu = load_gpu(catalog, "test-gpu");
  ASSERT_FALSE(gpu);
  EXPECT_THAT(gpu.error().message, HasSubstr("gpus/acme_test_gpu_10gb.json and gpus/copy.json"));
}

TEST(LoadGpu, AUsersFileWinsUnderAnyFileName) {
  const rooftile::testing::TemporaryFolder folder;
  folder.write("gpus/mine.json", edited("\"power\": \"100 W\"", "\"power\": \"90 W\""));
  Catalog catalog = two_gpus();
  ASSERT_TRUE(catalog.overlay(folder.path().string()));
  for (const char* name : {"test-gpu", "tester"}) {
    const auto gpu = load_gpu(catalog, name);
    ASSERT_TRUE(gpu) << to_string(gpu.error());
    EXPECT_EQ(gpu->power_watt, 90.0) << name;
    EXPECT_EQ(gpu->input.origin, "overlay");
    EXPECT_EQ(gpu->input.file, folder.file("gpus/mine.json"));
    EXPECT_EQ(gpu->input.replaces, "catalog:gpus/acme_test_gpu_10gb.json");
  }
  const auto by_path = load_gpu(catalog, folder.file("gpus/mine.json"));
  ASSERT_TRUE(by_path) << to_string(by_path.error());
  EXPECT_EQ(by_path->input.origin, "file");
  EXPECT_EQ(by_path->input.replaces, "");  // the user asked for this file
  EXPECT_EQ(by_path->input.sha256, load_gpu(catalog, "tester")->input.sha256);
  const auto listed = list_gpus(catalog);
  ASSERT_TRUE(listed);
  EXPECT_EQ(listed->size(), 2u);  // not both files of test-gpu
}

TEST(LoadGpu, ABrokenFileIsReportedUnderItsStem) {
  Catalog catalog = two_gpus();
  catalog.add("gpus/broken.json", "{\"id\": ");
  EXPECT_TRUE(load_gpu(catalog, "test-gpu"));
  const auto gpu = load_gpu(catalog, "broken");
  ASSERT_FALSE(gpu);
  EXPECT_THAT(to_string(gpu.error()), HasSubstr("not valid JSON"));
  EXPECT_FALSE(list_gpus(catalog));
}

TEST(LoadGpu, NamesOfDriversAreKnown) {
  const Catalog catalog = Catalog::embedded();
  for (const auto& [name, id] : {std::pair("AMD Instinct MI250X/MI250", "mi250"),
                                 std::pair("AMD INSTINCT MI250 (MCM) OAM AC MBA", "mi250"),
                                 std::pair("AMD Instinct MI300X OAM", "mi300x"),
                                 std::pair("Tesla V100-PCIE-16GB", "v100-pcie-16gb"),
                                 std::pair("NVIDIA A800-SXM4-80GB", "a800-sxm-80gb")}) {
    const auto gpu = load_gpu(catalog, name);
    ASSERT_TRUE(gpu) << to_string(gpu.error());
    EXPECT_EQ(gpu->id, id);
  }
  // A slash makes no path of a name: the hint is about names.
  const auto unknown = load_gpu(catalog, "AMD Instinct MI999X/MI999");
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message, HasSubstr("unknown GPU"));
}

TEST(LoadGpu, APathIsRead) {
  const auto gpu = load_gpu({}, "no/such/gpu.json");
  ASSERT_FALSE(gpu);
  EXPECT_THAT(to_string(gpu.error()), HasSubstr("no/such/gpu.json"));
}

TEST(GpuNames, Normalized) {
  EXPECT_EQ(normalized_gpu_name("NVIDIA Tesla V100-PCIE-32GB"), "v100pcie32gb");
  EXPECT_EQ(normalized_gpu_name("AMD Instinct MI250"), "mi250");
  EXPECT_EQ(normalized_gpu_name("teslavision"), "teslavision");
  EXPECT_EQ(normalized_gpu_name("nvidia"), "nvidia");
  EXPECT_EQ(gpu_file_stem("NVIDIA GeForce GTX TITAN X (Maxwell) 12GB"),
            "nvidia_geforce_gtx_titan_x_maxwell_12gb");
}

TEST(RateKeys, RoundTrip) {
  for (const DType dtype : kAllDTypes) {
    for (const Pipe pipe : {Pipe::Vector, Pipe::Tensor}) {
      const RateKey key{.dtype = dtype, .pipe = pipe};
      const auto parsed = parse_rate_key(name_of(key));
      ASSERT_TRUE(parsed);
      EXPECT_EQ(*parsed, key);
    }
  }
  EXPECT_EQ(name_of(RateKey{DType::Fp8E4m3, Pipe::Tensor}), "fp8_e4m3_tensor");
  EXPECT_FALSE(parse_rate_key("float32"));
  EXPECT_FALSE(parse_rate_key("_tensor"));
}

TEST(RateKeys, AsErtWritesThem) {
  EXPECT_EQ(parse_ert_rate("GFLOPs"), (RateKey{DType::Fp64, Pipe::Vector}));
  EXPECT_EQ(parse_ert_rate("FP32 GFLOPs"), (RateKey{DType::Fp32, Pipe::Vector}));
  EXPECT_EQ(parse_ert_rate("FP16 TC GFLOPs"), (RateKey{DType::Fp16, Pipe::Tensor}));
  for (const char* other : {"", "FP32", "TC GFLOPs", "FP16 XX GFLOPs", "FP16 TC TC GFLOPs",
                            "FP17 GFLOPs", "FP32 TC GFLOP/s"}) {
    EXPECT_FALSE(parse_ert_rate(other)) << other;
  }
}

}  // namespace
}  // namespace rooftile::hardware
