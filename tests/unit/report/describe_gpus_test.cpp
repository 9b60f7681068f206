// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "core/text.h"
#include "hardware/lint.h"
#include "hardware/load.h"
#include "hardware/machine.h"
#include "hardware/minimal_gpu.h"
#include "written.h"

namespace rooftile::report {
namespace {

using ::testing::HasSubstr;

std::string gpus_in(std::string_view format, std::span<const hardware::GpuSpec> gpus,
                    const Notes& notes = {}, int width = 100) {
  return write(format, describe(gpus, notes), {.width = width});
}
std::string gpu_in(std::string_view format, const hardware::Machine& machine, int width = 100) {
  return write(format, describe(machine, {}), {.width = width});
}
std::string lint_in(std::string_view format, std::span<const hardware::LintedFile> files) {
  return write(format, describe(files, {}), {});
}

hardware::Machine test_machine() {
  return {.gpu = hardware::parse_gpu(hardware::minimal_gpu(), "x.json", hardware::minimal_catalog())
                     .value(),
          .ceilings = {}};
}

std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  for (const std::string_view line : split(text, '\n')) widest = std::max(widest, line.size());
  return widest;
}

TEST(GpuView, EveryShippedGpuFitsItsTerminal) {
  const auto gpus = hardware::list_gpus(Catalog::embedded()).value();
  for (const int width : {60, 80, 100, 160}) {
    const auto most = static_cast<std::size_t>(width);
    EXPECT_LE(widest_line(gpus_in("text", gpus, {}, width)), most);
    for (const hardware::GpuSpec& gpu : gpus)
      EXPECT_LE(widest_line(gpu_in("text", {.gpu = gpu, .ceilings = {}}, width)), most) << gpu.id;
  }
  for (const hardware::GpuSpec& gpu : gpus) {
    const std::string text = gpu_in("text", {.gpu = gpu, .ceilings = {}});
    EXPECT_THAT(text, HasSubstr(gpu.name));
    const bool int8 = gpu.peak.contains({.dtype = DType::Int8, .pipe = hardware::Pipe::Tensor});
    EXPECT_EQ(text.find("int8_tensor counts OP, not FLOP") != std::string::npos, int8) << gpu.id;
  }
}

TEST(GpuView, TheListHasOneLinePerGpu) {
  const std::vector<hardware::GpuSpec> gpus{test_machine().gpu};
  EXPECT_THAT(gpus_in("text", gpus), HasSubstr("\ntest-gpu  Acme Test GPU 10GB  acme"));
  EXPECT_THAT(
      gpus_in("csv", gpus),
      HasSubstr("\ntest-gpu,Acme Test GPU 10GB,other,acme,2020,10,1000,1.28,10.24,,10.24,HBM2,"
                "10,256,4,100\n"));
  const auto json =
      nlohmann::json::parse(gpus_in("json", gpus, {.provenance = {}, .warnings = {"a warning"}}));
  EXPECT_EQ(json["gpus"][0]["id"], "test-gpu");
  EXPECT_EQ(json["warnings"][0], "a warning");
  EXPECT_EQ(json["gpus"][0]["peak_flop_per_s"]["bf16_tensor"], 10.24e12);
}

TEST(GpuView, OneGpuShowsRidgePointsPerLevelAndSources) {
  const hardware::Machine machine = test_machine();
  const std::string text = gpu_in("text", machine);
  // fp32: 1.28 TFLOP/s over 1280 (L1), 800 (L2), 256 GB/s (DRAM) = 1, 1.6, 5 FLOP/B
  EXPECT_THAT(text, ::testing::ContainsRegex("fp32 +1\\.28  datasheet +128 +- +1/1\\.6/5\n"));
  EXPECT_THAT(text, HasSubstr("9 (88 %)"));  // 9 of 10.24 TFLOP/s
  EXPECT_THAT(text, HasSubstr("/clock: paper"));
  EXPECT_THAT(text, HasSubstr("none of this exists"));
  EXPECT_EQ(text.find('\033'), std::string::npos);
  const auto json = nlohmann::json::parse(gpu_in("json", machine));
  EXPECT_EQ(json["ceilings"]["ridge_flop_per_byte"]["dram"]["bf16_tensor"], 40.0);
  EXPECT_EQ(json["ceilings"]["bandwidth"]["l2"]["from"], "published");
  EXPECT_EQ(json["sources"]["/clock"], "paper");
  EXPECT_FALSE(json["clock"].contains("base_hz"));
  EXPECT_THAT(gpu_in("csv", machine),
              HasSubstr("test-gpu,fp32,1280000000000,datasheet,dram,256000000000,datasheet,5\n"));
}

TEST(GpuView, LintNamesFileRuleAndReason) {
  Catalog catalog = hardware::bare_catalog();
  catalog.add("gpus/a.json", hardware::edited("2 Gbit/s", "2.4 Gbit/s"));
  catalog.add("gpus/b.json", hardware::edited("\"100 W\"",
                                              "\"1 W\", \"lint\": {\"allow\": {\"power\": "
                                              "\"a joke\"}}"));
  catalog.add("gpus/c.json", "{");
  const auto files = hardware::lint_files(catalog, {}).value();
  const std::string text = lint_in("text", files);
  EXPECT_THAT(text,
              HasSubstr("catalog:gpus/a.json:/memory/dram/bandwidth: dram-product: 256 GB/s"));
  EXPECT_THAT(text, HasSubstr("power at /power: a joke"));
  EXPECT_THAT(text, HasSubstr("catalog:gpus/c.json"));
  EXPECT_THAT(text, HasSubstr("5 files, 30 rules: 2 findings, 1 declared exception\n"));
  const auto json = nlohmann::json::parse(lint_in("json", files));
  EXPECT_EQ(json["clean"], false);
  EXPECT_EQ(json["files"][0]["findings"][0]["rule"], "dram-product");
  EXPECT_EQ(json["files"][1]["findings"][0]["allowed"], "a joke");
  EXPECT_EQ(files[0].inputs.at(0).file, "catalog:gpus/a.json");
  EXPECT_THAT(lint_in("csv", files), HasSubstr("unreadable"));
}

}  // namespace
}  // namespace rooftile::report
