// SPDX-License-Identifier: Apache-2.0
#include "characterize/ert_rule.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>

#include "core/text.h"

namespace rooftile::characterize {

namespace {

std::vector<std::string_view> words(std::string_view line) {
  std::vector<std::string_view> out;
  std::size_t begin = 0;
  while (begin < line.size()) {
    const std::size_t first = line.find_first_not_of(" \t\r", begin);
    if (first == std::string_view::npos) break;
    const std::size_t end = std::min(line.find_first_of(" \t\r", first), line.size());
    out.push_back(line.substr(first, end - first));
    begin = end;
  }
  return out;
}

std::optional<ErtTrial> parse_trial(std::span<const std::string_view> fields) {
  if (fields.size() != 5) return std::nullopt;
  const auto working_set = parse_int(fields[0]);
  const auto trials = parse_int(fields[1]);
  const auto microseconds = parse_double(fields[2]);
  const auto bytes = parse_double(fields[3]);
  const auto flops = parse_double(fields[4]);
  if (!working_set || !trials || !microseconds || !bytes || !flops) return std::nullopt;
  if (*working_set <= 0 || *trials <= 0 || *microseconds <= 0 || *bytes <= 0 || *flops < 0) {
    return std::nullopt;
  }
  return ErtTrial{.working_set = Bytes::from_base(static_cast<double>(*working_set)),
                  .trials = *trials,
                  .time = Seconds::from_base(*microseconds * 1e-6),
                  .bytes = Bytes::from_base(*bytes),
                  .flops = Flops::from_base(*flops)};
}

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

Result<std::vector<ErtBlock>> read_ert_trials(std::string_view text, const std::string& name) {
  std::vector<ErtBlock> blocks;
  std::int64_t number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    const std::vector<std::string_view> fields = words(line);
    if (fields.empty()) continue;
    if (fields[0] == "META_DATA") break;
    const std::string where = name + ":" + std::to_string(number);
    if (fields.size() == 1) {
      const Result<DType> precision = parse_dtype(fields[0]);
      if (!precision) return bad_input(where, precision.error().message, precision.error().hint);
      blocks.push_back({.precision = *precision, .trials = {}});
      continue;
    }
    const std::optional<ErtTrial> trial = parse_trial(fields);
    if (!trial) {
      return bad_input(where, "not a line of an ERT try file: \"" + printable(line) + "\"",
                       "expected: working set, trials, microseconds, bytes, FLOPs");
    }
    if (blocks.empty()) blocks.emplace_back();
    blocks.back().trials.push_back(*trial);
  }
  if (blocks.empty()) return bad_input(name, "no measurements", "is this an ERT try file?");
  return blocks;
}

std::vector<ErtPoint> reduce_ert_trials(std::span<const std::vector<ErtTrial>> experiments) {
  struct Entry {
    std::vector<double> times;
    Bytes bytes;
    Flops flops;
  };
  std::map<double, std::map<std::int64_t, Entry>> table;  // working set -> trials -> times
  for (const std::vector<ErtTrial>& experiment : experiments) {
    for (const ErtTrial& trial : experiment) {
      Entry& entry = table[trial.working_set.base()][trial.trials];
      entry.times.push_back(trial.time.base());
      entry.bytes = trial.bytes;
      entry.flops = trial.flops;
    }
  }
  std::vector<ErtPoint> points;
  for (auto& [working_set, by_trials] : table) {
    Entry& longest = by_trials.rbegin()->second;
    std::sort(longest.times.begin(), longest.times.end());
    const Seconds median = Seconds::from_base(longest.times[longest.times.size() / 2]);
    points.push_back({.working_set = Bytes::from_base(working_set),
                      .bandwidth = longest.bytes / median,
                      .rate = longest.flops / median});
  }
  return points;
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

}  // namespace rooftile::characterize
