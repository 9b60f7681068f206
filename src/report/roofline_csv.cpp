// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "report/roofline_view.h"
#include "report/table.h"

namespace rooftile::report {

namespace {

template <typename Q>
std::string cell(const std::optional<Q>& value, double scale) {
  return value ? fmt::format("{}", value->base() * scale) : std::string();
}

std::string kernel_row(const roofline::Chart& chart, const roofline::Point& point) {
  const profile::KernelRecord& record = point.record;
  std::string row =
      fmt::format("kernel,{},{},{},{},{},{},{}", csv_field(record.name),
                  csv_field(point.short_name), csv_field(point.phase), record.launches,
                  cell(record.time, 1e3), point.time_fraction, cell(record.flops, 1.0));
  for (const auto& bytes : record.bytes) row += "," + cell(bytes, 1.0);
  for (const auto& intensity : point.intensity) row += "," + cell(intensity, 1.0);
  row += "," + (point.rate ? fmt::format("{}", chart_gflops(chart, *point.rate)) : std::string());
  row += fmt::format(",,{},{},{},{}\n", point.limiter, point.terms.compute_roof,
                     cell(point.bound, 1e3),
                     point.fraction_of_roof ? fmt::format("{}", *point.fraction_of_roof) : "");
  return row;
}

}  // namespace

std::string roofline_to_csv(const roofline::Chart& chart) {
  std::string text =
      "kind,name,short_name,phase,launches,time_ms,time_fraction,flops,l1_bytes,l2_bytes,"
      "dram_bytes,l1_intensity,l2_intensity,dram_intensity,gflops,gbytes_per_s,limiter,"
      "compute_roof,bound_ms,fraction_of_roof\n";
  for (const roofline::MemoryRoof& roof : chart.roofs.memory) {
    text += fmt::format("memory_roof,{0},{0},,,,,,,,,,,,,{1},,,,\n", csv_field(roof.name),
                        roof.bandwidth.base() * 1e-9);
  }
  for (const roofline::ComputeRoof& roof : chart.roofs.compute) {
    text += fmt::format("compute_roof,{0},{0},,,,,,,,,,,,{1},,,,,\n", name_of(roof.key),
                        chart_gflops(chart, roof.rate));
  }
  for (const roofline::Point& point : chart.points) text += kernel_row(chart, point);
  return text;
}

}  // namespace rooftile::report
