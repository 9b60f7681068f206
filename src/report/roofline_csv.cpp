// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "report/roofline_view.h"
#include "report/table.h"

namespace rooftile::report {

namespace {

constexpr std::string_view kColumns =
    "kind,name,short_name,phase,launches,time_ms,time_fraction,flops,l1_bytes,l2_bytes,"
    "dram_bytes,l1_intensity,l2_intensity,dram_intensity,gflops,gbytes_per_s,limiter,"
    "compute_roof,bound_ms,fraction_of_roof,flops_complete,above_roof";
/// Only with a comparison.
constexpr std::string_view kDifferenceColumns =
    ",first_launches,second_launches,first_ms,second_ms,delta_ms";

std::string commas(std::string_view columns) {
  return std::string(static_cast<std::size_t>(std::count(columns.begin(), columns.end(), ',')),
                     ',');
}

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
  row += fmt::format(",,{},{},{},{},{},{}", point.limiter, point.terms.compute_roof,
                     cell(point.bound, 1e3),
                     point.fraction_of_roof ? fmt::format("{}", *point.fraction_of_roof) : "",
                     record.flops_complete, csv_field(point.above_roof));
  return row;
}

/// Two runs side by side: the columns of a kernel stay empty, those of the difference follow them.
std::string difference_row(std::string_view kind, const roofline::Difference& difference) {
  const auto launches = [](const std::optional<profile::KernelRecord>& side) {
    return side ? std::to_string(side->launches) : std::string();
  };
  const auto time = [](const std::optional<profile::KernelRecord>& side) {
    return side ? cell(side->time, 1e3) : std::string();
  };
  return fmt::format("{},{},{}{},{},{},{},{},{}\n", kind, csv_field(difference.name),
                     csv_field(difference.short_name), commas(kColumns).substr(2),
                     launches(difference.first), launches(difference.second),
                     time(difference.first), time(difference.second),
                     difference.delta.base() * 1e3);
}

}  // namespace

std::string roofline_to_csv(const roofline::Chart& chart) {
  const std::string end = (chart.comparison ? commas(kDifferenceColumns) : std::string()) + "\n";
  std::string text(kColumns);
  if (chart.comparison) text += kDifferenceColumns;
  text += "\n";
  for (const roofline::MemoryRoof& roof : chart.roofs.memory) {
    text += fmt::format("memory_roof,{0},{0},,,,,,,,,,,,,{1},,,,,,{2}", csv_field(roof.name),
                        roof.bandwidth.base() * 1e-9, end);
  }
  for (const roofline::ComputeRoof& roof : chart.roofs.compute) {
    text += fmt::format("compute_roof,{0},{0},,,,,,,,,,,,{1},,,,,,,{2}", name_of(roof.key),
                        chart_gflops(chart, roof.rate), end);
  }
  if (chart.comparison) {
    for (const auto& one : chart.comparison->classes) {
      text += difference_row("class_difference", one);
    }
    for (const auto& one : chart.comparison->kernels) {
      text += difference_row("kernel_difference", one);
    }
  }
  for (const roofline::Point& point : chart.points) text += kernel_row(chart, point) + end;
  return text;
}

}  // namespace rooftile::report
