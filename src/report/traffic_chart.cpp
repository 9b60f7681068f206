// SPDX-License-Identifier: Apache-2.0
#include "report/traffic_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/text.h"
#include "report/lines.h"
#include "report/svg.h"

namespace rooftile::report {

namespace {

using nlohmann::ordered_json;

constexpr std::size_t kFewBlocks = 6;    ///< below, the layers are shown
constexpr std::size_t kMostGroups = 24;  ///< that a picture shows

/// Launches that share a row of the picture.
struct Group {
  std::string name;
  double ms = 0, l1 = 0, l2 = 0, dram = 0;
  std::map<std::string, double> limiters{};
  std::vector<std::string> layers{};  ///< their names: what a page searches and marks
  std::size_t members = 0;

  void add(const LayerTraffic& layer) {
    const auto count = static_cast<double>(layer.count);
    ms += layer.latency_ms * count;
    l1 += layer.read.l1 * count;
    l2 += layer.read.l2 * count;
    dram += (layer.read.dram + layer.dram_written) * count;
    limiters[layer.limiter] += layer.latency_ms * count;
    layers.push_back(layer.name);
    ++members;
  }
  void add(const Group& other) {
    ms += other.ms;
    l1 += other.l1;
    l2 += other.l2;
    dram += other.dram;
    for (const auto& [name_of_limiter, time] : other.limiters) limiters[name_of_limiter] += time;
    layers.insert(layers.end(), other.layers.begin(), other.layers.end());
    ++members;
  }
  [[nodiscard]] std::string limiter() const {
    const auto most = std::max_element(limiters.begin(), limiters.end(),
                                       [](auto& a, auto& b) { return a.second < b.second; });
    return most == limiters.end() ? "" : most->first;
  }
};

std::string block_name(const LayerTraffic& layer) {
  return layer.name.substr(0, layer.name.find('/'));
}

std::vector<Group> groups_of(const TrafficReport& report) {
  std::vector<std::string> blocks;
  for (const LayerTraffic& layer : report.layers) {
    const std::string block = block_name(layer);
    if (std::find(blocks.begin(), blocks.end(), block) == blocks.end()) blocks.push_back(block);
  }
  const bool by_block = blocks.size() >= kFewBlocks;
  std::vector<Group> groups;
  for (const LayerTraffic& layer : report.layers) {
    const std::string name = by_block ? block_name(layer) : layer.name;
    auto it = std::find_if(groups.begin(), groups.end(),
                           [&](const Group& group) { return group.name == name; });
    if (it == groups.end()) it = groups.insert(groups.end(), Group{.name = name});
    it->add(layer);
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const Group& a, const Group& b) { return a.ms > b.ms; });
  if (groups.size() <= kMostGroups + 1) return groups;
  Group rest;
  for (std::size_t i = kMostGroups; i < groups.size(); ++i) rest.add(groups[i]);
  rest.name = fmt::format("({} others)", rest.members);
  groups.resize(kMostGroups);
  groups.push_back(std::move(rest));
  return groups;
}

ordered_json group_row(const Group& group, const TrafficReport& report) {
  const double seconds = group.ms * 1e-3;
  ordered_json row{{"label", group.name}, {"members", group.layers}, {"time_ms", group.ms}};
  const auto put = [&](const char* level, double bytes, std::optional<double> ceiling) {
    if (ceiling && seconds > 0) row[level] = bytes / seconds / *ceiling;
  };
  put("l1", group.l1, report.l1_ceiling);
  put("l2", group.l2, report.l2_ceiling);
  put("dram", group.dram, report.dram_ceiling);
  row["tone"] = group.limiter();
  row["remark"] =
      fmt::format("{}{}  {}", format_ms(group.ms),
                  report.total_ms > 0 ? fmt::format(", {:.0f} %", 100 * group.ms / report.total_ms)
                                      : std::string(),
                  group.limiter());
  return row;
}

}  // namespace

BarChart traffic_chart(const TrafficReport& report) {
  ordered_json rows = ordered_json::array();
  for (const Group& group : groups_of(report)) rows.push_back(group_row(group, report));
  std::string roofs;
  const auto roof = [&](std::string_view name, std::optional<double> ceiling) {
    if (ceiling)
      roofs += fmt::format("{}{} {}", roofs.empty() ? "roofs: " : ", ", name,
                           format_rate(BytesPerSecond::from_base(*ceiling)));
  };
  roof("L1", report.l1_ceiling);
  roof("L2", report.l2_ceiling);
  roof("DRAM", report.dram_ceiling);
  BarChart chart{.title = "Share of each level's bandwidth, longest first",
                 .axis = "share of the level's bandwidth",
                 .unit = Unit::Percent,
                 .rows = {.own = std::move(rows)},
                 .label = "label",
                 .remark = "remark",
                 .remark_name = "time of all launches, its share of the step, limiter",
                 .tone = "tone",
                 .lines = {{.value = 1, .text = "roof"}},
                 .note = roofs};
  const std::array<std::string, 3> keys{"l1", "l2", "dram"};
  for (std::size_t i = 0; i < keys.size(); ++i)
    chart.series.push_back({.name = std::string(kLevelColors[i].name),
                            .at = keys[i],
                            .color = std::string(kLevelColors[i].value)});
  return chart;
}

}  // namespace rooftile::report
