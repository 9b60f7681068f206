// SPDX-License-Identifier: Apache-2.0
#include "hardware/ert_rule.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

namespace rooftile::hardware {

namespace {

struct Band {
  double total;
  double count;
  [[nodiscard]] double value() const { return total / count; }
};

/// The histogram walk of summary.py over the GB/s values behind the global maximum.
std::vector<Band> find_bands(std::span<const double> values, double gap) {
  constexpr int kSamples = 10000;
  constexpr double kFraction = 1.05;         // a value belongs to a sample within +-5 %
  constexpr double kMinimumCount = 6.0;      // a band needs more values than this
  constexpr double kMaximumWeight = 1000.0;  // the maximum opens the first band with this weight
  const double maximum = *std::max_element(values.begin(), values.end());
  std::vector<double> count(kSamples, 0.0), total(kSamples, 0.0);
  for (int i = 0; i < kSamples; ++i) {
    const double center = i * maximum / (kSamples - 1);
    for (const double v : values) {
      if (center / kFraction <= v && v <= center * kFraction) {
        count[static_cast<std::size_t>(i)] += 1.0;
        total[static_cast<std::size_t>(i)] += v;
      }
    }
  }
  std::vector<Band> bands{{kMaximumWeight * maximum, kMaximumWeight}};
  double best = 1.0;
  std::size_t peak = 0;
  for (std::size_t i = kSamples - 3; i > 1; --i) {
    if (count[i] > kMinimumCount) {
      if (count[i] > best) {
        best = count[i];
        peak = i;
      }
    } else if (best > 1.0) {
      const Band found{total[peak], count[peak]};
      if (gap * found.value() < bands.back().value()) {
        bands.push_back(found);
      } else {
        bands.back().total += found.total;
        bands.back().count += found.count;
      }
      best = 1.0;
    }
  }
  return bands;
}

/// Integral of GB/s over ln(working set), trapezoid rule.
double weight_of(std::span<const ErtPoint> points) {
  double weight = 0.0;
  for (std::size_t i = 1; i < points.size(); ++i) {
    const double width =
        std::log(points[i].working_set.base()) - std::log(points[i - 1].working_set.base());
    weight += width * (points[i].bandwidth.base() + points[i - 1].bandwidth.base()) / 2.0 * 1e-9;
  }
  return weight;
}

}  // namespace

std::vector<ErtPoint> ert_points(std::span<const SweepSample> sweep) {
  std::map<std::pair<double, std::int64_t>, std::vector<SweepSample>> groups;
  for (const SweepSample& sample : sweep) {
    groups[{sample.working_set, sample.trials}].push_back(sample);
  }
  std::map<double, ErtPoint> points;  // the last one has the most trials
  for (auto& [key, samples] : groups) {
    std::sort(samples.begin(), samples.end(),  // ascending time is descending bandwidth
              [](const auto& a, const auto& b) { return a.bandwidth > b.bandwidth; });
    const SweepSample& median = samples[samples.size() / 2];
    points[key.first] = {.working_set = Bytes::from_base(key.first),
                         .bandwidth = BytesPerSecond::from_base(median.bandwidth),
                         .rate = FlopsPerSecond::from_base(median.rate)};
  }
  std::vector<ErtPoint> result;
  for (const auto& [working_set, point] : points) result.push_back(point);
  return result;
}

std::optional<MemoryLevel> parse_ert_level(std::string_view name) {
  if (name == "L1") return MemoryLevel::L1;
  if (name == "L2") return MemoryLevel::L2;
  if (name == "DRAM") return MemoryLevel::Dram;
  return std::nullopt;
}

ErtSummary summarize_ert(std::span<const ErtPoint> points, const ErtRule& rule) {
  ErtSummary summary;
  if (points.empty()) return summary;
  for (const ErtPoint& p : points) summary.peak = max(summary.peak, p.rate);
  summary.weight = weight_of(points);
  const auto top = std::max_element(points.begin(), points.end(), [](const auto& a, const auto& b) {
    return a.bandwidth < b.bandwidth;
  });
  std::vector<double> values;
  for (auto p = top; p != points.end(); ++p) values.push_back(p->bandwidth.base() * 1e-9);
  const std::vector<Band> bands = find_bands(values, rule.gap);
  for (std::size_t i = 0; i < bands.size(); ++i) {
    summary.levels.push_back({.name = i + 1 == bands.size() ? "DRAM" : "L" + std::to_string(i + 1),
                              .bandwidth = BytesPerSecond::from_base(bands[i].value() * 1e9)});
  }
  return summary;
}

}  // namespace rooftile::hardware
