// SPDX-License-Identifier: Apache-2.0
// Twelve real GPUs as models (gpu_model.h): the characterization gives back the rates that they
// were configured with, within 2 %, at every level. No real GPU has run these kernels.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "characterize/characterize.h"
#include "characterize/gpu/gpu_device.h"
#include "hardware/load.h"
#include "unit/characterize/gpu_model.h"

namespace rooftile::characterize::gpu {
namespace {

class ModelledGpu : public ::testing::TestWithParam<const char*> {
 protected:
  static GpuModel model() {
    return model_of(hardware::load_gpu(Catalog::embedded(), GetParam()).value());
  }

  static Characterization measure(const GpuModel& m, std::vector<Pattern> patterns, double most) {
    auto device = make_gpu_device(model_driver(m), "an image", 0, Catalog::embedded());
    EXPECT_TRUE(device.has_value()) << to_string(device.error());
    std::erase_if(patterns, [&](Pattern p) {  // sparse products, say, on V100
      const auto all = (*device)->capabilities();
      return std::none_of(all.begin(), all.end(), [p](const auto& c) { return c.pattern == p; });
    });
    auto result = characterize(**device, {.plan = {.effort = Effort::Quick,
                                                   .dtypes = {},
                                                   .patterns = std::move(patterns),
                                                   .dense_update = false,
                                                   .max_working_set = Bytes::from_base(most)},
                                          .sweep = {}});
    EXPECT_TRUE(result.has_value()) << to_string(result.error());
    for (const std::string& w : result->run_warnings)
      EXPECT_EQ(w.find("left out"), std::string::npos) << w;
    return result->own;
  }
  static double last_cache(const GpuModel& m) { return m.l3 > 0 ? m.l3 : m.l2; }
  static void expect_near(double value, double configured, const std::string& what) {
    EXPECT_NEAR(value / configured, 1.0, 0.02) << what << ": " << value << ", not " << configured;
  }
};

double bandwidth_of(const Characterization& result, const std::string& level, Pattern pattern) {
  for (const LevelBandwidth& b : result.bandwidths) {
    if (b.plateau.level == level && b.pattern == pattern) return b.plateau.value;
  }
  return 0;
}

TEST_P(ModelledGpu, GivesBackItsBandwidths) {
  const GpuModel m = model();
  const Characterization result =
      measure(m,
              {Pattern::LoadL1, Pattern::Load, Pattern::Store, Pattern::StoreNt, Pattern::Copy,
               Pattern::CopyNt, Pattern::Triad, Pattern::Shared},
              last_cache(m) * 5.8);
  expect_near(bandwidth_of(result, "L1", Pattern::LoadL1), m.l1_rate, "L1");
  for (const Pattern p : {Pattern::Load, Pattern::Store, Pattern::Copy, Pattern::Triad}) {
    expect_near(bandwidth_of(result, "L2", p), m.l2_rate, "L2 " + std::string(name_of(p)));
  }
  if (m.l3 > 0) expect_near(bandwidth_of(result, "L3", Pattern::Load), m.l3_rate, "L3");
  expect_near(bandwidth_of(result, "DRAM", Pattern::Load), m.dram_rate, "DRAM");
  // Stores that first fetch their line reach half; streaming ones all of it.
  const double store = m.write_allocate ? 0.5 : 1.0, copy = m.write_allocate ? 2.0 / 3 : 1.0;
  expect_near(bandwidth_of(result, "DRAM", Pattern::Store), m.dram_rate * store, "DRAM store");
  expect_near(bandwidth_of(result, "DRAM", Pattern::StoreNt), m.dram_rate, "DRAM store_nt");
  expect_near(bandwidth_of(result, "DRAM", Pattern::Copy), m.dram_rate * copy, "DRAM copy");
  expect_near(bandwidth_of(result, "DRAM", Pattern::CopyNt), m.dram_rate, "DRAM copy_nt");
  ASSERT_TRUE(result.shared.has_value());
  expect_near(result.shared->value.base(), m.shared_rate, "shared");
}

TEST_P(ModelledGpu, GivesBackItsRates) {
  const GpuModel m = model();
  const Characterization result =
      measure(m, {Pattern::Update, Pattern::Mma, Pattern::MmaSync, Pattern::MmaSparse},
              last_cache(m) * 4.1);
  EXPECT_GE(result.rates.size(), 3u);
  for (const auto& [key, rate] : result.rates) {
    expect_near(rate.value.base(), m.rates.at(hardware::name_of(key)), hardware::name_of(key));
  }
  const bool has_products = m.isa != "gfx950";  // no compiler here knows it
  EXPECT_EQ(result.rates.contains({.dtype = DType::Fp16, .pipe = hardware::Pipe::Tensor}),
            has_products);
  const hardware::Ceilings file = to_ceilings(result, "test");
  for (const auto& aside : result.asides) {
    EXPECT_DOUBLE_EQ(file.product.at(describe(aside).first).value.base(), aside.value);
    const hardware::RateKey key{.dtype = aside.what.dtype, .pipe = aside.what.pipe};
    const double factor = aside.what.pattern == Pattern::MmaSparse ? 2.0 : 1.0;
    expect_near(aside.value, m.rates.at(hardware::name_of(key)) * factor,
                std::string(name_of(aside.what.pattern)) + " " + hardware::name_of(key));
  }
}

TEST_P(ModelledGpu, GivesBackItsLatenciesAndLinks) {
  const GpuModel m = model();
  const Characterization result = measure(
      m,
      {Pattern::Chase, Pattern::Launch, Pattern::LaunchWait, Pattern::CopyIn, Pattern::CopyOut,
       Pattern::CopyPeer, Pattern::CopyRing, Pattern::ChaseHost, Pattern::ChasePeer},
      // A chain in memory of more than 1 GiB takes its time to make.
      m.l3 > 0 ? m.l3 * 0.6 : m.l2 * 4.1);
  std::map<std::string, double> waits;
  for (const Plateau& p : result.latencies) waits[p.level] = p.value;
  expect_near(waits["L1"], m.l1_wait, "L1");
  expect_near(waits["L2"], m.l2_wait, "L2");
  if (m.l3 > 0) expect_near(waits["L3"], m.l3_wait, "L3");
  if (m.l3 == 0) expect_near(waits["DRAM"], m.dram_wait, "DRAM");
  ASSERT_TRUE(result.launch.has_value());
  expect_near(result.launch->value.base(), m.launch, "launch");
  std::map<Pattern, double> asides;
  for (const auto& aside : result.asides) asides[aside.what.pattern] = aside.value;
  expect_near(asides[Pattern::LaunchWait], m.launch_wait, "launch_wait");
  expect_near(asides[Pattern::CopyIn], m.copy_in, "copy_in");
  expect_near(asides[Pattern::CopyOut], m.copy_out, "copy_out");
  expect_near(asides[Pattern::CopyPeer], m.copy_peer, "copy_peer");
  expect_near(asides[Pattern::CopyRing], m.copy_peer * m.devices, "copy_ring");
  expect_near(asides[Pattern::ChaseHost], m.host_wait, "chase_host");
  expect_near(asides[Pattern::ChasePeer], m.peer_wait, "chase_peer");
  hardware::Ceilings measured = to_ceilings(result, "test");
  measured.bandwidth[hardware::MemoryLevel::Dram].value = BytesPerSecond::from_base(1e12);
  const auto file = hardware::parse_ceilings(hardware::to_json(measured), "m");
  ASSERT_TRUE(file) << to_string(file.error());
  EXPECT_DOUBLE_EQ(file->link.at("copy_ring").value.base(), asides[Pattern::CopyRing]);
  EXPECT_DOUBLE_EQ(file->latency.at("chase_host").value.base(), asides[Pattern::ChaseHost]);
  EXPECT_DOUBLE_EQ(file->latency.at("l2").value.base(), waits["L2"]);
}

INSTANTIATE_TEST_SUITE_P(All, ModelledGpu,
                         ::testing::Values("v100-sxm2-16gb", "t4", "a100-sxm-80gb", "rtx-3090",
                                           "l4", "h100-sxm", "h200-sxm", "b200-sxm", "rtx-5090",
                                           "mi250x", "mi300x", "mi355x"),
                         [](const auto& param) {
                           std::string name = param.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace rooftile::characterize::gpu
