// SPDX-License-Identifier: Apache-2.0
// The table of cores, asked as CPUID would ask it. Expected FLOP per cycle and core are the
// published peaks: links x lanes x 2.
#include "characterize/cpu/microarchitecture.h"

#include <gtest/gtest.h>

#include "characterize/cpu/cpu_device.h"

namespace rooftile::characterize::cpu {
namespace {

ProcessorId intel(std::int64_t model, const std::string& brand = "") {
  return {.vendor = "GenuineIntel",
          .family = 6,
          .model = model,
          .hybrid = false,
          .brand = brand,
          .extensions = {}};
}
ProcessorId amd(std::int64_t family, std::int64_t model) {
  return {.vendor = "AuthenticAMD",
          .family = family,
          .model = model,
          .hybrid = false,
          .brand = "",
          .extensions = {}};
}

/// FP32 FLOP per cycle with vectors of `bytes`; 0: not known.
double fp32(const ProcessorId& id, int bytes) {
  return links_per_cycle(id, Link::Fma, bytes).value_or(0) * bytes / 4 * 2;
}
/// INT8 operations per cycle of the dot product.
double int8(const ProcessorId& id, int bytes) {
  return links_per_cycle(id, Link::DotInt8, bytes).value_or(0) * bytes * 2;
}

TEST(Microarchitecture, NamesTheCores) {
  EXPECT_EQ(core_name(amd(0x17, 0x01)), "Zen");
  EXPECT_EQ(core_name(amd(0x17, 0x31)), "Zen 2");  // EPYC 7002
  EXPECT_EQ(core_name(amd(0x17, 0x71)), "Zen 2");  // Ryzen 3000
  EXPECT_EQ(core_name(amd(0x19, 0x01)), "Zen 3");  // EPYC 7003
  EXPECT_EQ(core_name(amd(0x19, 0x50)), "Zen 3");
  EXPECT_EQ(core_name(amd(0x19, 0x11)), "Zen 4");  // EPYC 9004
  EXPECT_EQ(core_name(amd(0x19, 0x61)), "Zen 4");  // Ryzen 7000
  EXPECT_EQ(core_name(amd(0x19, 0xa0)), "Zen 4");  // EPYC 97x4
  EXPECT_EQ(core_name(amd(0x1a, 0x02)), "Zen 5");  // EPYC 9005
  EXPECT_EQ(core_name(amd(0x1a, 0x44)), "Zen 5");  // Ryzen 9000
  EXPECT_EQ(core_name(amd(0x1a, 0x24)), "Zen 5, 256-bit");
  EXPECT_EQ(core_name(intel(0x55)), "Skylake-SP");
  EXPECT_EQ(core_name(intel(0x6a)), "Ice Lake-SP");
  EXPECT_EQ(core_name(intel(0x8f)), "Sapphire Rapids");
  EXPECT_EQ(core_name(intel(0xcf)), "Sapphire Rapids");  // Emerald Rapids has its cores
}

TEST(Microarchitecture, KnowsTheWidthOfAmdsPipes) {
  EXPECT_EQ(fp32(amd(0x17, 0x01), 32), 16);  // 2 pipes of 128 bits
  EXPECT_EQ(fp32(amd(0x17, 0x31), 32), 32);
  EXPECT_EQ(fp32(amd(0x19, 0x01), 32), 32);
  EXPECT_EQ(fp32(amd(0x19, 0x11), 32), 32);
  EXPECT_EQ(fp32(amd(0x19, 0x11), 64), 32);  // 512 bits take two cycles
  EXPECT_EQ(int8(amd(0x19, 0x11), 64), 128);
  EXPECT_EQ(fp32(amd(0x1a, 0x02), 64), 64);  // pipes of 512 bits
  EXPECT_EQ(int8(amd(0x1a, 0x02), 64), 256);
  EXPECT_EQ(fp32(amd(0x1a, 0x24), 64), 32);  // Strix Point
  EXPECT_EQ(fp32(amd(0x1a, 0x70), 64), 64);  // Strix Halo
  // SSE2 multiplies and adds on pipes of their own: 2 x 4 lanes x 2.
  EXPECT_EQ(links_per_cycle(amd(0x19, 0x11), Link::MulThenAdd, 16), 2.0);
}

TEST(Microarchitecture, KnowsTheUnitsOfIntelsCores) {
  EXPECT_EQ(fp32(intel(0x3f), 32), 32);  // Haswell
  EXPECT_EQ(fp32(intel(0x6a), 64), 64);
  EXPECT_EQ(fp32(intel(0x8f), 64), 64);
  EXPECT_EQ(int8(intel(0x8f), 64), 256);
  EXPECT_EQ(links_per_cycle(intel(0x8f), Link::FmaFp16, 64), 2.0);
  EXPECT_EQ(links_per_cycle(intel(0x8f), Link::DotBf16, 64), 0.5);
  EXPECT_EQ(fp32(intel(0x8c), 64), 32);  // Tiger Lake: one unit of 512 bits
  EXPECT_EQ(fp32(intel(0x8c), 32), 32);
}

TEST(Microarchitecture, OnlyTheNameTellsTheUnitsOfSkylakeServers) {
  EXPECT_EQ(fp32(intel(0x55, "Intel(R) Xeon(R) Platinum 8168 CPU @ 2.70GHz"), 64), 64);
  EXPECT_EQ(fp32(intel(0x55, "Intel(R) Xeon(R) Gold 6248 CPU @ 2.50GHz"), 64), 64);
  EXPECT_EQ(fp32(intel(0x55, "Intel(R) Xeon(R) Gold 5122 CPU @ 3.60GHz"), 64), 64);
  EXPECT_EQ(fp32(intel(0x55, "Intel(R) Xeon(R) Gold 5118 CPU @ 2.30GHz"), 64), 32);
  EXPECT_EQ(fp32(intel(0x55, "Intel(R) Xeon(R) Silver 4114 CPU @ 2.20GHz"), 64), 32);
  EXPECT_EQ(fp32(intel(0x55, "Intel Xeon Processor (Skylake, IBRS)"), 64), 0);
  EXPECT_EQ(fp32(intel(0x55, "Intel Xeon Processor (Skylake, IBRS)"), 32), 32);
}

TEST(Microarchitecture, ClaimsNothingAboutTheUnknown) {
  ProcessorId hybrid = intel(0x8f);
  hybrid.hybrid = true;
  for (const ProcessorId& id :
       {intel(0xff), amd(0x1b, 0), amd(0x19, 0xff), hybrid, ProcessorId{}}) {
    EXPECT_FALSE(core_name(id));
    for (const int bytes : {16, 32, 64}) EXPECT_FALSE(links_per_cycle(id, Link::Fma, bytes));
  }
  EXPECT_FALSE(links_per_cycle(amd(0x19, 0x11), Link::DotBf16, 64)) << "not documented";
  EXPECT_FALSE(links_per_cycle(amd(0x19, 0x01), Link::Fma, 64)) << "Zen 3 has no AVX-512";
}

/// A virtual machine that states Rocket Lake's model on a newer core measured 1.2 times its limit.
TEST(Microarchitecture, AModelWithoutTheProcessorsInstructionsIsNotBelieved) {
  ProcessorId id = intel(0xa7);
  id.extensions = {Extension::Avx512};
  EXPECT_EQ(core_name(id), "Ice Lake");
  EXPECT_FALSE(contradiction(id));
  id.extensions.push_back(Extension::Avx512Fp16);
  EXPECT_EQ(contradiction(id), "AVX512-FP16, which Ice Lake does not have");
  EXPECT_FALSE(core_name(id));
  EXPECT_FALSE(links_per_cycle(id, Link::Fma, 64));
  id.model = 0x8f;
  EXPECT_EQ(core_name(id), "Sapphire Rapids");
  ProcessorId zen = amd(0x19, 0x01);
  zen.extensions = {Extension::Avx512, Extension::Avx512Bf16};
  EXPECT_EQ(contradiction(zen), "AVX-512, which Zen 3 does not have");
  zen.model = 0x11;
  EXPECT_EQ(core_name(zen), "Zen 4");
  EXPECT_FALSE(contradiction(intel(0xff))) << "a model that nobody knows";
}

TEST(Microarchitecture, NoCoreDoesMoreThanTheWidest) {
  for (std::int64_t family : {6, 0x17, 0x19, 0x1a}) {
    for (std::int64_t model = 0; model < 0x100; ++model) {
      const ProcessorId id = family == 6 ? intel(model, "Platinum") : amd(family, model);
      for (const Link link : {Link::MulThenAdd, Link::Fma, Link::FmaFp16, Link::DotBf16,
                              Link::DotInt8, Link::MaddThenAdd}) {
        for (const int bytes : {16, 32, 64}) {
          EXPECT_LE(links_per_cycle(id, link, bytes).value_or(0), 2.0);
        }
      }
    }
  }
  EXPECT_GE(most_links_per_cycle(), 2.0);
}

/// Known or not, every format that runs has a limit, and it grows with the cores.
TEST(Microarchitecture, ThisMachineStatesItsLimits) {
  const auto one = make_cpu_device({.threads = 1, .isa = {}});
  ASSERT_TRUE(one.has_value()) << to_string(one.error());
  const UnitLimits& limits = (*one)->description().limits;
  EXPECT_GT(limits.load.base(), 0);
  EXPECT_GT(limits.store.base(), 0);
  for (const Capability& c : (*one)->capabilities()) {
    if (c.pattern == Pattern::Update) {
      EXPECT_GT(limits.flops.at({.dtype = c.dtype}).value.base(), 0);
    }
  }
  const auto all = make_cpu_device({.threads = {}, .isa = {}});
  ASSERT_TRUE(all.has_value());
  const DeviceDescription& d = (*all)->description();
  for (const auto& [key, limit] : limits.flops) {
    EXPECT_DOUBLE_EQ(d.limits.flops.at(key).value.base(),
                     limit.value.base() * static_cast<double>(d.units));
  }
}

}  // namespace
}  // namespace rooftile::characterize::cpu
