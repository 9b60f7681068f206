// SPDX-License-Identifier: Apache-2.0
//
// Predicted kernels as points under the roofs of their machine: the same chart that measured
// kernels have, so that both are read alike. One point per operator; times are the predicted ones.
#include <fmt/format.h>

#include <map>
#include <string>

#include "hardware/machine.h"
#include "report/lines.h"
#include "roofline/chart.h"
#include "rooftile/report.h"
#include "study/session.h"

namespace rooftile::study {

namespace {

using hardware::MemoryLevel;

bool is_collective(const OperatorReport& op) {
  return op.limiter == "link";
}

Result<profile::KernelRecord> record_of(const OperatorReport& op) {
  profile::KernelRecord record;
  record.name = fmt::format("{} ({} {}, {})", op.name, op.op, op.shape, op.phase);
  record.launches = op.count;
  record.time = Seconds::from_base(op.latency_ms * 1e-3);
  record.flops = Flops::from_base(op.flops);
  record.algorithm = op.algorithm;
  if (!op.rate.empty()) {
    ROOFTILE_TRY(const hardware::RateKey key, hardware::parse_rate_key(op.rate));
    record.flops_by[key] = *record.flops;
  }
  if (is_collective(op)) return record;  // its bytes are those of links, which have no roof here
  record.bytes[static_cast<std::size_t>(MemoryLevel::L1)] = Bytes::from_base(op.traffic.l1);
  record.bytes[static_cast<std::size_t>(MemoryLevel::L2)] = Bytes::from_base(op.traffic.l2);
  record.bytes[static_cast<std::size_t>(MemoryLevel::Dram)] = Bytes::from_base(op.traffic.dram);
  return record;
}

/// "h/attn.c_attn backward", "gradients all_reduce backward".
std::string short_name(const OperatorReport& op) {
  std::string name = op.name;
  if (is_collective(op)) name += " " + op.op;
  return op.phase == "forward" || op.phase == name ? name : name + " " + op.phase;
}

}  // namespace

Result<roofline::Chart> Session::chart(const Report& report) const {
  ROOFTILE_TRY(const auto loaded, this->machine(report.request.gpu, report.request.machine));
  profile::Run run;
  run.label = "predicted";
  std::map<std::string, std::string> short_names;  // points are sorted by time
  for (const OperatorReport& op : report.operators) {
    if (!(op.latency_ms > 0.0)) continue;  // a view: nothing is launched
    ROOFTILE_TRY(profile::KernelRecord record, record_of(op));
    short_names.emplace(record.name, short_name(op));
    run.kernels.push_back(std::move(record));
  }
  roofline::Chart drawn = make_chart({{.run = std::move(run), .files = {}}},
                                     roofline::roofs_of(*loaded), roofline::ChartOptions{});
  for (roofline::Point& point : drawn.points) point.short_name = short_names.at(point.record.name);
  drawn.title = fmt::format("{}, {}, on {}: {}", report.model_name, report.request.phase,
                            report.gpu_name, report::format_ms(report.latency.total_ms));
  drawn.provenance = report.provenance;
  return drawn;
}

}  // namespace rooftile::study
