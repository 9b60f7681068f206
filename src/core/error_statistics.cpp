// SPDX-License-Identifier: Apache-2.0
#include "core/error_statistics.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace rooftile {

namespace {

double nearest_rank(std::vector<double>& values, double quantile) {
  const auto rank =
      static_cast<std::ptrdiff_t>(std::ceil(quantile * static_cast<double>(values.size())));
  const auto at = values.begin() + std::max<std::ptrdiff_t>(rank, 1) - 1;
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace

ErrorStatistics error_statistics(std::span<const Compared> cases) {
  ErrorStatistics s;
  if (cases.empty()) return s;
  s.cases = static_cast<std::int64_t>(cases.size());
  const auto n = static_cast<double>(cases.size());
  std::vector<double> errors;
  errors.reserve(cases.size());
  std::int64_t inside = 0;
  std::int64_t stated = 0;
  for (const Compared& one : cases) {
    errors.push_back(std::fabs(one.error()));
    s.mean_error += errors.back() / n;
    s.bias += one.error() / n;
    s.geometric_error += std::fabs(std::log(one.predicted / one.measured)) / n;
    s.worst_error = std::max(s.worst_error, errors.back());
    if (!(one.low < one.high)) continue;
    ++stated;
    if (one.low <= one.measured && one.measured <= one.high) ++inside;
  }
  if (stated > 0) s.coverage = static_cast<double>(inside) / static_cast<double>(stated);
  s.geometric_error = std::expm1(s.geometric_error);
  s.median_error = nearest_rank(errors, 0.5);
  s.p90_error = nearest_rank(errors, 0.9);
  return s;
}

void ErrorGroups::add(const std::string& group, const Compared& row, const Baselines& baselines) {
  Group& known = groups_[group];
  known.rows.push_back(row);
  for (const auto& [name, predicted] : baselines) {
    auto it = known.baselines.find(name);
    if (it == known.baselines.end()) it = known.baselines.try_emplace(std::string(name)).first;
    it->second.push_back({.measured = row.measured, .predicted = predicted});
  }
}

std::vector<ErrorSummary> ErrorGroups::summary() const {
  std::vector<ErrorSummary> result;
  for (const auto& [name, group] : groups_) {
    ErrorSummary s;
    static_cast<ErrorStatistics&>(s) = error_statistics(group.rows);
    s.group = name;
    for (const auto& [baseline, rows] : group.baselines) {
      const ErrorStatistics of_baseline = error_statistics(rows);
      s.baselines[baseline] = {.mean_error = of_baseline.mean_error, .cases = of_baseline.cases};
    }
    result.push_back(std::move(s));
  }
  return result;
}

}  // namespace rooftile
