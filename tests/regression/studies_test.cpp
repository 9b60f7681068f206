// SPDX-License-Identifier: Apache-2.0
//
// What `traffic` and `scale` say, against committed tables: bytes of every model of traffic, every
// algorithm of a layer, and what each resource of a machine is worth.
#include "embedded_session.h"
#include "regression/table.h"
#include "regression/words.h"
#include "rooftile/scale.h"
#include "rooftile/traffic.h"

namespace rooftile {
namespace {

using testing::number_text;

/// Sums over the launches of all layers; the words are those of a single layer.
Result<std::vector<std::string>> traffic_values(const std::string& arguments) {
  testing::Words words(arguments);
  const testing::LayerCase layer_case = testing::layer_of(words);
  TrafficRequest request;
  request.step = layer_case.step;
  request.conv = layer_case.conv;
  words.take("--traffic-model", request.traffic_model);
  words.take("--order", request.order);
  words.take("--algorithm", request.algorithm);
  words.take("--tile", request.tile);
  words.take("--simulate", request.simulate);
  ROOFTILE_CHECK(words.check());
  ROOFTILE_TRY(const auto report, testing::embedded_session().traffic(request));
  std::array<double, 16> sums{};
  std::string limiters, tiles, algorithms;
  for (const LayerTraffic& layer : report.layers) {
    std::array<double, 16> numbers{
        layer.read.l1,        layer.read.l2,
        layer.read.dram,      layer.dram_written,
        layer.latency_ms,     static_cast<double>(layer.ctas),
        layer.waves,          layer.latency_exact_ms.value_or(layer.latency_ms),
        layer.compulsory_read};
    if (layer.simulated) {
      numbers[9] = layer.simulated->l1;
      numbers[10] = layer.simulated->l2;
      numbers[11] = layer.simulated->dram;
    }
    for (const AlgorithmTraffic& algorithm : layer.algorithms) {
      numbers[12] += algorithm.latency_ms;
      numbers[13] += algorithm.flops;
      numbers[14] += algorithm.read.l1 + algorithm.read.l2;
      numbers[15] += algorithm.read.dram + algorithm.dram_written;
    }
    for (std::size_t i = 0; i < sums.size(); ++i) {
      sums[i] += numbers[i] * static_cast<double>(layer.count);
    }
    if (!request.conv) continue;
    limiters = layer.limiter;
    tiles = layer.tile;
    for (const AlgorithmTraffic& algorithm : layer.algorithms) {
      algorithms += fmt::format("{}{} {} {}", algorithms.empty() ? "" : " + ", algorithm.name,
                                algorithm.tile, algorithm.limiter);
    }
  }
  std::vector<std::string> values;
  for (const double number : sums) values.push_back(number_text(number));
  values.insert(values.end(), {limiters, tiles, algorithms});
  return values;
}

/// The machine as it is, the variant of --set or --optimize, and each resource: what twice as much
/// of it gains, and up to which factor it gains anything.
Result<std::vector<std::string>> scale_values(const std::string& arguments) {
  testing::Words words(arguments);
  const testing::LayerCase layer_case = testing::layer_of(words);
  ScaleRequest request;
  request.step = layer_case.step;
  request.conv = layer_case.conv;
  std::string set;
  words.take("--set", set);
  for (const std::string_view one : split(set, ',')) {
    if (!one.empty()) request.set.emplace_back(one);
  }
  words.take("--optimize", request.optimize);
  ROOFTILE_CHECK(words.check());
  ROOFTILE_TRY(const auto report, testing::embedded_session().scale(request));
  const ScaleStep& step = report.steps.front();
  const ScaleVariant* variant = &step.base;
  if (!step.variants.empty()) variant = &step.variants.front();
  if (!step.balanced.empty() && step.balanced.front().second) {
    variant = &*step.balanced.front().second;
  }
  std::vector<std::string> values{number_text(step.base.time_ms), step.base.limiter,
                                  number_text(variant->time_ms), number_text(variant->cost),
                                  variant->limiter};
  for (const BalanceRow& row : step.balance) {
    values.push_back(number_text(row.speedup_at_2x));
    values.push_back(number_text(row.factor));
  }
  return values;
}

TEST(Studies, Traffic) {
  testing::compare_table(
      "tests/regression/traffic.csv", 1,
      [](const std::vector<std::string>& row) { return traffic_values(row[0]); });
}

TEST(Studies, Scale) {
  testing::compare_table("tests/regression/scale.csv", 1,
                         [](const std::vector<std::string>& row) { return scale_values(row[0]); });
}

}  // namespace
}  // namespace rooftile
