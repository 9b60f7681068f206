// SPDX-License-Identifier: Apache-2.0
//
// `rooftile kernel`: one kernel explained, with the terms of its time and of its bound.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/provenance.h"
#include "core/text.h"
#include "report/breakdown.h"
#include "report/describe.h"
#include "report/interval.h"
#include "report/lines.h"
#include "report/predict_json.h"
#include "rooftile/kernel.h"

namespace rooftile::report {

namespace {

using nlohmann::ordered_json;

/// The largest term of the bound; a predictor may see another limiter of its own, longer time.
std::string limiter_of_bound(const KernelReport& kernel) {
  const auto largest = std::max_element(
      kernel.terms.begin(), kernel.terms.end(),
      [](const BoundTermReport& a, const BoundTermReport& b) { return a.ms < b.ms; });
  return largest == kernel.terms.end() ? kernel.row.limiter : largest->limiter;
}

std::string kernel_name(const KernelReport& kernel) {
  const OperatorReport& row = kernel.row;
  return fmt::format("{} {} {} {}", row.op, row.shape, row.dtype, row.phase);
}

ordered_json kernel_json(const KernelReport& kernel) {
  ordered_json row = operator_json(kernel.row);
  row["gpu"] = kernel.gpu_name;
  row["predictor"] = kernel.predictor;
  row["residency"] = kernel.residency;
  row["in_stream_ms"] = kernel.row.latency_ms;
  row["isolated"] = {{"latency_ms", kernel.isolated.latency_ms},
                     {"low_ms", kernel.isolated.low_ms},
                     {"high_ms", kernel.isolated.high_ms},
                     {"host_ms", kernel.isolated.host_ms}};
  row["bound_terms_ms"] = ordered_json::object();
  for (const BoundTermReport& term : kernel.terms) row["bound_terms_ms"][term.limiter] = term.ms;
  return row;
}

Facts kernel_facts(const KernelReport& kernel, bool titled) {
  const OperatorReport& row = kernel.row;
  Facts facts{.title = titled ? kernel_name(kernel) : std::string(), .rows = {}};
  if (row.provenance == "bound") {
    facts.rows.push_back(
        {"time", fmt::format("{} or more (provenance: bound)", format_ms(row.latency_ms))});
  } else {
    facts.rows.push_back(
        {"in a step", fmt::format("{} ({}; {}{})", format_ms(row.latency_ms),
                                  interval_text(row.low_ms, row.high_ms), row.provenance,
                                  row.extrapolated ? ", extrapolated" : "")});
    facts.rows.push_back(
        {"alone", fmt::format("{} ({}; {} of it the host)", format_ms(kernel.isolated.latency_ms),
                              interval_text(kernel.isolated.low_ms, kernel.isolated.high_ms),
                              format_ms(kernel.isolated.host_ms))});
  }
  facts.rows.push_back(
      {"work", fmt::format("{}, {} FLOP/byte", format_flops(Flops::from_base(row.flops)),
                           format_count(row.flops / std::max(1.0, row.traffic.dram)))});
  facts.rows.push_back(
      {"traffic", fmt::format("{} from L1, {} from L2, {} from DRAM (this tile, modelled)",
                              format_bytes(Bytes::from_base(row.traffic.l1)),
                              format_bytes(Bytes::from_base(row.traffic.l2)),
                              format_bytes(Bytes::from_base(row.traffic.dram)))});
  facts.rows.push_back({"residency", kernel.residency == "warm"
                                         ? "warm: repeated, it finds what fits in the L2"
                                         : "cold: its operands come from DRAM"});
  if (!row.algorithm.empty()) facts.rows.push_back({"algorithm", row.algorithm});
  facts.rows.push_back({"tile", fmt::format("{}, {:.2f} waves, wave factor {:.2f}", row.tile,
                                            row.waves, row.wave_factor)});
  const std::string bound_limiter = limiter_of_bound(kernel);
  facts.rows.push_back({"limiter", row.limiter});
  facts.rows.push_back(
      {"bound", fmt::format("{}, limited by {}", format_ms(row.bound_ms), bound_limiter)});
  return facts;
}

/// Terms with what they are computed from.
Table terms_table(std::string title, ordered_json rows) {
  return {.kind = "term",
          .title = std::move(title),
          .rows = {.own = std::move(rows)},
          .columns = {{.title = "", .fields = {{"resource"}}, .rank = Rank::Identity},
                      {.title = "", .fields = {{"ms"}}, .unit = Unit::Milliseconds},
                      {.title = "", .fields = {{"ms"}}, .rank = Rank::Detail, .form = Form::Bar},
                      {.title = "",
                       .fields = {{"arithmetic"}},
                       .rank = Rank::Useful,
                       .form = Form::Prose}},
          .indent = 2,
          .data = false};
}

Table bound_table(const KernelReport& kernel) {
  ordered_json rows = ordered_json::array();
  for (const BoundTermReport& term : kernel.terms)
    rows.push_back({{"resource", term.limiter}, {"ms", term.ms}, {"arithmetic", term.arithmetic}});
  for (const std::string& level : kernel.unknown)
    rows.push_back({{"resource", level}, {"arithmetic", "bandwidth not stated for this GPU"}});
  return terms_table("terms of the bound, every byte moved once", std::move(rows));
}

}  // namespace

Document describe(const KernelsReport& report) {
  Document document;
  const bool several = report.kernels.size() > 1;
  ordered_json json{{"schema", 1}, {"kernels", ordered_json::array()}};
  for (const KernelReport& kernel : report.kernels) {
    json["kernels"].push_back(kernel_json(kernel));
    document.sections.emplace_back(kernel_facts(kernel, several));
    if (kernel.row.provenance != "bound") {
      document.sections.emplace_back(
          terms_table("terms of the time, which overlap: " + join_text(kernel.row.breakdown),
                      term_rows(kernel.row, report.rates)));
    }
    document.sections.emplace_back(bound_table(kernel));
  }
  json["rates"] = report.rates;
  json["provenance"] = provenance_json(report.provenance);
  json["warnings"] = report.warnings;
  document.data = std::move(json);
  if (!report.kernels.empty()) {
    const KernelReport& first = report.kernels.front();
    document.title = several ? fmt::format("{} kernels of {} on {}", report.kernels.size(),
                                           first.row.op, first.gpu_name)
                             : fmt::format("{} on {}", kernel_name(first), first.gpu_name);
  }
  std::vector<Column> columns = operator_columns(OperatorColumns::Alone);
  columns.insert(columns.end(), {{.title = "gpu", .fields = {{"gpu"}}, .form = Form::DataOnly},
                                 {.title = "isolated",
                                  .fields = {{"isolated/latency_ms", "isolated_ms"}},
                                  .unit = Unit::Milliseconds,
                                  .form = Form::DataOnly}});
  document.sections.emplace_back(Table{
      .kind = "kernel", .rows = {.at = "/kernels"}, .columns = std::move(columns), .shown = false});
  document.warnings = warnings_of(report.warnings);
  document.provenance = report.provenance;
  return document;
}

}  // namespace rooftile::report
