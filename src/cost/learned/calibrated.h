// SPDX-License-Identifier: Apache-2.0
//
// What kernels measured on a machine (hardware/calibration.h) say about other kernels there. The
// logarithm of measured over predicted time is
//
//   sum over parts (share theta) + level of the family + g(where the kernel lies) + noise
//
// theta belongs to the machine: its clock, the bandwidths it attains, what a launch and the host
// take. All terms are normal with the widths of the calibration, g resembles itself at neighbours
// (a Matern covariance of the distance in octaves), so the posterior is a system of equations with
// one row per measured kernel: few rows change little, and the interval follows from it. A kernel
// whose family was not measured gets the machine's parts and keeps its interval.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cost/estimate.h"
#include "cost/predictor.h"
#include "hardware/calibration.h"

namespace rooftile::cost::learned {

using hardware::OfParts;

/// Where a kernel lies and what its time is made of, by a predictor that knows no calibration.
struct KernelPoint {
  std::string_view family;
  std::vector<double> at;
  OfParts shares{};
};
/// `estimate` has its time, its bound and its breakdown.
KernelPoint kernel_point(const ops::KernelWork& work, const Estimate& estimate);
/// d log time / d log part.
OfParts shares_of(const Breakdown& breakdown);

/// Of the logarithm of a kernel's time.
struct Correction {
  double log = 0;                    ///< all of it
  OfParts parts{};                   ///< theta
  std::optional<double> half_width;  ///< of the 80 % interval; none: the family was not measured
  bool few = false;                  ///< rows of the family: too few to know its noise
};

/// The time of the breakdown becomes exp(log) times what it was, its parts change by theta.
void apply(const Correction& correction, Breakdown& breakdown);

/// A family with fewer rows has an assumed noise.
inline constexpr std::size_t kFewRows = 10;

/// The width of 80 % of a normal distribution, in standard deviations.
inline constexpr double kEightyPercent = 1.2815515655446004;

/// The posterior.
class Calibrated {
 public:
  explicit Calibrated(const hardware::Calibration& calibration);
  Calibrated(Calibrated&&) noexcept;
  Calibrated& operator=(Calibrated&&) noexcept;
  ~Calibrated();

  [[nodiscard]] Correction at(const KernelPoint& point) const;
  /// theta and what of its prior variance is left, 0 to 1.
  struct Parameter {
    double value = 0, left = 1;
  };
  [[nodiscard]] Parameter part(hardware::Part part) const;
  [[nodiscard]] Parameter level(std::string_view family) const;
  /// Of row `i`, as if it had not been measured: the error of the logarithm.
  [[nodiscard]] double left_out_error(std::size_t i) const;
  /// log p(rows), up to a constant.
  [[nodiscard]] double evidence() const;
  /// What the posterior leaves of row `i`.
  [[nodiscard]] double residual(std::size_t i) const;

 private:
  struct Posterior;
  std::unique_ptr<Posterior> posterior_;
};

/// What measured kernels of the machine say about an estimate that has its time; gives the
/// half-width of its interval, which was `width`.
double calibrate_estimate(const Job& job, const hardware::Machine& machine,
                          const Calibrated& calibrated, double width, Estimate& estimate);

/// Coordinates of the calibration's rows are those of this program.
Status check_calibration(const hardware::Machine& machine);
/// What to say where a machine's calibration is not that of the predictor, or of other weights.
std::vector<std::string> calibration_warnings(const hardware::Machine& machine,
                                              const Predictor& predictor);

}  // namespace rooftile::cost::learned
