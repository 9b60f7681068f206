// SPDX-License-Identifier: Apache-2.0
#include "hardware/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "hardware/load.h"
#include "hardware/minimal_gpu.h"
#include "temporary_folder.h"

namespace rooftile::hardware {
namespace {

using ::testing::HasSubstr;

constexpr RateKey kFp32{DType::Fp32, Pipe::Vector};
constexpr RateKey kBf16Tensor{DType::Bf16, Pipe::Tensor};

constexpr const char* kCeilings = R"({
  "schema": 1, "kind": "machine", "device": "Acme Test GPU", "gpu": "test-gpu",
  "tool": "rooftile 0.1.0", "date": "2026-11-15",
  "environment": {"driver": "1.2", "clocks": "locked at 1 GHz"},
  "bandwidth": {"l1": {"value": "1000 GB/s", "low": "990 GB/s", "high": "1010 GB/s", "samples": 30},
                "dram": "230 GB/s"},
  "rate": {"fp32": "1.2 TFLOP/s"},
  "launch": "3 us"
})";

Machine test_machine() {
  return {.gpu = parse_gpu(minimal_gpu(), "x.json", minimal_catalog()).value(), .ceilings = {}};
}

TEST(Machine, SaysWhichSiblingWasMeasured) {
  const std::string text =
      edited("\"latency_clock\"", "\"sibling\": {\"l2_read\": \"tester-pro\"}, \"latency_clock\"");
  const Machine machine{.gpu = parse_gpu(text, "x.json", minimal_catalog()).value(),
                        .ceilings = {}};
  const auto l2 = machine.bandwidth(MemoryLevel::L2);
  EXPECT_EQ(l2->source, (Source{SourceKind::Sibling, "tester-pro"}));
  EXPECT_EQ(name_of(l2->source), "sibling tester-pro");
  EXPECT_EQ(test_machine().bandwidth(MemoryLevel::L2)->value, l2->value)
      << "the number is the same";
}

TEST(Machine, TakesTheDataSheet) {
  const Machine machine = test_machine();
  EXPECT_DOUBLE_EQ(machine.rate(DType::Fp32, Pipe::Vector)->base(), 1.28e12);
  EXPECT_FALSE(machine.rate(DType::Fp32, Pipe::Tensor));
  EXPECT_FALSE(machine.rate(DType::Fp16, Pipe::Vector));
  // 10 SMs x 128 B/clk x 1 GHz
  const auto l1 = machine.bandwidth(MemoryLevel::L1);
  EXPECT_DOUBLE_EQ(l1->value.base(), 1280e9);
  EXPECT_EQ(l1->source.kind, SourceKind::Datasheet);
  const auto l2 = machine.bandwidth(MemoryLevel::L2);
  EXPECT_DOUBLE_EQ(l2->value.base(), 800e9);
  EXPECT_EQ(name_of(l2->source), "published");
  EXPECT_DOUBLE_EQ(machine.bandwidth(MemoryLevel::Dram)->value.base(), 256e9);
  // 1.28 TFLOP/s / 256 GB/s = 5 FLOP/B; 10.24 / 256 = 40 FLOP/B
  EXPECT_DOUBLE_EQ(machine.ridge(MemoryLevel::Dram, kFp32)->base(), 5.0);
  EXPECT_DOUBLE_EQ(machine.ridge(MemoryLevel::Dram, kBf16Tensor)->base(), 40.0);
  EXPECT_FALSE(machine.ridge(MemoryLevel::Dram, {DType::Fp64, Pipe::Vector}));
}

TEST(Machine, BestRatePrefersTensorUnitsForMatrices) {
  const Machine machine = test_machine();
  EXPECT_EQ(machine.best_units(DType::Bf16, true), (RateKey{DType::Bf16, Pipe::Tensor}));
  EXPECT_DOUBLE_EQ(machine.best_rate(DType::Bf16, true)->base(), 10.24e12);
  EXPECT_FALSE(machine.best_rate(DType::Bf16, false));
  EXPECT_EQ(machine.best_units(DType::Fp32, true), (RateKey{DType::Fp32, Pipe::Vector}));
  EXPECT_DOUBLE_EQ(machine.best_rate(DType::Fp32, true)->base(), 1.28e12);
  EXPECT_FALSE(machine.best_rate(DType::Fp4, true));
}

TEST(Machine, SixteenBitsAreComputedInFp32WhereThatIsFaster) {
  Machine machine = test_machine();
  machine.gpu.peak[{DType::Fp16, Pipe::Vector}] = FlopsPerSecond::from_base(0.02e12);
  EXPECT_EQ(machine.best_units(DType::Fp16, true), (RateKey{DType::Fp32, Pipe::Vector}));
  EXPECT_DOUBLE_EQ(machine.best_rate(DType::Fp16, true)->base(), 1.28e12);
  machine.gpu.peak[{DType::Fp16, Pipe::Vector}] = FlopsPerSecond::from_base(2.56e12);
  EXPECT_EQ(machine.best_units(DType::Fp16, true), (RateKey{DType::Fp16, Pipe::Vector}));
}

TEST(Machine, UnknownLevelsHaveNoBandwidth) {
  Machine machine = test_machine();
  machine.gpu.l1.bandwidth_per_sm.reset();
  EXPECT_EQ(machine.bandwidth(MemoryLevel::L1)->source.kind, SourceKind::Published);
  machine.gpu.measured = {};
  EXPECT_FALSE(machine.bandwidth(MemoryLevel::L1));
  EXPECT_FALSE(machine.bandwidth(MemoryLevel::L2));
  EXPECT_FALSE(machine.ridge(MemoryLevel::L2, kFp32));
  machine.gpu.l2.bandwidth = BytesPerSecond::from_base(700e9);
  EXPECT_EQ(machine.bandwidth(MemoryLevel::L2)->source.kind, SourceKind::Datasheet);
}

TEST(Machine, MeasuredCeilingsComeFirst) {
  Machine machine = test_machine();
  machine.ceilings = parse_ceilings(kCeilings, "m.json").value();
  EXPECT_DOUBLE_EQ(machine.rate(DType::Fp32, Pipe::Vector)->base(), 1.2e12);
  EXPECT_EQ(machine.rate_ceiling(kFp32)->source.kind, SourceKind::Measured);
  EXPECT_EQ(machine.rate_ceiling(kBf16Tensor)->source.kind, SourceKind::Datasheet);
  EXPECT_DOUBLE_EQ(machine.bandwidth(MemoryLevel::L1)->value.base(), 1000e9);
  EXPECT_EQ(machine.bandwidth(MemoryLevel::L2)->source.kind, SourceKind::Published);
  EXPECT_EQ(machine.bandwidth(MemoryLevel::Dram)->source.kind, SourceKind::Measured);
}

TEST(Ceilings, ReadsAndWrites) {
  auto ceilings = parse_ceilings(kCeilings, "m.json");
  ASSERT_TRUE(ceilings) << to_string(ceilings.error());
  EXPECT_EQ(ceilings->bandwidth.at(MemoryLevel::L1).samples, 30);
  EXPECT_DOUBLE_EQ(ceilings->launch->value.base(), 3e-6);
  EXPECT_EQ(ceilings->environment.at(1).second, "locked at 1 GHz");
  // All kinds of values, and texts that need escapes, survive a round trip to the last bit.
  ceilings->notes = {"a \"quoted\" back\\slash\n"};
  ceilings->last_level = {
      .value = BytesPerSecond::from_base(1e12 / 3.0), .low = {}, .high = {}, .samples = 7};
  ceilings->shared = {
      .value = BytesPerSecond::from_base(2e12 / 7.0), .low = {}, .high = {}, .samples = {}};
  ceilings->latency["chase_host"].value = Seconds::from_base(1e-6 / 3.0);
  ceilings->link["copy_in"].value = BytesPerSecond::from_base(5e10 / 3.0);
  ceilings->product["mma_sparse fp16"] = {
      .value = FlopsPerSecond::from_base(2e15 / 3.0), .low = {}, .high = {}, .samples = 3};
  const auto again = parse_ceilings(to_json(*ceilings), "m.json");
  ASSERT_TRUE(again) << to_string(again.error());
  EXPECT_EQ(*again, *ceilings);
}

TEST(Ceilings, ErrorsSayWhere) {
  const auto failure = [](std::string_view from, std::string_view to) {
    std::string text = kCeilings;
    text.replace(text.find(from), from.size(), to);
    const auto ceilings = parse_ceilings(text, "m.json");
    return ceilings ? "no error" : to_string(ceilings.error());
  };
  EXPECT_THAT(failure("\"dram\"", "\"dam\""), HasSubstr("did you mean \"dram\"?"));
  EXPECT_THAT(failure("990 GB/s", "1005 GB/s"), HasSubstr("/bandwidth/l1: the value lies outside"));
  EXPECT_THAT(failure("230 GB/s", "230"), HasSubstr("/bandwidth/dram: \"230\" has no unit"));
  EXPECT_THAT(failure("\"fp32\"", "\"fp99\""), HasSubstr("unknown rate \"fp99\""));
  EXPECT_THAT(failure("\"kind\": \"machine\"", "\"kind\": \"gpu\""), HasSubstr("machine file"));
  const std::string deep(8, '[');
  EXPECT_THAT(failure("\"kind\":", "\"x\": " + deep + std::string(8, ']') + ", \"kind\":"),
              HasSubstr("nested more than 8 levels deep"));
  EXPECT_THAT(failure("\"kind\":", "\"x\": [[[[[[[]]]]]]], \"kind\":"), HasSubstr("unknown key"));
  for (const char* value : {"0 GB/s", "-230 GB/s", "1e300 GB/s"}) {
    EXPECT_THAT(failure("230 GB/s", value), HasSubstr("m.json:/bandwidth/dram: ")) << value;
  }
}

class LoadMachine : public ::testing::Test {
 protected:
  LoadMachine() {
    catalog_.add("gpus/acme_test_gpu_10gb.json", minimal_gpu());
    std::string other = edited("\"test-gpu\"", "\"other-gpu\"");
    other.replace(other.find("Acme Test GPU 10GB"), 18, "Acme Other GPU 9GB");
    other.replace(other.find("[\"Tester\"]"), 10, "[]");
    catalog_.add("gpus/acme_other_gpu_9gb.json", other);
  }
  std::string write(const std::string& text) { return folder_.write("machine.json", text); }
  rooftile::testing::TemporaryFolder folder_;
  Catalog catalog_ = bare_catalog();
};

TEST_F(LoadMachine, AttachesTheCeilings) {
  const std::string file = write(kCeilings);
  for (const char* gpu : {"test-gpu", ""}) {
    const auto machine = load_machine(catalog_, gpu, file);
    ASSERT_TRUE(machine) << to_string(machine.error());
    EXPECT_EQ(machine->gpu.id, "test-gpu");
    EXPECT_TRUE(machine->ceilings);
  }
  EXPECT_FALSE(load_machine(catalog_, "test-gpu", std::nullopt)->ceilings);
}

TEST_F(LoadMachine, RefusesCeilingsOfAnotherGpu) {
  const auto machine = load_machine(catalog_, "other-gpu", write(kCeilings));
  ASSERT_FALSE(machine);
  EXPECT_THAT(machine.error().message, HasSubstr("measured on test-gpu, not on other-gpu"));
}

}  // namespace
}  // namespace rooftile::hardware
