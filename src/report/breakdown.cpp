// SPDX-License-Identifier: Apache-2.0
#include "report/breakdown.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/text.h"

namespace rooftile::report {

namespace {

using cost::Resource;
using hardware::MemoryLevel;

constexpr std::array kLevels{std::pair(Resource::L1, MemoryLevel::L1),
                             std::pair(Resource::L2, MemoryLevel::L2),
                             std::pair(Resource::Dram, MemoryLevel::Dram)};

Bytes bytes_at(Resource level, const traffic::Traffic& traffic) {
  if (level == Resource::L1) return traffic.l1;
  return level == Resource::L2 ? traffic.l2 : traffic.dram();
}

/// "54.2 GFLOP at 81 % of 66.9 TFLOP/s"; empty for a term that is not an amount over a rate.
std::string term_text(const std::string& resource, const OperatorReport& op,
                      const std::map<std::string, double>& rates) {
  const auto efficiency = op.breakdown.efficiency.find(resource);
  const auto rate = rates.find(resource == "compute" ? op.rate : resource);
  if (efficiency == op.breakdown.efficiency.end() || rate == rates.end()) return {};
  const double percent = 100 * efficiency->second;
  if (resource == "compute") {
    return fmt::format("{} at {:.3g} % of {}", format_flops(Flops::from_base(op.flops)), percent,
                       format_rate(FlopsPerSecond::from_base(rate->second)));
  }
  const double bytes = resource == "l1"   ? op.traffic.l1
                       : resource == "l2" ? op.traffic.l2
                                          : op.traffic.dram;
  return fmt::format("{} at {:.3g} % of {}", format_bytes(Bytes::from_base(bytes)), percent,
                     format_rate(BytesPerSecond::from_base(rate->second)));
}

}  // namespace

std::string rate_name(const ops::KernelWork& work, const hardware::Machine& machine) {
  const auto units = machine.best_units(work.compute, work.matrix);
  return units ? name_of(*units) : std::string();
}

BreakdownReport make_breakdown(const ops::KernelWork& work, const cost::Estimate& estimate,
                               const hardware::Machine& machine, double launches) {
  const cost::Breakdown& breakdown = estimate.breakdown;
  BreakdownReport report;
  report.residual = breakdown.residual;
  if (std::isfinite(breakdown.join)) report.join = breakdown.join;
  for (const Resource resource : hardware::kAllResources) {
    const Seconds term = breakdown.of(resource);
    if (term > Seconds{}) report.terms_ms.emplace(name_of(resource), to_ms(term * launches));
  }
  const auto add = [&](Resource resource, Seconds at_rate) {
    const Seconds term = breakdown.of(resource);
    if (term > Seconds{}) report.efficiency.emplace(name_of(resource), at_rate / term);
  };
  const auto rate = machine.best_rate(work.compute, work.matrix);
  if (rate && work.flops > Flops{}) add(Resource::Compute, work.flops / *rate);
  for (const auto& [resource, level] : kLevels) {
    const auto bandwidth = machine.bandwidth(level);
    const Bytes bytes = bytes_at(resource, estimate.traffic);
    if (bandwidth && bytes > Bytes{}) add(resource, bytes / bandwidth->value);
  }
  return report;
}

void add_rates(const ops::KernelWork& work, const hardware::Machine& machine,
               std::map<std::string, double>& rates) {
  const auto rate = machine.best_rate(work.compute, work.matrix);
  if (rate) rates.emplace(rate_name(work, machine), rate->base());
  for (const auto& [resource, level] : kLevels) {
    const auto bandwidth = machine.bandwidth(level);
    if (bandwidth) rates.emplace(name_of(resource), bandwidth->value.base());
  }
}

void write_breakdown(const BreakdownReport& breakdown, nlohmann::ordered_json& json) {
  json["terms_ms"] = breakdown.terms_ms;
  json["efficiency"] = breakdown.efficiency;
  if (breakdown.join) json["join"] = *breakdown.join;
  json["residual"] = breakdown.residual;
}

std::string join_text(const BreakdownReport& breakdown) {
  std::string how = breakdown.join ? fmt::format("joined with exponent {:.3g}", *breakdown.join)
                                   : std::string("the longest counts");
  if (breakdown.residual != 1) how += fmt::format(", x {:.3g}", breakdown.residual);
  if (breakdown.terms_ms.contains("launch")) how += ", + launch";
  return how;
}

nlohmann::ordered_json term_rows(const OperatorReport& op,
                                 const std::map<std::string, double>& rates) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const Resource resource : hardware::kAllResources) {
    const auto term = op.breakdown.terms_ms.find(std::string(name_of(resource)));
    if (term == op.breakdown.terms_ms.end()) continue;
    rows.push_back({{"resource", term->first},
                    {"ms", term->second},
                    {"arithmetic", term_text(term->first, op, rates)}});
  }
  return rows;
}

}  // namespace rooftile::report
