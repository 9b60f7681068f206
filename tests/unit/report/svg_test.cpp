// SPDX-License-Identifier: Apache-2.0
#include "report/svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/machine_curves.h"
#include "report/roofline_view.h"

namespace rooftile::report {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Svg, TextIsEscapedAndCleaned) {
  EXPECT_EQ(markup_escaped("a<b> & \"c\""), "a&lt;b&gt; &amp; &quot;c&quot;");
  EXPECT_EQ(markup_escaped(std::string("x\x01y\nz\0", 6)), "x?y z?");
  EXPECT_EQ(markup_escaped("\xc3\xa9\xe2\x82\xac"), "\xc3\xa9\xe2\x82\xac");  // U+00E9, U+20AC
  EXPECT_EQ(markup_escaped("\xc0\xaf\xed\xa0\x80\xf5"), "??????");  // overlong, surrogate, beyond
}

TEST(Svg, LogAxisPlacesAndInverts) {
  const LogAxis axis{.low = 1, .high = 100, .from = 0, .to = 200};
  EXPECT_DOUBLE_EQ(axis.place(10), 100);
  EXPECT_DOUBLE_EQ(axis.value(100), 10);
}

TEST(Svg, RangeHasRoomAndAtLeastTwoDecades) {
  LogRange range;
  EXPECT_TRUE(range.empty());
  range.include(0);  // no place on a logarithmic axis
  range.include(-1);
  EXPECT_TRUE(range.empty());
  range.include(10);
  // One value: two decades around it.
  EXPECT_NEAR(range.axis(0, 1).low, 1, 1e-9);
  EXPECT_NEAR(range.axis(0, 1).high, 100, 1e-9);
  range.include(1e6);
  EXPECT_NEAR(range.axis(0, 1).high, 1e6 * 1.584893, 1);  // 10^0.2 of room
}

TEST(Svg, SegmentsEndAtTheFrame) {
  const PlotFrame frame{.x = {.low = 1, .high = 100, .from = 0, .to = 200},
                        .y = {.low = 1, .high = 100, .from = 200, .to = 0},
                        .x_title = "",
                        .y_title = ""};
  // From (0.01, 0.01) to (10000, 10000): the diagonal of the frame is left.
  EXPECT_THAT(segment_svg(frame, {.x1 = 0.01, .y1 = 0.01, .x2 = 1e4, .y2 = 1e4}, "", ""),
              HasSubstr(R"(x1="0.0" y1="200.0" x2="200.0" y2="0.0")"));
  EXPECT_EQ(segment_svg(frame, {.x1 = 1, .y1 = 1000, .x2 = 100, .y2 = 1000}, "", ""), "");
}

TEST(Svg, CloseLabelsMoveApart) {
  const LogAxis axis{.low = 1, .high = 1000, .from = 300, .to = 0};  // 100 pixels per decade
  // 100 and 90 are 4.6 pixels apart, 10 is far: only the second moves, by 7 * 3 + 14 pixels.
  EXPECT_EQ(label_shifts(axis, {{100, "abc"}, {90, "d"}, {10, "e"}}),
            (std::vector<double>{0, 35, 0}));
}

TEST(Svg, Numbers) {
  EXPECT_EQ(decade_text(0.01), "0.01");
  EXPECT_EQ(decade_text(1000000), "1,000,000");
  EXPECT_EQ(decade_text(1e7), "1e7");
  EXPECT_EQ(binary_size_text(32768), "32 KiB");
  EXPECT_EQ(binary_size_text(1.5 * 1024 * 1024), "1.5 MiB");
}

roofline::Chart chart() {
  profile::Run run;
  run.label = "run";
  for (const double flops : {2e9, 0.0}) {
    profile::KernelRecord record;
    record.name = flops > 0 ? "gemm<a & b>" : "copy";
    record.launches = 1;
    record.time = Seconds::from_base(1e-3);
    record.flops = Flops::from_base(flops);
    record.flops_by[{DType::Fp32, hardware::Pipe::Vector}] = *record.flops;
    for (auto& bytes : record.bytes) bytes = Bytes::from_base(1e8);
    run.kernels.push_back(record);
  }
  roofline::Roofs roofs;
  roofs.memory.push_back({.name = "dram",
                          .level = hardware::MemoryLevel::Dram,
                          .bandwidth = BytesPerSecond::from_base(1e12),
                          .source = "datasheet"});
  roofs.compute.push_back({.key = {DType::Fp32, hardware::Pipe::Vector},
                           .rate = FlopsPerSecond::from_base(1e13),
                           .source = "datasheet"});
  return make_chart({{.run = run, .files = {}}}, roofs, {});
}

TEST(RooflineSvg, HasRoofsMarkersAndList) {
  const std::string svg = roofline_to_svg(chart());
  EXPECT_THAT(svg, HasSubstr("fp32 10.0 TFLOP/s"));
  EXPECT_THAT(svg, HasSubstr("DRAM 1.00 TB/s"));
  EXPECT_THAT(svg, HasSubstr("gemm&lt;a &amp; b&gt;"));
  EXPECT_THAT(svg, Not(HasSubstr("gemm<a")));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf\"")));
}

TEST(RooflineSvg, TimeBasedHasBothKernels) {
  const std::string svg = roofline_times_to_svg(chart());
  EXPECT_THAT(svg, HasSubstr("machine balance"));
  // Two kernels, a hollow and a solid circle each, and one in the legend.
  std::size_t circles = 0;
  for (std::size_t at = svg.find("<circle"); at != std::string::npos;
       at = svg.find("<circle", at + 1)) {
    ++circles;
  }
  EXPECT_EQ(circles, 5U);
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
}

TEST(RooflineSvg, AnEmptyChartIsStillAPicture) {
  EXPECT_THAT(roofline_to_svg({}), HasSubstr("</svg>"));
  EXPECT_THAT(roofline_times_to_svg({}), HasSubstr("</svg>"));
}

characterize::Sample sample(characterize::Pattern pattern, DType dtype, double bytes,
                            std::int64_t flops) {
  characterize::Sample one;
  one.what = {.pattern = pattern,
              .dtype = dtype,
              .working_set = Bytes::from_base(bytes),
              .flops_per_element = flops};
  one.work = {.bytes = Bytes::from_base(bytes),
              .flops = Flops::from_base(bytes / 16 * static_cast<double>(flops)),
              .steps = 0};
  one.passes = 1;
  one.time.fast = one.time.median = Seconds::from_base(1e-6);
  return one;
}

TEST(MachineCurves, SeparatesBandwidthFromIntensity) {
  using characterize::Pattern;
  const std::vector<characterize::Sample> samples{
      sample(Pattern::Load, DType::Fp64, 8192, 0),   sample(Pattern::Load, DType::Fp64, 4096, 0),
      sample(Pattern::Update, DType::Fp64, 8192, 1), sample(Pattern::Update, DType::Fp64, 8192, 16),
      sample(Pattern::Update, DType::Fp32, 8192, 1), sample(Pattern::Copy, DType::Fp64, 8192, 0)};
  const MachineCurves curves = machine_curves(samples, nullptr);
  ASSERT_EQ(curves.bandwidth.size(), 1U);  // copy and update have one point each: no curve
  EXPECT_EQ(curves.bandwidth[0].name, "load fp64");
  // Sorted by working set: 4096 bytes in 1 us = 4.096 GB/s.
  EXPECT_EQ(curves.bandwidth[0].points[0], (std::pair<double, double>{4096, 4.096e9}));
  ASSERT_EQ(curves.rate.size(), 1U);
  EXPECT_EQ(curves.rate[0].name, "fp64, 8 KiB");
  // 16 FLOP on 16 bytes = 1 FLOP/byte; 8192 FLOP in 1 us = 8.192 GFLOP/s.
  EXPECT_DOUBLE_EQ(curves.rate[0].points[1].first, 1.0);
  EXPECT_NEAR(curves.rate[0].points[1].second, 8.192e9, 1);
  EXPECT_THAT(machine_curves_to_svg(curves), HasSubstr("FLOP/s against intensity"));
}

}  // namespace
}  // namespace rooftile::report
