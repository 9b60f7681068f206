// SPDX-License-Identifier: Apache-2.0
//
// Text and CSV of charts with several runs, incomplete counters and integer operations.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/text.h"
#include "report/roofline_words.h"
#include "written.h"

namespace rooftile::report {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string in_format(std::string_view format, const roofline::Chart& chart,
                      RooflineView view = RooflineView::Hierarchical, int width = 100,
                      bool color = false) {
  return write(format, describe(chart, view, {.top = 20}), {.width = width, .color = color});
}
std::string text_in(const roofline::Chart& chart, int width) {
  return in_format("text", chart, RooflineView::Hierarchical, width);
}
std::string times_in(const roofline::Chart& chart, int width) {
  return in_format("text", chart, RooflineView::TimeBased, width);
}
std::string times_in_format(std::string_view format, const roofline::Chart& chart) {
  return in_format(format, chart, RooflineView::TimeBased);
}
std::string colored(const roofline::Chart& chart) {
  return in_format("text", chart, RooflineView::Hierarchical, 100, true);
}

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
  const std::string text = text_in(compared(), 100);
  const std::size_t difference = text.find("difference: after minus before"),
                    kernels = text.find("\nkernel  phase ");
  ASSERT_NE(difference, std::string::npos);
  ASSERT_NE(kernels, std::string::npos);
  EXPECT_LT(difference, kernels);
  EXPECT_THAT(text, HasSubstr("\ngemm    before  "));
  EXPECT_THAT(text, HasSubstr("\ngemm    after  "));
  const std::string times = times_in(compared(), 120);
  EXPECT_THAT(times, HasSubstr("\nkernel  phase "));
}

TEST(RooflineText, NarrowTablesSayWhatTheyLeaveOut) {
  const std::string text = text_in(compared(), 60);
  EXPECT_THAT(text, HasSubstr("no room for: launches"));
}

TEST(RooflineText, LowerBoundsAreMarkedInKernelsAndTotals) {
  profile::KernelRecord record = kernel("gemm", 4, 2e9);
  record.flops_complete = false;
  const roofline::Chart chart = with(record);
  EXPECT_FALSE(chart.total.flops_complete);
  const std::string text = text_in(chart, 100);
  // 2e9 FLOP in 4 ms are 500 GFLOP/s, on 1e8 bytes 20 FLOP/byte; all kernels: 5 ms and 2e8 bytes.
  EXPECT_THAT(text, HasSubstr(">=2.000 GFLOP, >=400.0 GFLOP/s\nintensity  dram >=10, FLOP/byte\n"));
  EXPECT_THAT(text, HasSubstr(">=-/-/20    >=500  fp32     >=5.0 %"));
  EXPECT_THAT(text, HasSubstr("\n>= FLOP counters of 1 kernel are missing"));
  EXPECT_THAT(in_format("csv", chart), HasSubstr(",false,"));
  EXPECT_THAT(in_format("json", chart), HasSubstr("\"flops_complete\": false"));
  record.flops_complete = true;
  EXPECT_THAT(text_in(with(record), 100), Not(HasSubstr(">=")));
}

TEST(RooflineText, IntegerOperationsAreNotFlop) {
  profile::KernelRecord record = kernel("gemm", 4, 2e9);
  record.flops_by = {{{DType::Int8, hardware::Pipe::Tensor}, Flops::from_base(2e9)}};
  EXPECT_EQ(operations_of(record), "OP");
  roofline::Chart chart = with(record);
  chart.roofs.compute[0].key = {DType::Int8, hardware::Pipe::Tensor};
  const std::string text = text_in(chart, 100);
  EXPECT_THAT(text, HasSubstr("int8_tensor 10.0 TOP/s"));
  EXPECT_THAT(text, HasSubstr("2.000 GOP, 400.0 GOP/s\nintensity  dram 10, OP/byte"));
  EXPECT_THAT(text, Not(HasSubstr("FLOP")));
  EXPECT_EQ(rate_unit(with(kernel("gemm", 4, 2e9))), "GFLOP/s");
}

TEST(RooflineCsv, ComparisonHasRowsOfDifferences) {
  const std::string csv = in_format("csv", compared());
  const std::vector<std::string_view> lines = split(csv, '\n');
  EXPECT_THAT(std::string(lines[0]), HasSubstr("kind,name,short_name,"));
  EXPECT_THAT(std::string(lines[0]), HasSubstr(",first_ms,second_ms,delta_ms,"));
  EXPECT_THAT(csv, HasSubstr("\nclass_difference,vector,vector,"));
  EXPECT_THAT(csv, HasSubstr(",4,1,-3,2,2,"));  // 4 ms before, 1 ms after; two launches each
  EXPECT_THAT(csv, HasSubstr("\nkernel_difference,copy,copy,"));
  const auto columns = std::count(lines[0].begin(), lines[0].end(), ',');
  for (const std::string_view line : lines) {
    if (line.empty()) continue;  // after the last line
    EXPECT_EQ(std::count(line.begin(), line.end(), ','), columns) << line;
  }
  profile::Run run;
  run.kernels = {kernel("gemm", 4, 2e9)};
  const std::string plain = in_format("csv", make_chart({{.run = run, .files = {}}}, roofs(), {}));
  EXPECT_THAT(plain, Not(HasSubstr("delta_ms")));
}

/// 10 GFLOP in 0.5 ms are twice the roof.
roofline::Chart above() {
  profile::KernelRecord record = kernel("conv\x1b[31m", 0.5, 1e10);
  record.algorithm = "winograd_nonfused";
  return with(record);
}

TEST(AboveTheRoof, IsExplainedInEveryView) {
  const std::string note = "effective rate, Winograd needs fewer multiplications";
  const std::string text = text_in(above(), 120);
  EXPECT_THAT(text, HasSubstr("200.0 %*"));
  EXPECT_THAT(text, HasSubstr("* 1 kernel above the roof: " + note));
  // Below the plot and the table.
  EXPECT_LT(text.find("of roof"), text.find("* 1 kernel"));
  EXPECT_THAT(times_in(above(), 120), HasSubstr("* 1 kernel above the roof: " + note));
  for (const std::string& svg : {in_format("svg", above()), times_in_format("svg", above())}) {
    EXPECT_THAT(svg, HasSubstr(">1 kernel above the roof: " + note));
    EXPECT_THAT(svg, HasSubstr("stroke-dasharray=\"2 2\" pointer-events"));  // the ring
    EXPECT_THAT(svg, HasSubstr("200.0 % of fp32, see the ring"));
  }
  EXPECT_THAT(in_format("json", above()), HasSubstr("\"above_roof\": \"" + note));
  EXPECT_THAT(in_format("csv", above()), HasSubstr(",\"" + note));
}

TEST(AboveTheRoof, IsNotMentionedBelow) {
  const roofline::Chart chart = with(kernel("conv", 5, 1e10));
  EXPECT_THAT(text_in(chart, 100), Not(HasSubstr("above the roof")));
  EXPECT_THAT(in_format("svg", chart), Not(HasSubstr("above the roof")));
  EXPECT_THAT(in_format("json", chart), HasSubstr("\"above_roof\": null"));
}

TEST(ZeroAi, IsNotZeroWhereFlopsAreUnknown) {
  profile::KernelRecord record = kernel("gemm", 5, 1e10);
  record.flops.reset();
  record.flops_by.clear();
  profile::Run run;
  run.label = "run";
  run.kernels = {record};
  const roofline::Chart none =
      make_chart({{.run = run, .files = {}}, {.run = run, .files = {}}}, roofs(), {});
  const std::string text = text_in(none, 100);
  EXPECT_THAT(text, HasSubstr("zero-AI"));
  EXPECT_THAT(text, Not(HasSubstr(" 0.0%")));
  EXPECT_THAT(in_format("svg", none), HasSubstr("zero-AI: unknown"));
  EXPECT_THAT(in_format("json", none), HasSubstr("\"zero_ai\": null"));
  // Of two kernels one is unknown, the other has no FLOPs.
  EXPECT_THAT(
      census_text(with(record).total),
      HasSubstr("zero-AI: 1 kernel, 2 launches (50.0 % of the launches, 16.7 % of the time); FLOPs "
                "of 1 more kernel are unknown"));
  roofline::Total one_of_two = none.total;
  one_of_two.uncounted = 1;
  EXPECT_THAT(census_text(one_of_two),
              HasSubstr("zero-AI: none found, but the FLOPs of 1 of 2 kernels were not counted"));
}

// Warnings of one name are alike; notes of an import are not.
TEST(Warnings, EveryNoteOfAnImportIsShown) {
  roofline::Chart chart;
  chart.warnings = {{"import", "copies are left out"},
                    {"import", "graphs are left out"},
                    {"byte-order", "at l1"},
                    {"byte-order", "at l2"}};
  const std::string text = text_in(chart, 100);
  EXPECT_THAT(text, HasSubstr("copies are left out"));
  EXPECT_THAT(text, HasSubstr("graphs are left out"));
  EXPECT_THAT(text, HasSubstr("at l1 (and 1 more like it)"));
}

TEST(HostileNames, LeaveNoControlInAnyView) {
  const std::string evil = "\x1b[1mbold\x1b[0m\x1b]0;t\x07\r\nerror: x\xC2\x9B\xE2\x80\xAE\xff=1";
  profile::Run before, after;
  before.label = "b" + evil;
  before.kernels = {kernel(evil, 4, 2e9)};
  after.label = "a" + evil;
  after.kernels = {kernel(evil, 1, 2e9)};
  roofline::ChartOptions compare;
  compare.compare = true;
  roofline::Roofs named = roofs();
  named.machine = evil;
  roofline::Chart chart = make_chart(
      {{.run = before, .files = {evil}}, {.run = after, .files = {evil}}}, named, compare);
  chart.title = evil;
  chart.warnings.push_back({"name", evil});
  const auto escapes = [](const std::string& text) {
    return std::count(text.begin(), text.end(), '\x1b');
  };
  const std::string text = colored(chart);
  roofline::Chart harmless = chart;
  harmless.title = "title";
  // Only our own styles hold the byte: as many as with a harmless title.
  EXPECT_EQ(escapes(text), escapes(colored(harmless)));
  EXPECT_EQ(escapes(text_in(chart, 100)), 0);
  for (const std::string& view :
       {text_in(chart, 100), times_in(chart, 100), in_format("json", chart),
        in_format("csv", chart), in_format("svg", chart), times_in_format("svg", chart)}) {
    EXPECT_EQ(view.find_first_of("\x1b\x07\r"), std::string::npos);
    EXPECT_EQ(view.find("\xC2\x9B"), std::string::npos);
    EXPECT_EQ(view.find("\xE2\x80\xAE"), std::string::npos);
    EXPECT_EQ(view.find('\xff'), std::string::npos);
    EXPECT_EQ(view.find("\nerror: x"), std::string::npos);
  }
}

}  // namespace
}  // namespace rooftile::report
