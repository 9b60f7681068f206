// SPDX-License-Identifier: Apache-2.0
//
// `rooftile predict`: one step on one machine.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/number_of.h"
#include "core/text.h"
#include "report/describe.h"
#include "report/interval.h"
#include "report/lines.h"
#include "report/predict_json.h"
#include "report/step_timeline.h"
#include "roofline/chart.h"

namespace rooftile::report {

namespace {

using nlohmann::ordered_json;

std::string bytes_text(double bytes) {
  return format_bytes(Bytes::from_base(bytes));
}

std::string step_text(const Report& report) {
  const LatencyReport& latency = report.latency;
  if (report.predictor == "bound")
    return fmt::format("{} or more (provenance: bound)", format_ms(latency.total_ms));
  return fmt::format("{} ({}; bound {})", format_ms(latency.total_ms),
                     interval_text(latency.low_ms, latency.high_ms),
                     format_ms(report.bound_total_ms));
}

std::string work_text(const Report& report) {
  const double rate = report.flops / (report.latency.total_ms * 1e-3);
  return fmt::format(
      "{} in the step, {}{}; {} parameters", format_flops(Flops::from_base(report.flops)),
      report.predictor == "bound" ? "at most " : "", format_rate(FlopsPerSecond::from_base(rate)),
      format_count(static_cast<double>(report.parameters)));
}

/// "15300 tokens/s, MFU 52.1 %, MBU 31.0 %"
std::string throughput_text(const Report& report) {
  const ThroughputReport& t = report.throughput;
  std::vector<std::string> parts;
  const std::int64_t gpus = report.parallel ? report.parallel->gpus : 1;
  if (t.tokens_per_s) parts.push_back(throughput(*t.tokens_per_s, "tokens", gpus));
  if (t.images_per_s) parts.push_back(throughput(*t.images_per_s, "images", gpus));
  if (t.mfu) parts.push_back(fmt::format("MFU {:.1f} %", *t.mfu * 100));
  if (t.mbu && report.request.phase == "decode")
    parts.push_back(fmt::format("MBU {:.1f} %", *t.mbu * 100));
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// Names with a time, its share of the step and a bar.
Table shares_table(std::string kind, std::string title, ordered_json rows) {
  return {
      .kind = std::move(kind),
      .title = std::move(title),
      .rows = {.own = std::move(rows)},
      .columns = {{.title = "", .fields = {{"name"}}, .rank = Rank::Identity},
                  {.title = "", .fields = {{"latency_ms"}}, .unit = Unit::Milliseconds},
                  {.title = "", .fields = {{"share"}}, .unit = Unit::Fraction},
                  {.title = "", .fields = {{"share"}}, .rank = Rank::Detail, .form = Form::Bar}},
      .indent = 2,
      .data = false};
}

Table phases_table(const Report& report) {
  const LatencyReport& latency = report.latency;
  ordered_json rows = ordered_json::array();
  const auto row = [&](std::string_view name, double ms) {
    if (ms > 0)
      rows.push_back({{"name", name}, {"latency_ms", ms}, {"share", ms / latency.total_ms}});
  };
  row("forward", latency.forward_ms);
  row("backward", latency.backward_ms);
  row("optimizer", latency.optimizer_ms);
  row("communication", latency.exposed_communication_ms);
  return shares_table("phase", "", std::move(rows));
}

Table limiters_table(const Report& report) {
  std::vector<std::pair<std::string, double>> shares(report.limiter_share.begin(),
                                                     report.limiter_share.end());
  std::stable_sort(shares.begin(), shares.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  ordered_json rows = ordered_json::array();
  for (const auto& [name, share] : shares) {
    if (share > 0)
      rows.push_back(
          {{"name", name}, {"latency_ms", share * report.latency.total_ms}, {"share", share}});
  }
  return shares_table("limiter", "limited by", std::move(rows));
}

Facts links_facts(const ParallelReport& parallel) {
  Facts facts{.title = "links in " + parallel.system, .rows = {}};
  for (const auto& [name, link] :
       {std::pair("data", &parallel.data_link), std::pair("tensor", &parallel.tensor_link),
        std::pair("pipeline", &parallel.pipeline_link)}) {
    if (!link->empty()) facts.rows.push_back({name, *link});
  }
  return facts;
}

std::string memory_text(const MemoryReport& memory) {
  if (!memory.capacity_bytes) return bytes_text(memory.total_bytes);
  return fmt::format("{} of {}: {}", bytes_text(memory.total_bytes),
                     bytes_text(*memory.capacity_bytes),
                     memory.fits.value_or(false) ? "fits" : "DOES NOT FIT");
}

Facts memory_facts(const Report& report) {
  const MemoryReport& memory = report.memory;
  std::vector<std::string> parts;
  const auto part = [&](std::string_view name, double bytes) {
    if (bytes > 0) parts.push_back(fmt::format("{} {}", name, bytes_text(bytes)));
  };
  part("weights", memory.weights_bytes);
  part("gradients", memory.gradients_bytes);
  part("optimizer", memory.optimizer_bytes);
  if (report.request.phase == "train" && memory.optimizer_bytes <= 0)
    parts.emplace_back("no optimizer state");
  part("activations", memory.activations_bytes);
  part("KV cache", memory.kv_cache_bytes);
  return {
      .title = report.parallel ? "memory of the fullest GPU" : "memory",
      .rows = {{"needs", memory_text(memory)}, {"for", fmt::format("{}", fmt::join(parts, ", "))}}};
}

Table operators_table(const Report& report, const DescribeOptions& options) {
  const double total = report.latency.total_ms;
  ordered_json waiting = ordered_json::array();
  for (const PartReport* part : waiting_parts(report)) {
    waiting.push_back({{"name", part->name},
                       {"op", "step"},
                       {"latency_ms", part->latency_ms},
                       {"share", part->share}});
  }
  const bool pipeline = report.parallel && report.parallel->pp > 1;
  std::vector<Column> columns = operator_columns(OperatorColumns::OfStep);
  for (Column& column : columns) {  // in training, one name stands for several rows
    if (column.unit == Unit::Phase && report.request.phase == "train")
      column.rank = Rank::Essential;
  }
  return {.kind = "operator",
          .title = pipeline ? "most expensive operators, all layers together, times of a mean GPU"
                            : "most expensive operators, all layers together",
          .rows = {.at = "/operators"},
          .columns = std::move(columns),
          .more = std::move(waiting),
          .total = ordered_json{{"name", "step"}, {"latency_ms", total}, {"share", 1.0}},
          .order = "latency_ms",
          .top = options.top,
          .indent = 2};
}

/// What the convolutions run; nothing for models without them.
Facts algorithm_facts(const Report& report) {
  std::map<std::string_view, std::pair<std::int64_t, double>> by_name;
  for (const OperatorReport& op : report.operators) {
    if (op.algorithm.empty()) continue;
    auto& [launches, ms] = by_name[op.algorithm];
    launches += op.count;
    ms += op.latency_ms;
  }
  Facts facts{.title = "convolutions by algorithm", .rows = {}};
  for (const auto& [name, sum] : by_name) {
    facts.rows.push_back({std::string(name), fmt::format("{}, {}", number_of(sum.first, "launch"),
                                                         format_ms(sum.second))});
  }
  return facts;
}

std::vector<Verdict> verdict_of(const Report& report) {
  std::vector<Verdict> verdict{{.text = step_text(report)}};
  const MemoryReport& memory = report.memory;
  if (memory.fits) {
    verdict.push_back({.text = fits_text(memory), .tone = *memory.fits ? Tone::Good : Tone::Bad});
  }
  const auto most =
      std::max_element(report.limiter_share.begin(), report.limiter_share.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most != report.limiter_share.end())
    verdict.push_back({.text = fmt::format("{:.0f} % of the time limited by {}", most->second * 100,
                                           most->first)});
  return verdict;
}

}  // namespace

Document describe(const Report& report, const DescribeOptions& options) {
  Document document;
  document.title = workload(report);
  document.subtitle = fmt::format("on {}, roofs: {}, predictor: {}", report.gpu_name, report.roofs,
                                  report.predictor);
  document.verdict = verdict_of(report);
  document.data = report_json(report, Operators::Listed);
  Facts step{.rows = {{"step", step_text(report)}}};
  if (!report.assumed.empty())
    step.rows.push_back({"assumed", fmt::format("{}", fmt::join(report.assumed, ", "))});
  if (std::string text = throughput_text(report); !text.empty())
    step.rows.push_back({"throughput", std::move(text)});
  const double hidden = report.latency.communication_ms - report.latency.exposed_communication_ms;
  if (hidden > 0)
    step.rows.push_back({"hidden", format_ms(hidden) + " of communication behind kernels"});
  step.rows.push_back({"work", work_text(report)});
  document.sections.push_back(std::move(step));
  document.sections.push_back(phases_table(report));
  document.sections.push_back(limiters_table(report));
  if (report.parallel && !report.parallel->system.empty())
    document.sections.push_back(links_facts(*report.parallel));
  document.sections.push_back(memory_facts(report));
  document.sections.push_back(operators_table(report, options));
  if (Facts facts = algorithm_facts(report); !facts.rows.empty())
    document.sections.push_back(std::move(facts));
  document.timeline = [report] { return step_timeline(report); };
  document.warnings = warnings_of(report.warnings);
  document.provenance = report.provenance;
  return document;
}

void add_chart(const roofline::Chart& chart, Document& document) {
  document.sections.insert(
      document.sections.begin(),
      Figure(RooflineChart{.chart = std::make_shared<const roofline::Chart>(chart),
                           .in_data = false}));
}

}  // namespace rooftile::report
