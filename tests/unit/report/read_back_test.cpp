// SPDX-License-Identifier: Apache-2.0
//
// JSON holds everything that the tables of a result say: a document whose tree was read back from
// it writes the same bytes in every format.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "calibration/nodes.h"
#include "calibration/steps.h"
#include "report/json_text.h"
#include "rooftile/calibrate.h"
#include "rooftile/evaluate.h"
#include "rooftile/generate.h"
#include "written.h"

namespace rooftile::report {
namespace {

using nlohmann::ordered_json;

void expect_read_back(const Document& document) {
  Document again = document;
  again.data = ordered_json::parse(write("json", document));
  EXPECT_EQ(again.data, document.data);
  for (const char* format : {"text", "json", "csv", "markdown", "svg", "html"})
    EXPECT_EQ(write(format, again), write(format, document)) << format;
}

/// Every number of the tree is changed: whatever a table shows must follow.
void expect_tables_of_the_tree(const Document& document) {
  Document again = document;
  ordered_json other = document.data.json().flatten();
  for (ordered_json& value : other) {
    if (value.is_number_float()) value = value.get<double>() * 1.5 + 0.125;
  }
  again.data = other.unflatten();
  EXPECT_NE(write("csv", again), write("csv", document));
}

void expect_one_document(const Document& document) {
  expect_read_back(document);
  expect_tables_of_the_tree(document);
}

Report step_of(std::string gpu, double ms) {
  Report report;
  report.model_name = "model";
  report.gpu_name = "The " + gpu;
  report.request.gpu = std::move(gpu);
  report.predictor = "rooftile";
  report.latency = {.total_ms = ms, .low_ms = ms / 3, .high_ms = ms * 1.1};
  report.bound_total_ms = ms / 7;
  report.limiter_share = {{"compute", 0.7}, {"dram", 0.3}};
  report.memory.total_bytes = 12.3e9;
  report.memory.capacity_bytes = 16e9;
  report.memory.fits = true;
  return report;
}

ErrorSummary errors_of(std::string group) {
  ErrorSummary summary;
  summary.group = std::move(group);
  summary.cases = 7;
  summary.mean_error = 0.1 / 3;
  summary.median_error = 0.02;
  summary.p90_error = 0.07;
  summary.bias = -0.01;
  return summary;
}

TEST(ReadBack, Compare) {
  const std::vector<Report> reports{step_of("a", 10.0 / 3), step_of("b", 2)};
  expect_one_document(describe(std::span<const Report>(reports)));
}

TEST(ReadBack, Generate) {
  GenerateReport report;
  report.model_name = "model";
  report.request.osl = 9;
  report.ttft_ms = {.value = 20.0 / 3, .low = 6, .high = 8};
  report.tpot_ms = {.value = 1.1, .low = 1, .high = 1.3};
  report.request_ms = {.value = 15.4, .low = 14, .high = 18};
  report.tokens_per_s = {.value = 580, .low = 500, .high = 640};
  report.memory = step_of("a", 1).memory;
  expect_one_document(describe(report));
  const std::string svg = written("svg", report);
  EXPECT_NE(svg.find("capacity 16.0 GB"), std::string::npos);
  EXPECT_NE(svg.find("8 x 1.10 ms"), std::string::npos);  // behind the first of nine tokens
}

TEST(ReadBack, Kernel) {
  KernelReport kernel;
  kernel.row.provenance = "learned";
  kernel.row.limiter = "compute";
  kernel.row.latency_ms = 5.0 / 3;
  kernel.row.low_ms = 1;
  kernel.row.high_ms = 2;
  kernel.row.bound_ms = 0.7;
  kernel.terms = {{.limiter = "compute", .ms = 0.7, .arithmetic = "1 FLOP"}};
  KernelsReport report;
  report.kernels = {kernel};
  expect_one_document(describe(report));
}

TEST(ReadBack, Traffic) {
  TrafficReport report;
  LayerTraffic layer;
  layer.name = "layer1/conv";
  layer.op = "conv";
  layer.phase = "forward";
  layer.read = {.l1 = 3e9, .l2 = 2e9, .dram = 1e9 / 3};
  layer.limiter = "l2";
  layer.latency_ms = 1.25;
  report.layers = {layer};
  report.dram_ceiling = 1e12;
  report.total_ms = 1.25;
  expect_one_document(describe(report));
}

ScaleVariant variant_of(std::map<std::string, double> factors, double speedup) {
  ScaleVariant variant;
  variant.factors = std::move(factors);
  variant.time_ms = 4 / (3 * speedup);
  variant.speedup = speedup;
  return variant;
}

TEST(ReadBack, Scale) {
  ScaleStep step;
  step.name = "model infer";
  step.base.time_ms = 4.0 / 3;
  step.variants = {variant_of({{"sms", 2}}, 1.9)};
  step.balance = {{.resource = "sms", .factor = 4, .speedup = 2.5, .speedup_at_2x = 1.9}};
  step.balanced = {{2.0, step.variants.front()}, {3.0, std::nullopt}};
  ScaleReport report;
  report.gpu_name = "GPU";
  report.steps = {step};
  expect_one_document(describe(report));
}

// A search without variants of its own is drawn, too.
TEST(ReadBack, ScaleOptimum) {
  ScaleStep step;
  step.name = "model infer";
  step.base.time_ms = 1;
  step.balanced = {{2.0, variant_of({{"dram_bw", 2}, {"sms", 1.5}}, 2)}};
  ScaleReport report;
  report.steps = {step};
  const Document document = describe(report);
  EXPECT_NE(write("svg", document).find("dram_bw x2, sms x1.5, speed-up: 2.00x"),
            std::string::npos);
  ASSERT_EQ(document.verdict.size(), 1U);
  EXPECT_EQ(document.verdict[0].text, "model infer: 2.00x with dram_bw x2, sms x1.5");
}

TEST(ReadBack, Calibrate) {
  CalibrateReport report;
  report.gpu = "a";
  report.numbers = {{.name = "dram", .unit = "B/s", .before = 1e12, .after = 0.9e12, .told = 0.3}};
  report.families = {{.family = "linear",
                      .rows = 12,
                      .level = 1.1,
                      .error_before = 0.2 / 3,
                      .error_after = 0.02,
                      .error_left_out = 0.05,
                      .noise = std::nullopt}};
  report.rows = {{.name = "linear 8x8x8",
                  .family = "linear",
                  .place = "a.csv",
                  .measured_ms = 0.1,
                  .before_ms = 0.2,
                  .after_ms = 0.1}};
  report.machine_file = "{}";
  expect_one_document(describe(report));
}

TEST(ReadBack, Suggest) {
  SuggestReport report;
  report.kernels = {{.kernel = "gemm",
                     .shape = "8x8x8",
                     .dtype = "bf16",
                     .family = "linear_16bit",
                     .limiter = "launch",
                     .predicted_ms = 0.01 / 3,
                     .unknown = 0.4}};
  expect_one_document(describe(report));
  EXPECT_NE(written("svg", report).find("on the right: predicted time"), std::string::npos);
}

TEST(ReadBack, Gain) {
  const std::vector<ErrorSummary> summary{errors_of("linear"), errors_of("linear/a")};
  expect_one_document(describe_gain(30, 10, summary, {}));
}

TEST(ReadBack, Steps) {
  calibration::StepEvaluation evaluation;
  evaluation.predictor = "rooftile";
  evaluation.summary = {errors_of("all")};
  calibration::StepCase one;
  one.row.name = "case";
  one.row.measured_ms = 3;
  one.predicted_ms = 10.0 / 3;
  evaluation.cases = {one};
  evaluation.skipped = {{"not modelled", 2}};
  expect_one_document(describe(evaluation));
}

TEST(ReadBack, Nodes) {
  calibration::NodeEvaluation evaluation;
  evaluation.classes = {{.device = "a",
                         .step = "model-inf-8-1",
                         .kind = "linear",
                         .measured_ms = 3,
                         .predicted_ms = 10.0 / 3,
                         .share = 0.9}};
  evaluation.missing = {
      {.device = "a", .step = "model-inf-8-1", .node = "x", .target = "y", .share = 0.1}};
  expect_one_document(describe(evaluation));
}

}  // namespace
}  // namespace rooftile::report
