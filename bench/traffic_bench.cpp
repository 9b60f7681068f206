// SPDX-License-Identifier: Apache-2.0
//
// Speed of the traffic layer on one core: layers per second of the closed forms (every prediction
// takes them) and of the exact model (`rooftile traffic`), machine variants per second of `rooftile
// scale` on the convolutions of ResNet-50, and line requests per second of the cache simulator. The
// rival of each model is the simulation of the same layers, that of a variant the exact model on
// the same convolutions, that of the simulator an LRU of the same size from std::list and a hash
// map.
#include <array>
#include <cstdint>
#include <cstdio>
#include <list>
#include <unordered_map>
#include <vector>

#include "aggregate/scaling.h"
#include "bench.h"
#include "core/catalog.h"
#include "cost/predictor.h"
#include "hardware/machine.h"
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

aggregate::ScalingStudy make_study(const hardware::Machine& machine,
                                   const cost::Predictor& predictor) {
  std::vector<execution::Launch> kernels;
  for (const ops::ConvShape& conv : resnet50()) {
    ops::KernelList works;
    ops::forward(ops::Conv2d{.conv = conv}, {.precision = ops::precision_of(DType::Fp32)}, works);
    kernels.push_back({.name = "conv", .work = works.front()});
  }
  return aggregate::ScalingStudy::make(kernels, machine, predictor,
                                       {.step = aggregate::step_costs(predictor.constants().step)})
      .value();
}

/// Seconds of the exact model on the convolutions of one variant.
double exact_variant_seconds() {
  double checksum = 0;
  const traffic::CacheMachine v100{
      .sm_count = 80, .active_ctas = 2, .l1_bytes = 96 << 10, .l2_bytes = 6 << 20};
  const double seconds = bench::best_seconds(1, [&] {
    for (const ops::ConvShape& conv : resnet50()) {
      const auto problem =
          traffic::make_conv_problem(conv, DType::Fp32, {.tile = traffic::delta_tile(conv.k)});
      checksum += traffic::sampled_traffic(problem, v100).a.l1;
    }
  });
  return checksum > 0 ? seconds : 0.0;
}

/// Line requests per second of the plainest LRU: a list in order of use and a map into it.
double list_lru_rate() {
  constexpr std::size_t kLines = 384;  // 48 KiB
  constexpr std::int64_t kRequests = 500'000;
  std::list<std::int64_t> order;
  std::unordered_map<std::int64_t, std::list<std::int64_t>::iterator> index;
  const double seconds = bench::best_seconds(2, [&] {
    for (std::int64_t i = 0; i < kRequests; ++i) {
      const std::int64_t line = i / 4 % 16 * 1024 + i / 64;  // 16 rows, each line four times
      if (const auto it = index.find(line); it != index.end()) {
        order.splice(order.begin(), order, it->second);
        continue;
      }
      order.push_front(line);
      index[line] = order.begin();
      if (order.size() <= kLines) continue;
      index.erase(order.back());
      order.pop_back();
    }
  });
  return static_cast<double>(kRequests) / seconds;
}

double closed_l2(const traffic::RandomLayer& layer) {
  return traffic::closed_conv(layer.conv, layer.dtype,
                              {.tile = layer.cut.tile, .split_k = layer.cut.split_k},
                              {.concurrent = layer.machine.wave(),
                               .sms = layer.machine.sm_count,
                               .l2_bytes = static_cast<double>(layer.machine.l2_bytes)})
      .l2;
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
      for (const traffic::RandomLayer& layer : layers) checksum += closed_l2(layer);
    }
  });
  const auto predictor = cost::make_predictor({}, Catalog::embedded()).value();
  const aggregate::ScalingStudy study = make_study(*machine, *predictor);
  constexpr int kVariants = 1000;
  const double variants = bench::best_seconds(3, [&] {
    for (int i = 0; i < kVariants; ++i) {
      checksum += study.step(hardware::Factors::one(hardware::MachineKey::Lanes, 1.0 + 0.001 * i))
                      .total.base();
    }
  });
  if (checksum < 0) return 1;
  const bench::Rival simulator{.name = "simulator", .value = kLayers / simulated};
  return bench::print(
      {{.what = "traffic, closed forms",
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
        .rival = bench::Rival{.name = "list LRU", .value = list_lru_rate()},
        .target = 10e6},
       {.what = "scale, ResNet-50 variants",
        .unit = "/s",
        .ours = kVariants / variants,
        .rival = bench::Rival{.name = "exact model", .value = 1 / exact_variant_seconds()},
        .target = 2000}});
}
