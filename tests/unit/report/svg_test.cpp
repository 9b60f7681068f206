// SPDX-License-Identifier: Apache-2.0
#include "report/svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/curve_svg.h"
#include "report/machine_curves.h"
#include "report/roofline_picture.h"
#include "report/roofline_svg.h"

namespace rooftile::report {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Svg, TextIsEscapedAndCleaned) {
  EXPECT_EQ(markup_escaped("a<b> & \"c\""), "a&lt;b&gt; &amp; &quot;c&quot;");
  EXPECT_EQ(markup_escaped(std::string("x\x01y\nz\0", 6)), "x\\x01y z\\x00");
  EXPECT_EQ(markup_escaped("\xc3\xa9\xe2\x82\xac"), "\xc3\xa9\xe2\x82\xac");  // U+00E9, U+20AC
  EXPECT_EQ(markup_escaped("\xc0\xf5"), "\\xc0\\xf5");                        // overlong, beyond
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

profile::Run run_of_two_kernels(const std::string& label) {
  profile::Run run;
  run.label = label;
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
  return run;
}

roofline::Roofs two_roofs() {
  roofline::Roofs roofs;
  roofs.machine = "X100";
  roofs.memory.push_back({.name = "dram",
                          .level = hardware::MemoryLevel::Dram,
                          .bandwidth = BytesPerSecond::from_base(1e12),
                          .source = "datasheet"});
  roofs.compute.push_back({.key = {DType::Fp32, hardware::Pipe::Vector},
                           .rate = FlopsPerSecond::from_base(1e13),
                           .source = "datasheet"});
  return roofs;
}

std::string roofline_svg(const roofline::Chart& chart) {
  return stacked_svg(chart.title, {draw_roofline(chart)});
}
std::string time_svg(const roofline::Chart& chart) {
  return stacked_svg(chart.title, {draw_time_roofline(chart)});
}

std::string curves_svg_of(const MachineCurves& curves) {
  std::vector<Drawing> drawings;
  for (const CurveChart& chart : charts_of(curves)) drawings.push_back(draw_curves(chart));
  return stacked_svg(curves.title, drawings);
}

roofline::Chart chart() {
  return make_chart({{.run = run_of_two_kernels("run"), .files = {}}}, two_roofs(), {});
}

roofline::Chart two_runs(const roofline::ChartOptions& options) {
  return make_chart({{.run = run_of_two_kernels("before"), .files = {}},
                     {.run = run_of_two_kernels("after"), .files = {}}},
                    two_roofs(), options);
}

TEST(RooflineSvg, HasRoofsMarkersAndList) {
  const std::string svg = roofline_svg(chart());
  EXPECT_THAT(svg, HasSubstr("fp32 10.0 TFLOP/s"));
  EXPECT_THAT(svg, HasSubstr("DRAM 1.00 TB/s"));
  EXPECT_THAT(svg, HasSubstr("gemm&lt;a &amp; b&gt;"));
  EXPECT_THAT(svg, Not(HasSubstr("gemm<a")));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf\"")));
}

std::size_t count_of(const std::string& text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

TEST(RooflineSvg, SaysWhereTheRoofsAreFromAndWhatIsNotDrawn) {
  const std::string svg = roofline_svg(chart());
  EXPECT_THAT(svg, HasSubstr("roofs of X100: datasheet<"));
  EXPECT_THAT(svg, HasSubstr("10.0 % of DRAM; not drawn: no FLOPs<"));  // 0.1 of 1 ms
  EXPECT_THAT(
      svg, HasSubstr("zero-AI: 1 kernel, 1 launch (50.0 % of the launches, 50.0 % of the time)"));
  roofline::Chart mixed = chart();
  mixed.roofs.memory[0].source = "measured (x.json)";
  EXPECT_THAT(roofline_svg(mixed), HasSubstr("DRAM 1.00 TB/s, measured<"));
  EXPECT_THAT(roofline_svg(mixed), HasSubstr("fp32 10.0 TFLOP/s, datasheet<"));
}

TEST(RooflineSvg, TimeBasedHasBothKernels) {
  const std::string svg = time_svg(chart());
  EXPECT_THAT(svg, HasSubstr("machine balance"));
  // Two kernels and one marker in the legend; a cross for what each needs and one in the legend.
  EXPECT_EQ(count_of(svg, "<circle"), 3U);
  EXPECT_EQ(count_of(svg, "v8.0\""), 3U);
  EXPECT_THAT(svg, HasSubstr("10.0 % of DRAM<"));  // here kernels without FLOPs are drawn
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
}

TEST(RooflineSvg, TimeBasedHasTheBoxOfTheLaunches) {
  roofline::Chart one = chart();
  // Needed: 0.1 ms for the bytes, 0.2 ms for the FLOPs. 40 launches of 4.2 us: 0.168 ms.
  one.points[0].record.launches = one.points[1].record.launches = 40;
  EXPECT_THAT(time_svg(one), HasSubstr("40 launches: 168 us"));
  EXPECT_THAT(time_svg(one), HasSubstr("launches, 4.20 us each"));
  one.points[1].record.launches = 30;  // fewest and most
  EXPECT_THAT(time_svg(one), HasSubstr("30 launches: 126 us"));
  one.points[0].record.launches = one.points[1].record.launches = 0;  // not known
  EXPECT_THAT(time_svg(one), Not(HasSubstr("launches, 4.20 us each")));
}

TEST(RooflineSvg, AnEmptyChartIsStillAPicture) {
  EXPECT_THAT(roofline_svg({}), HasSubstr("</svg>"));
  EXPECT_THAT(time_svg({}), HasSubstr("</svg>"));
}

TEST(RooflineSvg, RunsDifferInFillAndAreNamedInLegendAndList) {
  const std::string svg = roofline_svg(two_runs({}));
  EXPECT_THAT(svg, HasSubstr(">before</text>"));
  // The first run is solid, the second hollow: three levels each and one sign in the legend.
  EXPECT_EQ(count_of(svg, R"(fill="none" pointer-events="all")"), 4U);
  EXPECT_EQ(count_of(svg, ">after</text>"), 3U);  // legend, two kernels of the list
  EXPECT_NE(run_style("#d55e00", 0), run_style("#d55e00", 1));
  EXPECT_NE(run_style("#d55e00", 1), run_style("#d55e00", 2));
  EXPECT_NE(run_style("#d55e00", 2), run_style("#d55e00", 3));
}

TEST(RooflineSvg, LowerBoundsHaveArrows) {
  const std::string arrow = R"(fill="none" stroke="#1c1e21" stroke-width="1.2")";
  EXPECT_EQ(count_of(roofline_svg(chart()), arrow), 0U);
  roofline::Chart incomplete = chart();
  incomplete.points[0].record.flops_complete = false;
  const std::string svg = roofline_svg(incomplete);
  EXPECT_EQ(count_of(svg, arrow), 4U);  // one per level, one in the legend
  EXPECT_THAT(svg, HasSubstr("&gt;=20.0 % of fp32"));
  EXPECT_THAT(svg, HasSubstr("&gt;= FLOP counters of 1 kernel are missing"));
  incomplete.points[1].record.flops_complete = false;  // zero of the FLOPs that were counted
  EXPECT_THAT(roofline_svg(incomplete), HasSubstr("&gt;=10.0 % of DRAM; not drawn: FLOPs unknown"));
  incomplete.points[1].record.flops_complete = true;
  // At the needed time of the kernel, and in the legend.
  EXPECT_EQ(count_of(time_svg(incomplete), arrow), 2U);
}

TEST(RooflineSvg, NumbersKeepClearOfEachOther) {
  const PlotFrame frame{.x = {.low = 1, .high = 100, .from = 0, .to = 200},
                        .y = {.low = 1, .high = 100, .from = 200, .to = 0},
                        .x_title = "",
                        .y_title = ""};
  NumberPlacer numbers(frame);
  numbers.add(100, 100, 10, 1);
  numbers.add(100, 100, 10, 2);
  numbers.add(195, 100, 10, 3);
  const std::string svg = numbers.svg();
  EXPECT_THAT(svg, HasSubstr(R"(<text x="107.0" y="104.5")"));  // right: 100 + 10 / 2 + 2
  EXPECT_THAT(svg, HasSubstr(R"(<text x="85.0" y="104.5")"));   // left: 100 - 7 - 8
  EXPECT_THAT(svg, HasSubstr(R"(<text x="180.0" y="104.5")"));  // no room on the right
}

TEST(RooflineSvg, IntegerOperationsAreNotFlop) {
  roofline::Chart one = chart();
  const hardware::RateKey int8{DType::Int8, hardware::Pipe::Tensor};
  one.points[0].record.flops_by = {{int8, Flops::from_base(2e9)}};
  one.roofs.compute[0].key = int8;
  const std::string svg = roofline_svg(one);
  EXPECT_THAT(svg, HasSubstr("int8_tensor 10.0 TOP/s"));
  EXPECT_THAT(svg, HasSubstr(">GOP/s</text>"));
  EXPECT_THAT(svg, HasSubstr("OP/byte</text>"));
  EXPECT_THAT(svg, Not(HasSubstr("FLOP/s")));
}

TEST(Svg, DarkColoursAreForScreensAndReplaceAttributesOnly) {
  const std::string svg = open_svg(10, 10, "t");
  EXPECT_THAT(svg, HasSubstr("@media screen and (prefers-color-scheme:dark){"));
  EXPECT_THAT(svg, HasSubstr(R"([fill="white"]{fill:#17191c})"));
  EXPECT_THAT(svg, HasSubstr(R"(<rect width="100%" height="100%" fill="white"/>)"));
  for (const Color& level : kLevelColors) {
    EXPECT_THAT(svg, HasSubstr("[fill=\"" + std::string(level.value) + "\"]"));
  }
  for (const std::string_view color : kCurveColors) {
    EXPECT_THAT(svg, HasSubstr("[stroke=\"" + std::string(color) + "\"]"));
  }
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
  EXPECT_THAT(curves_svg_of(curves), HasSubstr("FLOP/s against intensity"));
}

TEST(MachineCurves, IntegerCeilingsAreOperations) {
  hardware::Ceilings ceilings;
  ceilings.rate[{DType::Int8, hardware::Pipe::Tensor}].value = FlopsPerSecond::from_base(6e14);
  MachineCurves curves = machine_curves({}, &ceilings);
  curves.rate.push_back({.name = "int8", .points = {{1, 1e14}, {2, 2e14}}});
  const std::string svg = curves_svg_of(curves);
  EXPECT_THAT(svg, HasSubstr("int8_tensor 600 TOP/s"));
  EXPECT_THAT(svg, Not(HasSubstr("Bandwidth against"))) << "a plot without curves";
}

}  // namespace
}  // namespace rooftile::report
