// SPDX-License-Identifier: Apache-2.0
//
// Predicted kernels as points under the roofs of their machine: the same chart that measured
// kernels have, so that both are read alike. One point per operator; times are the predicted ones.
#include <fmt/format.h>

#include "hardware/machine.h"
#include "roofline/chart.h"
#include "rooftile/report.h"
#include "study/session.h"

namespace rooftile::study {

namespace {

using hardware::MemoryLevel;

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
  record.bytes[static_cast<std::size_t>(MemoryLevel::L1)] = Bytes::from_base(op.traffic.l1);
  record.bytes[static_cast<std::size_t>(MemoryLevel::L2)] = Bytes::from_base(op.traffic.l2);
  record.bytes[static_cast<std::size_t>(MemoryLevel::Dram)] = Bytes::from_base(op.traffic.dram);
  return record;
}

}  // namespace

Result<roofline::Chart> Session::chart(const Report& report) const {
  ROOFTILE_TRY(const auto loaded, this->machine(report.request.gpu, report.request.machine));
  profile::Run run;
  run.label = "predicted";
  for (const OperatorReport& op : report.operators) {
    if (!(op.latency_ms > 0.0)) continue;  // a view: nothing is launched
    ROOFTILE_TRY(profile::KernelRecord record, record_of(op));
    run.kernels.push_back(std::move(record));
  }
  roofline::Chart drawn = make_chart({{.run = std::move(run), .files = {}}},
                                     roofline::roofs_of(*loaded), roofline::ChartOptions{});
  for (roofline::Point& point : drawn.points) {  // "h/attn.c_attn (linear 4x8x16, backward)"
    const std::string& name = point.record.name;
    point.short_name = name.substr(0, name.find(" ("));
    if (!name.ends_with(", forward)")) {
      point.short_name += " " + name.substr(name.rfind(' ') + 1, name.size() - name.rfind(' ') - 2);
    }
  }
  drawn.title = report.model_name + " on " + report.gpu_name;
  drawn.provenance = report.provenance;
  return drawn;
}

}  // namespace rooftile::study
