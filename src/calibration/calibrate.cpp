// SPDX-License-Identifier: Apache-2.0
#include "calibration/calibrate.h"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "aggregate/communication.h"
#include "cost/learned/classes.h"

namespace rooftile::calibration {

namespace {

using cost::learned::Calibrated;
using hardware::Calibration;
using hardware::CalibrationFamily;
using hardware::CalibrationRow;

/// Standard deviations of logarithms, assumed: most of what a family is off by is its own (left-out
/// levels of families on one GPU differ by 10 to 40 %), so that one family says little about
/// another. No row decides them.
constexpr hardware::OfParts kPartPrior{0.08, 0.1, 0.1, 0.25, 0.25};
constexpr double kLevelPrior = 0.25;

/// A log-normal prior and the values that are tried.
struct Width {
  double median, spread;
  std::array<double, 4> tried;
  [[nodiscard]] double log_prior(double value) const {
    const double z = std::log(value / median) / spread;
    return -z * z / 2;
  }
};
constexpr Width kLength{6, 0.7, {2, 4, 8, 16}};
constexpr Width kAmplitude{0.1, 1, {0.05, 0.1, 0.2, 0.4}};
constexpr Width kNoise{0.05, 1, {0.02, 0.04, 0.08, 0.16}};

/// A row that is off by more than its family's noise is doubted as Student's t with so many degrees
/// of freedom would.
constexpr double kFreedom = 4;
constexpr int kRounds = 3;

CalibrationFamily assumed_family() {
  return {.length = kLength.median, .amplitude = kAmplitude.median, .noise = kNoise.median};
}

Calibration empty_calibration(const cost::Predictor& predictor) {
  Calibration calibration;
  calibration.predictor = predictor.name();
  calibration.weights = predictor.input().sha256;
  calibration.prior = kPartPrior;
  calibration.level = kLevelPrior;
  return calibration;
}

/// Rows of one family alone, with the widths that make them likeliest.
class FamilyFit {
 public:
  FamilyFit(const Calibration& base, std::string family, std::vector<CalibrationRow> rows)
      : alone_(base), family_(std::move(family)) {
    alone_.rows = std::move(rows);
    alone_.families = {{family_, assumed_family()}};
  }

  void run() {
    if (alone_.rows.size() < 3) return;  // the priors know more
    for (int round = 0; round < kRounds; ++round) {
      choose_widths();
      doubt_rows();
    }
  }
  [[nodiscard]] const CalibrationFamily& widths() const { return alone_.families.at(family_); }
  [[nodiscard]] const std::vector<CalibrationRow>& rows() const { return alone_.rows; }

 private:
  void choose_widths() {
    CalibrationFamily best;
    double most = -std::numeric_limits<double>::infinity();
    CalibrationFamily& tried = alone_.families.at(family_);
    for (const double length : kLength.tried) {
      for (const double amplitude : kAmplitude.tried) {
        for (const double noise : kNoise.tried) {
          tried = {.length = length, .amplitude = amplitude, .noise = noise};
          const double score = Calibrated(alone_).evidence() + kLength.log_prior(length) +
                               kAmplitude.log_prior(amplitude) + kNoise.log_prior(noise);
          if (score > most) most = score, best = tried;
        }
      }
    }
    tried = best;
  }
  void doubt_rows() {
    const Calibrated posterior(alone_);
    const double noise = widths().noise;
    for (std::size_t i = 0; i < alone_.rows.size(); ++i) {
      const double z = posterior.residual(i) / noise;
      alone_.rows[i].doubt = std::max(1.0, (kFreedom + z * z) / (kFreedom + 1));
    }
  }

  Calibration alone_;
  std::string family_;
};

/// At most `most` of them, evenly in the order of their times.
std::vector<CalibrationRow> thinned(std::vector<const CalibrationCase*> cases, std::size_t most) {
  std::stable_sort(cases.begin(), cases.end(),
                   [](const auto* a, const auto* b) { return a->predicted < b->predicted; });
  std::vector<CalibrationRow> rows;
  const std::size_t kept = std::min(most, cases.size());
  for (std::size_t i = 0; i < kept; ++i) {
    const CalibrationCase& one = *cases[i * cases.size() / kept];
    rows.push_back({.family = std::string(one.point.family),
                    .at = one.point.at,
                    .shares = one.point.shares,
                    .residual = one.residual()});
  }
  return rows;
}

}  // namespace

double CalibrationCase::residual() const {
  constexpr double kMost = 5;  // a factor of 150 is a slip, and one row of many
  return std::clamp(std::log(measured / predicted), -kMost, kMost);
}

double CalibrationCase::corrected(double log) const {
  return std::max(predicted * std::exp(log), bound);
}

Result<CalibrationCase> calibration_case(const MeasuredKernel& kernel,
                                         const cost::Predictor& predictor,
                                         cost::Estimator& estimator) {
  ROOFTILE_TRY(cost::Job job, estimator.bind(kernel.work));
  job.setting = kernel.setting;
  job.burst = kernel.setting == cost::Setting::Isolated;
  cost::Estimate estimate = estimator.estimate(job);
  double seconds = kernel.seconds;
  if (kernel.setting == cost::Setting::InStream) {
    const double gap = cost::launch_gap(estimator.machine(), predictor.constants().step).base();
    cost::add_launch_gap(Seconds::from_base(-gap), estimate);
    constexpr double kLeast = 0.2;  // a kernel shorter than its gap was timed otherwise
    if (kernel.gap) seconds = std::max(seconds - gap, kLeast * seconds);
  }
  CalibrationCase one;
  one.name = fmt::format("{} {} {}", kernel.work.op, shape_text(kernel.work.shape),
                         name_of(kernel.work.dtype));
  one.place = kernel.place;
  one.point = cost::learned::kernel_point(kernel.work, estimate);
  one.measured = seconds;
  one.predicted = estimate.time.base();
  one.bound = estimate.bound.base();
  return one;
}

std::vector<MeasuredKernel> kernels_of(const Dataset& dataset, std::uint32_t gpu) {
  std::vector<MeasuredKernel> kernels;
  for (const Sample& sample : dataset.samples) {
    if (sample.gpu != gpu) continue;
    kernels.push_back(
        {.work = sample.work,
         .seconds = sample.host ? std::max(sample.measured - *sample.host, sample.measured / 2)
                                : sample.measured,
         .setting = sample.host ? cost::Setting::InStream : cost::Setting::Isolated,
         .gap = sample.host && *sample.host == 0,
         .place = fmt::format("{}:{}", dataset.files[sample.file], sample.line)});
  }
  return kernels;
}

Calibration calibrate_kernels(std::span<const CalibrationCase> cases,
                              const cost::Predictor& predictor) {
  Calibration calibration = empty_calibration(predictor);
  std::map<std::string_view, std::vector<const CalibrationCase*>> families;
  for (const CalibrationCase& one : cases) families[one.point.family].push_back(&one);
  if (families.empty()) return calibration;
  constexpr std::size_t kMostOfFamily = 160;  // more take minutes and say nothing new
  const std::size_t most =
      std::min(kMostOfFamily, hardware::kMostCalibrationRows / families.size());
  for (auto& [name, members] : families) {
    FamilyFit fit(calibration, std::string(name), thinned(std::move(members), most));
    fit.run();
    calibration.families[std::string(name)] = fit.widths();
    calibration.rows.insert(calibration.rows.end(), fit.rows().begin(), fit.rows().end());
  }
  return calibration;
}

Calibration uncalibrated(const cost::Predictor& predictor,
                         std::span<const std::string_view> families) {
  Calibration calibration = empty_calibration(predictor);
  for (const std::string_view name : families)
    calibration.families[std::string(name)] = assumed_family();
  return calibration;
}

std::array<double, 3> calibrate_steps(std::span<const StepCaseOf> steps,
                                      hardware::StepFactors& factors) {
  // How far the steps of a machine are off: what its kernels share, each kind by itself, its host,
  // and one step from another. Assumed, from the machines of `evaluate steps`: their means differ by
  // 20 %, steps of one of them by 10 %.
  constexpr double kCommon = 0.15, kOwn = 0.08, kHost = 0.25, kStep = 0.1;
  const auto n = static_cast<Eigen::Index>(steps.size());
  if (n == 0) return {};
  const Eigen::Vector3d before(std::log(factors.compute), std::log(factors.memory),
                               std::log(factors.host));
  Eigen::Matrix3d prior = Eigen::Matrix3d::Zero();
  prior.topLeftCorner<2, 2>().setConstant(kCommon * kCommon);
  prior(0, 0) += kOwn * kOwn;
  prior(1, 1) += kOwn * kOwn;
  prior(2, 2) = kHost * kHost;
  Eigen::MatrixXd shares(n, 3);
  Eigen::VectorXd wanted(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    const StepCaseOf& step = steps[static_cast<std::size_t>(i)];
    shares.row(i) << step.compute, step.memory, step.host;
    wanted(i) = std::log(step.measured_ms / step.predicted_ms) + shares.row(i).dot(before);
  }
  const Eigen::MatrixXd noise = kStep * kStep * Eigen::MatrixXd::Identity(n, n);
  const Eigen::MatrixXd k = shares * prior * shares.transpose() + noise;
  const Eigen::Vector3d theta = prior * shares.transpose() * k.llt().solve(wanted);
  const auto factor = [](double log) { return std::exp(std::clamp(log, -3.0, 3.0)); };
  const double spread = (wanted - shares * theta).norm() / std::sqrt(static_cast<double>(n));
  factors = {.compute = factor(theta(0)),
             .memory = factor(theta(1)),
             .host = factor(theta(2)),
             .rows = static_cast<std::int64_t>(n),
             .noise = std::clamp(std::hypot(spread, kStep), kStep, 1.0)};
  const Eigen::Matrix3d known = prior * shares.transpose() * k.llt().solve(shares * prior);
  std::array<double, 3> told{};
  for (Eigen::Index i = 0; i < 3; ++i)
    told[static_cast<std::size_t>(i)] = std::clamp(known(i, i) / prior(i, i), 0.0, 1.0);
  return told;
}

std::optional<CalibratedLinks> calibrate_links(std::span<const Collective> rows,
                                               const cost::LinkConstants& constants) {
  if (rows.empty()) return std::nullopt;
  constexpr double kBandwidth = 0.3, kStart = 0.5, kNoise = 0.1, kStep = 1e-3;
  Eigen::Vector2d theta = Eigen::Vector2d::Zero();
  Eigen::Matrix2d left;
  const auto log_time = [&](const Collective& row, const Eigen::Vector2d& at) {
    const hardware::LinkFactors factors{.bandwidth = std::exp(at(0)), .start = std::exp(at(1))};
    return std::log(aggregate::all_reduce(row.bytes, row.gpus, row.link,
                                          cost::calibrated_links(constants, factors))
                        .time.base());
  };
  for (int round = 0; round < 10; ++round) {
    Eigen::Matrix2d normal = Eigen::Matrix2d::Zero();
    normal(0, 0) = 1 / (kBandwidth * kBandwidth);
    normal(1, 1) = 1 / (kStart * kStart);
    Eigen::Vector2d right = -(normal * theta);
    for (const Collective& row : rows) {
      const double base = log_time(row, theta);
      Eigen::Vector2d slope;
      for (int p = 0; p < 2; ++p) {
        Eigen::Vector2d moved = theta;
        moved(p) += kStep;
        slope(p) = (log_time(row, moved) - base) / kStep;
      }
      const double miss = std::log(row.measured) - base;
      const double weight = 1 / (kNoise * kNoise + miss * miss / kFreedom);
      normal += weight * slope * slope.transpose();
      right += weight * slope * miss;
    }
    left = normal.inverse();
    theta += left * right;
    theta = theta.cwiseMax(-3).cwiseMin(3);
  }
  return CalibratedLinks{
      .factors = {.bandwidth = std::exp(theta(0)),
                  .start = std::exp(theta(1)),
                  .rows = static_cast<std::int64_t>(rows.size())},
      .bandwidth_told = std::clamp(1 - left(0, 0) / (kBandwidth * kBandwidth), 0.0, 1.0),
      .start_told = std::clamp(1 - left(1, 1) / (kStart * kStart), 0.0, 1.0)};
}

}  // namespace rooftile::calibration
