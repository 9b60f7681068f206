// SPDX-License-Identifier: Apache-2.0
#include "report/kernel_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/text.h"
#include "core/utf8.h"
#include "report/breakdown.h"
#include "report/interval.h"
#include "report/json_text.h"
#include "report/operator_rows.h"
#include "report/provenance_view.h"
#include "report/table.h"

namespace rooftile::report {

namespace {

/// The largest term of the bound; a predictor may see another limiter of its own, longer time.
std::string limiter_of_bound(const KernelReport& kernel) {
  const auto largest = std::max_element(
      kernel.terms.begin(), kernel.terms.end(),
      [](const BoundTermReport& a, const BoundTermReport& b) { return a.ms < b.ms; });
  return largest == kernel.terms.end() ? kernel.row.limiter : largest->limiter;
}

}  // namespace

std::string kernels_to_text(const KernelsReport& report, const TextOptions& options) {
  std::string text;
  for (const KernelReport& kernel : report.kernels) {
    const OperatorReport& row = kernel.row;
    if (!text.empty()) text += "\n";
    text +=
        bold(fmt::format("{} {} {} {}", row.op, row.shape, row.dtype, row.phase), options.color);
    text += fmt::format(" on {}\n", visible(kernel.gpu_name));
    if (row.provenance == "bound") {
      text +=
          fmt::format("  time       {} or more (provenance: bound)\n", format_ms(row.latency_ms));
    } else {
      text += fmt::format("  in a step  {}  ({}; {}{})\n", format_ms(row.latency_ms),
                          interval_text(row.low_ms, row.high_ms), row.provenance,
                          row.extrapolated ? ", extrapolated" : "");
      text += fmt::format("  alone      {}  ({}; {} of it the host)\n",
                          format_ms(kernel.isolated.latency_ms),
                          interval_text(kernel.isolated.low_ms, kernel.isolated.high_ms),
                          format_ms(kernel.isolated.host_ms));
    }
    text +=
        fmt::format("  work       {}, {} FLOP/byte\n", format_flops(Flops::from_base(row.flops)),
                    format_count(row.flops / std::max(1.0, row.traffic.dram)));
    text += fmt::format("  traffic    {} from L1, {} from L2, {} from DRAM (this tile, modelled)\n",
                        format_bytes(Bytes::from_base(row.traffic.l1)),
                        format_bytes(Bytes::from_base(row.traffic.l2)),
                        format_bytes(Bytes::from_base(row.traffic.dram)));
    if (!row.algorithm.empty()) text += fmt::format("  algorithm  {}\n", row.algorithm);
    text += fmt::format("  tile       {}, {:.2f} waves, wave factor {:.2f}\n", row.tile, row.waves,
                        row.wave_factor);
    if (row.provenance != "bound") text += terms_text(row, report.rates);
    const std::string bound_limiter = limiter_of_bound(kernel);
    if (row.limiter != bound_limiter) {
      text += fmt::format("  limiter    {}, of the predicted time\n", row.limiter);
    }
    text += fmt::format("  bound      {}, limited by {}; every byte moved once:\n",
                        format_ms(row.bound_ms), bound_limiter);
    for (const BoundTermReport& term : kernel.terms) {
      text += fmt::format("    {:<8} {:>10}  {}  {}\n", term.limiter, format_ms(term.ms),
                          bar(term.ms / row.bound_ms, 20), term.arithmetic);
    }
    for (const std::string& level : kernel.unknown) {
      text +=
          fmt::format("    {:<8} {:>10}  {}\n", level, "-", "bandwidth not stated for this GPU");
    }
  }
  for (const std::string& warning : report.warnings) {
    text += labelled("warning", warning, options.width, options.color);
  }
  return text + "\n" + provenance_to_text(report.provenance, options.color);
}

std::string kernels_to_json(const KernelsReport& report) {
  using nlohmann::ordered_json;
  ordered_json json{{"schema", 1}, {"kernels", ordered_json::array()}};
  for (const KernelReport& kernel : report.kernels) {
    ordered_json row = operator_json(kernel.row);
    row["gpu"] = kernel.gpu_name;
    row["predictor"] = kernel.predictor;
    row["in_stream_ms"] = kernel.row.latency_ms;
    row["isolated"] = {{"latency_ms", kernel.isolated.latency_ms},
                       {"low_ms", kernel.isolated.low_ms},
                       {"high_ms", kernel.isolated.high_ms},
                       {"host_ms", kernel.isolated.host_ms}};
    row["bound_terms_ms"] = ordered_json::object();
    for (const BoundTermReport& term : kernel.terms) row["bound_terms_ms"][term.limiter] = term.ms;
    json["kernels"].push_back(std::move(row));
  }
  json["rates"] = report.rates;
  json["provenance"] = provenance_json(report.provenance);
  json["warnings"] = report.warnings;
  return json_text(json);
}

std::string kernels_to_csv(const KernelsReport& report) {
  std::string text(kOperatorCsvHeader);
  for (const KernelReport& kernel : report.kernels) text += operator_csv(kernel.row);
  return text;
}

}  // namespace rooftile::report
