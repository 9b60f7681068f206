// SPDX-License-Identifier: Apache-2.0
#include "calibration/labels.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "calibration/plausible.h"
#include "core/csv.h"
#include "core/error_statistics.h"
#include "core/provenance.h"
#include "core/text.h"
#include "hardware/load.h"

namespace rooftile::calibration {

namespace {

/// Columns of the file; every further column NAME_ms holds the predictions of a method NAME.
struct Columns {
  std::size_t device = 0, model = 0, mode = 0, sequence = 0, batch = 0, option = 0, measured = 0;
  std::vector<std::pair<std::string, std::size_t>> published;
  std::vector<std::string> unread;
};

constexpr std::array<std::string_view, 9> kOwnColumns{
    "device", "model_name",  "mode",           "seqlen",        "batch",
    "option", "measured_ms", "measured_fw_ms", "measured_bw_ms"};

Result<Columns> find_columns(const CsvHeader& header) {
  Columns c;
  ROOFTILE_TRY(c.device, header.column("device"));
  ROOFTILE_TRY(c.model, header.column("model_name"));
  ROOFTILE_TRY(c.mode, header.column("mode"));
  ROOFTILE_TRY(c.sequence, header.column("seqlen"));
  ROOFTILE_TRY(c.batch, header.column("batch"));
  ROOFTILE_TRY(c.option, header.column("option"));
  ROOFTILE_TRY(c.measured, header.column("measured_ms"));
  constexpr std::string_view kUnit = "_ms";
  for (std::size_t i = 0; i < header.size(); ++i) {
    const std::string& name = header.names()[i];
    if (std::find(kOwnColumns.begin(), kOwnColumns.end(), name) != kOwnColumns.end()) continue;
    if (name.size() > kUnit.size() && name.ends_with(kUnit)) {
      c.published.emplace_back(name.substr(0, name.size() - kUnit.size()), i);
    } else {
      c.unread.push_back(name);
    }
  }
  return c;
}

struct LabelRow {
  LabelCase known;  ///< what the file says
  Request request;
  bool modelled = true;  ///< the option has a meaning here
};

/// "", "fusion", "dp4", "tp4", "pp4", "pp4_2" (4 stages, 2 micro-batches); false for others.
bool apply_option(std::string_view option, Request& request) {
  if (option.empty()) return true;
  if (option == "fusion") {
    request.fusion = "compile";
    return true;
  }
  if (option.size() < 3) return false;
  const std::string_view kind = option.substr(0, 2);
  const std::string_view numbers = option.substr(2);
  const std::size_t bar = numbers.find('_');
  const auto ways = parse_int(numbers.substr(0, bar));
  if (!ways) return false;
  if (kind == "dp" && bar == std::string_view::npos) {
    request.dp = *ways;
  } else if (kind == "tp" && bar == std::string_view::npos) {
    request.tp = *ways;
  } else if (kind == "pp") {
    request.pp = *ways;
    if (bar == std::string_view::npos) return true;
    const auto pieces = parse_int(numbers.substr(bar + 1));
    if (!pieces) return false;
    request.microbatches = *pieces;
  } else {
    return false;
  }
  return true;
}

Result<std::int64_t> positive(const CsvReader& csv, std::size_t column, std::string_view name) {
  ROOFTILE_TRY(const std::int64_t value, csv.integer(column));
  if (value < 1) return bad_input(csv.where(column), fmt::format("{} is {}", name, value));
  return value;
}

Result<LabelRow> read_label(const CsvReader& csv, const Columns& c, const std::string& models) {
  LabelRow row;
  LabelCase& known = row.known;
  known.device = std::string(trim(csv[c.device]));
  known.model = std::string(trim(csv[c.model]));
  known.mode = std::string(trim(csv[c.mode]));
  known.option = std::string(trim(csv[c.option]));
  if (known.mode != "inf" && known.mode != "train") {
    return bad_input(csv.where(c.mode), fmt::format("unknown mode \"{}\"", printable(known.mode)),
                     "mode is inf or train");
  }
  ROOFTILE_TRY(const std::int64_t sequence, positive(csv, c.sequence, "seqlen"));
  ROOFTILE_TRY(row.request.batch, positive(csv, c.batch, "batch"));
  ROOFTILE_TRY(known.measured_ms, csv.number(c.measured));
  if (!(known.measured_ms > 0)) return bad_input(csv.where(c.measured), "a time must be positive");
  known.name = fmt::format("{}-{}-{}-{}{}{}", known.model, known.mode, sequence, row.request.batch,
                           known.option.empty() ? "" : "-", known.option);
  for (const auto& [name, column] : c.published) {
    if (trim(csv[column]).empty()) continue;
    ROOFTILE_TRY(known.published_ms[name], csv.number(column));
  }
  row.request.model = fmt::format("{}/{}.json", models, known.model);
  row.request.gpu = known.device;
  row.request.sequence = sequence;
  row.request.dtype = "fp32";
  row.request.stack = "eager";
  row.request.phase = known.mode == "inf" ? "infer" : "train";
  row.modelled = apply_option(known.option, row.request);
  return row;
}

/// Mean error of a baseline over the rows that have it; nothing without any.
std::optional<double> mean_error(const std::vector<const LabelCase*>& cases,
                                 std::optional<double> LabelCase::* ms) {
  std::vector<Compared> compared;
  for (const LabelCase* one : cases) {
    if (one->*ms) compared.push_back({.measured = one->measured_ms, .predicted = *(one->*ms)});
  }
  if (compared.empty()) return std::nullopt;
  return error_statistics(compared).mean_error;
}

LabelSummary summarize_labels(std::string group, const std::vector<const LabelCase*>& cases) {
  std::vector<Compared> compared;
  std::vector<Compared> bounds;
  std::map<std::string, std::vector<Compared>> published;
  for (const LabelCase* one : cases) {
    compared.push_back({.measured = one->measured_ms,
                        .predicted = one->predicted_ms,
                        .low = one->low_ms,
                        .high = one->high_ms});
    bounds.push_back({.measured = one->measured_ms, .predicted = one->bound_ms});
    for (const auto& [name, ms] : one->published_ms) {
      published[name].push_back({.measured = one->measured_ms, .predicted = ms});
    }
  }
  LabelSummary s;
  static_cast<ErrorStatistics&>(s) = error_statistics(compared);
  s.group = std::move(group);
  s.baseline_error = error_statistics(bounds).mean_error;
  s.trivial_error = mean_error(cases, &LabelCase::trivial_ms);
  s.neusight_error = mean_error(cases, &LabelCase::neusight_ms);
  for (const auto& [name, list] : published) {
    const ErrorStatistics of_method = error_statistics(list);
    s.published_error[name] = of_method.mean_error;
    s.published_cases[name] = of_method.cases;
  }
  return s;
}

std::vector<LabelSummary> summaries(const std::vector<LabelCase>& cases) {
  std::map<std::string, std::vector<const LabelCase*>> groups;
  for (const LabelCase& one : cases) {
    const std::string variant = one.option.empty() ? "plain" : one.option;
    for (const std::string& group :
         {std::string("all"), "option/" + variant, "device/" + one.device, "model/" + one.model,
          "mode/" + one.mode, "device/" + one.device + "/" + one.mode}) {
      groups[group].push_back(&one);
    }
  }
  std::vector<LabelSummary> result;
  for (const auto& [group, members] : groups) result.push_back(summarize_labels(group, members));
  return result;
}

std::vector<FusionGain> fusion_gains(const std::vector<LabelCase>& cases) {
  std::vector<FusionGain> gains;
  for (const LabelCase& fused : cases) {
    if (fused.option != "fusion") continue;
    for (const LabelCase& plain : cases) {
      const bool same = plain.option.empty() && plain.device == fused.device &&
                        fused.name == plain.name + "-fusion";
      if (!same) continue;
      gains.push_back({.device = plain.device,
                       .name = plain.name,
                       .measured = plain.measured_ms / fused.measured_ms,
                       .predicted = plain.predicted_ms / fused.predicted_ms});
    }
  }
  return gains;
}

/// Devices of the file by the name that it uses.
class Devices {
 public:
  explicit Devices(const Catalog& catalog) : catalog_(catalog) {}

  Result<const hardware::GpuSpec*> find(const std::string& name, const std::string& where) {
    const auto known = gpus_.find(name);
    if (known != gpus_.end()) return &known->second;
    auto gpu = hardware::load_gpu(catalog_, name);
    if (!gpu) {
      Error error = gpu.error();
      if (error.where.empty()) error.where = where;
      return tl::unexpected(std::move(error));
    }
    return &gpus_.emplace(name, *std::move(gpu)).first->second;
  }

 private:
  const Catalog& catalog_;
  std::map<std::string, hardware::GpuSpec> gpus_;
};

/// What a report says about the files behind it, once for all rows of a model or GPU.
void keep_warnings(const Report& report, const std::string& model, LabelEvaluation& evaluation) {
  std::vector<std::string>& kept = evaluation.warnings;
  for (const std::string& warning : report.warnings) {
    const bool about_model = warning.starts_with("sizes: ");
    if (!about_model && !warning.starts_with("lint: ")) continue;
    std::string text = about_model ? fmt::format("{}: {}", model, warning) : warning;
    if (std::find(kept.begin(), kept.end(), text) == kept.end()) kept.push_back(std::move(text));
  }
}

Status predict_label(const LabelPredictors& predictors, const PredictStep& predict, LabelRow& row,
                     LabelEvaluation& evaluation) {
  LabelCase& one = row.known;
  ROOFTILE_TRY(const Report report, predict(row.request, *predictors.main));
  std::vector<Input>& inputs = evaluation.provenance.inputs;
  add_inputs(report.provenance.inputs, inputs);
  evaluation.predictor = report.predictor;
  keep_warnings(report, one.model, evaluation);
  one.predicted_ms = report.latency.total_ms;
  one.low_ms = report.latency.low_ms;
  one.high_ms = report.latency.high_ms;
  one.bound_ms = report.bound_total_ms;
  for (const auto& [baseline, ms] : {std::pair(predictors.trivial, &one.trivial_ms),
                                     std::pair(predictors.neusight, &one.neusight_ms)}) {
    if (baseline == nullptr) continue;
    ROOFTILE_TRY(const Report beside, predict(row.request, *baseline));
    *ms = beside.latency.total_ms;
    add_inputs(beside.provenance.inputs, inputs);
  }
  return {};
}

/// What is wrong with a row is in the row or in a file that it names; both are said. The command
/// line is not to blame, also where the request that the row makes is refused as one.
tl::unexpected<Error> at_row(Error error, const std::string& row) {
  if (error.code == ErrorCode::Usage) error.code = ErrorCode::BadInput;
  if (error.where.empty()) {
    error.where = row;
  } else {
    error.message = fmt::format("{} (needed by {})", error.message, row);
  }
  return tl::unexpected(std::move(error));
}

Status check_cases(const LabelEvaluation& evaluation, const std::string& file) {
  if (!evaluation.cases.empty()) return {};
  if (evaluation.skipped.empty()) return bad_input(file, "has no measured steps");
  std::vector<std::string> options;
  for (const auto& [option, rows] : evaluation.skipped) options.push_back(printable(option));
  return bad_input(
      file, fmt::format("no row has an option that is modelled, only {}", fmt::join(options, ", ")),
      "options are empty, fusion, dpN, tpN, ppN and ppN_M");
}

}  // namespace

Result<LabelEvaluation> evaluate_labels(const std::string& file, const std::string& models,
                                        const Catalog& catalog, const PredictorsOf& predictors_of,
                                        const PredictStep& predict) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(models, ignored)) {
    return bad_input(models, "is not a folder",
                     "--models names the folder that holds MODEL_NAME.json for each model");
  }
  ROOFTILE_TRY(CsvReader csv, CsvReader::open(file, {}));
  ROOFTILE_TRY(const CsvHeader header, CsvHeader::read(csv));
  ROOFTILE_TRY(const Columns columns, find_columns(header));
  Devices devices(catalog);
  std::vector<TimedRow> times;
  LabelEvaluation evaluation;
  evaluation.unread_columns = columns.unread;
  while (true) {
    ROOFTILE_TRY(const bool more, csv.next());
    if (!more) break;
    ROOFTILE_CHECK(header.check_width(csv));
    ROOFTILE_TRY(LabelRow row, read_label(csv, columns, models));
    if (!row.modelled) {
      evaluation.skipped[row.known.option] += 1;
      continue;
    }
    ROOFTILE_TRY(const hardware::GpuSpec* gpu,
                 devices.find(row.known.device, csv.where(columns.device)));
    const Status predicted = predict_label(predictors_of(*gpu), predict, row, evaluation);
    if (!predicted) return at_row(predicted.error(), csv.where());
    times.push_back({.measured = row.known.measured_ms,
                     .bound = row.known.bound_ms,
                     .line = static_cast<std::uint32_t>(csv.line())});
    evaluation.cases.push_back(std::move(row.known));
  }
  ROOFTILE_CHECK(check_cases(evaluation, file));
  if (auto warning = check_times(file, times).warning()) {
    evaluation.warnings.push_back(std::move(*warning));
  }
  evaluation.fusion = fusion_gains(evaluation.cases);
  evaluation.summary = summaries(evaluation.cases);
  set_provenance(std::vector<Input>(evaluation.provenance.inputs), evaluation);
  return evaluation;
}

}  // namespace rooftile::calibration
