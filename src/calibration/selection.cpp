// SPDX-License-Identifier: Apache-2.0
#include "calibration/selection.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include "cost/learned/classes.h"
#include "cost/learned/learned.h"

namespace rooftile::calibration {

namespace {

/// SplitMix64: a good hash of a counter.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

}  // namespace

Samples of_class(const Samples& samples, std::string_view name) {
  Samples kept;
  for (const Sample* sample : samples) {
    if (cost::learned::class_of(sample->work) == name) kept.push_back(sample);
  }
  return kept;
}

namespace {

template <typename Key>
Groups group_by(const Samples& samples, const Key& key_of) {
  Groups groups;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> index;
  std::vector<double> count;
  for (const Sample* sample : samples) {
    const auto [it, added] = index.try_emplace(key_of(*sample), index.size());
    if (added) groups.gpu_campaign.emplace_back(sample->gpu, sample->campaign), count.push_back(0);
    groups.of.push_back(it->second);
    count[it->second] += 1;
  }
  double sum = 0;
  for (const std::size_t g : groups.of) {
    groups.weight.push_back(1.0 / std::sqrt(count[g]));
    sum += groups.weight.back();
  }
  for (double& weight : groups.weight) weight *= static_cast<double>(samples.size()) / sum;
  return groups;
}

}  // namespace

Groups group(const Samples& samples) {
  return group_by(samples, [](const Sample& s) { return std::pair(s.gpu, s.campaign); });
}

Groups group_by_gpu(const Samples& samples) {
  return group_by(samples, [](const Sample& s) { return std::pair(s.gpu, std::uint32_t{0}); });
}

Samples thin(const Samples& samples, std::size_t rows, std::uint64_t seed) {
  const Groups groups = group(samples);
  std::vector<std::vector<std::pair<std::uint64_t, std::size_t>>> ranked(
      groups.gpu_campaign.size());
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const Sample& s = *samples[i];
    // Not the number of the file: the order in which files are named must not matter.
    const std::uint64_t key = mix(seed ^ mix(s.line ^ std::bit_cast<std::uint64_t>(s.measured)));
    ranked[groups.of[i]].emplace_back(key, i);
  }
  std::vector<std::size_t> kept;
  for (auto& list : ranked) {
    std::sort(list.begin(), list.end());
    list.resize(std::min(list.size(), rows));
    for (const auto& [key, i] : list) kept.push_back(i);
  }
  std::sort(kept.begin(), kept.end());
  Samples result;
  for (const std::size_t i : kept) result.push_back(samples[i]);
  return result;
}

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const auto at =
      values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size()));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

double median(std::vector<double> values) {
  return quantile(std::move(values), 0.5);
}

Status check_enough_rows(const Dataset& dataset) {
  std::map<std::string, std::size_t> rows;
  for (const Sample& s : dataset.samples) {
    const std::string& campaign = dataset.campaigns[s.campaign];
    if (campaign == kWarmCampaign || campaign == kSustainedCampaign) continue;
    ++rows[fmt::format("{}/{}", name_of(dataset.machines[s.gpu].gpu.vendor),
                       cost::learned::class_of(s.work))];
  }
  std::vector<std::string> counts;
  for (const auto& [name, count] : rows) {
    if (count >= kEnoughRows) return {};
    counts.push_back(fmt::format("{} {}", name, count));
  }
  return bad_input(
      dataset.files.empty() ? "" : dataset.files.front(),
      fmt::format("too few rows to fit anything: {}",
                  counts.empty() ? "none" : fmt::format("{}", fmt::join(counts, ", "))),
      fmt::format("a class of kernels needs at least {} rows", kEnoughRows));
}

std::vector<Disagreement> slower_campaigns(const Dataset& dataset, const Samples& samples,
                                           double factor) {
  constexpr double kLong = 0.2e-3;  // below, host overheads decide
  constexpr std::size_t kEnough = 20;
  std::map<std::uint32_t, std::map<std::uint32_t, std::vector<double>>> ratios;
  for (const Sample* s : samples) {
    const auto job = cost::bind(s->work, dataset.machines[s->gpu]);
    if (!job) continue;
    const double roof = cost::learned::dram_roofline(*job);
    if (roof > kLong) ratios[s->gpu][s->campaign].push_back(s->measured / roof);
  }
  std::vector<Disagreement> found;
  for (const auto& [gpu, campaigns] : ratios) {
    double fastest = 1e300;
    for (const auto& [campaign, values] : campaigns) {
      if (values.size() >= kEnough) fastest = std::min(fastest, median(values));
    }
    for (const auto& [campaign, values] : campaigns) {
      const double ratio = median(values) / fastest;
      if (values.size() >= kEnough && ratio > factor)
        found.push_back({.gpu = gpu, .campaign = campaign, .ratio = ratio});
    }
  }
  return found;
}

std::vector<Disagreement> disagreements(const Dataset& dataset, const Samples& samples) {
  return slower_campaigns(dataset, samples, kContradiction);
}

Samples without_disagreements(const Dataset& dataset, const Samples& samples) {
  const auto bad = disagreements(dataset, samples);
  if (bad.empty()) return samples;
  Samples kept;
  for (const Sample* s : samples) {
    const bool excluded = std::any_of(bad.begin(), bad.end(), [s](const Disagreement& d) {
      return d.gpu == s->gpu && d.campaign == s->campaign;
    });
    if (!excluded) kept.push_back(s);
  }
  return kept;
}

}  // namespace rooftile::calibration
