// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "embedded_session.h"
#include "rooftile/traffic.h"

namespace rooftile::study {
namespace {

TrafficRequest layer_3x3(const std::string& gpu) {
  TrafficRequest request;
  request.step.gpu = gpu;
  request.conv = ops::ConvShape{.n = 8, .c = 64, .h = 28, .w = 28, .k = 64, .r = 3, .s = 3};
  request.conv->pad_h = request.conv->pad_w = 1;
  request.traffic_model = "closed";
  return request;
}

bool has_note(const TrafficReport& report, std::string_view name) {
  return std::any_of(
      report.warnings.begin(), report.warnings.end(),
      [name](const std::string& note) { return note.starts_with(std::string(name) + ":"); });
}

TEST(Traffic, OrderIsRefusedWhereTheFormsIgnoreIt) {
  TrafficRequest request = layer_3x3("v100-pcie-32gb");
  for (const char* model : {"closed", "paper"}) {
    for (const char* order : {"row", "swizzled"}) {
      request.traffic_model = model;
      request.order = order;
      const auto report = testing::embedded_session().traffic(request);
      ASSERT_FALSE(report) << model << " " << order;
      EXPECT_EQ(report.error().code, ErrorCode::Usage);
      EXPECT_NE(report.error().message.find(order), std::string::npos);
    }
  }
  request.traffic_model = "exact";
  EXPECT_TRUE(testing::embedded_session().traffic(request));
}

// 1024 threads of 128 registers are more than the 65536 of an SM.
TEST(Traffic, TilesThatCannotLaunchAreRefused) {
  TrafficRequest request = layer_3x3("v100-pcie-32gb");
  request.tile = "256x256";
  const auto report = testing::embedded_session().traffic(request);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::Usage);
  EXPECT_NE(report.error().message.find("131072 registers"), std::string::npos)
      << report.error().message;
  request.tile = "256x128";
  EXPECT_TRUE(testing::embedded_session().traffic(request));
}

// A time that follows from the bytes of its row demands no more than a level has, whichever model
// counted them. A strided 1x1 layer that just misses the L2, a filter gradient that is read many
// times, and a strided data gradient.
TEST(Traffic, NoLevelDeliversMoreThanItHas) {
  using ops::ConvPass;
  const std::array layers{
      ops::ConvShape{
          .n = 256, .c = 1024, .h = 14, .w = 14, .k = 2048, .stride_h = 2, .stride_w = 2},
      ops::ConvShape{.n = 16,
                     .c = 1024,
                     .h = 112,
                     .w = 300,
                     .k = 128,
                     .r = 11,
                     .stride_h = 2,
                     .stride_w = 2,
                     .pad_h = 5,
                     .groups = 2,
                     .pass = ConvPass::FilterGradient},
      ops::ConvShape{.n = 64,
                     .c = 512,
                     .h = 14,
                     .w = 14,
                     .k = 512,
                     .r = 5,
                     .s = 3,
                     .stride_h = 8,
                     .stride_w = 8,
                     .pad_w = 1,
                     .pass = ConvPass::DataGradient}};
  for (const ops::ConvShape& conv : layers) {
    for (const char* gpu : {"l40s", "a40", "mi300x", "mi100"}) {
      for (const char* model : {"exact", "closed"}) {
        TrafficRequest request = layer_3x3(gpu);
        request.conv = conv;
        request.step.dtype = "fp16";
        request.traffic_model = model;
        request.algorithm = "implicit_gemm";
        SCOPED_TRACE(std::string(gpu) + " " + model);
        const auto report = testing::embedded_session().traffic(request);
        ASSERT_TRUE(report) << to_string(report.error());
        const LayerTraffic& layer = report->layers.front();
        EXPECT_EQ(layer.fidelity, model);
        const double seconds = layer.latency_exact_ms.value_or(layer.latency_ms) / 1e3;
        constexpr double kAll = 1.0001;
        EXPECT_LE(layer.read.dram + layer.dram_written, kAll * seconds * report->dram_ceiling);
        EXPECT_LE(layer.read.l1, kAll * seconds * report->l1_ceiling.value_or(1e18));
        EXPECT_LE(layer.read.l2, kAll * seconds * report->l2_ceiling.value_or(1e18));
      }
    }
  }
}

// The row is the forecast's own kernel, and one of its own table.
TEST(Traffic, RowsAreThoseOfTheForecast) {
  TrafficRequest request = layer_3x3("v100-pcie-32gb");
  request.conv = ops::ConvShape{.n = 32, .c = 32, .h = 56, .w = 56, .k = 64, .r = 3, .s = 3};
  request.conv->pad_h = request.conv->pad_w = 1;
  request.conv->stride_h = request.conv->stride_w = 2;
  request.conv->pass = ops::ConvPass::DataGradient;
  const auto report = testing::embedded_session().traffic(request);
  ASSERT_TRUE(report);
  const LayerTraffic& layer = report->layers.front();
  EXPECT_EQ(layer.algorithm, layer.algorithms.front().name);
  EXPECT_EQ(layer.tile, layer.algorithms.front().tile);
  EXPECT_EQ(layer.limiter, layer.algorithms.front().limiter);
  EXPECT_NEAR(layer.latency_ms, layer.algorithms.front().latency_ms, 1e-12);
  EXPECT_NEAR(report->total_ms - report->host_ms, layer.latency_ms, 1e-12);
}

TEST(Traffic, PaperRefusesDilation) {
  TrafficRequest request = layer_3x3("v100-pcie-32gb");
  request.traffic_model = "paper";
  const auto plain = testing::embedded_session().traffic(request);
  ASSERT_TRUE(plain);
  EXPECT_FALSE(has_note(*plain, "paper-range"));
  request.conv->dilation_w = 2;
  const auto report = testing::embedded_session().traffic(request);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::Unsupported);
  EXPECT_NE(report.error().message.find("dilation"), std::string::npos);
}

// A 7 x 1 image: Dist_h of the published form is negative. Stride 16: the form loads less from L2
// than the image has.
TEST(Traffic, PaperSaysWhereItsFormsBreak) {
  TrafficRequest request = layer_3x3("v100-pcie-32gb");
  request.traffic_model = "paper";
  request.conv = ops::ConvShape{.n = 1, .c = 512, .h = 7, .w = 1, .k = 64, .r = 7, .s = 1};
  const auto negative = testing::embedded_session().traffic(request);
  ASSERT_TRUE(negative);
  EXPECT_LT(negative->layers.front().read.l2, 0);
  EXPECT_TRUE(has_note(*negative, "paper-range"));
  request.conv = ops::ConvShape{.n = 16, .c = 64, .h = 112, .w = 112, .k = 64};
  request.conv->stride_h = request.conv->stride_w = 16;
  const auto unordered = testing::embedded_session().traffic(request);
  ASSERT_TRUE(unordered);
  EXPECT_GT(unordered->layers.front().read.dram, unordered->layers.front().read.l2);
  EXPECT_TRUE(has_note(*unordered, "paper-range"));
}

TEST(Traffic, NotesSayWhereDeltaDoesNotHold) {
  const auto notes = [](const TrafficRequest& request) {
    return testing::embedded_session().traffic(request).value();
  };
  TrafficRequest request = layer_3x3("v100-pcie-32gb");
  EXPECT_TRUE(notes(request).warnings.empty()) << "what the constants were fitted on";
  request.step.dtype = "fp16";
  EXPECT_TRUE(has_note(notes(request), "matrix-units"));
  EXPECT_TRUE(has_note(notes(request), "not-fp32"));
  request = layer_3x3("mi300x");
  EXPECT_TRUE(has_note(notes(request), "vendor"));
  request = layer_3x3("a100-sxm-80gb");
  EXPECT_TRUE(has_note(notes(request), "architecture"));
  request = layer_3x3("v100-pcie-32gb");
  request.conv->groups = 64;
  EXPECT_TRUE(has_note(notes(request), "groups"));
  // Products of the default predictor have a form of their own.
  request = {};
  request.step.model = "gpt2", request.step.gpu = "h100-sxm", request.step.dtype = "bf16";
  EXPECT_FALSE(has_note(notes(request), "matrix-units"));
  EXPECT_FALSE(has_note(notes(request), "architecture"));
  request.step.predictor = "delta";
  EXPECT_TRUE(has_note(notes(request), "matrix-units"));
}

// On an H100 two tiles of a cluster load their columns once from L2, in the closed forms and in the
// counted loads; without that the latter were 1.4 times as many.
TEST(Traffic, CountedProductsKnowClusters) {
  TrafficRequest request;
  request.step.model = "gpt2", request.step.gpu = "h100-sxm", request.step.dtype = "bf16";
  request.step.batch = 4;
  const auto closed = testing::embedded_session().traffic(request).value();
  request.traffic_model = "exact";
  const auto exact = testing::embedded_session().traffic(request).value();
  for (std::size_t i = 0; i < exact.layers.size(); ++i) {
    if (exact.layers[i].name != "layer/attn.c_attn") continue;
    EXPECT_EQ(exact.layers[i].fidelity, "exact");
    EXPECT_NEAR(exact.layers[i].read.l2 / closed.layers[i].read.l2, 1, 0.05);
    EXPECT_GT(exact.layers[i].read.l1, 1.3 * exact.layers[i].read.l2);
    return;
  }
  FAIL() << "no such layer";
}

TEST(Traffic, AlgorithmAndTileReplaceTheForecastsChoice) {
  TrafficRequest request = layer_3x3("v100-pcie-32gb");
  request.conv->groups = 64;
  const auto direct = testing::embedded_session().traffic(request).value().layers.front();
  EXPECT_EQ(direct.algorithm, "depthwise");
  EXPECT_GE(direct.read.dram, direct.compulsory_read);
  request.tile = "128x32";  // a tile asks for the GEMM
  const auto tiled = testing::embedded_session().traffic(request).value();
  EXPECT_EQ(tiled.layers.front().algorithm, "implicit_gemm");
  EXPECT_GT(tiled.layers.front().latency_ms, direct.latency_ms);
  EXPECT_TRUE(has_note(tiled, "tile"));
  request.tile = "auto";
  request.algorithm = "implicit_gemm";
  const auto chosen = testing::embedded_session().traffic(request).value();
  EXPECT_EQ(chosen.layers.front().algorithm, "implicit_gemm");
  EXPECT_TRUE(has_note(chosen, "algorithm"));
  request.algorithm = "winograd_fused";  // needs one group
  EXPECT_EQ(testing::embedded_session().traffic(request).error().code, ErrorCode::Unsupported);
  request.algorithm = "winograd";
  EXPECT_EQ(testing::embedded_session().traffic(request).error().code, ErrorCode::Usage);
}

// The simulator and the exact model count tiled products; a direct kernel is not one.
TEST(Traffic, OnlyTiledProductsAreCounted) {
  TrafficRequest request = layer_3x3("v100-pcie-32gb");
  request.conv->groups = 64;
  request.traffic_model = "exact";
  request.simulate = true;
  const auto report = testing::embedded_session().traffic(request).value();
  EXPECT_EQ(report.layers.front().algorithm, "depthwise");
  EXPECT_EQ(report.layers.front().fidelity, "closed");
  EXPECT_FALSE(report.layers.front().simulated);
  EXPECT_FALSE(report.layers.front().latency_exact_ms);
  EXPECT_TRUE(has_note(report, "simulate"));
  EXPECT_TRUE(has_note(report, "exact"));
  request.algorithm = "implicit_gemm";
  const auto gemm = testing::embedded_session().traffic(request).value();
  EXPECT_TRUE(gemm.layers.front().simulated);
  EXPECT_EQ(gemm.layers.front().fidelity, "exact");
  EXPECT_FALSE(has_note(gemm, "simulate"));
}

// Other bytes are shown next to the time of the forecast and do not change it.
TEST(Traffic, FidelityChangesBytesAndSaysWhatThatDoesToTheTime) {
  TrafficRequest request = layer_3x3("v100-pcie-32gb");
  request.algorithm = "implicit_gemm";
  const auto closed = testing::embedded_session().traffic(request).value();
  request.traffic_model = "exact";
  const auto exact = testing::embedded_session().traffic(request).value();
  EXPECT_EQ(exact.layers.front().latency_ms, closed.layers.front().latency_ms);
  EXPECT_EQ(exact.total_ms, closed.total_ms);
  EXPECT_NE(exact.layers.front().read.l1, closed.layers.front().read.l1);
  EXPECT_TRUE(exact.layers.front().latency_exact_ms);
}

TEST(Traffic, NotesSayWhichRowsAnOptionDoesNotReach) {
  TrafficRequest request;
  request.step.gpu = "v100-pcie-32gb";
  request.step.model = "alexnet";
  request.traffic_model = "closed";
  EXPECT_TRUE(testing::embedded_session().traffic(request).value().warnings.empty());
  request.tile = "128x32";
  EXPECT_TRUE(has_note(testing::embedded_session().traffic(request).value(), "tile"));
  request.tile = "auto";
  request.traffic_model = "paper";
  EXPECT_TRUE(has_note(testing::embedded_session().traffic(request).value(), "paper-rows"));
  request = layer_3x3("v100-pcie-32gb");
  request.traffic_model = "exact";
  request.algorithm = "implicit_gemm";
  request.order = "row";
  EXPECT_FALSE(has_note(testing::embedded_session().traffic(request).value(), "order"));
  request.algorithm = "auto";
  request.conv->groups = 64;
  EXPECT_TRUE(has_note(testing::embedded_session().traffic(request).value(), "order"));
}

TEST(Traffic, ErrorsOfATrainingStepNameThePass) {
  TrafficRequest request;
  request.step.gpu = "v100-pcie-32gb";
  request.step.model = "alexnet";
  request.step.phase = "train";
  request.traffic_model = "paper";
  const auto report = testing::embedded_session().traffic(request);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().where, "features/conv5, dgrad");
}

TEST(Traffic, AlgorithmsHaveTheirTile) {
  TrafficRequest request = layer_3x3("v100-pcie-32gb");
  request.conv->pass = ops::ConvPass::DataGradient;
  const auto layer = testing::embedded_session().traffic(request).value().layers.front();
  for (const AlgorithmTraffic& a : layer.algorithms) {
    EXPECT_EQ(a.tile.empty(), a.name == "direct") << a.name;
  }
}

TEST(Traffic, ListsEveryAlgorithmWithItsWork) {
  const auto report = testing::embedded_session().traffic(layer_3x3("v100-pcie-32gb")).value();
  const LayerTraffic& layer = report.layers.front();
  ASSERT_GE(layer.algorithms.size(), 5U);
  EXPECT_EQ(layer.algorithms.front().name, layer.algorithm);
  EXPECT_NEAR(layer.algorithms.front().latency_ms, layer.latency_ms, 1e-12);
  const auto flops = [&layer](std::string_view name) {
    const auto it = std::find_if(layer.algorithms.begin(), layer.algorithms.end(),
                                 [name](const auto& a) { return a.name == name; });
    return it == layer.algorithms.end() ? 0.0 : it->flops;
  };
  EXPECT_DOUBLE_EQ(flops("implicit_gemm"), 2.0 * 8 * 28 * 28 * 64 * 64 * 9);
  // F(4x4,3x3): 36 products per 16 outputs, 7 x 7 tiles, the batch padded to 16.
  EXPECT_DOUBLE_EQ(flops("winograd_nonfused"), 2.0 * 36 * 16 * 49 * 64 * 64);
}

// A weight's gradient and its update are the same kind of kernel as others of the step.
TEST(Traffic, RepeatedKernelsKeepTheirOwnPhase) {
  TrafficRequest request;
  request.step.gpu = "v100-pcie-32gb";
  request.step.model = "resnet18";
  request.step.phase = "train";
  request.traffic_model = "closed";
  const auto report = testing::embedded_session().traffic(request).value();
  std::vector<std::string> phases;
  for (const LayerTraffic& layer : report.layers) {
    if (layer.name == "stem/conv1.conv") phases.push_back(layer.phase + " " + layer.pass);
  }
  EXPECT_GE(phases.size(), 2U);
  std::sort(phases.begin(), phases.end());
  EXPECT_EQ(std::adjacent_find(phases.begin(), phases.end()), phases.end())
      << "forward, gradients and update are told apart";
}

}  // namespace
}  // namespace rooftile::study
