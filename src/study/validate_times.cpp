// SPDX-License-Identifier: Apache-2.0
#include "study/validate_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "core/provenance.h"
#include "cost/learned/weights.h"
#include "study/conv_campaigns.h"
#include "study/conv_refit.h"

namespace rooftile::study {

namespace {

using cost::ConvAlgorithm;
using cost::TimeConstants;

constexpr double kDeepBenchCall = 15e-6;  // seconds per call, a property of the campaign
constexpr double kImpossible = 0.97;      // of the peak
constexpr double kFlatOverhead = 280e-6;
constexpr std::int64_t kDriftRows = 250;
constexpr double kInterval = 1.3;

/// Geometric error of one column.
struct TimeError {
  double sum = 0, bias = 0;
  std::int64_t count = 0, inside = 0;
  void add(double predicted, double measured) {
    const double log_ratio = std::log(predicted / measured);
    sum += std::abs(log_ratio);
    bias += log_ratio;
    inside += std::abs(log_ratio) <= std::log(kInterval) ? 1 : 0;
    ++count;
  }
  [[nodiscard]] double mean() const {
    return count > 0 ? std::exp(sum / static_cast<double>(count)) - 1 : 0.0;
  }
  [[nodiscard]] std::string text() const {
    if (count == 0) return "-";
    const auto n = static_cast<double>(count);
    return fmt::format("{:.1f} % ({:.2f})", 100 * mean(), std::exp(bias / n));
  }
  [[nodiscard]] std::string inside_text() const {
    if (count == 0) return "-";
    return fmt::format("{:.0f} %",
                       100.0 * static_cast<double>(inside) / static_cast<double>(count));
  }
};

/// The constants for each GPU of a campaign: the shipped ones, or fitted without it.
using Constants = std::vector<TimeConstants>;

std::vector<cost::TimeMachine> timed(const std::vector<CampaignGpu>& gpus,
                                     const Constants& constants) {
  std::vector<cost::TimeMachine> machines;
  for (std::size_t i = 0; i < gpus.size(); ++i) machines.push_back(gpus[i].timed(constants[i]));
  return machines;
}

/// Seconds of the fastest algorithm, and of the implicit GEMM.
struct Predicted {
  double chosen = 0, implicit = 0;
  ConvAlgorithm algorithm = ConvAlgorithm::ImplicitGemm;
};

Predicted predict(ops::ConvShape conv, ops::ConvPass pass, const cost::TimeMachine& machine) {
  conv.pass = pass;
  const auto all = cost::conv_candidates(conv, DType::Fp32, machine, {});
  const auto implicit = std::find_if(all.begin(), all.end(), [](const auto& candidate) {
    return candidate.algorithm == ConvAlgorithm::ImplicitGemm;
  });
  return {.chosen = all.front().seconds(),
          .implicit = implicit->seconds(),
          .algorithm = all.front().algorithm};
}

struct DeepBenchErrors {
  TimeError implicit, forward, data, filter;
  std::int64_t dropped = 0;
  [[nodiscard]] double sum() const {
    return implicit.mean() + forward.mean() + data.mean() + filter.mean();
  }
};

void add_row(const DeepBenchRow& row, double peak, const cost::TimeMachine& machine,
             DeepBenchErrors& errors) {
  if (row.forward) {
    const Predicted t = predict(row.conv, ops::ConvPass::Forward, machine);
    if (row.algorithm.starts_with("IMPLICIT")) {
      if (row.rate(*row.forward) > kImpossible * peak) {
        ++errors.dropped;
      } else {
        errors.implicit.add(t.implicit + kDeepBenchCall, *row.forward);
      }
    }
    errors.forward.add(t.chosen + kDeepBenchCall, *row.forward);
  }
  if (row.data) {
    const Predicted t = predict(row.conv, ops::ConvPass::DataGradient, machine);
    errors.data.add(t.chosen + kDeepBenchCall, *row.data);
  }
  if (row.filter) {
    const Predicted t = predict(row.conv, ops::ConvPass::FilterGradient, machine);
    errors.filter.add(t.chosen + kDeepBenchCall, *row.filter);
  }
}

/// Of all GPUs but the one of that id.
std::vector<DeepBenchErrors> score(const DeepBench& data, const Constants& constants,
                                   std::string_view left_out) {
  const auto machines = timed(data.gpus, constants);
  std::vector<DeepBenchErrors> errors(data.gpus.size());
  for (const DeepBenchRow& row : data.rows) {
    if (data.gpus[row.gpu].machine.gpu.id == left_out) continue;
    add_row(row, data.gpus[row.gpu].peak(), machines[row.gpu], errors[row.gpu]);
  }
  return errors;
}

bool same_algorithm(ConvAlgorithm chosen, const NeuSightRow& row) {
  std::string ran = "implicit";
  if (row.algorithm == "fft") ran = "fft";
  if (row.algorithm == "winograd") {
    ran = row.kernel.find("sgemm_") != std::string::npos ? "winograd_nonfused" : "winograd_fused";
  }
  return name_of(chosen).starts_with(ran);
}

double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Seconds of host time per GPU, block of rows and half of the block.
class Drift {
 public:
  void add(const NeuSightRow& row, double residual) {
    residuals_[row.gpu][block(row)][row.index % 2].push_back(residual);
  }
  void finish() {
    for (auto& [gpu, blocks] : residuals_) {
      for (auto& [number, halves] : blocks) {
        for (auto& [half, values] : halves) {
          time_[gpu][number][half] = std::max(0.0, median(values));
        }
      }
    }
  }
  /// Of the other half of the row's block, so that no row is scored with its own time.
  [[nodiscard]] double here(const NeuSightRow& row) const {
    const auto& halves = time_.at(row.gpu).at(block(row));
    const auto other = halves.find(1 - row.index % 2);
    return other != halves.end() ? other->second : halves.begin()->second;
  }
  /// What the other GPUs of the file show at the same place; nothing where there are none.
  [[nodiscard]] std::optional<double> elsewhere(const NeuSightRow& row) const {
    double sum = 0;
    double count = 0;
    for (const auto& [gpu, blocks] : time_) {
      if (gpu == row.gpu) continue;
      const auto it = blocks.find(block(row));
      sum += (it != blocks.end() ? it->second : blocks.rbegin()->second).begin()->second;
      count += 1;
    }
    return count > 0 ? std::optional(sum / count) : std::nullopt;
  }
  [[nodiscard]] std::string first_and_last(std::size_t gpu) const {
    const auto& blocks = time_.at(gpu);
    return fmt::format("{:.0f} / {:.0f}", blocks.begin()->second.begin()->second * 1e6,
                       blocks.rbegin()->second.begin()->second * 1e6);
  }

 private:
  static std::int64_t block(const NeuSightRow& row) { return row.index / kDriftRows; }
  template <typename T>
  using PerHalf = std::map<std::size_t, std::map<std::int64_t, std::map<std::int64_t, T>>>;
  PerHalf<std::vector<double>> residuals_;
  PerHalf<double> time_;
};

struct NeuSightErrors {
  TimeError implicit, implicit_flat, implicit_elsewhere, all, all_flat, all_elsewhere;
  std::int64_t right = 0;
};

struct NeuSightScore {
  std::vector<NeuSightErrors> errors;
  Drift drift;
};

/// Every `step`-th row.
NeuSightScore score(const NeuSight& data, const Constants& constants, std::size_t step,
                    std::string_view left_out) {
  const auto machines = timed(data.gpus, constants);
  NeuSightScore out{.errors = std::vector<NeuSightErrors>(data.gpus.size()), .drift = {}};
  std::vector<std::pair<const NeuSightRow*, Predicted>> predicted;
  for (std::size_t i = 0; i < data.rows.size(); i += step) {
    const NeuSightRow& row = data.rows[i];
    if (data.gpus[row.gpu].machine.gpu.id == left_out) continue;
    predicted.emplace_back(&row, predict(row.conv, ops::ConvPass::Forward, machines[row.gpu]));
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

/// Sum of the mean errors of all GPUs but one.
double fit_error(const Campaigns& data, const TimeConstants& trial, std::string_view left_out) {
  constexpr std::size_t kFitStep = 9;  // rows are alike: a ninth of them is enough to fit
  double sum = 0;
  const DeepBench& deepbench = data.deepbench;
  for (const auto& e : score(deepbench, Constants(deepbench.gpus.size(), trial), left_out)) {
    sum += e.sum();
  }
  const NeuSight& neusight = data.neusight;
  for (const auto& e :
       score(neusight, Constants(neusight.gpus.size(), trial), kFitStep, left_out).errors) {
    sum += 2 * (e.implicit.mean() + e.all.mean());  // two columns, four of DeepBench
  }
  return sum;
}

Result<Constants> make_constants(const Campaigns& data, const std::vector<CampaignGpu>& gpus,
                                 const TimesRequest& request, const TimeConstants& shipped,
                                 const std::string& file, const Progress& progress) {
  Constants constants(gpus.size(), shipped);
  if (!request.leave_one_gpu_out) return constants;
  if (data.deepbench.gpus.size() + data.neusight.gpus.size() < 2) {
    return bad_input(file, "has one GPU, so none can be left out",
                     "--fit-with FILE adds rows of others");
  }
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const double done = static_cast<double>(i) / static_cast<double>(gpus.size());
    if (progress && !progress({.fraction = done, .note = "without " + gpus[i].name})) {
      return bad_input({}, "the validation was stopped", {});
    }
    constants[i] = refit_constants(
        [&](const TimeConstants& trial) { return fit_error(data, trial, gpus[i].machine.gpu.id); });
  }
  return constants;
}

/// Which rows the constants have seen is known per GPU: the file may hold any rows of it.
std::string constants_note(const std::vector<CampaignGpu>& gpus,
                           const std::vector<std::string>& fitted_on, bool left_out) {
  if (left_out) return "The constants were fitted without the GPU of each row.";
  std::vector<std::string> seen;
  std::vector<std::string> unseen;
  for (const CampaignGpu& gpu : gpus) {
    const bool known =
        std::find(fitted_on.begin(), fitted_on.end(), gpu.machine.gpu.id) != fitted_on.end();
    (known ? seen : unseen).push_back(gpu.name);
  }
  std::string note = "The constants are the shipped ones.";
  if (!seen.empty()) {
    note += fmt::format(
        " They were fitted on the published rows of {}: where these are the same rows, this is the "
        "error of a fit.",
        fmt::join(seen, ", "));
  }
  if (!unseen.empty()) note += fmt::format(" They saw no row of {}.", fmt::join(unseen, ", "));
  return note;
}

report::ValidationTable deepbench_table(const DeepBench& data, const Constants& constants) {
  const std::vector<DeepBenchErrors> errors = score(data, constants, {});
  report::ValidationTable table;
  table.title = "DeepBench convolutions, FP32: geometric error (predicted / measured)";
  table.columns = {"GPU",
                   "forward, implicit GEMM",
                   "n",
                   "left out",
                   "within 1.3",
                   "forward, all rows, choice",
                   "backward data",
                   "backward filter"};
  for (std::size_t i = 0; i < errors.size(); ++i) {
    const DeepBenchErrors& e = errors[i];
    table.rows.push_back({data.gpus[i].name, e.implicit.text(), std::to_string(e.implicit.count),
                          std::to_string(e.dropped), e.implicit.inside_text(), e.forward.text(),
                          e.data.text(), e.filter.text()});
  }
  table.notes = {
      "Left out: rows labelled implicit GEMM above 0.97 of the FP32 peak at boost clock.",
      "\"Choice\", backward data and backward filter take the model's fastest algorithm. 15 us per",
      "call are added for the host."};
  return table;
}

report::ValidationTable neusight_table(const NeuSight& data, const Constants& constants) {
  const NeuSightScore result = score(data, constants, 1, {});
  report::ValidationTable table;
  table.title = "NeuSight convolutions, FP32 3x3 forward: geometric error (predicted / measured)";
  table.columns = {"GPU",
                   "implicit n",
                   "drift removed",
                   "flat 280 us",
                   "others' drift",
                   "all n",
                   "drift removed, choice",
                   "flat 280 us, choice",
                   "others' drift, choice",
                   "algorithm right",
                   "drift first/last us"};
  for (std::size_t i = 0; i < data.gpus.size(); ++i) {
    const NeuSightErrors& e = result.errors[i];
    table.rows.push_back({data.gpus[i].name, std::to_string(e.implicit.count), e.implicit.text(),
                          e.implicit_flat.text(), e.implicit_elsewhere.text(),
                          std::to_string(e.all.count), e.all.text(), e.all_flat.text(),
                          e.all_elsewhere.text(),
                          fmt::format("{:.0f} %", 100.0 * static_cast<double>(e.right) /
                                                      static_cast<double>(e.all.count)),
                          result.drift.first_and_last(i)});
  }
  table.notes = {
      "Every row of this campaign carries host time that grows with the row number. \"Drift",
      "removed\" takes the median residual of 250 rows of the GPU itself, of the half of them that",
      "the row is not in; \"others' drift\" that of the other GPUs, \"flat\" one constant (chosen "
      "on",
      "these rows). The predictor knows none."};
  if (data.gpus.size() == 1) {
    table.notes.emplace_back("There is one GPU, so nobody else's drift is known (\"-\").");
  }
  return table;
}

}  // namespace

Result<report::ValidationTable> validate_times(CsvReader& csv, const CsvHeader& header,
                                               const TimesRequest& request, const Catalog& catalog,
                                               const Progress& progress) {
  Campaigns data;
  ROOFTILE_CHECK(add_campaign(csv, header, catalog, data));
  const bool deepbench = !data.deepbench.rows.empty();
  if (!deepbench && data.neusight.rows.empty()) {
    return bad_input(csv.name(), "has no row that can be scored", "of DeepBench, FP32 rows are");
  }
  for (const std::string& file : request.fit_with) {
    ROOFTILE_CHECK(add_campaign(file, catalog, data));
  }
  const std::vector<CampaignGpu>& gpus = deepbench ? data.deepbench.gpus : data.neusight.gpus;
  ROOFTILE_TRY(const auto weights, cost::learned::read_weights_file(catalog, "default"));
  ROOFTILE_TRY(const auto shipped, cost::learned::parse_weights(weights.content, weights.name));
  ROOFTILE_TRY(const Constants constants,
               make_constants(data, gpus, request, shipped.constants.convolution.constants,
                              csv.name(), progress));
  report::ValidationTable table = deepbench ? deepbench_table(data.deepbench, constants)
                                            : neusight_table(data.neusight, constants);
  table.notes.push_back(
      constants_note(gpus, shipped.origins.at("convolution").gpus, request.leave_one_gpu_out));
  auto warning = deepbench ? time_warning(csv.name(), data.deepbench)
                           : time_warning(csv.name(), data.neusight);
  if (warning) table.notes.push_back("warning: " + *warning);
  std::vector<Input> inputs{make_input("predictor", shipped.name, weights)};
  for (const auto* campaign : {&data.deepbench.gpus, &data.neusight.gpus}) {
    for (const CampaignGpu& gpu : *campaign) add_inputs(inputs_of(gpu.machine), inputs);
  }
  table.provenance = make_provenance(inputs);
  return table;
}

}  // namespace rooftile::study
