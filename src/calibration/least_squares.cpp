// SPDX-License-Identifier: Apache-2.0
#include "calibration/least_squares.h"

#include <algorithm>
#include <cmath>

namespace rooftile::calibration {

namespace {

class Minimizer {
 public:
  explicit Minimizer(const LeastSquares& problem)
      : p_(problem), rows_(problem.group.size()), columns_(problem.start.size()) {}

  LeastSquaresResult run() {
    std::vector<double> x = p_.start;
    std::vector<double> r = residuals(x);
    double cost = cost_of(r);
    double damping = 1e-3;
    int iteration = 0;
    for (; iteration < p_.max_iterations; ++iteration) {
      linearize(x, r);
      bool improved = false;
      double before = cost;
      for (int attempt = 0; attempt < 10 && !improved; ++attempt) {
        const std::vector<double> trial = step(x, damping);
        if (trial.empty()) {
          damping *= 10;
          continue;
        }
        std::vector<double> trial_r = residuals(trial);
        const double trial_cost = cost_of(trial_r);
        improved = trial_cost < cost;
        if (improved) {
          x = trial, r = std::move(trial_r), cost = trial_cost;
          damping = std::max(damping / 5, 1e-9);
        } else {
          damping *= 4;
        }
      }
      if (!improved || before - cost < 1e-7 * before) break;
    }
    return {.x = std::move(x), .cost = cost, .iterations = iteration};
  }

 private:
  /// Data residuals, then one prior residual per shared parameter.
  std::vector<double> residuals(std::span<const double> x) const {
    std::vector<double> r(rows_ + p_.shared, 0.0);
    p_.residuals(x, std::span(r).first(rows_));
    for (std::size_t i = 0; i < p_.shared; ++i)
      r[rows_ + i] = p_.prior > 0 ? p_.prior * (x[i] - p_.start[i]) / p_.spread[i] : 0.0;
    return r;
  }

  double cost_of(const std::vector<double>& r) const {
    double sum = 0;
    for (const double value : r) {
      const double z = value / p_.scale;
      sum += std::sqrt(1 + z * z) - 1;
    }
    return std::isfinite(sum) ? sum : 1e300;
  }

  /// Normal equations with the weights of the soft L1 loss, 1 / sqrt(1 + z^2).
  void linearize(const std::vector<double>& x, const std::vector<double>& r) {
    constexpr double kStep = 1e-5;
    std::vector<std::vector<double>> columns;
    std::vector<double> moved = x;
    for (std::size_t i = 0; i < p_.shared; ++i) {
      const double h = kStep * std::max(1.0, std::fabs(x[i]));
      moved[i] = x[i] + h;
      columns.push_back(derivative(residuals(moved), r, h));
      moved[i] = x[i];
    }
    std::vector<double> level;
    if (columns_ > p_.shared) {
      for (std::size_t i = p_.shared; i < columns_; ++i) moved[i] = x[i] + kStep;
      level = derivative(residuals(moved), r, kStep);
    }
    matrix_.assign(columns_ * columns_, 0.0);
    gradient_.assign(columns_, 0.0);
    std::vector<double> row(p_.shared + 1);
    for (std::size_t i = 0; i < r.size(); ++i) {
      const double z = r[i] / p_.scale;
      const double weight = 1.0 / std::sqrt(1 + z * z);
      for (std::size_t j = 0; j < p_.shared; ++j) row[j] = columns[j][i];
      const bool has_level = i < rows_ && !level.empty();
      row[p_.shared] = has_level ? level[i] : 0.0;
      add_row(row, has_level ? p_.shared + p_.group[i] : columns_, weight, r[i]);
    }
  }

  void add_row(const std::vector<double>& row, std::size_t level_column, double weight, double r) {
    for (std::size_t j = 0; j < p_.shared; ++j) {
      const double wj = weight * row[j];
      gradient_[j] += wj * r;
      for (std::size_t k = 0; k <= j; ++k) matrix_[j * columns_ + k] += wj * row[k];
    }
    if (level_column >= columns_) return;
    const double wl = weight * row[p_.shared];
    gradient_[level_column] += wl * r;
    for (std::size_t k = 0; k < p_.shared; ++k) matrix_[level_column * columns_ + k] += wl * row[k];
    matrix_[level_column * columns_ + level_column] += wl * row[p_.shared];
  }

  static std::vector<double> derivative(std::vector<double> after,
                                        const std::vector<double>& before, double h) {
    for (std::size_t i = 0; i < after.size(); ++i) after[i] = (after[i] - before[i]) / h;
    return after;
  }

  /// x - (A + damping diag A)^-1 g; empty when the matrix is singular.
  std::vector<double> step(const std::vector<double>& x, double damping) const {
    std::vector<double> a = matrix_;
    std::vector<double> b = gradient_;
    for (std::size_t i = 0; i < columns_; ++i) {
      a[i * columns_ + i] += damping * std::max(matrix_[i * columns_ + i], 1e-12);
      for (std::size_t j = 0; j < i; ++j) a[j * columns_ + i] = a[i * columns_ + j];
    }
    if (!solve_symmetric(a, b)) return {};
    constexpr double kMaxStep = 1.0;  // of any parameter: all are logarithms or ratios
    std::vector<double> next = x;
    for (std::size_t i = 0; i < columns_; ++i) next[i] -= std::clamp(b[i], -kMaxStep, kMaxStep);
    return next;
  }

  const LeastSquares& p_;
  std::size_t rows_;
  std::size_t columns_;
  std::vector<double> matrix_;  ///< lower triangle
  std::vector<double> gradient_;
};

}  // namespace

bool solve_symmetric(std::vector<double>& a, std::vector<double>& b) {
  const std::size_t n = b.size();
  for (std::size_t j = 0; j < n; ++j) {
    double pivot = a[j * n + j];
    for (std::size_t k = 0; k < j; ++k) pivot -= a[j * n + k] * a[j * n + k];
    if (!(pivot > 0) || !std::isfinite(pivot)) return false;
    a[j * n + j] = std::sqrt(pivot);
    for (std::size_t i = j + 1; i < n; ++i) {
      double value = a[i * n + j];
      for (std::size_t k = 0; k < j; ++k) value -= a[i * n + k] * a[j * n + k];
      a[i * n + j] = value / a[j * n + j];
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k) b[i] -= a[i * n + k] * b[k];
    b[i] /= a[i * n + i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) b[i] -= a[k * n + i] * b[k];
    b[i] /= a[i * n + i];
  }
  return true;
}

LeastSquaresResult minimize(const LeastSquares& problem) {
  return Minimizer(problem).run();
}

}  // namespace rooftile::calibration
