// SPDX-License-Identifier: Apache-2.0
//
// What lint finds is said when a file is used: slips of a prefix refuse it, the rest are warnings.
#include "hardware/plausible.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "hardware/load.h"
#include "hardware/minimal_gpu.h"

namespace rooftile::hardware {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

GpuSpec gpu_of(const std::string& text) {
  auto gpu = parse_gpu(text, "x.json", minimal_catalog());
  EXPECT_TRUE(gpu) << to_string(gpu.error());
  return gpu ? *gpu : GpuSpec{};
}

Ceilings ceilings_of(const std::string& values) {
  const auto ceilings = parse_ceilings(
      R"({"schema": 1, "kind": "machine", "device": "d", "tool": "t", "date": "2026-11-15", )" +
          values + "}",
      "m.json");
  EXPECT_TRUE(ceilings) << to_string(ceilings.error());
  return ceilings ? *ceilings : Ceilings{};
}

Result<Machine> loaded(const std::string& text) {
  Catalog catalog = bare_catalog();
  catalog.add("gpus/acme_test_gpu_10gb.json", text);
  return load_machine(catalog, "test-gpu", std::nullopt);
}

TEST(Plausible, TheMinimalGpuSaysNothing) {
  const auto machine = loaded(minimal_gpu());
  ASSERT_TRUE(machine) << to_string(machine.error());
  EXPECT_THAT(warnings_of(*machine), IsEmpty());
}

TEST(Plausible, ASlipOfAPrefixIsRefusedWhereTheFileIsUsed) {
  const auto machine = loaded(edited("256 GB/s", "256 MB/s"));
  ASSERT_FALSE(machine);
  EXPECT_EQ(to_string(machine.error()),
            "error: catalog:gpus/acme_test_gpu_10gb.json:/memory/dram/bandwidth: 256 MB/s is not "
            "between 50.0 GB/s and 40.0 TB/s; 1000 times as much would be plausible: wrong prefix? "
            "(unit-slip)\n"
            "hint: correct the number (rooftile gpus --lint "
            "catalog:gpus/acme_test_gpu_10gb.json shows all findings), or declare the exception "
            "with its reason (docs/format/gpu.md)\n");
}

TEST(Plausible, ADeclaredExceptionIsUsed) {
  std::string text = edited("256 GB/s", "32 TB/s");
  const std::string allow =
      R"("lint": {"allow": {"unit-slip": "it is so", "dram-factor": "it is so", "ridge": "so",)"
      R"( "bandwidth-order": "so", "measured-above-peak": "so", "measured-below-peak": "so"}}, "doubts")";
  text.replace(text.find("\"doubts\""), 8, allow);
  const auto machine = loaded(text);
  ASSERT_TRUE(machine) << to_string(machine.error());
  for (const std::string& warning : warnings_of(*machine)) {
    EXPECT_THAT(warning, HasSubstr("(allowance)"));  // declared and not needed
  }
}

TEST(Plausible, OtherFindingsAreWarnings) {
  const auto machine = loaded(edited("\"1.28 TFLOP/s\"", "\"1.5 TFLOP/s\""));
  ASSERT_TRUE(machine) << to_string(machine.error());
  EXPECT_THAT(warnings_of(*machine),
              ElementsAre("lint: catalog:gpus/acme_test_gpu_10gb.json:/peak/fp32: fp32 is 1.500 "
                          "TFLOP/s; 10 SMs x 128 FLOP/clk x 1000 MHz = 1.280 TFLOP/s (+17.2 %) "
                          "(peak-product)"));
}

TEST(Plausible, CeilingsAreComparedWithTheDataSheet) {
  const GpuSpec gpu = gpu_of(minimal_gpu());
  const auto finding = [&gpu](const std::string& values) -> std::string {
    const auto findings = lint(ceilings_of(values), gpu);
    if (findings.size() != 1) return std::to_string(findings.size()) + " findings";
    return findings[0].rule + " " + findings[0].pointer + ": " + findings[0].message;
  };
  EXPECT_EQ(finding(R"("bandwidth": {"dram": "230 GB/s"}, "rate": {"fp32": "1.2 TFLOP/s"})"),
            "0 findings");
  // 230 MB/s of 256 GB/s, 1.2 GFLOP/s of 1.28 TFLOP/s
  EXPECT_EQ(
      finding(R"("bandwidth": {"dram": "2.30 GB/s"})"),
      "unit-slip /bandwidth/dram: is 0.00898 times the 256.0 GB/s of test-gpu: wrong prefix?");
  EXPECT_EQ(finding(R"("rate": {"fp32": "1.2 GFLOP/s"})"),
            "unit-slip /rate/fp32: is 0.000937 times the 1.280 TFLOP/s of test-gpu: wrong prefix?");
  EXPECT_EQ(finding(R"("rate": {"fp32": "1.4 TFLOP/s"})"),
            "above-data-sheet /rate/fp32: measured 1.400 TFLOP/s is above the 1.280 TFLOP/s of "
            "test-gpu");
  EXPECT_EQ(finding(R"("bandwidth": {"l2": "220 GB/s", "dram": "240 GB/s"})"),
            "bandwidth-order /bandwidth/dram: 240.0 GB/s is faster than l2 with 220.0 GB/s");
  EXPECT_THAT(finding(R"("bandwidth": {"dram": "230 GB/s"}, "launch": "2.3 ms")"),
              HasSubstr("unit-slip /launch: 2.30 ms is not between"));
}

TEST(Plausible, CeilingsAloneHaveRangesAndAnOrder) {
  EXPECT_TRUE(check_plausible(ceilings_of(R"("bandwidth": {"dram": "30 GB/s"})")));
  EXPECT_FALSE(check_plausible(ceilings_of(R"("bandwidth": {"dram": "30 MB/s"})")));
  EXPECT_THAT(warnings_of(ceilings_of(R"("bandwidth": {"l1": "20 GB/s", "dram": "30 GB/s"})")),
              ElementsAre("lint: m.json:/bandwidth/dram: 30.00 GB/s is faster than l1 with 20.00 "
                          "GB/s (bandwidth-order)"));
}

TEST(Plausible, ASystemGivesNoGpuMoreThanItHas) {
  const GpuSpec gpu = gpu_of(minimal_gpu());
  SystemSpec system;
  system.file = "s.json";
  system.kind = LinkKind::Pcie;
  system.link = {.name = "slots", .per_direction = BytesPerSecond::from_base(12e9), .gpus = {}};
  EXPECT_THAT(warnings_of(system, gpu), IsEmpty());
  system.link.per_direction = BytesPerSecond::from_base(63e9);
  EXPECT_THAT(warnings_of(system, gpu),
              ElementsAre("lint: s.json:/link/per_direction: 63.00 GB/s is more than the PCIe 3.0 "
                          "x16 of test-gpu has (15.75 GB/s)"));
}

}  // namespace
}  // namespace rooftile::hardware
