// SPDX-License-Identifier: Apache-2.0
//
// Every kernel of every built-in convolutional network has bytes at every level, a time and a
// limiter on every GPU whose file states what that needs; the other GPUs name the field.
#include <gtest/gtest.h>

#include <cmath>

#include "cost/time_machine.h"
#include "embedded_session.h"
#include "hardware/load.h"
#include "rooftile/traffic.h"

namespace rooftile::study {
namespace {

class EveryCnn : public ::testing::TestWithParam<const char*> {};

TEST_P(EveryCnn, HasTrafficAndLimiterOnEveryGpu) {
  const Catalog catalog = Catalog::embedded();
  const auto gpus = hardware::list_gpus(catalog).value();
  int with_fields = 0;
  for (const hardware::GpuSpec& gpu : gpus) {
    TrafficRequest request;
    request.step.model = GetParam();
    request.step.gpu = gpu.id;
    request.step.batch = 2;
    request.step.phase = "train";
    request.traffic_model = "closed";
    const auto report = testing::embedded_session().traffic(request);
    if (!cost::check_time_fields(gpu)) {
      ASSERT_FALSE(report) << gpu.id;
      EXPECT_EQ(report.error().code, ErrorCode::Unsupported) << gpu.id;
      EXPECT_NE(report.error().where.find(":/"), std::string::npos) << report.error().where;
      continue;
    }
    ASSERT_TRUE(report) << gpu.id << ": " << to_string(report.error());
    ++with_fields;
    EXPECT_FALSE(report->layers.empty());
    for (const LayerTraffic& layer : report->layers) {
      EXPECT_GE(layer.read.l1, layer.read.l2 * (1 - 1e-12)) << gpu.id << " " << layer.name;
      EXPECT_GE(layer.read.l2, layer.read.dram * (1 - 1e-12)) << gpu.id << " " << layer.name;
      EXPECT_GT(layer.latency_ms, 0) << gpu.id << " " << layer.name;
      EXPECT_TRUE(std::isfinite(layer.latency_ms)) << gpu.id << " " << layer.name;
      EXPECT_FALSE(layer.limiter.empty()) << gpu.id << " " << layer.name;
    }
  }
  EXPECT_GT(with_fields, 40);
}

INSTANTIATE_TEST_SUITE_P(BuiltIn, EveryCnn,
                         ::testing::Values("alexnet", "vgg16", "googlenet", "resnet18", "resnet50",
                                           "resnet152", "inception-v3", "mobilenet-v2"));

}  // namespace
}  // namespace rooftile::study
