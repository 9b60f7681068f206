// SPDX-License-Identifier: Apache-2.0
#include "calibration/intervals.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "cost/learned/classes.h"

namespace rooftile::calibration {

namespace {

using namespace cost::learned;

constexpr double kCoverage = 0.8;
/// Of widths: a GPU is one draw of what is common to its rows, and there are few of them. Student's
/// t for 5 degrees of freedom over the normal's, at 90 %.
constexpr double kFewGpus = 1.15;

/// Rows that say nothing about the predictor: their campaign contradicts another one of the same
/// GPU.
std::vector<bool> contradicted(const Dataset& dataset) {
  std::vector<bool> result(dataset.samples.size(), false);
  for (const std::string_view name : {"linear", "bmm"}) {
    const Samples samples = of_class(samples_without(dataset, std::nullopt), name);
    for (const Disagreement& d : disagreements(dataset, samples)) {
      for (const Sample* s : samples) {
        if (s->gpu == d.gpu && s->campaign == d.campaign)
          result[static_cast<std::size_t>(s - dataset.samples.data())] = true;
      }
    }
  }
  return result;
}

struct Residual {
  double magnitude;
  std::uint32_t gpu;
  std::size_t bucket;
};
using Residuals = std::vector<Residual>;

/// The 80 % quantile with equal weight for every GPU.
double weighted_quantile(Residuals residuals) {
  std::map<std::uint32_t, double> count;
  for (const Residual& r : residuals) count[r.gpu] += 1;
  std::sort(residuals.begin(), residuals.end(),
            [](const Residual& a, const Residual& b) { return a.magnitude < b.magnitude; });
  double sum = 0;
  for (const Residual& r : residuals) {
    sum += 1.0 / (count[r.gpu] * static_cast<double>(count.size()));
    if (sum >= kCoverage) return r.magnitude;
  }
  return residuals.empty() ? 0.0 : residuals.back().magnitude;
}

std::size_t gpus_in(const Residuals& residuals) {
  std::map<std::uint32_t, bool> seen;
  for (const Residual& r : residuals) seen[r.gpu] = true;
  return seen.size();
}

std::array<double, kBuckets> usual_widths(const Residuals& residuals) {
  constexpr std::size_t kEnoughGpus = 3;
  std::array<double, kBuckets> widths{};
  for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
    Residuals own;
    for (const Residual& r : residuals) {
      if (r.bucket == bucket) own.push_back(r);
    }
    widths[bucket] = weighted_quantile(gpus_in(own) >= kEnoughGpus ? own : residuals);
  }
  return widths;
}

using Levels = std::array<std::optional<double>, kFamiliarities>;

/// Degrees that no GPU stands for, from the nearest that some do.
std::array<double, kFamiliarities> completed(const Levels& levels) {
  std::array<double, kFamiliarities> out{};
  for (std::size_t i = 0; i < kFamiliarities; ++i) {
    std::optional<std::size_t> before;
    std::optional<std::size_t> after;
    for (std::size_t j = 0; j < kFamiliarities; ++j) {
      if (!levels[j]) continue;
      if (j <= i) before = j;
      if (j >= i && !after) after = j;
    }
    constexpr double kStep = 1.3;  // assumed, where both ends are not known
    if (before && after) {
      const double span = std::max<double>(1, static_cast<double>(*after - *before));
      const double share = static_cast<double>(i - *before) / span;
      out[i] = std::pow(*levels[*before], 1 - share) * std::pow(*levels[*after], share);
    } else if (before) {
      out[i] = *levels[*before] * std::pow(kStep, static_cast<double>(i - *before));
    } else if (after) {
      out[i] = *levels[*after] * std::pow(kStep, -static_cast<double>(*after - i));
    }
    if (i > 0) out[i] = std::max(out[i], out[i - 1]);
  }
  return out;
}

/// What the residuals of each degree are over the usual ones.
Levels levels_of(const Residuals& residuals, const std::array<double, kBuckets>& usual,
                 const std::map<std::uint32_t, Familiarity>& known) {
  std::array<Residuals, kFamiliarities> of;
  for (const Residual& r : residuals) {
    if (usual[r.bucket] <= 0) continue;
    of[static_cast<std::size_t>(known.at(r.gpu))].push_back(
        {.magnitude = r.magnitude / usual[r.bucket], .gpu = r.gpu, .bucket = r.bucket});
  }
  Levels levels;
  for (std::size_t i = 0; i < kFamiliarities; ++i) {
    if (!of[i].empty()) levels[i] = weighted_quantile(std::move(of[i]));
  }
  return levels;
}

/// Samples of every class, by GPU.
using Rows = std::map<std::string, std::map<std::uint32_t, Samples>, std::less<>>;

Rows rows_of(const Dataset& dataset) {
  Rows rows;
  for (const Sample* s : samples_without(dataset, std::nullopt))
    rows[std::string(class_of(s->work))][s->gpu].push_back(s);
  return rows;
}

/// What the others say about each GPU.
std::map<std::uint32_t, Familiarity> familiarities(const Dataset& dataset, std::string_view name,
                                                   const std::map<std::uint32_t, Samples>& rows,
                                                   const cost::ClockConstants& clock) {
  std::map<std::uint32_t, Familiarity> known;
  for (const auto& [gpu, own] : rows) {
    Kin kin;
    for (const auto& [other, samples] : rows) {
      if (other != gpu) add_kin(dataset.machines[other].gpu, name, clock, kin);
    }
    known[gpu] = familiarity(dataset.machines[gpu].gpu, name, clock, kin);
  }
  return known;
}

}  // namespace

Kin kin_of(const Dataset& dataset, const Samples& samples, std::string_view kernel_class,
           const cost::ClockConstants& clock) {
  std::map<std::uint32_t, bool> gpus;
  for (const Sample* s : samples) gpus[s->gpu] = true;
  Kin kin;
  for (const auto& [gpu, seen] : gpus) add_kin(dataset.machines[gpu].gpu, kernel_class, clock, kin);
  return kin;
}

Intervals calibrate(const Dataset& dataset, const std::vector<Case>& cases,
                    const cost::ClockConstants& clock, std::optional<std::uint32_t> excluded) {
  const std::vector<bool> ignored = contradicted(dataset);
  std::map<std::string, Residuals> residuals;
  for (const Case& c : cases) {
    const Sample& sample = dataset.samples[c.sample];
    if (ignored[c.sample] || (excluded && sample.gpu == *excluded)) continue;
    if (dataset.campaigns[sample.campaign] == kSustainedCampaign) continue;
    residuals[std::string(class_of(sample.work))].push_back(
        {.magnitude = std::fabs(std::log(c.measured / c.predicted)),
         .gpu = sample.gpu,
         .bucket = bucket_of(c.predicted)});
  }
  const Rows rows = rows_of(dataset);
  Intervals intervals;
  for (const auto& [name, list] : residuals) {
    const std::array<double, kBuckets> usual = usual_widths(list);
    const auto known = familiarities(dataset, name, rows.at(name), clock);
    const auto levels = completed(levels_of(list, usual, known));
    Widths& widths = intervals[name];
    for (std::size_t i = 0; i < kFamiliarities; ++i) {
      for (std::size_t bucket = 0; bucket < kBuckets; ++bucket)
        widths.of[i][bucket] = kFewGpus * levels[i] * usual[bucket];
    }
  }
  return intervals;
}

std::optional<double> error_correlation(const Dataset& dataset, const std::vector<Case>& cases,
                                        std::optional<std::uint32_t> excluded) {
  constexpr std::size_t kEnoughGpus = 3;
  struct Mean {
    double sum = 0, squares = 0, count = 0;
    [[nodiscard]] double mean() const { return sum / count; }
    [[nodiscard]] double square() const { return squares / count; }
  };
  const std::vector<bool> ignored = contradicted(dataset);
  std::map<std::uint32_t, std::map<std::string_view, Mean>> by_gpu;
  for (const Case& c : cases) {
    const Sample& sample = dataset.samples[c.sample];
    if (ignored[c.sample] || (excluded && sample.gpu == *excluded)) continue;
    const double residual = std::log(c.measured / c.predicted);
    Mean& mean = by_gpu[sample.gpu][class_of(sample.work)];
    mean.sum += residual, mean.squares += residual * residual, mean.count += 1;
  }
  double products = 0;
  double squares = 0;
  std::size_t gpus = 0;
  for (const auto& [gpu, classes] : by_gpu) {
    if (classes.size() < 2) continue;
    ++gpus;
    double together = 0;
    double own = 0;
    double sum = 0;
    for (const auto& [name, mean] : classes) {
      sum += mean.mean();
      together -= mean.mean() * mean.mean();
      own += mean.square();
    }
    const auto n = static_cast<double>(classes.size());
    products += (together + sum * sum) / (n * (n - 1));  // of pairs of different classes
    squares += own / n;
  }
  if (gpus < kEnoughGpus || squares <= 0) return std::nullopt;
  return std::clamp(products / squares, 0.0, 1.0);
}

void calibrate_weights(const Dataset& dataset, const std::vector<Case>& cases,
                       std::optional<std::uint32_t> excluded, Weights& weights) {
  weights.intervals = calibrate(dataset, cases, weights.constants.clock, excluded);
  double& correlation = weights.constants.step.error_correlation;
  correlation = error_correlation(dataset, cases, excluded).value_or(correlation);
}

void set_left_out_intervals(const Dataset& dataset, const Fits& fits, std::vector<Case>& cases) {
  struct OfGpu {
    Intervals widths;
    cost::ByName<Familiarity> known;
  };
  std::vector<OfGpu> gpus;
  for (std::uint32_t gpu = 0; gpu < dataset.machines.size(); ++gpu) {
    const Weights& weights = fits.without[gpu];
    OfGpu& of = gpus.emplace_back();
    of.widths = calibrate(dataset, cases, weights.constants.clock, gpu);
    for (const auto& [name, range] : weights.ranges)
      of.known[name] =
          familiarity(dataset.machines[gpu].gpu, name, weights.constants.clock, range.kin);
  }
  for (Case& c : cases) {
    const Sample& sample = dataset.samples[c.sample];
    const OfGpu& of = gpus[sample.gpu];
    const auto width = of.widths.find(class_of(sample.work));
    const auto known = of.known.find(class_of(sample.work));
    if (width == of.widths.end() || known == of.known.end()) continue;
    const double half = width->second.at(known->second)[bucket_of(c.predicted)];
    c.low = std::max(c.predicted * std::exp(-half), c.bound);
    c.high = c.predicted * std::exp(half);
  }
}

}  // namespace rooftile::calibration
