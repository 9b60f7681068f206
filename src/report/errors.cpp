// SPDX-License-Identifier: Apache-2.0
#include "report/errors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/number_of.h"
#include "report/interval.h"

namespace rooftile::report {

namespace {

constexpr std::size_t kMostBars = 40;

Column error_column(std::string title, std::string at, Rank rank, std::string hint) {
  return {.title = std::move(title),
          .fields = {{std::move(at)}},
          .unit = Unit::Fraction,
          .rank = rank,
          .hint = std::move(hint)};
}

/// Whether the trivial line is nearer than ours; null where not.
nlohmann::ordered_json wins(const ErrorSummary& s) {
  const auto trivial = s.baseline("trivial");
  return trivial && *trivial < s.mean_error ? nlohmann::ordered_json(true) : nullptr;
}

}  // namespace

nlohmann::ordered_json errors_json(std::span<const ErrorSummary> summary) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  constexpr std::string_view kPublished = "published ";
  for (const ErrorSummary& s : summary) {
    nlohmann::ordered_json published = nlohmann::ordered_json::object();
    for (const auto& [name, error] : s.baselines) {
      if (name.starts_with(kPublished))
        published[name.substr(kPublished.size())] = error.mean_error;
    }
    list.push_back({{"group", s.group},
                    {"cases", s.cases},
                    {"mean_error", s.mean_error},
                    {"median_error", s.median_error},
                    {"geometric_error", s.geometric_error},
                    {"p90_error", s.p90_error},
                    {"worst_error", s.worst_error},
                    {"bias", s.bias},
                    {"coverage", number_or_null(s.coverage)},
                    {"baseline_error", number_or_null(s.baseline("trivial"))},
                    {"trivial_error", number_or_null(s.baseline("trivial"))},
                    {"trivial_wins", wins(s)},
                    {"neusight_error", number_or_null(s.baseline("neusight"))},
                    {"roofline_error", number_or_null(s.baseline("roofline"))},
                    {"bound_error", number_or_null(s.baseline("bound"))}});
    if (!published.empty()) list.back()["published_error"] = std::move(published);
  }
  return list;
}

Table errors_table(std::span<const ErrorSummary> summary) {
  std::vector<Column> columns{
      {.title = "group", .fields = {{"group"}}, .rank = Rank::Identity},
      {.title = "rows", .fields = {{"cases"}}, .unit = Unit::Count, .rank = Rank::Useful},
      error_column("error", "mean_error", Rank::Essential, "mean |predicted / measured - 1|"),
      error_column("median", "median_error", Rank::Detail, ""),
      error_column("geo", "geometric_error", Rank::Detail,
                   "exp(mean |ln(predicted / measured)|) - 1"),
      error_column("p90", "p90_error", Rank::Useful, "90 % of the rows are closer"),
      error_column("worst", "worst_error", Rank::Extra, ""),
      {.title = "bias", .fields = {{"bias"}}, .unit = Unit::SignedFraction, .rank = Rank::Useful},
      error_column("inside", "coverage", Rank::Useful, "of the stated 80 % interval"),
      error_column("trivial", "trivial_error", Rank::Useful, "roofline / u + c; * where it wins"),
      error_column("neusight", "neusight_error", Rank::Detail,
                   "the published formulation, fitted on the same rows"),
      error_column("roofline", "roofline_error", Rank::Extra, ""),
      error_column("bound", "bound_error", Rank::Extra, "")};
  const auto trivial = std::find_if(columns.begin(), columns.end(),
                                    [](const Column& c) { return c.title == "trivial"; });
  trivial->starred = "trivial_wins";
  const bool published = std::any_of(summary.begin(), summary.end(), [](const ErrorSummary& s) {
    return std::any_of(s.baselines.begin(), s.baselines.end(),
                       [](const auto& entry) { return entry.first.starts_with("published"); });
  });
  if (published)
    columns.insert(columns.begin() + 11,
                   error_column("published", "published_error/neusight", Rank::Detail,
                                "what NeuSight's authors predicted, where the file has it"));
  return {
      .kind = "summary", .rows = {.at = "/summary"}, .columns = std::move(columns), .data = false};
}

BarChart errors_chart(std::span<const ErrorSummary> summary) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const ErrorSummary& s : summary) {
    if (rows.size() >= kMostBars) break;
    nlohmann::ordered_json row{
        {"label", s.group},
        {"error", s.mean_error},
        {"median", s.median_error},
        {"p90", s.p90_error},
        {"remark", fmt::format("{} {}", s.cases, s.cases == 1 ? "row" : "rows")}};
    if (const auto trivial = s.baseline("trivial")) row["trivial"] = *trivial;
    rows.push_back(std::move(row));
  }
  const bool cut = summary.size() > kMostBars;
  return {.title = "Errors by group",
          .axis = "mean |predicted / measured - 1|",
          .unit = Unit::Percent,
          .rows = {.own = std::move(rows)},
          .label = "label",
          .series = {{.name = "mean error", .at = "error", .low = "median", .high = "p90"}},
          .mark = "trivial",
          .mark_name = "trivial baseline",
          .remark = "remark",
          .note = fmt::format(
              "whiskers: from the median to 90 % of the rows{}",
              cut ? fmt::format("; the first {} of {} groups", kMostBars, summary.size())
                  : std::string())};
}

std::vector<Verdict> errors_verdict(std::span<const ErrorSummary> summary) {
  if (summary.empty()) return {};
  constexpr std::size_t kMostGroups = 6;
  const auto depth = [](const ErrorSummary& s) {
    return s.group == "all" ? -1 : std::count(s.group.begin(), s.group.end(), '/');
  };
  const auto least =
      depth(*std::min_element(summary.begin(), summary.end(),
                              [&](const auto& a, const auto& b) { return depth(a) < depth(b); }));
  std::vector<std::string> parts;
  for (const ErrorSummary& s : summary) {
    if (depth(s) != least || parts.size() >= kMostGroups) continue;
    std::string text = fmt::format("{}{:.1f} % of {}", s.group == "all" ? "" : s.group + " ",
                                   100 * s.mean_error, number_of(s.cases, "row"));
    if (const auto trivial = s.baseline("trivial"))
      text += fmt::format(" (trivial baseline {:.1f} %)", 100 * *trivial);
    parts.push_back(std::move(text));
  }
  return {{.text = fmt::format("mean error {}", fmt::join(parts, ", "))}};
}

std::string accuracy_heading(const std::string& predictor, bool left_out) {
  if (left_out)
    return "Each GPU is predicted with weights that have seen none of its measurements.";
  return fmt::format("Predictor {}; it may have been fitted on these GPUs.", predictor);
}

}  // namespace rooftile::report
