// SPDX-License-Identifier: Apache-2.0
//
// What the tables of `rooftile evaluate kernels` and `evaluate labels` have in common.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rooftile::report {

/// 0.1234 -> "12.3", signed "+12.3"; "-" where there is nothing to say.
std::string percent(double fraction);
std::string percent(std::optional<double> fraction);
std::string signed_percent(double fraction);

/// By which weights the predictions were made.
std::string accuracy_heading(std::string_view predictor, bool left_out);

/// First column to the left, all others to the right; one row of cells per group.
struct AccuracyTable {
  std::vector<std::string> titles;
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> details{};  ///< titles that a narrow text does without

  [[nodiscard]] std::string to_text(int width) const;
  [[nodiscard]] std::string to_markdown() const;
};

}  // namespace rooftile::report
