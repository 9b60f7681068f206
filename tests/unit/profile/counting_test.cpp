// SPDX-License-Identifier: Apache-2.0
#include "profile/counting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "profile/evaluate.h"

namespace rooftile::profile {
namespace {

using hardware::Profiler;
using ::testing::HasSubstr;

Counting counting(std::string_view isa) {
  return counting_of(Catalog::embedded(), isa).value();
}

TEST(Counting, FollowsTheArchitecture) {
  EXPECT_TRUE(counting("6.1").is(Profiler::Nvprof));
  EXPECT_EQ(counting("7.0").facts->tensor_instruction_flop, 512.0);
  EXPECT_FALSE(counting("8.0").facts->tensor_instruction_flop) << "512 to 8192, by the shape";
  EXPECT_TRUE(counting("10.0").packed_fp32);
  EXPECT_FALSE(counting("9.0").packed_fp32);
  EXPECT_FALSE(counting("12.0").packed_fp32);
  EXPECT_EQ(counting("gfx90a").facts->request, 64_B);
  EXPECT_EQ(counting("gfx942").facts->request, 128_B);
  EXPECT_EQ(counting("gfx942").relative, "");
}

TEST(Counting, NothingIsKnownOfANamelessDevice) {
  EXPECT_FALSE(counting("").facts);
  EXPECT_FALSE(counting("avx512").facts);
}

TEST(Counting, AnUnknownDeviceIsReadLikeItsRelativeAndSaysSo) {
  EXPECT_EQ(counting("8.7").relative, "8.6");
  EXPECT_EQ(counting("7.2").facts->tensor_instruction_flop, 512.0) << "Volta as well";
  EXPECT_TRUE(counting("3.5").is(Profiler::Nvprof));
  EXPECT_EQ(counting("gfx940").facts->request, 128_B);
  EXPECT_EQ(counting("gfx9").relative, "")
      << "what counters say of a chip is not the name of a chip";
  RawProfile profile;
  profile.format = "ncu-csv";
  profile.device.isa = "8.7";
  profile.counters = 1;
  profile.kernels.push_back(
      {.name = "k",
       .columns =
           {{.metric = "gpu__time_duration.sum", .values = {1e-3}, .weights = {}, .missing = 0}},
       .grid = {},
       .block = {},
       .launch_list = {},
       .rows = 1});
  const auto run = evaluate(profile, {}, Catalog::embedded());
  ASSERT_TRUE(run) << to_string(run.error());
  ASSERT_FALSE(run->warnings.empty());
  EXPECT_EQ(run->warnings[0].name, "unknown-architecture");
  EXPECT_THAT(run->warnings[0].message, HasSubstr("read as those of 8.6"));
}

TEST(Counting, AFileOfTheUsersOwnDecides) {
  Catalog catalog = Catalog::embedded();
  std::string text = catalog.read("architectures/8.6.json").value().content;
  text.replace(text.find("\"8.6\""), 5, "\"8.7\"");
  text.replace(text.find("\"tool\": \"ncu\""), 13,
               "\"tool\": \"ncu\", \"tensor_instruction_flop\": 4096");
  catalog.add("architectures/8.7.json", text);
  const Counting own = counting_of(catalog, "8.7").value();
  EXPECT_EQ(own.relative, "");
  EXPECT_EQ(own.facts->tensor_instruction_flop, 4096.0);
}

}  // namespace
}  // namespace rooftile::profile
