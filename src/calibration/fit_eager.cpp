// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit_eager.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "calibration/selection.h"
#include "cost/attained.h"

namespace rooftile::calibration {

namespace {

constexpr double kLargeTensor = 16e6;  // bytes
constexpr double kCopied = 1;          // tensors: fewer were not moved at all

struct Moved {
  double bytes = 0;    ///< of the node's tensor
  double tensors = 0;  ///< moved
};
using ByGpu = std::map<std::uint32_t, std::vector<Moved>>;

double median_of_largest(const std::vector<Moved>& nodes) {
  constexpr double kShare = 0.5;
  double largest = 0;
  for (const Moved& node : nodes) largest = std::max(largest, node.bytes);
  std::vector<double> tensors;
  for (const Moved& node : nodes) {
    if (node.bytes >= kShare * largest) tensors.push_back(node.tensors);
  }
  return median(std::move(tensors));
}

/// Over the GPUs that `counts` names; nothing where there are none.
template <typename Counts>
std::optional<double> median_over(const ByGpu& nodes, const Counts& counts) {
  std::vector<double> medians;
  for (const auto& [gpu, list] : nodes) {
    if (counts(gpu)) medians.push_back(median_of_largest(list));
  }
  if (medians.empty()) return std::nullopt;
  return median(std::move(medians));
}

}  // namespace

std::optional<FittedEager> fit_eager(const Dataset& dataset, std::optional<std::uint32_t> left_out,
                                     const cost::Constants& others) {
  FittedEager out;
  std::map<std::string_view, ByGpu> tensors;
  std::set<std::string> vendors;
  for (const EagerNode& node : dataset.eager_nodes) {
    if (node.gpu == left_out || node.bytes < kLargeTensor) continue;
    const hardware::GpuSpec& gpu = dataset.machines[node.gpu].gpu;
    if (!gpu.dram.bandwidth) continue;
    const double attained =
        gpu.dram.bandwidth->base() * cost::streaming_fraction(gpu, others.streaming);
    const double moved = (node.measured - others.step.host_launch) * attained / node.bytes;
    if (moved < kCopied) continue;
    tensors[node.kernel][node.gpu].push_back({.bytes = node.bytes, .tensors = moved});
    vendors.emplace(name_of(gpu.vendor));
    look_at(node.gpu, out.seen);
  }
  if (tensors.empty()) return std::nullopt;
  vendors.emplace(cost::kAnyVendor);
  for (const std::string& vendor : vendors) {
    auto& constants = out.constants[vendor] = cost::starting<cost::EagerConstants>();
    const auto own = [&](std::uint32_t gpu) {
      return name_of(dataset.machines[gpu].gpu.vendor) == vendor;
    };
    for (const auto& p : parameters_of(constants)) {
      const auto found = tensors.find(p.name);
      if (!p.fitted || found == tensors.end()) continue;
      double value =
          median_over(found->second, own).value_or(*median_over(found->second, [](std::uint32_t) {
            return true;
          }));
      // A copy reads and writes one tensor: what takes longer is the rate of its accesses.
      if (found->first == kStridedCopy) value = std::min(1.0, 2 / value);
      constants.*p.value = std::clamp(value, p.low, p.high);
    }
  }
  return out;
}

}  // namespace rooftile::calibration
