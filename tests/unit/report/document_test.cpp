// SPDX-License-Identifier: Apache-2.0
//
// Documents: tables read their tree, so one that was read back from JSON is the same document.
#include "report/document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/text.h"
#include "core/utf8.h"
#include "report/step_timeline.h"
#include "written.h"

namespace rooftile::report {
namespace {

using nlohmann::ordered_json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

OperatorReport operator_of(std::string name, std::string phase, std::int64_t count, double ms) {
  OperatorReport op;
  op.name = std::move(name);
  op.op = "linear";
  op.phase = std::move(phase);
  op.count = count;
  op.layers = count;
  op.shape = "4096x4096x12288";
  op.dtype = "bf16";
  op.latency_ms = ms;
  op.low_ms = 0.9 * ms;
  op.high_ms = 1.2 * ms;
  op.bound_ms = ms / 2;
  op.limiter = "compute";
  op.tile = "128x256";
  op.provenance = "learned";
  return op;
}

/// 10 ms: a layer of two kernels, three times, and the host's millisecond.
Report step() {
  Report report;
  report.model_name = "model";
  report.gpu_name = "GPU";
  report.predictor = "rooftile";
  report.latency = {.total_ms = 10, .low_ms = 8, .high_ms = 12, .forward_ms = 10};
  report.operators = {operator_of("embedding/wte", "forward", 1, 3),
                      operator_of("layer/attn.a_projection_with_a_long_name", "forward", 3, 4.5),
                      operator_of("layer/mlp", "forward", 3, 1.5)};
  report.parts = {{.name = "kernels", .latency_ms = 9, .share = 0.9},
                  {.name = "host", .latency_ms = 1, .share = 0.1}};
  report.limiter_share = {{"compute", 0.9}, {"host", 0.1}};
  return report;
}

TEST(Document, ATreeThatWasReadBackIsTheSameDocument) {
  const Document document = describe(step());
  Document again = document;
  again.data = ordered_json::parse(write("json", document));
  EXPECT_EQ(again.data, document.data);
  for (const char* format : {"text", "json", "csv", "markdown"})
    EXPECT_EQ(write(format, again), write(format, document)) << format;
  // Tables have no numbers of their own: another tree is another document.
  again.data.json()["operators"][2]["latency_ms"] = 77.5;
  for (const char* format : {"text", "json", "csv", "markdown"})
    EXPECT_THAT(write(format, again), HasSubstr("77.5")) << format;
}

TEST(Document, EveryFormatOfEveryWidthKeepsNamesWhole) {
  for (const int width : {60, 80, 120, 160}) {
    const std::string text = write("text", describe(step()), {.width = width});
    std::string joined;  // cells of the first column, continued lines put together
    for (const std::string_view line : split(text, '\n')) {
      EXPECT_LE(utf8_count(line), static_cast<std::size_t>(width)) << text;
      joined += std::string(trim(line.substr(0, line.find("  ", 2))));
    }
    EXPECT_THAT(joined, HasSubstr("layer/attn.a_projection_with_a_long_name")) << text;
  }
}

TEST(Document, NarrowTerminalsSayWhatTheyLeaveOut) {
  EXPECT_THAT(write("text", describe(step()), {.width = 60}), HasSubstr("no room for: "));
  EXPECT_THAT(write("text", describe(step()), {.width = 400}),
              ::testing::Not(HasSubstr("no room for")));
}

TEST(Document, RowsThatAreNotShownAreSummed) {
  const std::string text = write("text", describe(step(), {.top = 1}), {.width = 100});
  EXPECT_THAT(text, ::testing::ContainsRegex("\\(2 others\\) .* 4.50 ms .*45.0 %"));
}

TEST(Document, WarningsOfAKindAreOne) {
  EXPECT_THAT(folded({{.text = "needs 12 GB", .subject = "l4"},
                      {.text = "needs 14.5 GB", .subject = "t4"},
                      {.text = "other"}}),
              ElementsAre("l4, t4: needs 12 GB (figures for l4, similar for the others)", "other"));
  EXPECT_THAT(folded({{.text = "a 1"}, {.text = "a 2"}}), ElementsAre("a 1 (and 1 more like it)"));
}

TEST(Document, UnitsAreShownByTheWriter) {
  EXPECT_EQ(shown(1234.5, Unit::Milliseconds), "1.23 s");
  EXPECT_EQ(shown(0.352, Unit::Fraction), "35.2 %");
  EXPECT_EQ(shown(ordered_json(), Unit::Bytes), "-");
  EXPECT_EQ(shown("forward", Unit::Phase), "fwd");
  EXPECT_EQ(shown(ordered_json{{"compute", 0.59}, {"l2", 0.001}}, Unit::Percent), "compute 59 %");
  EXPECT_EQ(shown(true, Unit::None), "yes");
}

// 3 ms, then three layers of 1.5 and 0.5 ms, then the host.
TEST(Timeline, LaunchesRunLayerByLayer) {
  const Timeline timeline = step_timeline(step());
  std::vector<std::string> kernels, layers;
  double end = 0;
  for (const Slice& slice : timeline.slices) {
    const auto track = static_cast<Track>(slice.track);
    if (track == Track::Kernels) kernels.push_back(slice.name.substr(slice.name.find('/') + 1, 3));
    if (track == Track::Layer) layers.push_back(slice.name);
    end = std::max(end, slice.start_ms + slice.duration_ms);
  }
  EXPECT_THAT(kernels, ElementsAre("wte", "att", "mlp", "att", "mlp", "att", "mlp"));
  EXPECT_THAT(layers, ElementsAre("embedding", "layer 0", "layer 1", "layer 2"));
  EXPECT_NEAR(end, 10, 1e-9);
}

// Two kernels of a layer, each 0.5 ms in three layers; an all-reduce of 0.2 ms waits for the first
// one of them in every layer, another one of 3 ms hides behind kernels but for 1 ms.
TEST(Timeline, CollectivesFollowTheirKernels) {
  Report report = step();
  OperatorReport waited =
      operator_of("layer/attn.a_projection_with_a_long_name", "forward", 3, 0.6);
  waited.layers = 1;
  waited.limiter = "link";
  OperatorReport hidden = operator_of("gradients", "forward", 1, 3);
  hidden.limiter = "link";
  hidden.hidden_ms = 2;
  report.operators.push_back(waited);
  report.operators.push_back(hidden);
  const Timeline timeline = step_timeline(report);
  std::vector<double> starts;
  double hidden_end = 0;
  for (const Slice& slice : timeline.slices) {
    const auto track = static_cast<Track>(slice.track);
    if (track == Track::Communication) starts.push_back(slice.start_ms);
    if (track == Track::Hidden) hidden_end = slice.start_ms + slice.duration_ms;
  }
  // Embedding 3 ms; a layer is 1.5 + 0.2 + 0.5 ms.
  ASSERT_EQ(starts.size(), 3U);
  EXPECT_NEAR(starts[0], 4.5, 1e-9);
  EXPECT_NEAR(starts[1], 6.7, 1e-9);
  EXPECT_NEAR(starts[2], 8.9, 1e-9);
  EXPECT_NEAR(hidden_end, 3 + 3 * 2.2 + 1, 1e-9);
}

TEST(Writers, OffersDecide) {
  EXPECT_THAT(formats_for({}), ElementsAre("text", "json", "csv", "markdown"));
  EXPECT_THAT(formats_for({.charts = true, .timeline = true}),
              ElementsAre("text", "json", "csv", "markdown", "svg", "html", "trace"));
}

}  // namespace
}  // namespace rooftile::report
