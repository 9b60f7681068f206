// SPDX-License-Identifier: Apache-2.0
#include "profile/launch_groups.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

namespace rooftile::profile {

namespace {

constexpr std::size_t kMostGroups = 4096;

constexpr std::array<std::string_view, 4> kWords{"inst_executed", "ops_path", "SQ_INSTS",
                                                 "flop_count"};

/// Counters that only depend on what a launch computes.
bool counts_instructions(std::string_view metric) {
  return std::any_of(kWords.begin(), kWords.end(), [metric](std::string_view word) {
    return metric.find(word) != std::string_view::npos;
  });
}

bool lists_all_launches(const KernelSeries& kernel) {
  const std::size_t launches = kernel.launch_list.size();
  return launches > 0 && static_cast<std::int64_t>(launches) == kernel.launches() &&
         std::all_of(kernel.columns.begin(), kernel.columns.end(), [&](const Column& column) {
           return column.weights.empty() && column.missing == 0 && column.values.size() == launches;
         });
}

void append_dims(const std::optional<Dim3>& dims, std::vector<double>& key) {
  for (std::size_t i = 0; i < 3; ++i) key.push_back(dims ? static_cast<double>((*dims)[i]) : -1.0);
}

}  // namespace

std::vector<KernelSeries> launch_groups(const KernelSeries& kernel) {
  if (!lists_all_launches(kernel)) return {};
  std::vector<KernelSeries> groups;
  std::map<std::vector<double>, std::size_t> index;
  for (std::size_t i = 0; i < kernel.launch_list.size(); ++i) {
    const Launch& launch = kernel.launch_list[i];
    std::vector<double> key;
    append_dims(launch.grid, key);
    append_dims(launch.block, key);
    key.push_back(static_cast<double>(launch.work));
    for (const Column& column : kernel.columns) {
      if (counts_instructions(column.metric)) key.push_back(column.values[i]);
    }
    const auto [found, fresh] = index.try_emplace(std::move(key), groups.size());
    if (fresh) {
      if (groups.size() == kMostGroups) return {};
      KernelSeries& group = groups.emplace_back();
      group.name = kernel.name;
      group.grid = launch.grid;
      group.block = launch.block;
      for (const Column& column : kernel.columns)
        group.columns.emplace_back().metric = column.metric;
    }
    KernelSeries& group = groups[found->second];
    group.launch_list.push_back(launch);
    group.rows += 1;
    for (std::size_t c = 0; c < kernel.columns.size(); ++c) {
      group.columns[c].values.push_back(kernel.columns[c].values[i]);
    }
  }
  return groups;
}

}  // namespace rooftile::profile
