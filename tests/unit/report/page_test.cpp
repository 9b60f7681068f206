// SPDX-License-Identifier: Apache-2.0
#include "report/page.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/web_page.h"
#include "roofline/chart.h"
#include "written.h"

namespace rooftile::report {
namespace {

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos;
       at = text.find(part, at + part.size())) {
    ++found;
  }
  return found;
}

/// What the browser would hand to JSON.parse.
std::string data_of(const std::string& page) {
  const std::string open = R"(<script type="application/json" id="rooftile-data">)";
  const std::size_t begin = page.find(open) + open.size();
  return page.substr(begin, page.find("</script>", begin) - begin);
}

/// The first section of a type.
nlohmann::json section(const nlohmann::json& page, std::string_view type) {
  for (const auto& one : page["sections"]) {
    if (one["type"] == type) return one;
  }
  return nullptr;
}

roofline::Chart chart_of(const std::string& name) {
  profile::KernelRecord record;
  record.name = name;
  record.launches = 2;
  record.time = Seconds::from_base(1e-3);
  record.flops = Flops::from_base(2e9);
  record.flops_by[{DType::Fp32, hardware::Pipe::Vector}] = *record.flops;
  for (auto& bytes : record.bytes) bytes = Bytes::from_base(1e8);
  roofline::Roofs roofs;
  roofs.machine = "test machine";
  roofs.memory.push_back({.name = "dram",
                          .level = hardware::MemoryLevel::Dram,
                          .bandwidth = BytesPerSecond::from_base(1e12),
                          .source = "datasheet"});
  roofs.compute.push_back({.key = {DType::Fp32, hardware::Pipe::Vector},
                           .rate = FlopsPerSecond::from_base(1e13),
                           .source = "datasheet"});
  profile::Run run;
  run.label = "run";
  run.kernels.push_back(record);
  roofline::Chart chart = make_chart({{.run = run, .files = {}}}, roofs, {});
  chart.title = name;
  return chart;
}

TEST(Page, TheBundleHasEachMarkOnce) {
  EXPECT_EQ(count(web_page(), "@TITLE@"), 1U);
  EXPECT_EQ(count(web_page(), "@DATA@"), 1U);
  EXPECT_LT(web_page().find("@TITLE@"), web_page().find("@DATA@"));
  EXPECT_EQ(count(web_page(), "</script>"), 2U);
  // Nothing is loaded from elsewhere.
  EXPECT_EQ(count(web_page(), "<script src"), 0U);
  EXPECT_EQ(count(web_page(), "<link"), 0U);
}

TEST(Page, NamesCannotLeaveTheScript) {
  const std::string evil = "</script><script>alert(1)</script><!-- @DATA@ @TITLE@ \"'&";
  const std::string page = write("html", describe(chart_of(evil), RooflineView::Hierarchical));
  EXPECT_EQ(count(page, "</script>"), 2U);
  EXPECT_EQ(count(page, "alert(1)"),
            count(page, "&lt;script&gt;alert(1)") + count(page, "\\u003cscript>alert(1)"));
  const auto json = nlohmann::json::parse(data_of(page));
  EXPECT_EQ(section(json, "roofline")["view"], "hierarchical");
  EXPECT_EQ(json["data"]["kernels"][0]["name"], evil);
}

TEST(Page, BytesThatAreNotUtf8AreReplaced) {
  const std::string page =
      write("html", describe(chart_of("k\xff\xfe<x>"), RooflineView::TimeBased));
  EXPECT_EQ(section(nlohmann::json::parse(data_of(page)), "roofline")["view"], "time");
  EXPECT_EQ(page.find('\xff'), std::string::npos);
}

TEST(Page, PredictionCarriesReportAndChart) {
  Report report;
  report.model_name = "m<1>";
  report.latency.total_ms = 2.5;
  Document document = describe(report);
  add_chart(chart_of("gemm"), document);
  const auto json = nlohmann::json::parse(data_of(write("html", document)));
  EXPECT_EQ(json["data"]["latency"]["total_ms"], 2.5);
  EXPECT_EQ(section(json, "roofline")["roofline"]["kernels"].size(), 1U);
  EXPECT_EQ(section(json, "table")["columns"][0]["rank"], "identity");
}

}  // namespace
}  // namespace rooftile::report
