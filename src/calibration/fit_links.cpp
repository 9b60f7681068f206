// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit_links.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>

#include "aggregate/communication.h"
#include "calibration/least_squares.h"
#include "calibration/selection.h"

namespace rooftile::calibration {

namespace {

using hardware::LinkKind;

constexpr double kInside = 0.8;           // of the rows lie in an interval
constexpr std::size_t kEnoughCalls = 20;  // fewer say nothing about a kind of link

using CollectiveRows = std::vector<const Collective*>;

bool is_fitted(const Collective& row) {
  constexpr double kShortest = 4 * 1024;
  constexpr double kLongest = 512 * 1024 * 1024;
  constexpr std::int64_t kMostGpus = 4;  // more are said to behave in ways of their own
  return row.op == "all_reduce" && !row.link.network && row.gpus <= kMostGpus &&
         row.bytes.base() >= kShortest && row.bytes.base() <= kLongest;
}

/// Both kinds of link at the same numbers.
cost::LinkConstants with(const cost::LinkForm& form) {
  return {.fabric = form, .pcie = form, .shape = cost::starting<cost::LinkShape>()};
}

double log_ratio(const Collective& row, const cost::LinkForm& form) {
  const auto time = aggregate::all_reduce(row.bytes, row.gpus, row.link, with(form)).time;
  return std::log(time.base() / row.measured);
}

/// The numbers that decide a time, at their starts times exp(x).
cost::LinkForm form_at(std::span<const double> x) {
  auto form = cost::starting<cost::LinkForm>();
  std::size_t next = 0;
  for (const auto& p : parameters_of(form)) {
    if (p.value == &cost::LinkForm::spread) continue;
    form.*p.value = std::clamp(p.start * std::exp(x[next++]), p.low, p.high);
  }
  return form;
}

cost::LinkForm fit_kind(const CollectiveRows& rows) {
  std::map<std::uint32_t, double> count;
  for (const Collective* row : rows) count[row->gpu] += 1;
  const double mean = static_cast<double>(rows.size()) / static_cast<double>(count.size());
  LeastSquares problem;
  problem.shared = parameters_of(cost::LinkForm()).size() - 1;
  problem.start.assign(problem.shared, 0.0);
  problem.spread.assign(problem.shared, 1.0);
  problem.prior = 0.02;  // holds what the rows do not decide
  problem.max_iterations = 200;
  problem.group.assign(rows.size(), 0);
  problem.residuals = [&](std::span<const double> x, std::span<double> r) {
    const cost::LinkForm form = form_at(x);
    for (std::size_t i = 0; i < rows.size(); ++i)
      r[i] = log_ratio(*rows[i], form) * std::sqrt(mean / count[rows[i]->gpu]);
  };
  cost::LinkForm form = form_at(minimize(problem).x);
  std::vector<double> errors;
  for (const Collective* row : rows) errors.push_back(std::fabs(log_ratio(*row, form)));
  form.spread = std::exp(quantile(std::move(errors), kInside));
  return form;
}

}  // namespace

void look_at(std::uint32_t gpu, Seen& seen) {
  ++seen.rows;
  const auto place = std::lower_bound(seen.gpus.begin(), seen.gpus.end(), gpu);
  if (place == seen.gpus.end() || *place != gpu) seen.gpus.insert(place, gpu);
}

std::optional<FittedLinks> fit_links(const Dataset& dataset,
                                     std::optional<std::uint32_t> left_out) {
  CollectiveRows fabric;
  CollectiveRows pcie;
  FittedLinks out;
  for (const Collective& row : dataset.collectives) {
    if (row.gpu == left_out || !is_fitted(row)) continue;
    (row.link.kind == LinkKind::Pcie ? pcie : fabric).push_back(&row);
    look_at(row.gpu, out.seen);
  }
  const bool has_fabric = fabric.size() >= kEnoughCalls;
  const bool has_pcie = pcie.size() >= kEnoughCalls;
  if (!has_fabric && !has_pcie) return std::nullopt;
  out.constants.shape = cost::starting<cost::LinkShape>();
  if (has_fabric) out.constants.fabric = fit_kind(fabric);
  if (has_pcie) out.constants.pcie = fit_kind(pcie);
  if (!has_fabric) out.constants.fabric = out.constants.pcie;
  if (!has_pcie) out.constants.pcie = out.constants.fabric;
  return out;
}

std::optional<FittedHost> fit_host(const Dataset& dataset, std::optional<std::uint32_t> left_out) {
  FittedHost out;
  std::vector<double> times;
  for (const HostCall& call : dataset.host_calls) {
    if (call.gpu == left_out) continue;
    times.push_back(call.measured);
    look_at(call.gpu, out.seen);
  }
  if (times.size() < kEnoughCalls) return std::nullopt;
  out.launch = median(times);
  for (double& time : times) time = std::fabs(std::log(time / out.launch));
  out.spread = std::exp(quantile(std::move(times), kInside));
  return out;
}

}  // namespace rooftile::calibration
