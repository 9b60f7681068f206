// SPDX-License-Identifier: Apache-2.0
//
// `rooftile calibrate`: what measurements changed, and what to measure.
#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/number_of.h"
#include "core/provenance.h"
#include "core/text.h"
#include "report/describe.h"
#include "report/errors.h"
#include "report/interval.h"
#include "rooftile/calibrate.h"

namespace rooftile::report {

namespace {

using nlohmann::ordered_json;

/// What people call the parts of a machine.
std::string_view number_title(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kTitles{
      {{"compute", "clock under load"},
       {"l2", "L2 bandwidth"},
       {"dram", "attained DRAM bandwidth"},
       {"launch", "start-up of a kernel"},
       {"host", "host time per call"},
       {"steps compute", "compute time in steps"},
       {"steps memory", "memory time in steps"},
       {"steps host", "host time in steps"},
       {"link bandwidth", "link bandwidth"},
       {"link start", "start-up of a collective"}}};
  for (const auto& [known, title] : kTitles) {
    if (known == name) return title;
  }
  return name;
}

std::string value_text(double value, const std::string& unit) {
  if (unit == "B/s") return format_rate(BytesPerSecond::from_base(value));
  return fmt::format("{:.3f}x", value);
}

ordered_json number_json(const CalibratedNumber& number) {
  return {{"name", number.name},
          {"title", number_title(number.name)},
          {"unit", number.unit},
          {"before", number.before},
          {"after", number.after},
          {"before_text", value_text(number.before, number.unit)},
          {"after_text", value_text(number.after, number.unit)},
          {"change", number.after / number.before - 1},
          {"told", number.told}};
}

ordered_json family_json(const CalibratedFamily& family) {
  ordered_json json{{"family", family.family},
                    {"rows", family.rows},
                    {"level", family.level},
                    {"error_before", family.error_before},
                    {"error_after", family.error_after}};
  json["error_left_out"] = family.error_left_out ? ordered_json(*family.error_left_out) : nullptr;
  json["noise"] = family.noise ? ordered_json(*family.noise) : nullptr;
  return json;
}

ordered_json row_json(const CalibratedRow& row) {
  return {{"name", row.name},
          {"family", row.family},
          {"place", row.place},
          {"measured_ms", row.measured_ms},
          {"before_ms", row.before_ms},
          {"after_ms", row.after_ms},
          {"error_before", row.before_ms / row.measured_ms - 1},
          {"error_after", row.after_ms / row.measured_ms - 1}};
}

Table numbers_table() {
  return {.kind = "number",
          .title = "numbers of the machine",
          .rows = {.at = "/numbers"},
          .columns = {{.title = "number", .fields = {{"title"}}, .rank = Rank::Identity},
                      {.title = "before", .fields = {{"before_text"}}, .form = Form::Shown},
                      {.title = "after", .fields = {{"after_text"}}, .form = Form::Shown},
                      {.title = "change",
                       .fields = {{"change"}},
                       .unit = Unit::SignedFraction,
                       .hint = "relative to before"},
                      {.title = "learned",
                       .fields = {{"told"}},
                       .unit = Unit::Percent,
                       .hint = "share of the prior uncertainty that the rows remove"},
                      {.title = "name", .fields = {{"name"}}, .form = Form::DataOnly},
                      {.title = "before", .fields = {{"before"}}, .form = Form::DataOnly},
                      {.title = "after", .fields = {{"after"}}, .form = Form::DataOnly},
                      {.title = "unit", .fields = {{"unit"}}, .form = Form::DataOnly}}};
}

Table families_table() {
  return {.kind = "family",
          .title = "mean errors of the measured rows",
          .rows = {.at = "/families"},
          .columns = {{.title = "family", .fields = {{"family"}}, .rank = Rank::Identity},
                      {.title = "rows", .fields = {{"rows"}}, .unit = Unit::Count},
                      {.title = "before", .fields = {{"error_before"}}, .unit = Unit::Fraction},
                      {.title = "after", .fields = {{"error_after"}}, .unit = Unit::Fraction},
                      {.title = "cross-validated",
                       .fields = {{"error_left_out"}},
                       .unit = Unit::Fraction,
                       .hint = "each fifth of the rows predicted from the others"},
                      {.title = "level",
                       .fields = {{"level"}},
                       .unit = Unit::Factor,
                       .hint = "factor on the family's times, beyond the machine's numbers"},
                      {.title = "noise",
                       .fields = {{"noise"}},
                       .unit = Unit::Fraction,
                       .rank = Rank::Detail,
                       .hint = "of a single measurement"}}};
}

Table rows_table() {
  return {
      .kind = "row",
      .title = "rows",
      .rows = {.at = "/rows"},
      .columns = {{.title = "kernel", .fields = {{"name"}}, .rank = Rank::Identity},
                  {.title = "family", .fields = {{"family"}}},
                  {.title = "place", .fields = {{"place"}}, .rank = Rank::Extra},
                  {.title = "measured", .fields = {{"measured_ms"}}, .unit = Unit::Milliseconds},
                  {.title = "before", .fields = {{"before_ms"}}, .unit = Unit::Milliseconds},
                  {.title = "after", .fields = {{"after_ms"}}, .unit = Unit::Milliseconds}},
      .shown = false};
}

constexpr std::string_view kErrorAxis = "mean |predicted / measured - 1|";

/// Errors of every family before, after, and of rows that did not calibrate.
BarChart families_chart() {
  return {.title = "Errors by family of kernels",
          .axis = std::string(kErrorAxis),
          .unit = Unit::Percent,
          .rows = {.at = "/families"},
          .label = "family",
          .series = {{.name = "before", .at = "error_before", .color = "#56b4e9"},
                     {.name = "after", .at = "error_after", .color = "#0072b2"},
                     {.name = "cross-validated", .at = "error_left_out", .color = "#009e73"}}};
}

BarChart suggestions_chart(const SuggestReport& report) {
  ordered_json rows = ordered_json::array();
  for (const SuggestedKernel& kernel : report.kernels)
    rows.push_back({{"label", fmt::format("{} {} {}", kernel.kernel, kernel.shape, kernel.dtype)},
                    {"unknown", kernel.unknown},
                    {"remark", format_ms(kernel.predicted_ms)}});
  return {.title = "Possible error once the kernels above are measured",
          .axis = "possible error",
          .unit = Unit::Percent,
          .rows = {.own = std::move(rows)},
          .label = "label",
          .series = {{.name = "possible error", .at = "unknown", .color = "#0072b2"}},
          .remark = "remark",
          .remark_name = "predicted time"};
}

BarChart gain_chart() {
  return {.title = "Errors by group",
          .axis = std::string(kErrorAxis),
          .unit = Unit::Percent,
          .rows = {.at = "/summary"},
          .label = "group",
          .series = {{.name = "before", .at = "uncalibrated_error", .color = "#56b4e9"},
                     {.name = "after", .at = "mean_error", .color = "#0072b2"}}};
}

/// "mean error 12.3 % before, 4.5 % after": of all rows.
std::vector<Verdict> calibration_verdict(const CalibrateReport& report) {
  double rows = 0, before = 0, after = 0;
  for (const CalibratedFamily& family : report.families) {
    const auto weight = static_cast<double>(family.rows);
    rows += weight;
    before += weight * family.error_before;
    after += weight * family.error_after;
  }
  if (rows == 0) return {};
  return {{.text = fmt::format("mean error of the measured rows: {:.1f} % before, {:.1f} % after",
                               100 * before / rows, 100 * after / rows)}};
}

}  // namespace

Document describe(const CalibrateReport& report) {
  ordered_json json{{"schema", 1},
                    {"gpu", report.gpu},
                    {"predictor", report.predictor},
                    {"numbers", ordered_json::array()},
                    {"families", ordered_json::array()},
                    {"rows", ordered_json::array()}};
  std::int64_t rows = 0;
  for (const auto& number : report.numbers) json["numbers"].push_back(number_json(number));
  for (const auto& family : report.families) {
    json["families"].push_back(family_json(family));
    rows += family.rows;
  }
  for (const auto& row : report.rows) json["rows"].push_back(row_json(row));
  json["machine"] = ordered_json::parse(report.machine_file);
  json["provenance"] = provenance_json(report.provenance);
  json["warnings"] = report.warnings;
  Document document;
  document.title =
      fmt::format("{} calibrated by {}", report.gpu_name, number_of(rows, "measurement"));
  document.subtitle = fmt::format("predictor: {}", report.predictor);
  document.data = std::move(json);
  document.verdict = calibration_verdict(report);
  if (!report.families.empty()) document.sections.emplace_back(Figure(families_chart()));
  if (!report.numbers.empty()) document.sections.push_back(numbers_table());
  if (!report.families.empty()) document.sections.push_back(families_table());
  document.sections.push_back(rows_table());
  document.warnings = warnings_of(report.warnings);
  document.provenance = report.provenance;
  return document;
}

Document describe(const SuggestReport& report) {
  ordered_json json{{"schema", 1}, {"gpu", report.gpu}, {"kernels", ordered_json::array()}};
  for (const SuggestedKernel& kernel : report.kernels)
    json["kernels"].push_back({{"kernel", kernel.kernel},
                               {"shape", kernel.shape},
                               {"dtype", kernel.dtype},
                               {"family", kernel.family},
                               {"limiter", kernel.limiter},
                               {"predicted_ms", kernel.predicted_ms},
                               {"unknown", kernel.unknown}});
  json["provenance"] = provenance_json(report.provenance);
  json["warnings"] = report.warnings;
  Document document;
  document.title = fmt::format("{} worth measuring on {}",
                               number_of(report.kernels.size(), "kernel"), report.gpu_name);
  document.subtitle = "the most informative first";
  document.data = std::move(json);
  if (!report.kernels.empty())
    document.verdict = {{.text = fmt::format("measure {} {} {} first", report.kernels[0].kernel,
                                             report.kernels[0].shape, report.kernels[0].dtype)}};
  document.sections.emplace_back(Figure(suggestions_chart(report)));
  document.sections.push_back(Table{
      .kind = "kernel",
      .rows = {.at = "/kernels"},
      .columns = {{.title = "kernel", .fields = {{"kernel"}}, .rank = Rank::Identity},
                  {.title = "shape", .fields = {{"shape"}}, .rank = Rank::Identity},
                  {.title = "dtype", .fields = {{"dtype"}}},
                  {.title = "family", .fields = {{"family"}}},
                  {.title = "limited by", .fields = {{"limiter"}}},
                  {.title = "predicted", .fields = {{"predicted_ms"}}, .unit = Unit::Milliseconds},
                  {.title = "unknown",
                   .fields = {{"unknown"}},
                   .unit = Unit::Percent,
                   .rank = Rank::Useful,
                   .hint = "how far off it may be once the kernels above are measured"}}});
  document.warnings = warnings_of(report.warnings);
  document.provenance = report.provenance;
  return document;
}

Document describe_gain(std::int64_t rows, std::int64_t draws, std::span<const ErrorSummary> summary,
                       const Notes& notes) {
  ordered_json json{{"schema", 1},
                    {"rows", rows},
                    {"draws", draws},
                    {"summary", errors_json(summary)},
                    {"provenance", provenance_json(notes.provenance)},
                    {"warnings", notes.warnings}};
  for (std::size_t i = 0; i < summary.size(); ++i)
    json["summary"][i]["uncalibrated_error"] = number_or_null(summary[i].baseline("uncalibrated"));
  Document document;
  document.title = "Accuracy: calibrated machines";
  document.subtitle = fmt::format("with {} each, mean of {}; the remaining rows are predicted",
                                  number_of(rows, "random row"), number_of(draws, "draw"));
  document.data = std::move(json);
  if (!summary.empty()) document.sections.emplace_back(Figure(gain_chart()));
  const auto error = [](const char* title, const char* at, const char* hint) {
    return Column{.title = title, .fields = {{at}}, .unit = Unit::Fraction, .hint = hint};
  };
  document.sections.push_back(
      Table{.kind = "summary",
            .rows = {.at = "/summary"},
            .columns = {{.title = "group", .fields = {{"group"}}, .rank = Rank::Identity},
                        {.title = "rows", .fields = {{"cases"}}, .unit = Unit::Count},
                        error("before", "uncalibrated_error", "mean |predicted / measured - 1|"),
                        error("after", "mean_error", "the same with the calibration"),
                        error("median", "median_error", ""),
                        error("p90", "p90_error", "90 % of the rows are closer"),
                        {.title = "bias", .fields = {{"bias"}}, .unit = Unit::SignedFraction},
                        error("inside", "coverage", "of the 80 % interval")}});
  document.warnings = warnings_of(notes.warnings);
  document.provenance = notes.provenance;
  return document;
}

}  // namespace rooftile::report
