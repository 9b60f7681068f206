// SPDX-License-Identifier: Apache-2.0
//
// The interactive page of web/ with a document inside (docs/format/page.md): its tree, and where in
// it the values of tables and charts are. The page draws, filters and sorts; it computes nothing.
#include <nlohmann/json.hpp>
#include <utility>

#include "core/provenance.h"
#include "report/json_text.h"
#include "report/page.h"
#include "report/roofline_json.h"
#include "report/writer.h"

namespace rooftile::report {

namespace {

using nlohmann::ordered_json;

std::string_view rank_name(Rank rank) {
  switch (rank) {
    case Rank::Identity: return "identity";
    case Rank::Essential: return "essential";
    case Rank::Useful: return "useful";
    case Rank::Detail: return "detail";
    case Rank::Extra: break;
  }
  return "extra";
}

std::string_view tone_name(Tone tone) {
  switch (tone) {
    case Tone::Neutral: return "neutral";
    case Tone::Good: return "good";
    case Tone::Bad: break;
  }
  return "bad";
}

/// Only what is there: most columns have neither hint nor marks.
void put(ordered_json& json, const char* key, std::string_view text) {
  if (!text.empty()) json[key] = text;
}

ordered_json rows_json(const Rows& rows) {
  ordered_json json = ordered_json::object();
  put(json, "at", rows.at);
  put(json, "first", rows.first);
  if (rows.at.empty()) json["own"] = rows.own.json();
  return json;
}

ordered_json column_json(const Column& column) {
  ordered_json json{{"title", column.title},
                    {"unit", name_of(column.unit)},
                    {"rank", rank_name(column.rank)},
                    {"fields", ordered_json::array()},
                    {"join", column.join}};
  for (const Field& field : column.fields) {
    json["fields"].push_back({{"at", field.at}});
    if (field.per != 1) json["fields"].back()["per"] = field.per;
  }
  put(json, "hint", column.hint);
  put(json, "lower_bound", column.lower_bound);
  put(json, "starred", column.starred);
  return json;
}

ordered_json section_json(const Facts& facts) {
  ordered_json json{{"type", "facts"}, {"title", facts.title}, {"rows", ordered_json::array()}};
  for (const Fact& fact : facts.rows)
    json["rows"].push_back({{"name", fact.name}, {"text", fact.text}});
  return json;
}

ordered_json section_json(const Table& table) {
  if (!table.shown) return nullptr;
  ordered_json json{{"type", "table"},
                    {"kind", table.kind},
                    {"title", table.title},
                    {"rows", rows_json(table.rows)},
                    {"columns", ordered_json::array()}};
  for (const Column& column : table.columns) {
    const bool drawn = column.form != Form::DataOnly && column.form != Form::Bar;
    if (drawn && !column.constant) json["columns"].push_back(column_json(column));
  }
  if (!table.more.json().empty()) json["more"] = table.more.json();
  put(json, "order", table.order);
  put(json, "where", table.where);
  return json;
}

ordered_json section_json(const Note& note) {
  return {{"type", "note"}, {"title", note.title}, {"lines", note.lines}, {"list", note.list}};
}

ordered_json chart_json(const BarChart& chart) {
  ordered_json json{{"type", "bars"},
                    {"title", chart.title},
                    {"axis", chart.axis},
                    {"unit", name_of(chart.unit)},
                    {"rows", rows_json(chart.rows)},
                    {"label", chart.label},
                    {"series", ordered_json::array()},
                    {"lines", ordered_json::array()},
                    {"note", chart.note}};
  for (const BarSeries& series : chart.series) {
    ordered_json one{{"name", series.name}, {"at", series.at}};
    put(one, "low", series.low);
    put(one, "high", series.high);
    put(one, "color", series.color);
    json["series"].push_back(std::move(one));
  }
  for (const BarChart::Line& line : chart.lines)
    json["lines"].push_back({{"value", line.value}, {"text", line.text}});
  put(json, "mark", chart.mark);
  put(json, "mark_name", chart.mark_name);
  put(json, "remark", chart.remark);
  put(json, "remark_name", chart.remark_name);
  put(json, "tone", chart.tone);
  return json;
}

ordered_json chart_json(const CurveChart& chart) {
  ordered_json json{{"type", "curves"},
                    {"title", chart.title},
                    {"x_title", chart.x_title},
                    {"y_title", chart.y_title},
                    {"x_unit", name_of(chart.x_unit)},
                    {"y_unit", name_of(chart.y_unit)},
                    {"curves", ordered_json::array()},
                    {"ceilings", ordered_json::array()},
                    {"binary_x", chart.binary_x}};
  for (const Curve& curve : chart.curves)
    json["curves"].push_back({{"name", curve.name}, {"points", curve.points}});
  for (const CurveChart::Ceiling& ceiling : chart.ceilings)
    json["ceilings"].push_back(
        {{"name", ceiling.name}, {"text", ceiling.text}, {"value", ceiling.value}});
  return json;
}

ordered_json chart_json(const RooflineChart& chart) {
  ordered_json json{{"type", "roofline"},
                    {"view", chart.view == RooflineView::TimeBased ? "time" : "hierarchical"}};
  if (!chart.in_data) json["roofline"] = roofline_json(*chart.chart);
  return json;
}

ordered_json section_json(const Figure& chart) {
  return std::visit([](const auto& one) { return chart_json(one); }, chart);
}

ordered_json page_json(const Document& document) {
  ordered_json json{{"title", document.title},
                    {"subtitle", document.subtitle},
                    {"verdict", ordered_json::array()},
                    {"sections", ordered_json::array()},
                    {"warnings", folded(document.warnings)},
                    {"warning_label", document.warning_label}};
  for (const Verdict& verdict : document.verdict)
    json["verdict"].push_back({{"text", verdict.text}, {"tone", tone_name(verdict.tone)}});
  for (const Section& section : document.sections) {
    ordered_json one = std::visit([](const auto& part) { return section_json(part); }, section);
    if (!one.is_null()) json["sections"].push_back(std::move(one));
  }
  if (document.provenance) json["provenance"] = provenance_json(*document.provenance);
  json["data"] = document.data.json();
  return json;
}

std::string write_html(const Document& document, const WriteOptions& /*options*/) {
  return make_page(document.title, json_text(page_json(document), -1));
}

}  // namespace

Writer html_writer() {
  return {.name = "html", .endings = {".html", ".htm"}, .needs = Needs::Charts, .make = write_html};
}

}  // namespace rooftile::report
