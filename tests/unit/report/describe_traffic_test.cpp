// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "calibration/validation.h"
#include "core/text.h"
#include "written.h"

namespace rooftile::report {
namespace {

/// 8 MB, 4 MB and 1 + 1 MB in 1 ms: 8, 4 and 2 GB/s of 80, 16 and 4 GB/s.
TrafficReport one_layer() {
  LayerTraffic layer;
  layer.name = "a/conv";
  layer.op = "conv2d";
  layer.phase = "backward";
  layer.pass = "wgrad";
  layer.shape = "1x1";
  layer.dtype = "fp32";
  layer.read = {.l1 = 8e6, .l2 = 4e6, .dram = 1e6};
  layer.dram_written = 1e6;
  layer.latency_ms = 1;
  layer.limiter = "compute";
  layer.tile = "128x64";
  layer.algorithm = "fft";
  layer.fidelity = "exact";
  layer.latency_exact_ms = 0.75;
  layer.algorithms = {{.name = "fft",
                       .tile = "",
                       .flops = 3e9,
                       .read = {.l1 = 2e6, .l2 = 2e6, .dram = 2e6},
                       .dram_written = 1e6,
                       .latency_ms = 0.5,
                       .limiter = "dram"},
                      {.name = "implicit_gemm",
                       .tile = "64x32/2",
                       .flops = 4e9,
                       .read = {},
                       .dram_written = 0,
                       .latency_ms = 1,
                       .limiter = "compute"}};
  TrafficReport report;
  report.gpu_name = "chip";
  report.traffic_model = "closed";
  report.l1_ceiling = 80e9;
  report.l2_ceiling = 16e9;
  report.dram_ceiling = 4e9;
  report.layers = {layer};
  report.total_ms = 1;
  return report;
}

TEST(TrafficView, TextHasPhaseAllCeilingsAndAlgorithms) {
  const std::string text = written("text", one_layer(), 140);
  for (const char* part : {"wgrad", "L1/L2/DRAM", "10 %/25 %/50 %", "implicit_gemm", "3.00 GFLOP",
                           "4.00 GFLOP", "wgrad: fft", "64x32/2"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

// Two launches of 1 ms and a host that takes 1 ms longer; 0.75 ms each with counted bytes.
TEST(TrafficView, TotalsHaveTheHostAndTheCountedBytes) {
  TrafficReport report = one_layer();
  report.traffic_model = "exact";
  report.layers.push_back(report.layers.front());
  report.host_ms = 1;
  report.total_ms = 3;
  const std::string text = written("text", report, 140);
  EXPECT_NE(text.find("step        3.00 ms; time by limiter: compute 67 %, host 33 %"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("exact bytes of 2 of 2 launches"), std::string::npos) << text;
  EXPECT_NE(text.find("take 2.50 ms, uncalibrated"), std::string::npos) << text;
}

TEST(TrafficView, NarrowTablesSayWhatTheyLeaveOut) {
  TrafficReport report = one_layer();
  report.layers.push_back(report.layers.front());
  const std::string narrow = written("text", report, 70);
  EXPECT_NE(narrow.find("no room for: kernel, phase, shape"), std::string::npos) << narrow;
  report.layers.back().pass = "forward";  // now the pass tells the rows apart
  EXPECT_NE(written("text", report, 70).find("  fwd  "), std::string::npos);
  EXPECT_EQ(written("text", report, 240).find("no room"), std::string::npos);
}

TEST(TrafficView, JsonListsTheAlgorithms) {
  const std::string json = written("json", one_layer());
  EXPECT_NE(json.find("\"phase\": \"backward\""), std::string::npos) << json;
  EXPECT_NE(json.find("\"pass\": \"wgrad\""), std::string::npos) << json;
  EXPECT_NE(json.find("\"algorithms\""), std::string::npos);
  EXPECT_NE(json.find("\"flops\": 3000000000.0"), std::string::npos) << json;
  EXPECT_NE(json.find("\"tile\": \"64x32/2\""), std::string::npos) << json;
  EXPECT_NE(json.find("\"bottleneck\": \"compute\""), std::string::npos) << "alias of limiter";
}

/// The cell of the first row under a column.
std::string cell(const std::string& csv, std::string_view column) {
  const auto lines = split(csv, '\n');
  const auto names = split(lines[0], ','), cells = split(lines[1], ',');
  const auto at = std::find(names.begin(), names.end(), column);
  return at == names.end() ? "no such column"
                           : std::string(cells[static_cast<std::size_t>(at - names.begin())]);
}

TEST(TrafficView, CsvHasReuseDemandAndFractions) {
  const std::string csv = written("csv", one_layer());
  for (const auto& [column, value] :
       {std::pair("fidelity", "exact"), std::pair("latency_exact_ms", "0.75"),
        std::pair("reuse_l1", "2"), std::pair("reuse_l2", "4"),
        std::pair("demand_l1", "8000000000"), std::pair("demand_dram", "2000000000"),
        std::pair("ceiling_l1", "0.1"), std::pair("ceiling_dram", "0.5"),
        std::pair("simulated_l1_bytes", ""), std::pair("pass", "wgrad"),
        std::pair("algorithms_ms", "fft=0.5;implicit_gemm=1")}) {
    EXPECT_EQ(cell(csv, column), value) << column;
  }
  TrafficReport unknown = one_layer();
  unknown.l1_ceiling.reset();
  EXPECT_EQ(cell(written("csv", unknown), "ceiling_l1"), "");
}

calibration::ValidationTable table_of(std::vector<std::string> columns,
                                      std::vector<calibration::ValidationCell> row) {
  calibration::ValidationTable table;
  table.title = "t";
  table.columns = std::move(columns);
  table.rows = {std::move(row)};
  table.notes = {"n"};
  return table;
}

TEST(ValidationView, CsvHasTheCellsAsPrinted) {
  EXPECT_EQ(written("csv",
                    table_of({"GPU", "mean/worst"}, {"exact, dgrad", {"0.16 / 0.8", {0.16, 0.8}}})),
            "GPU,mean/worst\n\"exact, dgrad\",0.16 / 0.8\n");
}

TEST(ValidationView, CellsAreNumbersInJson) {
  const auto json = nlohmann::json::parse(written(
      "json", table_of({"GPU", "n", "error", "word"}, {"P100",
                                                       calibration::ValidationCell::count(67),
                                                       {"13.4 % (0.93)", {13.41, 0.931}},
                                                       "none"})));
  const auto& row = json["rows"][0];
  EXPECT_EQ(row["GPU"], "P100");
  EXPECT_EQ(row["n"], 67);
  EXPECT_EQ(row["error"], (nlohmann::json{13.41, 0.931}));
  EXPECT_EQ(row["word"], "none");
}

}  // namespace
}  // namespace rooftile::report
