// SPDX-License-Identifier: Apache-2.0
#include "profile/nesting.h"

#include <algorithm>
#include <limits>

namespace rooftile::profile {

namespace {

/// Deeper nests than any program has would make questions slow.
constexpr int kDeepest = 256;

}  // namespace

void Nesting::add(const Thread& thread, const Span& span, std::uint32_t id) {
  if (span.end >= span.begin) threads_[thread].push_back({.span = span, .id = id, .parent = {}});
}

void Nesting::seal() {
  for (auto& [thread, nodes] : threads_) {
    std::stable_sort(nodes.begin(), nodes.end(), [](const Node& a, const Node& b) {
      return a.span.begin != b.span.begin ? a.span.begin < b.span.begin : a.span.end > b.span.end;
    });
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      while (!open.empty() && nodes[open.back()].span.end <= nodes[i].span.begin) open.pop_back();
      if (!open.empty()) nodes[i].parent = open.back();
      open.push_back(i);
    }
  }
}

std::vector<std::uint32_t> Nesting::around(const Thread& thread, std::int64_t moment) const {
  std::vector<std::uint32_t> ids;
  const auto found = threads_.find(thread);
  if (found == threads_.end()) return ids;
  const std::vector<Node>& nodes = found->second;
  const auto after =
      std::upper_bound(nodes.begin(), nodes.end(), moment,
                       [](std::int64_t time, const Node& node) { return time < node.span.begin; });
  if (after == nodes.begin()) return ids;
  std::optional<std::size_t> at = static_cast<std::size_t>(after - nodes.begin()) - 1;
  for (int depth = 0; at && depth < kDeepest; ++depth) {
    const Node& node = nodes[*at];
    if (node.span.end >= moment) ids.push_back(node.id);
    at = node.parent;
  }
  return ids;
}

std::vector<std::uint32_t> Nesting::around_elsewhere(const Thread& thread,
                                                     std::int64_t moment) const {
  std::vector<std::uint32_t> found;
  for (auto it = threads_.lower_bound({thread.first, std::numeric_limits<std::int64_t>::min()});
       it != threads_.end() && it->first.first == thread.first; ++it) {
    if (it->first == thread) continue;
    std::vector<std::uint32_t> ids = around(it->first, moment);
    if (!ids.empty() && !found.empty()) return {};
    if (!ids.empty()) found = std::move(ids);
  }
  return found;
}

std::vector<std::uint32_t> Nesting::from(const Thread& thread, std::int64_t moment,
                                         std::size_t count) const {
  std::vector<std::uint32_t> ids;
  const auto found = threads_.find(thread);
  if (found == threads_.end()) return ids;
  const std::vector<Node>& nodes = found->second;
  auto at =
      std::lower_bound(nodes.begin(), nodes.end(), moment,
                       [](const Node& node, std::int64_t time) { return node.span.begin < time; });
  for (; at != nodes.end() && ids.size() < count; ++at) ids.push_back(at->id);
  return ids;
}

}  // namespace rooftile::profile
