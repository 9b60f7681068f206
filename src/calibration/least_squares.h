// SPDX-License-Identifier: Apache-2.0
//
// Robust non-linear least squares for a few shared parameters and many group levels. Minimises
// sum of scale^2 (sqrt(1 + (r / scale)^2) - 1), soft L1, by Levenberg-Marquardt with numeric
// derivatives. Residual i depends on all shared parameters and on the level of its own group only,
// so the derivatives to all levels cost one evaluation. Deterministic; one thread.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace rooftile::calibration {

struct LeastSquares {
  std::size_t shared = 0;  ///< the first parameters; the others are group levels
  std::vector<double> start;
  std::vector<double> spread;  ///< of shared parameter i: prior width around start
  double prior = 0;            ///< strength of the prior; 0 = none
  double scale = 0.08;
  int max_iterations = 30;
  std::vector<std::size_t> group;  ///< of each residual
  /// Writes the residuals at the parameters.
  std::function<void(std::span<const double>, std::span<double>)> residuals;
};

struct LeastSquaresResult {
  std::vector<double> x;
  double cost = 0;
  int iterations = 0;
};

LeastSquaresResult minimize(const LeastSquares& problem);

/// Solves the symmetric positive definite A x = b in place (Cholesky); false when A is not.
bool solve_symmetric(std::vector<double>& a, std::vector<double>& b);

}  // namespace rooftile::calibration
