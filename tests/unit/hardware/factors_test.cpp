// SPDX-License-Identifier: Apache-2.0
#include "hardware/factors.h"

#include <gtest/gtest.h>

namespace rooftile::hardware {
namespace {

Machine load(const char* gpu) {
  return load_machine(Catalog::embedded(), gpu, std::nullopt).value();
}

TEST(MachineKey, NamesRoundTrip) {
  for (const MachineKey key : kAllMachineKeys) {
    EXPECT_EQ(parse_machine_key(name_of(key)).value(), key);
  }
  const auto wrong = parse_machine_key("dram_bv");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().hint, "did you mean \"dram_bw\"?");
}

TEST(Factors, OneChangesNothing) {
  const Machine machine = load("h100-sxm");
  const Machine same = scaled(machine, {});
  EXPECT_EQ(same.gpu.peak, machine.gpu.peak);
  EXPECT_EQ(same.gpu.sm.count, machine.gpu.sm.count);
  EXPECT_EQ(same.gpu.power_watt, machine.gpu.power_watt);
  EXPECT_EQ(same.bandwidth(MemoryLevel::L1)->value, machine.bandwidth(MemoryLevel::L1)->value);
}

// Twice the clock: rates and L1 double, L2 and DRAM stay, the board may draw twice the power.
TEST(Factors, RatesFollowSmsLanesAndClock) {
  const Machine machine = load("h100-sxm");
  const RateKey key{.dtype = DType::Bf16, .pipe = Pipe::Tensor};
  for (const MachineKey factor : {MachineKey::Sms, MachineKey::Lanes, MachineKey::Clock}) {
    const Machine twice = scaled(machine, Factors::one(factor, 2));
    EXPECT_DOUBLE_EQ(twice.gpu.peak.at(key) / machine.gpu.peak.at(key), 2) << name_of(factor);
    EXPECT_DOUBLE_EQ(twice.gpu.measured.rate.at(key) / machine.gpu.measured.rate.at(key), 2);
    EXPECT_DOUBLE_EQ(*twice.gpu.power_watt / *machine.gpu.power_watt, 2);
    const double l1 =
        twice.bandwidth(MemoryLevel::L1)->value / machine.bandwidth(MemoryLevel::L1)->value;
    EXPECT_DOUBLE_EQ(l1, factor == MachineKey::Lanes ? 1 : 2) << name_of(factor);
    for (const MemoryLevel level : {MemoryLevel::L2, MemoryLevel::Dram}) {
      EXPECT_EQ(twice.bandwidth(level)->value, machine.bandwidth(level)->value);
    }
  }
}

// 132 SMs x 0.01 is one SM, with all its lanes.
TEST(Factors, SmsAreWhole) {
  const Machine machine = load("h100-sxm");
  const Machine least = scaled(machine, Factors::one(MachineKey::Sms, 0.01));
  EXPECT_EQ(least.gpu.sm.count, 1);
  const RateKey key{.dtype = DType::Fp32, .pipe = Pipe::Vector};
  EXPECT_DOUBLE_EQ(machine.gpu.peak.at(key) / least.gpu.peak.at(key), 132);
}

TEST(Factors, BandwidthsKeepWhatIsAttainedOfThem) {
  const Machine machine = load("h100-sxm");
  const Machine twice = scaled(machine, Factors::one(MachineKey::DramBandwidth, 2));
  EXPECT_DOUBLE_EQ(*twice.gpu.measured.dram_copy / *twice.gpu.dram.bandwidth,
                   *machine.gpu.measured.dram_copy / *machine.gpu.dram.bandwidth);
  const Machine l2 = scaled(machine, Factors::one(MachineKey::L2Bandwidth, 3));
  EXPECT_DOUBLE_EQ(l2.bandwidth(MemoryLevel::L2)->value / machine.bandwidth(MemoryLevel::L2)->value,
                   3);
}

TEST(Factors, MeasuredCeilingsAreMultipliedToo) {
  Machine machine = load("v100-pcie-32gb");
  Ceilings ceilings;
  ceilings.bandwidth[MemoryLevel::L1].value = 10000_GBps;
  ceilings.bandwidth[MemoryLevel::Dram].value = 800_GBps;
  const RateKey key{.dtype = DType::Fp32, .pipe = Pipe::Vector};
  ceilings.rate[key].value = 13.0_TFLOPps;
  machine.ceilings = ceilings;
  Factors factors = Factors::one(MachineKey::Clock, 2);
  factors.set(MachineKey::DramBandwidth, 3);
  const Machine variant = scaled(machine, factors);
  EXPECT_EQ(variant.rate(DType::Fp32, Pipe::Vector), 26.0_TFLOPps);
  EXPECT_EQ(variant.bandwidth(MemoryLevel::L1)->value, 20000_GBps);
  EXPECT_EQ(variant.bandwidth(MemoryLevel::Dram)->value, 2400_GBps);
}

}  // namespace
}  // namespace rooftile::hardware
