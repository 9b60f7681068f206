// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "report/interval.h"
#include "report/operator_rows.h"
#include "report/table.h"
#include "report/views.h"

namespace rooftile::report {

std::string operator_csv(const OperatorReport& op) {
  return fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n",
                     csv_field(op.name), csv_field(op.op), op.phase, op.count, csv_field(op.shape),
                     op.dtype, op.latency_ms, op.low_ms, op.high_ms, op.bound_ms, op.limiter,
                     op.flops, op.traffic.l1, op.traffic.l2, op.traffic.dram, op.tile, op.waves,
                     op.wave_factor, op.provenance, op.extrapolated, op.algorithm);
}

std::string to_csv(const Report& report) {
  std::string text(kOperatorCsvHeader);
  for (const OperatorReport& op : report.operators) text += operator_csv(op);
  const auto columns = std::count(kOperatorCsvHeader.begin(), kOperatorCsvHeader.end(), ',');
  for (const PartReport* part : waiting_parts(report)) {  // name, step, ..., latency_ms, ...
    std::string row = fmt::format("{},step,,,,,{}", part->name, part->latency_ms);
    row.append(static_cast<std::size_t>(columns - std::count(row.begin(), row.end(), ',')), ',');
    text += row + "\n";
  }
  return text;
}

std::string compare_to_csv(std::span<const Report> reports) {
  std::string text =
      "gpu,total_ms,low_ms,high_ms,bound_ms,forward_ms,backward_ms,optimizer_ms,memory_bytes,"
      "capacity_bytes,fits,communication_ms,exposed_communication_ms\n";
  for (const Report& report : reports) {
    const LatencyReport& latency = report.latency;
    const MemoryReport& memory = report.memory;
    text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{}\n", csv_field(report.gpu_name),
                        latency.total_ms, latency.low_ms, latency.high_ms, report.bound_total_ms,
                        latency.forward_ms, latency.backward_ms, latency.optimizer_ms,
                        memory.total_bytes,
                        memory.capacity_bytes ? fmt::to_string(*memory.capacity_bytes) : "",
                        memory.fits ? fmt::to_string(*memory.fits) : "", latency.communication_ms,
                        latency.exposed_communication_ms);
  }
  return text;
}

}  // namespace rooftile::report
