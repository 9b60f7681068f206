// SPDX-License-Identifier: Apache-2.0
#include "report/roofline_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/provenance.h"
#include "report/roofline_words.h"

namespace rooftile::report {

namespace {

using hardware::MemoryLevel;
using nlohmann::ordered_json;
using profile::KernelRecord;
using roofline::Chart;
using roofline::Point;

constexpr int kRooflineSchema = 1;  // docs/format/roofline.md

template <typename Q>
ordered_json number(const std::optional<Q>& value) {
  if (!value) return nullptr;
  return value->base();
}
ordered_json milliseconds(const std::optional<Seconds>& time) {
  if (!time) return nullptr;
  return to_ms(*time);
}

ordered_json ceilings_json(const Chart& chart) {
  ordered_json json{{"machine", chart.roofs.machine.empty() ? ordered_json(nullptr)
                                                            : ordered_json(chart.roofs.machine)},
                    {"source", chart.roofs.provenance()},
                    {"clock_mhz", nullptr},
                    {"launch_overhead_us", to_us(chart.launch_overhead)}};
  if (chart.roofs.clock) json["clock_mhz"] = chart.roofs.clock->base() * 1e-6;
  if (chart.roofs.boost) json["boost_clock_mhz"] = chart.roofs.boost->base() * 1e-6;
  json["bandwidth"] = ordered_json::object();
  for (const roofline::MemoryRoof& roof : chart.roofs.memory) {
    json["bandwidth"][roof.name] = {{"gbps", roof.bandwidth.base() * 1e-9},
                                    {"source", roof.source}};
  }
  json["compute"] = ordered_json::object();
  for (const roofline::ComputeRoof& roof : chart.roofs.compute) {
    json["compute"][name_of(roof.key)] = {{"gflops", chart_gflops(chart, roof.rate)},
                                          {"source", roof.source}};
  }
  return json;
}

ordered_json levels_json(const std::array<std::optional<Bytes>, 3>& bytes) {
  ordered_json json;
  for (const MemoryLevel level : hardware::kMemoryLevels) {
    json[std::string(name_of(level))] = number(bytes[static_cast<std::size_t>(level)]);
  }
  return json;
}

ordered_json record_json(const Chart& chart, const KernelRecord& record) {
  ordered_json json{{"launches", record.launches},
                    {"time_ms", milliseconds(record.time)},
                    {"flops", number(record.flops)},
                    {"bytes", levels_json(record.bytes)}};
  json["gflops"] = nullptr;
  if (record.flops && record.time && record.time->base() > 0.0) {
    json["gflops"] = chart_gflops(chart, *record.flops / *record.time);
  }
  return json;
}

ordered_json terms_json(const roofline::BoundTerms& terms) {
  ordered_json json{{"compute_ms", milliseconds(terms.compute)}};
  for (const MemoryLevel level : hardware::kMemoryLevels) {
    json[std::string(name_of(level)) + "_ms"] =
        milliseconds(terms.level[static_cast<std::size_t>(level)]);
  }
  json["launch_ms"] = to_ms(terms.launch);
  return json;
}

ordered_json prediction_json(const Chart& chart, const roofline::Prediction& predicted) {
  ordered_json json{
      {"match", predicted.match},         {"shape", predicted.shape},
      {"launches", predicted.launches},   {"measured_ms", milliseconds(predicted.measured)},
      {"time_ms", to_ms(predicted.time)}, {"low_ms", to_ms(predicted.low)},
      {"high_ms", to_ms(predicted.high)}, {"flops", predicted.flops.base()}};
  for (const MemoryLevel level : hardware::kMemoryLevels) {
    const Bytes bytes = predicted.bytes[static_cast<std::size_t>(level)];
    const std::string name(name_of(level));
    json["bytes"][name] = bytes.base();
    json["intensity"][name] =
        bytes.base() > 0.0 ? ordered_json((predicted.flops / bytes).base()) : ordered_json(nullptr);
  }
  json["gflops"] = chart_gflops(chart, predicted.flops / predicted.time);
  json["limiter"] = predicted.limiter;
  json["rate"] = predicted.rate;
  json["above_roof"] =
      predicted.above_roof.empty() ? ordered_json(nullptr) : ordered_json(predicted.above_roof);
  return json;
}

ordered_json point_json(const Chart& chart, const Point& point) {
  const KernelRecord& record = point.record;
  ordered_json json{{"name", record.name},
                    {"short_name", point.short_name},
                    {"phase", point.phase},
                    {"launches", record.launches},
                    {"time_ms", milliseconds(record.time)},
                    {"time_fraction", point.time_fraction},
                    {"flops", number(record.flops)},
                    {"flops_complete", record.flops_complete}};
  json["flops_by"] = ordered_json::object();
  for (const auto& [key, flops] : record.flops_by) json["flops_by"][name_of(key)] = flops.base();
  json["bytes"] = levels_json(record.bytes);
  for (const MemoryLevel level : hardware::kMemoryLevels) {
    json["intensity"][std::string(name_of(level))] =
        number(point.intensity[static_cast<std::size_t>(level)]);
  }
  json["gflops"] = point.rate ? ordered_json(chart_gflops(chart, *point.rate)) : nullptr;
  json["limiter"] = point.limiter.empty() ? ordered_json(nullptr) : ordered_json(point.limiter);
  json["compute_roof"] = point.terms.compute_roof.empty() ? ordered_json(nullptr)
                                                          : ordered_json(point.terms.compute_roof);
  json["fraction_of_roof"] =
      point.fraction_of_roof ? ordered_json(*point.fraction_of_roof) : ordered_json(nullptr);
  json["above_roof"] =
      point.above_roof.empty() ? ordered_json(nullptr) : ordered_json(point.above_roof);
  json["limiting_roof"] = point.limiter == "compute" ? json["compute_roof"] : json["limiter"];
  json["bound_ms"] = milliseconds(point.bound);
  json["terms"] = terms_json(point.terms);
  json["launch_bound"] = point.launch_bound;
  // The time-based roofline: what FLOPs, bytes and launches need, of the measured time.
  json["needed_fraction"] = nullptr;
  if (record.time && record.time->base() > 0.0) {
    json["needed_fraction"] =
        max(point.bound.value_or(Seconds{}), point.terms.launch) / *record.time;
  }
  json["from_shapes"] = record.from_shapes;
  json["advice"] = point.advice.empty() ? ordered_json(nullptr) : ordered_json(point.advice);
  json["gain_ms"] = to_ms(point.gain);
  json["predicted_ms"] =
      point.predicted ? ordered_json(to_ms(point.predicted->time)) : ordered_json(nullptr);
  if (point.predicted) {
    const roofline::Prediction& predicted = *point.predicted;
    json["predicted"] = prediction_json(chart, predicted);
    if (predicted.measured && predicted.measured->base() > 0.0)
      json["predicted"]["time_ratio"] = predicted.time / *predicted.measured;
    // Bytes that follow from shapes were not counted by anybody.
    json["predicted"]["counted_dram_bytes"] =
        record.from_shapes ? ordered_json(nullptr) : number(record.bytes_at(MemoryLevel::Dram));
  }
  json["clock_mhz"] = record.clock ? ordered_json(record.clock->base() * 1e-6) : nullptr;
  json["grid"] = record.grid ? ordered_json(*record.grid) : nullptr;
  json["block"] = record.block ? ordered_json(*record.block) : nullptr;
  return json;
}

ordered_json census_json(const roofline::Total& total) {
  if (!total.knows_zero_ai()) return nullptr;
  const roofline::Census& census = total.zero_ai;
  return {{"kernels", census.kernels},
          {"launches", census.launches},
          {"launch_fraction", census.launch_fraction},
          {"time_fraction", census.time_fraction},
          {"uncounted_kernels", total.uncounted}};
}

ordered_json total_json(const Chart& chart, const roofline::Total& total) {
  ordered_json json{
      {"kernels", total.kernels},
      {"launches", total.launches},
      {"time_ms", total.timed ? ordered_json(to_ms(total.time)) : ordered_json(nullptr)},
      {"flops", number(total.flops)},
      {"flops_complete", total.flops_complete},
      {"tensor_flops", number(total.tensor_flops)},
      {"tensor_time_ms", to_ms(total.tensor_time)},
      {"tensor_time_fraction", total.flops && total.time.base() > 0.0
                                   ? ordered_json(total.tensor_time / total.time)
                                   : ordered_json(nullptr)},
      {"bytes", levels_json(total.bytes)}};
  for (const MemoryLevel level : hardware::kMemoryLevels) {
    json["intensity"][std::string(name_of(level))] = number(total.intensity(level));
  }
  const auto rate = total.rate();
  json["gflops"] = rate ? ordered_json(chart_gflops(chart, *rate)) : nullptr;
  json["short_launches"] = total.short_launches;
  json["short_time_ms"] = to_ms(total.short_time);
  return json;
}

ordered_json shares_json(const std::vector<profile::TimeShare>& shares) {
  ordered_json json = ordered_json::array();
  for (const profile::TimeShare& share : shares) {
    json.push_back(
        {{"name", share.name}, {"launches", share.launches}, {"time_ms", to_ms(share.time)}});
  }
  return json;
}

ordered_json timeline_json(const profile::Timeline& timeline) {
  return {{"devices", timeline.devices},
          {"span_ms", to_ms(timeline.span)},
          {"busy_ms", to_ms(timeline.busy)},
          {"idle_ms", to_ms(timeline.idle)},
          {"host_late_ms", milliseconds(timeline.host_late)},
          {"late_stretches", timeline.late_stretches},
          {"late_launches", timeline.late_launches},
          {"late_span_ms", to_ms(timeline.late_span)},
          {"communication_ms", to_ms(timeline.communication)},
          {"exposed_communication_ms", to_ms(timeline.exposed_communication)},
          {"phases", shares_json(timeline.phases)},
          {"annotations", shares_json(timeline.annotations)}};
}

ordered_json name_or_null(std::string_view name) {
  return name.empty() ? ordered_json(nullptr) : ordered_json(name);
}

ordered_json difference_json(const Chart& chart, const roofline::Difference& difference) {
  const auto side = [&chart](const std::optional<KernelRecord>& record) {
    return record ? record_json(chart, *record) : ordered_json(nullptr);
  };
  return {{"name", difference.name},
          {"short_name", difference.short_name},
          {"delta_ms", to_ms(difference.delta)},
          {"paired_by", name_or_null(name_of(difference.paired))},
          {"change", name_or_null(difference.change)},
          {"first", side(difference.first)},
          {"second", side(difference.second)}};
}

ordered_json comparison_json(const Chart& chart, const roofline::Comparison& pair) {
  ordered_json json{{"first", pair.first}, {"second", pair.second}};
  json["paired_time_fraction"] = {{"first", pair.paired_first}, {"second", pair.paired_second}};
  json["classes"] = ordered_json::array();
  for (const auto& one : pair.classes) json["classes"].push_back(difference_json(chart, one));
  json["kernels"] = ordered_json::array();
  for (const auto& one : pair.kernels) json["kernels"].push_back(difference_json(chart, one));
  return json;
}

}  // namespace

ordered_json roofline_json(const Chart& chart) {
  ordered_json json{{"schema", kRooflineSchema},
                    {"title", chart.title},
                    {"gflops_unit", chart.binary_units ? "2^30 FLOP/s" : "1e9 FLOP/s"},
                    {"ceilings", ceilings_json(chart)}};
  json["kernels"] = ordered_json::array();
  for (const Point& point : chart.points) json["kernels"].push_back(point_json(chart, point));
  json["zero_ai"] = census_json(chart.total);
  json["total"] = total_json(chart, chart.total);
  json["phases"] = ordered_json::array();
  for (const roofline::Phase& phase : chart.phases) {
    ordered_json one{{"phase", phase.label}, {"files", phase.files}};
    one["total"] = total_json(chart, phase.total);
    one["zero_ai"] = census_json(phase.total);
    if (phase.timeline) one["timeline"] = timeline_json(*phase.timeline);
    json["phases"].push_back(std::move(one));
  }
  if (chart.comparison) {
    json["comparison"] = comparison_json(chart, *chart.comparison);
    for (const roofline::Comparison& pair : chart.more_comparisons) {
      json["more_comparisons"].push_back(comparison_json(chart, pair));
    }
  }
  json["formulas"] = ordered_json::array();
  for (const profile::FormulaUse& use : chart.formulas) {
    json["formulas"].push_back(
        {{"quantity", use.quantity}, {"formula", use.text}, {"kernels", use.kernels}});
  }
  json["provenance"] = provenance_json(chart.provenance);
  json["warnings"] = ordered_json::array();
  for (const profile::Warning& warning : chart.warnings) {
    json["warnings"].push_back(warning.name + ": " + warning.message);
  }
  return json;
}

}  // namespace rooftile::report
