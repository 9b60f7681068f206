// SPDX-License-Identifier: Apache-2.0
#include "calibration/conv_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "calibration/descent.h"
#include "calibration/selection.h"
#include "cost/learned/learned.h"

namespace rooftile::calibration {

namespace {

using cost::ConvAlgorithm;

constexpr double kDeepBenchCall = 15e-6;  // seconds per call, a property of the campaign
constexpr double kImpossible = 0.97;      // of the peak
constexpr double kFlatOverhead = 280e-6;
constexpr std::int64_t kDriftRows = 250;
constexpr double kInterval = 1.3;

std::int64_t block_of(const NeuSightRow& row) {
  return row.index / kDriftRows;
}

/// Every predictor on its machine.
std::vector<cost::Estimator> estimators_of(const std::vector<CampaignGpu>& gpus,
                                           const ConvPredictors& predictors) {
  std::vector<cost::Estimator> estimators;
  for (std::size_t i = 0; i < gpus.size(); ++i)
    estimators.push_back(predictors[i]->on(gpus[i].machine));
  return estimators;
}

/// Seconds of the fastest algorithm, and of the implicit GEMM.
struct Predicted {
  double chosen = 0, implicit = 0;
  ConvAlgorithm algorithm = ConvAlgorithm::ImplicitGemm;
};

Predicted predict(const cost::Job& job, cost::Estimator& estimator) {
  const auto all = estimator.convolutions(job);
  const auto implicit = std::find_if(all.begin(), all.end(), [](const auto& candidate) {
    return candidate.algorithm == ConvAlgorithm::ImplicitGemm;
  });
  return {.chosen = all.front().seconds(),
          .implicit = implicit->seconds(),
          .algorithm = all.front().algorithm};
}

void add_row(const DeepBenchRow& row, double peak, cost::Estimator& estimator,
             DeepBenchErrors& errors) {
  if (row.forward) {
    const Predicted t = predict(row.forward->job, estimator);
    const double measured = row.forward->seconds;
    if (row.implicit) {
      if (row.rate(measured) > kImpossible * peak) {
        ++errors.dropped;
      } else {
        errors.implicit.add(t.implicit + kDeepBenchCall, measured);
      }
    }
    errors.forward.add(t.chosen + kDeepBenchCall, measured);
  }
  const auto add = [&](const std::optional<TimedPass>& pass, TimeError& error) {
    if (pass) error.add(predict(pass->job, estimator).chosen + kDeepBenchCall, pass->seconds);
  };
  add(row.data, errors.data);
  add(row.filter, errors.filter);
}

bool same_algorithm(ConvAlgorithm chosen, const NeuSightRow& row) {
  const bool implicit = row.algorithm.starts_with("implicit");
  return name_of(chosen).starts_with(implicit ? std::string_view("implicit") : row.algorithm);
}

/// Sum of the mean errors of all GPUs but one.
double fit_error(const Campaigns& data, const cost::learned::Weights& trial,
                 std::string_view left_out) {
  constexpr std::size_t kFitStep = 9;  // rows are alike: a ninth of them is enough to fit
  const std::shared_ptr<const cost::Predictor> predictor = cost::learned::make_learned(trial);
  double sum = 0;
  const DeepBench& deepbench = data.deepbench;
  for (const auto& e :
       score(deepbench, ConvPredictors(deepbench.gpus.size(), predictor), left_out)) {
    sum += e.sum();
  }
  const NeuSight& neusight = data.neusight;
  const ConvPredictors same(neusight.gpus.size(), predictor);
  for (const auto& e : score(neusight, same, kFitStep, left_out).errors) {
    sum += 2 * (e.implicit.mean() + e.all.mean());  // two columns, four of DeepBench
  }
  return sum;
}

}  // namespace

void TimeError::add(double predicted, double measured) {
  const double log_ratio = std::log(predicted / measured);
  sum += std::abs(log_ratio);
  bias += log_ratio;
  inside += std::abs(log_ratio) <= std::log(kInterval) ? 1 : 0;
  ++count;
}

double TimeError::mean() const {
  return count > 0 ? std::exp(sum / static_cast<double>(count)) - 1 : 0.0;
}

ValidationCell TimeError::cell() const {
  if (count == 0) return "-";
  const double ratio = std::exp(bias / static_cast<double>(count));
  return {fmt::format("{:.1f} % ({:.2f})", 100 * mean(), ratio), {100 * mean(), ratio}};
}

ValidationCell TimeError::inside_cell() const {
  if (count == 0) return "-";
  const double percent = 100.0 * static_cast<double>(inside) / static_cast<double>(count);
  return {fmt::format("{:.0f} %", percent), {percent}};
}

std::vector<DeepBenchErrors> score(const DeepBench& data, const ConvPredictors& predictors,
                                   std::string_view left_out) {
  auto estimators = estimators_of(data.gpus, predictors);
  std::vector<DeepBenchErrors> errors(data.gpus.size());
  for (const DeepBenchRow& row : data.rows) {
    if (data.gpus[row.gpu].machine.gpu.id == left_out) continue;
    add_row(row, data.gpus[row.gpu].peak(), estimators[row.gpu], errors[row.gpu]);
  }
  return errors;
}

void Drift::add(const NeuSightRow& row, double residual) {
  residuals_[row.gpu][block_of(row)][row.index % 2].push_back(residual);
}

void Drift::finish() {
  for (auto& [gpu, blocks] : residuals_) {
    for (auto& [number, halves] : blocks) {
      for (auto& [half, values] : halves) {
        const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
        std::nth_element(values.begin(), middle, values.end());
        time_[gpu][number][half] = std::max(0.0, *middle);
      }
    }
  }
}

double Drift::here(const NeuSightRow& row) const {
  const auto& halves = time_.at(row.gpu).at(block_of(row));
  const auto other = halves.find(1 - row.index % 2);
  return other != halves.end() ? other->second : halves.begin()->second;
}

std::optional<double> Drift::elsewhere(const NeuSightRow& row) const {
  double sum = 0;
  double count = 0;
  for (const auto& [gpu, blocks] : time_) {
    if (gpu == row.gpu) continue;
    const auto it = blocks.find(block_of(row));
    sum += (it != blocks.end() ? it->second : blocks.rbegin()->second).begin()->second;
    count += 1;
  }
  return count > 0 ? std::optional(sum / count) : std::nullopt;
}

ValidationCell Drift::first_and_last(std::size_t gpu) const {
  const auto& blocks = time_.at(gpu);
  const double first = blocks.begin()->second.begin()->second * 1e6,
               last = blocks.rbegin()->second.begin()->second * 1e6;
  return {fmt::format("{:.0f} / {:.0f}", first, last), {first, last}};
}

NeuSightScore score(const NeuSight& data, const ConvPredictors& predictors, std::size_t step,
                    std::string_view left_out) {
  auto estimators = estimators_of(data.gpus, predictors);
  NeuSightScore out{.errors = std::vector<NeuSightErrors>(data.gpus.size()), .drift = {}};
  std::vector<std::pair<const NeuSightRow*, Predicted>> predicted;
  for (std::size_t i = 0; i < data.rows.size(); i += step) {
    const NeuSightRow& row = data.rows[i];
    if (data.gpus[row.gpu].machine.gpu.id == left_out) continue;
    predicted.emplace_back(&row, predict(row.job, estimators[row.gpu]));
    out.drift.add(row, row.measured - predicted.back().second.chosen);
  }
  out.drift.finish();
  for (const auto& [row, t] : predicted) {
    NeuSightErrors& e = out.errors[row->gpu];
    const double own = out.drift.here(*row);
    const std::optional<double> elsewhere = out.drift.elsewhere(*row);
    if (row->implicit()) {
      e.implicit.add(t.implicit + own, row->measured);
      e.implicit_flat.add(t.implicit + kFlatOverhead, row->measured);
      if (elsewhere) e.implicit_elsewhere.add(t.implicit + *elsewhere, row->measured);
    }
    e.all.add(t.chosen + own, row->measured);
    e.all_flat.add(t.chosen + kFlatOverhead, row->measured);
    if (elsewhere) e.all_elsewhere.add(t.chosen + *elsewhere, row->measured);
    e.right += same_algorithm(t.algorithm, *row) ? 1 : 0;
  }
  return out;
}

std::span<const cost::Parameter<ConvolutionForm>> parameters_of(const ConvolutionForm& form) {
  static const auto kList = [&form] {
    std::vector<cost::Parameter<ConvolutionForm>> list;
    const auto add = [&list]<typename Part>(const Part& part) {
      for (const cost::Parameter<Part>& p : parameters_of(part)) {
        list.push_back({.name = p.name,
                        .value = p.value,
                        .unit = p.unit,
                        .doc = p.doc,
                        .low = p.low,
                        .high = p.high,
                        .start = p.start,
                        .fitted = p.fitted});
      }
    };
    add(static_cast<const cost::ClockConstants&>(form));
    add(static_cast<const cost::TimeConstants&>(form));
    return list;
  }();
  return kList;
}

cost::Constants with_form(cost::Constants constants, const ConvolutionForm& form) {
  constants.clock = form;
  constants.convolution.constants = form;
  return constants;
}

ConvolutionForm fit_convolutions(const Campaigns& data, const WeightsWith& weights_with,
                                 std::string_view left_out) {
  return descend<ConvolutionForm>(
      [&](const ConvolutionForm& trial) { return fit_error(data, weights_with(trial), left_out); },
      {});
}

}  // namespace rooftile::calibration
