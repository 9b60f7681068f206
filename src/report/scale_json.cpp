// SPDX-License-Identifier: Apache-2.0
#include "report/scale_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/provenance.h"

namespace rooftile::report {

namespace {

using nlohmann::ordered_json;

constexpr double kLeastGain = 1.05;  // from twice as much; below this nothing is gained

ordered_json balance_json(const std::vector<BalanceRow>& rows) {
  ordered_json json = ordered_json::array();
  for (const BalanceRow& row : rows) {
    json.push_back({{"resource", row.resource},
                    {"factor", row.factor},
                    {"speedup", row.speedup},
                    {"speedup_at_2x", row.speedup_at_2x}});
  }
  return json;
}

/// The resource of which twice as much helps a layer most.
void add_best(const ScaledLayer& layer, ordered_json& json) {
  const auto best = std::max_element(
      layer.balance.begin(), layer.balance.end(),
      [](const BalanceRow& a, const BalanceRow& b) { return a.speedup_at_2x < b.speedup_at_2x; });
  if (best == layer.balance.end() || best->speedup_at_2x < kLeastGain) return;
  json["gains_most"] = {{"resource", best->resource}, {"speedup_at_2x", best->speedup_at_2x}};
}

ordered_json variant_json(const ScaleVariant& variant) {
  return {{"name", variant_name(variant)},
          {"factors", variant.factors},
          {"time_ms", variant.time_ms},
          {"low_ms", variant.low_ms},
          {"high_ms", variant.high_ms},
          {"host_ms", variant.host_ms},
          {"speedup", variant.speedup},
          {"speedup_low", variant.speedup_low},
          {"speedup_high", variant.speedup_high},
          {"cost", variant.cost},
          {"limiter", variant.limiter},
          {"bottleneck", variant.limiter},
          {"share", variant.share}};
}

ordered_json step_json(const ScaleStep& step) {
  ordered_json json{{"name", step.name},
                    {"base", variant_json(step.base)},
                    {"variants", ordered_json::array()},
                    {"layers", ordered_json::array()},
                    {"balance", balance_json(step.balance)},
                    {"balanced", ordered_json::array()}};
  for (const ScaleVariant& variant : step.variants) {
    json["variants"].push_back(variant_json(variant));
  }
  for (const ScaledLayer& layer : step.layers) {
    ordered_json row{{"name", layer.name},
                     {"shape", layer.shape},
                     {"count", layer.count},
                     {"base_ms", layer.base_ms},
                     {"time_ms", layer.time_ms},
                     {"speedup", layer.base_ms / layer.time_ms},
                     {"base_limiter", layer.base_limiter},
                     {"base_bottleneck", layer.base_limiter},
                     {"limiter", layer.limiter},
                     {"bottleneck", layer.limiter},
                     {"base_algorithm", layer.base_algorithm},
                     {"algorithm", layer.algorithm},
                     {"balance", balance_json(layer.balance)}};
    add_best(layer, row);
    json["layers"].push_back(std::move(row));
  }
  for (const auto& [target, variant] : step.balanced) {
    ordered_json entry{{"target", target}, {"reached", variant.has_value()}};
    if (variant) entry["variant"] = variant_json(*variant);
    json["balanced"].push_back(std::move(entry));
  }
  return json;
}

}  // namespace

std::string variant_name(const ScaleVariant& variant) {
  std::string text;
  for (const auto& [resource, factor] : variant.factors)
    text += fmt::format("{}{} x{:g}", text.empty() ? "" : ", ", resource, factor);
  return text.empty() ? "as it is" : text;
}

ordered_json scale_json(const ScaleReport& report) {
  ordered_json json{{"schema", 1}, {"gpu", report.gpu_name}, {"steps", ordered_json::array()}};
  for (const ScaleStep& step : report.steps) json["steps"].push_back(step_json(step));
  json["provenance"] = provenance_json(report.provenance);
  json["warnings"] = report.warnings;
  return json;
}

}  // namespace rooftile::report
