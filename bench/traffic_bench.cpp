// SPDX-License-Identifier: Apache-2.0
//
// Speed of the traffic layer on one core: layers per second of the closed forms (every prediction
// takes them) and of the exact model (`rooftile traffic`), machine variants per second of `rooftile
// scale` on the convolutions of ResNet-50, and line requests per second of the cache simulator. The
// rival of each model is the simulation of the same layers.
#include <array>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "bench.h"
#include "core/catalog.h"
#include "hardware/machine.h"
#include "latency/predictor.h"
#include "latency/scaling.h"
#include "ops/any_op.h"
#include "traffic/closed.h"
#include "traffic/random_layer.h"
#include "traffic/sampled.h"

namespace {

using namespace rooftile;

constexpr int kLayers = 40;

/// The distinct convolutions of ResNet-50 at batch 64: channels, size, filters, kernel, stride.
std::vector<ops::ConvShape> resnet50() {
  struct Row {
    std::int64_t c, hw, k, r, stride;
  };
  constexpr std::array<Row, 20> kRows{
      {{3, 224, 64, 7, 2},   {64, 56, 64, 1, 1},    {64, 56, 64, 3, 1},    {64, 56, 256, 1, 1},
       {256, 56, 64, 1, 1},  {256, 56, 128, 1, 1},  {128, 56, 128, 3, 2},  {128, 28, 512, 1, 1},
       {256, 56, 512, 1, 2}, {512, 28, 128, 1, 1},  {128, 28, 128, 3, 1},  {512, 28, 256, 1, 1},
       {256, 28, 256, 3, 2}, {256, 14, 1024, 1, 1}, {512, 28, 1024, 1, 2}, {1024, 14, 256, 1, 1},
       {256, 14, 256, 3, 1}, {1024, 14, 512, 1, 1}, {512, 14, 512, 3, 2},  {512, 7, 2048, 1, 1}}};
  std::vector<ops::ConvShape> layers;
  for (const Row& row : kRows) {
    ops::ConvShape conv{
        .n = 64, .c = row.c, .h = row.hw, .w = row.hw, .k = row.k, .r = row.r, .s = row.r};
    conv.stride_h = conv.stride_w = row.stride;
    conv.pad_h = conv.pad_w = row.r / 2;
    layers.push_back(conv);
  }
  return layers;
}

latency::ScalingStudy make_study(const hardware::Machine& machine) {
  std::vector<latency::ScalingKernel> kernels;
  for (const ops::ConvShape& conv : resnet50()) {
    ops::KernelList works;
    ops::forward(ops::Conv2d{.conv = conv}, {.precision = ops::precision_of(DType::Fp32)}, works);
    const ops::KernelWork& work = works.front();
    const auto job = latency::bind(work, machine).value();
    kernels.push_back({.work = work,
                       .count = 1,
                       .machine = latency::make_time_machine(machine, job.roof.compute,
                                                             work.compute, work.matrix)});
  }
  return {std::move(kernels), machine.gpu};
}

}  // namespace

int main() {
  const auto machine = hardware::load_machine(Catalog::embedded(), "v100-pcie-32gb", std::nullopt);
  if (!machine) return 1;
  std::vector<traffic::RandomLayer> layers;
  traffic::RandomLayers random(1, traffic::LayerSize::Large);
  for (int i = 0; i < kLayers; ++i) layers.push_back(random.next());

  double accesses = 0;
  double checksum = 0;  // keeps the optimizer from dropping the work
  const double simulated = bench::best_seconds(2, [&] {
    accesses = 0;
    for (const traffic::RandomLayer& layer : layers) {
      accesses +=
          static_cast<double>(traffic::simulate(layer.problem(), layer.machine, {})->accesses);
    }
  });
  const double exact = bench::best_seconds(2, [&] {
    for (const traffic::RandomLayer& layer : layers) {
      checksum += traffic::sampled_traffic(layer.problem(), layer.machine).a.l1;
    }
  });
  constexpr int kRepeats = 1000;
  const double closed = bench::best_seconds(3, [&] {
    for (int i = 0; i < kRepeats; ++i) {
      for (const traffic::RandomLayer& layer : layers) {
        checksum += traffic::closed_conv(layer.conv, layer.dtype,
                                         {.tile = layer.cut.tile, .split_k = layer.cut.split_k},
                                         {.concurrent = layer.machine.wave(),
                                          .sms = layer.machine.sm_count,
                                          .l2_bytes = static_cast<double>(layer.machine.l2_bytes)})
                        .l2;
      }
    }
  });
  const latency::ScalingStudy study = make_study(*machine);
  constexpr int kVariants = 1000;
  const double variants = bench::best_seconds(3, [&] {
    for (int i = 0; i < kVariants; ++i) {
      latency::Factors factors;
      factors.set(latency::Resource::Lanes, 1.0 + 0.001 * i);
      checksum += study.step(factors).seconds;
    }
  });
  if (checksum < 0) return 1;
  const bench::Rival simulator{.name = "simulator", .value = kLayers / simulated};
  return bench::print({{.what = "traffic, closed forms",
                        .unit = "/s",
                        .ours = kRepeats * kLayers / closed,
                        .rival = simulator,
                        .target = 1e6},
                       {.what = "traffic, exact model",
                        .unit = "/s",
                        .ours = kLayers / exact,
                        .rival = simulator,
                        .target = std::nullopt},
                       {.what = "cache simulator, line requests",
                        .unit = "/s",
                        .ours = accesses / simulated,
                        .rival = std::nullopt,
                        .target = 10e6},
                       {.what = "scale, ResNet-50 variants",
                        .unit = "/s",
                        .ours = kVariants / variants,
                        .rival = std::nullopt,
                        .target = 2000}});
}
