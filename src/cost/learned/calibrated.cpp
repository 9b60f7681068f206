// SPDX-License-Identifier: Apache-2.0
#include "cost/learned/calibrated.h"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <cmath>
#include <map>
#include <utility>

#include "core/text.h"
#include "cost/learned/classes.h"

namespace rooftile::cost::learned {

namespace {

using hardware::Calibration;
using hardware::CalibrationFamily;
using hardware::kAllParts;
using hardware::kParts;
using hardware::Part;

/// The resources of a part: on-chip ones share the clock.
std::vector<Resource> resources_of(Part part) {
  switch (part) {
    case Part::Compute:
      return {Resource::Compute, Resource::Shared, Resource::L1, Resource::Latency};
    case Part::L2: return {Resource::L2};
    case Part::Dram: return {Resource::Dram};
    case Part::Launch: return {Resource::Launch};
    case Part::Host: return {Resource::Host};
  }
  return {};
}

void scale_part(Part part, double factor, Breakdown& breakdown) {
  for (const Resource resource : resources_of(part)) breakdown.of(resource) *= factor;
}

double octaves(double value) {
  return std::log2(std::max(value, 1e-30));
}

void add_sizes(const ops::KernelWork& work, std::vector<double>& at) {
  if (const auto* a = std::get_if<ops::AttentionShape>(&work.shape)) {
    const std::int64_t seen = a->window > 0 ? std::min(a->window, a->keys) : a->keys;
    for (const std::int64_t size : {a->batch, a->heads, a->kv_heads, a->queries, seen, a->head_dim})
      at.push_back(octaves(static_cast<double>(size)));
    return;
  }
  for_each_dimension(work, [&](std::string_view, double size) { at.push_back(octaves(size)); });
}

/// Distances between kernels are in octaves of their sizes and times. Shares of the bound count
/// more: half of a roof is another kind of kernel.
constexpr double kBoundScale = 2;

double matern(double distance) {
  const double r = std::sqrt(3.0) * distance;
  return (1 + r) * std::exp(-r);
}

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum);
}

struct PointView {
  std::string_view family;
  const std::vector<double>& at;
  const OfParts& shares;
};

/// Without noise.
double covariance(const Calibration& c, const PointView& a, const PointView& b) {
  double sum = 0;
  for (std::size_t p = 0; p < kParts; ++p)
    sum += c.prior[p] * c.prior[p] * a.shares[p] * b.shares[p];
  if (a.family != b.family) return sum;
  sum += c.level * c.level;
  const auto family = c.families.find(a.family);
  if (family == c.families.end()) return sum;
  const CalibrationFamily& f = family->second;
  return sum + f.amplitude * f.amplitude * matern(distance(a.at, b.at) / f.length);
}

PointView view_of(const hardware::CalibrationRow& row) {
  return {.family = row.family, .at = row.at, .shares = row.shares};
}

/// Kernels of a step run longer than one that is timed alone: what measured steps say of it.
double step_correction(const hardware::StepFactors& steps, const OfParts& shares) {
  const auto share = [&](hardware::Part part) { return shares[static_cast<std::size_t>(part)]; };
  return share(hardware::Part::Compute) * std::log(steps.compute) +
         (share(hardware::Part::L2) + share(hardware::Part::Dram)) * std::log(steps.memory);
}

}  // namespace

OfParts shares_of(const Breakdown& breakdown) {
  constexpr double kStep = 1e-3;
  const double base = breakdown.time().base();
  OfParts shares{};
  if (!(base > 0)) return shares;
  for (const Part part : kAllParts) {
    Breakdown more = breakdown;
    scale_part(part, std::exp(kStep), more);
    shares[static_cast<std::size_t>(part)] = std::log(more.time().base() / base) / kStep;
  }
  return shares;
}

KernelPoint kernel_point(const ops::KernelWork& work, const Estimate& estimate) {
  KernelPoint point{.family = class_of(work), .at = {}, .shares = shares_of(estimate.breakdown)};
  add_sizes(work, point.at);
  const double time = std::max(estimate.time.base(), 1e-12);
  point.at.push_back(octaves(size_of(work.dtype).base()));
  point.at.push_back(octaves(time));
  point.at.push_back(kBoundScale * std::log(std::max(estimate.bound.base() / time, 1e-3)));
  return point;
}

void apply(const Correction& correction, Breakdown& breakdown) {
  const double wanted = breakdown.time().base() * std::exp(correction.log);
  for (const Part part : kAllParts)
    scale_part(part, std::exp(correction.parts[static_cast<std::size_t>(part)]), breakdown);
  const double got = breakdown.time().base();
  if (!(got > 0)) return;
  breakdown.residual *= wanted / got;
  breakdown.of(Resource::Launch) *= wanted / got;
  breakdown.of(Resource::Host) *= wanted / got;
}

struct Calibrated::Posterior {
  Calibration calibration;
  Eigen::LLT<Eigen::MatrixXd> factor;
  Eigen::VectorXd residuals, weights;
  Eigen::VectorXd noise;  ///< variance of each row
  OfParts theta{};
  std::map<std::string, std::size_t, std::less<>> rows;  ///< by family

  [[nodiscard]] Eigen::Index size() const { return residuals.size(); }
  [[nodiscard]] const hardware::CalibrationRow& row(Eigen::Index i) const {
    return calibration.rows[static_cast<std::size_t>(i)];
  }
  [[nodiscard]] std::size_t rows_of(std::string_view family) const {
    const auto found = rows.find(family);
    return found == rows.end() ? 0 : found->second;
  }
  /// What of the variance of a term is left that covaries with the rows as `with`.
  [[nodiscard]] double left(const Eigen::VectorXd& with, double variance) const {
    if (size() == 0 || !(variance > 0)) return 1;
    const double known = factor.matrixL().solve(with).squaredNorm() / variance;
    return std::clamp(1 - known, 0.0, 1.0);
  }
  void factorize() {
    const Eigen::Index n = size();
    Eigen::MatrixXd k(n, n);
    for (Eigen::Index i = 0; i < n; ++i) {
      for (Eigen::Index j = 0; j <= i; ++j)
        k(i, j) = k(j, i) = covariance(calibration, view_of(row(i)), view_of(row(j)));
      k(i, i) += noise(i);
    }
    factor.compute(k);
    // Equal rows with little noise: a little more of it makes the system regular.
    for (double more = 1e-9; factor.info() != Eigen::Success && more < 1; more *= 10) {
      k.diagonal().array() += more;
      factor.compute(k);
    }
    weights = factor.solve(residuals);
  }
};

Calibrated::Calibrated(const Calibration& calibration) : posterior_(std::make_unique<Posterior>()) {
  Posterior& p = *posterior_;
  p.calibration = calibration;
  const auto n = static_cast<Eigen::Index>(calibration.rows.size());
  p.residuals.resize(n);
  p.noise.resize(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    const auto family = calibration.families.find(p.row(i).family);
    const double noise = family == calibration.families.end() ? 1 : family->second.noise;
    p.residuals(i) = p.row(i).residual;
    p.noise(i) = noise * noise * p.row(i).doubt;
    ++p.rows[p.row(i).family];
  }
  if (n == 0) return;
  p.factorize();
  for (const Part part : kAllParts)
    p.theta[static_cast<std::size_t>(part)] = this->part(part).value;
}
Calibrated::Calibrated(Calibrated&&) noexcept = default;
Calibrated& Calibrated::operator=(Calibrated&&) noexcept = default;
Calibrated::~Calibrated() = default;

Correction Calibrated::at(const KernelPoint& point) const {
  const Posterior& p = *posterior_;
  Correction correction;
  const PointView here{.family = point.family, .at = point.at, .shares = point.shares};
  Eigen::VectorXd with(p.size());
  for (Eigen::Index i = 0; i < p.size(); ++i) {
    with(i) = covariance(p.calibration, here, view_of(p.row(i)));
  }
  if (p.size() > 0) correction.log = with.dot(p.weights);
  correction.parts = p.theta;
  const auto family = p.calibration.families.find(point.family);
  if (family == p.calibration.families.end()) return correction;
  const double prior = covariance(p.calibration, here, here);
  const double noise = family->second.noise * family->second.noise;
  const double known = p.size() > 0 ? p.factor.matrixL().solve(with).squaredNorm() : 0.0;
  correction.few = p.rows_of(point.family) < kFewRows;
  correction.half_width = kEightyPercent * std::sqrt(std::max(prior - known, 0.0) + noise);
  return correction;
}

Calibrated::Parameter Calibrated::part(Part part) const {
  const Posterior& p = *posterior_;
  const auto index = static_cast<std::size_t>(part);
  const double variance = p.calibration.prior[index] * p.calibration.prior[index];
  Eigen::VectorXd with(p.size());
  for (Eigen::Index i = 0; i < p.size(); ++i) with(i) = variance * p.row(i).shares[index];
  return {.value = p.size() > 0 ? with.dot(p.weights) : 0.0, .left = p.left(with, variance)};
}

Calibrated::Parameter Calibrated::level(std::string_view family) const {
  const Posterior& p = *posterior_;
  const double variance = p.calibration.level * p.calibration.level;
  Eigen::VectorXd with(p.size());
  for (Eigen::Index i = 0; i < p.size(); ++i) with(i) = p.row(i).family == family ? variance : 0.0;
  return {.value = p.size() > 0 ? with.dot(p.weights) : 0.0, .left = p.left(with, variance)};
}

double Calibrated::left_out_error(std::size_t i) const {
  const Posterior& p = *posterior_;
  const auto index = static_cast<Eigen::Index>(i);
  const Eigen::VectorXd column = p.factor.solve(Eigen::VectorXd::Unit(p.size(), index));
  return p.weights(index) / column(index);
}

double Calibrated::evidence() const {
  const Posterior& p = *posterior_;
  if (p.size() == 0) return 0;
  const double fit = p.residuals.dot(p.weights) / 2;
  const Eigen::MatrixXd& l = p.factor.matrixLLT();
  return -fit - l.diagonal().array().log().sum();
}

double Calibrated::residual(std::size_t i) const {
  const Posterior& p = *posterior_;
  const auto index = static_cast<Eigen::Index>(i);
  return p.noise(index) * p.weights(index);
}

double calibrate_estimate(const Job& job, const hardware::Machine& machine,
                          const Calibrated& calibrated, double width, Estimate& estimate) {
  const KernelPoint point = kernel_point(job.work, estimate);
  Correction correction = calibrated.at(point);
  if (correction.half_width)
    width = correction.few ? std::min(width, *correction.half_width) : *correction.half_width;
  const auto& steps = machine.ceilings->calibration->steps;
  if (steps && job.setting == Setting::InStream) {
    correction.log += step_correction(*steps, point.shares);
    width = std::min(width, kEightyPercent * steps->noise);
  }
  Breakdown breakdown = estimate.breakdown;
  apply(correction, breakdown);
  set_time(job.work, job.roof, machine.gpu, breakdown, estimate);
  return width;
}

Status check_calibration(const hardware::Machine& machine) {
  if (!machine.ceilings || !machine.ceilings->calibration) return {};
  const Calibration& calibration = *machine.ceilings->calibration;
  // How many coordinates the kernels of a family have: sizes, and three that all of them share.
  constexpr std::array<std::size_t, kClasses.size()> kCoordinates{7, 7, 7, 7, 9, 4, 5, 5, 9, 9};
  for (std::size_t i = 0; i < calibration.rows.size(); ++i) {
    const auto& row = calibration.rows[i];
    const auto known = std::find(kClasses.begin(), kClasses.end(), row.family);
    const auto where = fmt::format("{}:/calibration/rows/{}", machine.ceilings->file, i);
    if (known == kClasses.end())
      return bad_input(where,
                       fmt::format("\"{}\" is not a family of kernels", printable(row.family)),
                       did_you_mean(row.family, kClasses, "families are"));
    const std::size_t wanted = kCoordinates[static_cast<std::size_t>(known - kClasses.begin())];
    if (row.at.size() != wanted)
      return bad_input(
          where, fmt::format("has {} coordinates, {} has {}", row.at.size(), row.family, wanted),
          "the file is of another version of rooftile: calibrate again");
  }
  return {};
}

std::vector<std::string> calibration_warnings(const hardware::Machine& machine,
                                              const Predictor& predictor) {
  if (!machine.ceilings || !machine.ceilings->calibration) return {};
  const Calibration& calibration = *machine.ceilings->calibration;
  const std::string& file = machine.ceilings->file;
  if (calibration.predictor != predictor.name())
    return {fmt::format("{} calibrates the predictor {}; {} does not use it", file,
                        printable(calibration.predictor), predictor.name())};
  const std::string& weights = predictor.input().sha256;
  if (weights.empty() || calibration.weights == weights) return {};
  return {fmt::format("{} was calibrated with other weights of the predictor {}: calibrate again",
                      file, predictor.name())};
}

}  // namespace rooftile::cost::learned
