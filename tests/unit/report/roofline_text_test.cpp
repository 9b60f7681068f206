// SPDX-License-Identifier: Apache-2.0
//
// Text and CSV of charts with several runs, incomplete counters and integer operations.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/text.h"
#include "report/roofline_view.h"
#include "report/roofline_words.h"

namespace rooftile::report {
namespace {

using testing::HasSubstr;
using testing::Not;

profile::KernelRecord kernel(std::string name, double ms, double flops) {
  profile::KernelRecord record;
  record.name = std::move(name);
  record.launches = 2;
  record.time = Seconds::from_base(ms * 1e-3);
  record.flops = Flops::from_base(flops);
  record.flops_by[{DType::Fp32, hardware::Pipe::Vector}] = *record.flops;
  record.bytes[2] = Bytes::from_base(1e8);
  return record;
}

roofline::Roofs roofs() {
  roofline::Roofs roofs;
  roofs.memory.push_back({.name = "dram",
                          .level = hardware::MemoryLevel::Dram,
                          .bandwidth = BytesPerSecond::from_base(1e12),
                          .source = "datasheet"});
  roofs.compute.push_back({.key = {DType::Fp32, hardware::Pipe::Vector},
                           .rate = FlopsPerSecond::from_base(1e13),
                           .source = "datasheet"});
  return roofs;
}

roofline::Chart compared() {
  profile::Run before, after;
  before.label = "before";
  before.kernels = {kernel("gemm", 4, 2e9), kernel("copy", 1, 0)};
  after.label = "after";
  after.kernels = {kernel("gemm", 1, 2e9)};
  roofline::ChartOptions options;
  options.compare = true;
  return make_chart({{.run = before, .files = {}}, {.run = after, .files = {}}}, roofs(), options);
}

roofline::Chart with(const profile::KernelRecord& record) {
  profile::Run run;
  run.label = "run";
  run.kernels = {record, kernel("copy", 1, 0)};
  return make_chart({{.run = run, .files = {}}}, roofs(), {});
}

TEST(RooflineText, DifferencesStandBeforeTheKernelsAndKernelsNameTheirRun) {
  const std::string text = roofline_to_text(compared(), {.color = false, .width = 100, .top = 20});
  const std::size_t difference = text.find("difference: after minus before"),
                    kernels = text.find("\nkernel  phase ");
  ASSERT_NE(difference, std::string::npos);
  ASSERT_NE(kernels, std::string::npos);
  EXPECT_LT(difference, kernels);
  EXPECT_THAT(text, HasSubstr("\ngemm    before  "));
  EXPECT_THAT(text, HasSubstr("\ngemm    after  "));
  const std::string times =
      roofline_times_to_text(compared(), {.color = false, .width = 120, .top = 20});
  EXPECT_THAT(times, HasSubstr("\nkernel  phase "));
}

TEST(RooflineText, NarrowTablesSayWhatTheyLeaveOut) {
  const std::string text = roofline_to_text(compared(), {.color = false, .width = 60, .top = 20});
  EXPECT_THAT(text, HasSubstr("no room for: launches, share"));
}

TEST(RooflineText, LowerBoundsAreMarkedInKernelsAndTotals) {
  profile::KernelRecord record = kernel("gemm", 4, 2e9);
  record.flops_complete = false;
  const roofline::Chart chart = with(record);
  EXPECT_FALSE(chart.total.flops_complete);
  const std::string text = roofline_to_text(chart, {.color = false, .width = 100, .top = 20});
  // 2e9 FLOP in 4 ms are 500 GFLOP/s, on 1e8 bytes 20 FLOP/byte; all kernels: 5 ms and 2e8 bytes.
  EXPECT_THAT(text, HasSubstr(">=2.000 GFLOP, >=400 GFLOP/s\nintensity FLOP/byte: dram >=10\n"));
  EXPECT_THAT(text, HasSubstr("-/-/>=20    >=500  fp32      >=5.0%"));
  EXPECT_THAT(text, HasSubstr("\n>= FLOP counters of 1 kernels are missing"));
  EXPECT_THAT(roofline_to_csv(chart), HasSubstr(",false\n"));
  EXPECT_THAT(roofline_to_json(chart), HasSubstr("\"flops_complete\": false"));
  record.flops_complete = true;
  EXPECT_THAT(roofline_to_text(with(record), {.color = false, .width = 100, .top = 20}),
              Not(HasSubstr(">=")));
}

TEST(RooflineText, IntegerOperationsAreNotFlop) {
  profile::KernelRecord record = kernel("gemm", 4, 2e9);
  record.flops_by = {{{DType::Int8, hardware::Pipe::Tensor}, Flops::from_base(2e9)}};
  EXPECT_EQ(operations_of(record), "OP");
  roofline::Chart chart = with(record);
  chart.roofs.compute[0].key = {DType::Int8, hardware::Pipe::Tensor};
  const std::string text = roofline_to_text(chart, {.color = false, .width = 100, .top = 20});
  EXPECT_THAT(text, HasSubstr("int8_tensor 10.0 TOP/s"));
  EXPECT_THAT(text, HasSubstr("2.000 GOP, 400 GOP/s\nintensity OP/byte"));
  EXPECT_THAT(text, Not(HasSubstr("FLOP")));
  EXPECT_EQ(rate_unit(with(kernel("gemm", 4, 2e9))), "GFLOP/s");
}

TEST(RooflineCsv, ComparisonHasRowsOfDifferences) {
  const std::string csv = roofline_to_csv(compared());
  EXPECT_THAT(csv, HasSubstr("flops_complete,first_launches,second_launches,first_ms,second_ms,"
                             "delta_ms\n"));
  // 18 columns of kernels stay empty.
  EXPECT_THAT(csv, HasSubstr("\nclass_difference,vector,vector,,,,,,,,,,,,,,,,,,,2,2,4,1,-3\n"));
  EXPECT_THAT(csv, HasSubstr("\nkernel_difference,copy,copy,,,,,,,,,,,,,,,,,,,2,,1,,-1\n"));
  const std::vector<std::string_view> lines = split(csv, '\n');
  for (const std::string_view line : lines) {
    if (line.empty()) continue;  // after the last line
    EXPECT_EQ(std::count(line.begin(), line.end(), ','), 25) << line;
  }
  profile::Run run;
  run.kernels = {kernel("gemm", 4, 2e9)};
  const std::string plain = roofline_to_csv(make_chart({{.run = run, .files = {}}}, roofs(), {}));
  EXPECT_THAT(plain, Not(HasSubstr("delta_ms")));
}

}  // namespace
}  // namespace rooftile::report
