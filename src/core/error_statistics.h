// SPDX-License-Identifier: Apache-2.0
//
// How far predictions are from measurements: the numbers that every accuracy table shows. Errors
// are predicted / measured - 1, as fractions. The 90 % quantile is the nearest rank (the smallest
// error that at least 90 % of the cases do not exceed), so that it is one of the errors, also when
// there are only a few.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rooftile/evaluate.h"

namespace rooftile {

/// One prediction and its measurement; all four in the same unit, `measured` positive.
struct Compared {
  double measured = 1, predicted = 1;
  double low = 1, high = 1;  ///< the stated interval; equal where none is stated
  [[nodiscard]] double error() const { return predicted / measured - 1; }
};

/// All zero without cases.
ErrorStatistics error_statistics(std::span<const Compared> cases);

/// Rows with the predictions of baselines, by group.
class ErrorGroups {
 public:
  /// A baseline by its name and what it predicts for the row.
  using Baselines = std::vector<std::pair<std::string_view, double>>;

  void add(const std::string& group, const Compared& row, const Baselines& baselines);
  /// In the order of the groups' names.
  [[nodiscard]] std::vector<ErrorSummary> summary() const;

 private:
  struct Group {
    std::vector<Compared> rows;
    std::map<std::string, std::vector<Compared>, std::less<>> baselines;
  };
  std::map<std::string, Group> groups_;
};

}  // namespace rooftile
