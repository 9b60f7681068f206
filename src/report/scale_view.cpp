// SPDX-License-Identifier: Apache-2.0
#include "report/scale_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/text.h"
#include "core/utf8.h"
#include "report/interval.h"
#include "report/json_text.h"
#include "report/provenance_view.h"
#include "report/table.h"

namespace rooftile::report {

namespace {

using nlohmann::ordered_json;

constexpr double kMostBalance = 16;  // the largest factor that is looked at (cost/scaling.h)
constexpr double kLeastGain = 1.05;  // from twice as much; below this nothing is gained

std::string factors_text(const ScaleVariant& variant) {
  std::string text;
  for (const auto& [resource, factor] : variant.factors) {
    text += fmt::format("{}{} x{:g}", text.empty() ? "" : ", ", resource, factor);
  }
  return text.empty() ? "as it is" : text;
}

std::string shares_text(const ScaleVariant& variant) {
  std::string text;
  for (const auto& [name, share] : variant.share) {
    if (share >= 0.005)
      text += fmt::format("{}{} {:.0f}", text.empty() ? "" : ", ", name, share * 100);
  }
  return text;
}

/// "1.43x (1.38-1.48)" with its 80 % interval; the machine as it is has none.
std::string speedup_text(const ScaleVariant& variant) {
  std::string text = fmt::format("{:.2f}x", variant.speedup);
  if (states_interval(variant.speedup_low, variant.speedup_high))
    text += fmt::format(" ({:.2f}-{:.2f})", variant.speedup_low, variant.speedup_high);
  return text;
}

std::string variants_text(const ScaleStep& step, const TextOptions& options) {
  Table table({{.title = "machine"},
               {.title = "time", .align = Align::Right},
               {.title = "speed-up", .align = Align::Right},
               {.title = "cost", .align = Align::Right},
               {.title = "percent of time by limiter"}});
  const auto add = [&table](const ScaleVariant& variant) {
    table.add({factors_text(variant), format_ms(variant.time_ms), speedup_text(variant),
               fmt::format("{:.2f}", variant.cost), shares_text(variant)});
  };
  add(step.base);
  for (const ScaleVariant& variant : step.variants) add(variant);
  return table.render(options.width, 2);
}

/// The cheapest sets that reach a speed-up; the sets are long and stand last.
std::string balanced_text(const ScaleStep& step, const TextOptions& options) {
  if (step.balanced.empty()) return {};
  Table table({{.title = "target", .align = Align::Right},
               {.title = "time", .align = Align::Right},
               {.title = "cost", .align = Align::Right},
               {.title = "limiter"},
               {.title = "cheapest set"}});
  for (const auto& [target, variant] : step.balanced) {
    const std::string label = fmt::format("{:g}x", target);
    if (variant) {
      table.add({label, format_ms(variant->time_ms), fmt::format("{:.2f}", variant->cost),
                 variant->limiter, factors_text(*variant)});
    } else {
      table.add({label, "-", "-", "-", "out of reach of factors up to 8"});
    }
  }
  return "\n" + table.render(options.width, 2);
}

/// The resource of which twice as much helps a layer most: "dram_bw x2: 1.80x".
std::string balance_cell(const ScaledLayer& layer) {
  const auto best = std::max_element(
      layer.balance.begin(), layer.balance.end(),
      [](const BalanceRow& a, const BalanceRow& b) { return a.speedup_at_2x < b.speedup_at_2x; });
  if (best == layer.balance.end() || best->speedup_at_2x < kLeastGain) return "-";
  return fmt::format("{} x2: {:.2f}x", best->resource, best->speedup_at_2x);
}

/// "fft", or "fft, then winograd_fused" where the variant takes another one.
std::string algorithm_cell(const ScaledLayer& layer) {
  if (layer.base_algorithm == layer.algorithm) return layer.algorithm;
  return layer.base_algorithm + ", then " + layer.algorithm;
}

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

std::string layers_text(const ScaleStep& step, const TextOptions& options) {
  if (step.layers.empty()) return {};
  Table table({{.title = "layer", .shrink = true},
               {.title = "x", .align = Align::Right},
               {.title = "before", .align = Align::Right},
               {.title = "after", .align = Align::Right},
               {.title = "speed-up", .align = Align::Right},
               {.title = "limiter"},
               {.title = "then"},
               {.title = "gains most from"},
               {.title = "algorithm", .optional = true}});
  for (const ScaledLayer& layer : step.layers) {
    table.add({layer.name, fmt::format("{:g}", layer.count), format_ms(layer.base_ms),
               format_ms(layer.time_ms), fmt::format("{:.2f}x", layer.base_ms / layer.time_ms),
               layer.base_limiter, layer.limiter, balance_cell(layer), algorithm_cell(layer)});
  }
  const double host = step.variants.front().host_ms;
  if (step.base.host_ms > 0 || host > 0) {
    table.add(
        {"host", "1", format_ms(step.base.host_ms), format_ms(host), "-", "host", "host", "-", ""});
  }
  return "\n" + table.render(options.width, 2);
}

std::string balance_text(const ScaleStep& step) {
  if (step.balance.empty()) return {};
  std::string text = "\n  one resource alone (nothing: less than 5 % from twice as much):\n";
  for (const BalanceRow& row : step.balance) {
    if (row.factor <= 1) {
      text += fmt::format("    {:<10} nothing is gained\n", row.resource);
    } else if (row.factor >= kMostBalance) {
      text += fmt::format("    {:<10} still pays at {:g}x ({:.2f}x as fast there)\n", row.resource,
                          row.factor, row.speedup);
    } else {
      text += fmt::format("    {:<10} beyond {:.1f}x nothing is gained ({:.2f}x as fast there)\n",
                          row.resource, row.factor, row.speedup);
    }
  }
  return text;
}

ordered_json variant_json(const ScaleVariant& variant) {
  return {{"factors", variant.factors},
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
    json["layers"].push_back({{"name", layer.name},
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
                              {"balance", balance_json(layer.balance)}});
  }
  for (const auto& [target, variant] : step.balanced) {
    ordered_json entry{{"target", target}, {"reached", variant.has_value()}};
    if (variant) entry["variant"] = variant_json(*variant);
    json["balanced"].push_back(std::move(entry));
  }
  return json;
}

std::string variant_csv(const ScaleStep& step, const std::string& target, const ScaleVariant& v,
                        std::string_view kind) {
  return fmt::format("{},{},{},{},{},{},{},{},,,,,,,,{},{},{},{},{},{}\n", csv_field(step.name),
                     target, csv_field(factors_text(v)), v.time_ms, v.speedup, v.cost, v.limiter,
                     kind, csv_field(shares_text(v)), v.low_ms, v.high_ms, v.speedup_low,
                     v.speedup_high, v.host_ms);
}

/// Rows of kind "balance": the factor of one resource beyond which nothing is gained.
std::string balance_csv(const ScaleStep& step, const std::vector<BalanceRow>& rows,
                        const std::string& layer) {
  std::string text;
  for (const BalanceRow& row : rows) {
    text += fmt::format("{},,{} x{:g},,{},,,balance,{},,,,,,,,,,,,\n", csv_field(step.name),
                        row.resource, row.factor, row.speedup, csv_field(layer));
  }
  return text;
}

}  // namespace

std::string scale_to_text(const ScaleReport& report, const TextOptions& options) {
  std::string text;
  for (const ScaleStep& step : report.steps) {
    if (!text.empty()) text += "\n";
    text += bold(step.name, options.color) + " on variants of " + visible(report.gpu_name) + "\n";
    text += variants_text(step, options) + balanced_text(step, options) +
            layers_text(step, options) + balance_text(step);
  }
  for (const std::string& warning : report.warnings) {
    text += labelled("note", warning, options.width, options.color);
  }
  return text + "\n" + provenance_to_text(report.provenance, options.color);
}

std::string scale_to_json(const ScaleReport& report) {
  ordered_json json{{"schema", 1}, {"gpu", report.gpu_name}, {"steps", ordered_json::array()}};
  for (const ScaleStep& step : report.steps) json["steps"].push_back(step_json(step));
  json["provenance"] = provenance_json(report.provenance);
  json["warnings"] = report.warnings;
  return json_text(json);
}

std::string scale_to_csv(const ScaleReport& report) {
  std::string text =
      "step,target,factors,time_ms,speedup,cost,limiter,kind,layer,base_ms,base_limiter,"
      "shape,count,base_algorithm,algorithm,percent_by_limiter,low_ms,high_ms,speedup_low,"
      "speedup_high,host_ms\n";
  for (const ScaleStep& step : report.steps) {
    text += variant_csv(step, "", step.base, "base");
    for (const ScaleVariant& variant : step.variants) {
      text += variant_csv(step, "", variant, "variant");
    }
    for (const auto& [target, variant] : step.balanced) {
      const std::string label = fmt::format("{:g}", target);
      text += variant
                  ? variant_csv(step, label, *variant, "optimum")
                  : fmt::format("{},{},,,,,,unreached,,,,,,,,,,,,,\n", csv_field(step.name), label);
    }
    text += balance_csv(step, step.balance, "");
    for (const ScaledLayer& layer : step.layers) {
      text +=
          fmt::format("{},,{},{},{},,{},layer,{},{},{},{},{:g},{},{},,,,,,\n", csv_field(step.name),
                      csv_field(factors_text(step.variants.front())), layer.time_ms,
                      layer.base_ms / layer.time_ms, layer.limiter, csv_field(layer.name),
                      layer.base_ms, layer.base_limiter, csv_field(layer.shape), layer.count,
                      layer.base_algorithm, layer.algorithm);
      text += balance_csv(step, layer.balance, layer.name);
    }
  }
  return text;
}

}  // namespace rooftile::report
