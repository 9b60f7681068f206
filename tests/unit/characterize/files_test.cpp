// SPDX-License-Identifier: Apache-2.0
// The files of this layer: samples (checkpoint).
#include <gtest/gtest.h>

#include "characterize/samples_file.h"

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

}  // namespace
}  // namespace rooftile::characterize
