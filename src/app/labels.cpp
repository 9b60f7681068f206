// SPDX-License-Identifier: Apache-2.0
#include "app/labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "app/predict.h"
#include "core/csv.h"
#include "core/text.h"

namespace rooftile::app {

using report::LabelCase;
using report::LabelEvaluation;
using report::LabelSummary;

namespace {

/// Columns of the file; those of published predictions are optional.
struct Columns {
  std::size_t device = 0, model = 0, mode = 0, sequence = 0, batch = 0, option = 0, measured = 0;
  std::vector<std::pair<std::string, std::size_t>> published;
};

Result<Columns> find_columns(const CsvHeader& header) {
  Columns c;
  ROOFTILE_TRY(c.device, header.column("device"));
  ROOFTILE_TRY(c.model, header.column("model_name"));
  ROOFTILE_TRY(c.mode, header.column("mode"));
  ROOFTILE_TRY(c.sequence, header.column("seqlen"));
  ROOFTILE_TRY(c.batch, header.column("batch"));
  ROOFTILE_TRY(c.option, header.column("option"));
  ROOFTILE_TRY(c.measured, header.column("measured_ms"));
  for (const char* name : {"neusight", "roofline", "habitat", "li"}) {
    if (const auto column = header.find(fmt::format("{}_ms", name))) {
      c.published.emplace_back(name, *column);
    }
  }
  return c;
}

struct LabelRow {
  LabelCase known;  ///< what the file says
  Request request;
};

Result<LabelRow> read_row(const CsvReader& csv, const Columns& c, const std::string& models) {
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
  ROOFTILE_TRY(const std::int64_t sequence, csv.integer(c.sequence));
  ROOFTILE_TRY(row.request.batch, csv.integer(c.batch));
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
  row.request.phase = known.mode == "inf" ? "infer" : "train";
  row.request.fusion = known.option == "fusion" ? "compile" : "none";
  return row;
}

double p90(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const auto index = static_cast<std::size_t>(std::ceil(0.9 * static_cast<double>(values.size())));
  return values[std::max<std::size_t>(index, 1) - 1];
}

LabelSummary summarize(std::string group, const std::vector<const LabelCase*>& cases) {
  LabelSummary s;
  s.group = std::move(group);
  s.cases = static_cast<std::int64_t>(cases.size());
  std::vector<double> errors;
  const auto n = static_cast<double>(cases.size());
  for (const LabelCase* one : cases) {
    errors.push_back(std::abs(one->error()));
    s.mean_error += errors.back() / n;
    s.bias += one->error() / n;
    s.baseline_error += std::abs(one->bound_ms / one->measured_ms - 1) / n;
    const bool inside = one->low_ms <= one->measured_ms && one->measured_ms <= one->high_ms;
    s.coverage += inside ? 1 / n : 0;
    s.worst_error = std::max(s.worst_error, errors.back());
    for (const auto& [name, ms] : one->published_ms) {
      s.published_error[name] += std::abs(ms / one->measured_ms - 1);
      s.published_cases[name] += 1;
    }
  }
  for (auto& [name, sum] : s.published_error) sum /= static_cast<double>(s.published_cases[name]);
  s.p90_error = p90(std::move(errors));
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
  for (const auto& [group, members] : groups) result.push_back(summarize(group, members));
  return result;
}

}  // namespace

Result<LabelEvaluation> evaluate_labels(const std::string& file, const std::string& models,
                                        const Catalog& catalog, const PredictorOf& predictor_of) {
  ROOFTILE_TRY(CsvReader csv, CsvReader::open(file, {}));
  ROOFTILE_TRY(const CsvHeader header, CsvHeader::read(csv));
  ROOFTILE_TRY(const Columns columns, find_columns(header));
  LabelEvaluation evaluation;
  while (true) {
    ROOFTILE_TRY(const bool more, csv.next());
    if (!more) break;
    ROOFTILE_CHECK(header.check_width(csv));
    ROOFTILE_TRY(LabelRow row, read_row(csv, columns, models));
    if (!row.known.option.empty() && row.known.option != "fusion") {
      evaluation.skipped[row.known.option] += 1;
      continue;
    }
    ROOFTILE_TRY(const latency::Predictor* predictor, predictor_of(row.known.device));
    ROOFTILE_TRY(const Report report, predict_with(row.request, catalog, *predictor));
    evaluation.predictor = report.predictor;
    LabelCase& one = row.known;
    one.predicted_ms = report.latency.total_ms;
    one.low_ms = report.latency.low_ms;
    one.high_ms = report.latency.high_ms;
    one.bound_ms = report.bound_total_ms;
    evaluation.cases.push_back(std::move(one));
  }
  evaluation.summary = summaries(evaluation.cases);
  return evaluation;
}

}  // namespace rooftile::app
