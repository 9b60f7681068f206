// SPDX-License-Identifier: Apache-2.0
// The files of this layer: samples (checkpoint) and roofline.json of ERT.
#include <gtest/gtest.h>

#include "characterize/ert_json.h"
#include "characterize/samples_file.h"
#include "core/file.h"
#include "shared_data.h"

namespace rooftile::characterize {
namespace {

Sample sample() {
  Sample s;
  s.what = {.pattern = Pattern::Update,
            .dtype = DType::Fp32,
            .pipe = hardware::Pipe::Vector,
            .working_set = 32_KiB,
            .flops_per_element = 16};
  s.work = {.bytes = 64_KiB, .flops = Flops::from_base(131072), .steps = 0};
  s.passes = 1234;
  s.time = {.fast = Seconds::from_base(1.0 / 3.0 * 1e-6),
            .low = Seconds::from_base(3.3e-7),
            .high = Seconds::from_base(3.4e-7),
            .confidence = 0.957,
            .minimum = Seconds::from_base(3.2e-7),
            .median = Seconds::from_base(3.5e-7),
            .maximum = Seconds::from_base(9.1e-7),
            .spread_fraction = 0.25,
            .repetitions = 40};
  s.converged = true;
  return s;
}

TEST(SamplesFile, RoundTripsExactly) {
  Sample tensor = sample();
  tensor.what.pattern = Pattern::Mma;
  tensor.what.pipe = hardware::Pipe::Tensor;
  tensor.what.dtype = DType::Fp8E4m3;
  tensor.converged = false;
  const SamplesFile file{.fingerprint = "00112233aabbccdd", .samples = {sample(), tensor}};
  const auto back = read_samples(write_samples(file), "f");
  ASSERT_TRUE(back.has_value()) << to_string(back.error());
  EXPECT_EQ(*back, file);
}

TEST(SamplesFile, RefusesWhatItDoesNotKnow) {
  const std::string good = write_samples({.fingerprint = "x", .samples = {sample()}});
  const auto broken = [&](std::string_view from, std::string_view to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    const auto result = read_samples(text, "run.samples");
    EXPECT_FALSE(result.has_value()) << to;
    return result ? Error{} : result.error();
  };
  EXPECT_EQ(broken("rooftile-samples", "other").message, "not a samples file");
  EXPECT_EQ(broken("rooftile-samples,1", "rooftile-samples,2").code, ErrorCode::Unsupported);
  EXPECT_EQ(broken("\nupdate,", "\nupdaet,").where, "run.samples:3:1");
  EXPECT_NE(broken("\nupdate,", "\nupdaet,").hint.find("update"), std::string::npos);
  EXPECT_FALSE(broken("fp32", "fp33").message.empty());
  EXPECT_FALSE(broken("vector", "scalar").message.empty());
  EXPECT_FALSE(broken("0.957", "1.957").message.empty());
  EXPECT_FALSE(broken("working_set_bytes", "working_set").message.empty());
  EXPECT_FALSE(read_samples("", "f").has_value());
  EXPECT_FALSE(read_samples("rooftile-samples,1,x\n", "f").has_value());
}

TEST(ErtJson, ReadsARealFile) {
  const std::string path =
      "profiles/ebugger__Empirical-Roofline-Toolkit__Empirical_Roofline_Tool-1.1.0__Results.p100.01"
      "__Run.018__roofline.json";
  if (!testing::has_shared_data(path)) GTEST_SKIP() << "no shared data";
  const auto text = read_file((testing::shared_data() / path).string());
  ASSERT_TRUE(text.has_value());
  const auto ceilings = read_ert_json(*text, "roofline.json");
  ASSERT_TRUE(ceilings.has_value()) << to_string(ceilings.error());
  using hardware::MemoryLevel;
  EXPECT_DOUBLE_EQ(ceilings->bandwidth.at(MemoryLevel::L1).value.base(), 1002.83e9);
  EXPECT_DOUBLE_EQ(ceilings->bandwidth.at(MemoryLevel::L2).value.base(), 541.98e9);
  EXPECT_DOUBLE_EQ(ceilings->last_level->value.base(), 290.41e9);
  EXPECT_DOUBLE_EQ(ceilings->bandwidth.at(MemoryLevel::Dram).value.base(), 68.76e9);
  EXPECT_DOUBLE_EQ(ceilings->rate.at({.dtype = DType::Fp64}).value.base(), 288.33e9);
  EXPECT_EQ(ceilings->tool, "ERT 1.1.0");
  EXPECT_EQ(ceilings->date, "2019-06-13");  // 1560425105 s = 2019-06-13 11:25 UTC
  EXPECT_EQ(ceilings->device, "kcadmin-UniServer-R5200-G3");
}

TEST(ErtJson, KeepsEveryPrecisionAndComesBack) {
  hardware::Ceilings c;
  c.device = "a \"quoted\" machine";
  c.tool = "rooftile 1";
  c.date = "2026-01-01";
  const auto rate = [](double v) {
    return hardware::Measured<FlopsPerSecond>{
        .value = FlopsPerSecond::from_base(v), .low = {}, .high = {}, .samples = {}};
  };
  const auto bandwidth = [](double v) {
    return hardware::Measured<BytesPerSecond>{
        .value = BytesPerSecond::from_base(v), .low = {}, .high = {}, .samples = {}};
  };
  c.rate[{.dtype = DType::Fp64}] = rate(7068.86e9);
  c.rate[{.dtype = DType::Fp32}] = rate(14000e9);
  c.rate[{.dtype = DType::Fp16, .pipe = hardware::Pipe::Tensor}] = rate(106496e9);
  c.bandwidth[hardware::MemoryLevel::L1] = bandwidth(14336e9);
  c.bandwidth[hardware::MemoryLevel::L2] = bandwidth(2996.77e9);
  c.bandwidth[hardware::MemoryLevel::Dram] = bandwidth(828.76e9);
  const auto back = read_ert_json(write_ert_json(c), "x");
  ASSERT_TRUE(back.has_value()) << to_string(back.error());
  EXPECT_EQ(back->rate, c.rate);
  EXPECT_EQ(back->bandwidth, c.bandwidth);
  EXPECT_EQ(back->device, c.device);
}

TEST(ErtJson, ExactMessagesForMalformedFiles) {
  const auto message = [](std::string_view text) {
    const auto result = read_ert_json(text, "r.json");
    return result ? std::string("accepted") : result.error().where + ": " + result.error().message;
  };
  EXPECT_EQ(message("{}").substr(0, 8), "r.json:/");
  EXPECT_EQ(message(R"({"empirical":{"gbytes":{"data":[["L9x",1]]},"gflops":{"data":[]}}})"),
            "r.json:/empirical/gbytes/data/0/0: unknown memory level \"L9x\"");
  EXPECT_EQ(message(R"({"empirical":{"gbytes":{"data":[["L1",-1]]},"gflops":{"data":[]}}})"),
            "r.json:/empirical/gbytes/data/0/1: is not the rate of a machine");
  EXPECT_EQ(message(R"({"empirical":{"gbytes":{"data":[]},"gflops":{"data":[["GOPs",1]]}}})"),
            "r.json:/empirical/gflops/data/0/0: unknown rate \"GOPs\"");
  EXPECT_EQ(message(R"({"empirical":{"gbytes":{"data":[]},"gflops":{"data":[]}}})"),
            "r.json:/empirical: no rates and no bandwidths");
  EXPECT_EQ(message(R"({"empirical":{"gbytes":{"data":[["L1"]]},"gflops":{"data":[]}}})"),
            "r.json:/empirical/gbytes/data/0: expected [name, value]");
}

}  // namespace
}  // namespace rooftile::characterize
