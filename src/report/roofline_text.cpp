// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "core/number_of.h"
#include "core/operations.h"
#include "core/text.h"
#include "core/utf8.h"
#include "report/provenance_view.h"
#include "report/roofline_view.h"
#include "report/roofline_words.h"
#include "report/table.h"

namespace rooftile::report {

namespace {

using hardware::MemoryLevel;
using roofline::Chart;
using roofline::Point;

constexpr std::size_t kLongestLabel = 16;  ///< of a run, as the title of a column

std::string intensity_text(const std::optional<FlopsPerByte>& value) {
  if (!value) return "-";
  const double number = value->base();
  return fmt::format(fmt::runtime(number >= 999.5 && number < 1e6 ? "{:.0f}" : "{:.3g}"), number);
}
std::string time_text(const std::optional<Seconds>& time) {
  return time ? format_ms(to_ms(*time)) : "-";
}

/// " at the profile's 1306 MHz (--boost: 1530 MHz)"
std::string clock_words(const roofline::Roofs& roofs) {
  if (!roofs.clock || !roofs.boost) return "";
  return fmt::format(" at the profile's {:.0f} MHz (--boost: {:.0f} MHz)",
                     roofs.clock->base() * 1e-6, roofs.boost->base() * 1e-6);
}

std::string roofs_text(const Chart& chart, int width) {
  if (chart.roofs.memory.empty() && chart.roofs.compute.empty()) return "";
  std::string text = fmt::format("roofs ({}){}{}: ", chart.roofs.provenance(),
                                 chart.roofs.machine.empty() ? "" : " of " + chart.roofs.machine,
                                 clock_words(chart.roofs));
  bool first = true;
  for (const roofline::MemoryRoof& roof : chart.roofs.memory) {
    text += fmt::format("{}{} {}", first ? "" : ", ", roof.name, format_rate(roof.bandwidth));
    first = false;
  }
  for (const roofline::ComputeRoof& roof : chart.roofs.compute) {
    text += fmt::format("{}{} {}", first ? "" : ", ", name_of(roof.key),
                        format_rate(roof.rate, roof.key.dtype, 3));
    first = false;
  }
  return wrapped(text, width, 0, 2) + "\n";
}

std::string total_text(const Chart& chart) {
  const roofline::Total& total = chart.total;
  std::string text = fmt::format("{} kernels, {} launches", total.kernels, total.launches);
  if (total.timed) text += ", " + format_ms(to_ms(total.time));
  const std::string_view bound = at_least(total.flops_complete);
  if (total.flops) {
    text += fmt::format(", {}{}", bound, operations_text(*total.flops, operations_of(chart), 4));
  }
  if (const auto rate = total.rate()) {
    const double value = chart_gflops(chart, *rate);
    text += fmt::format(fmt::runtime(value >= 1e3 ? ", {}{:.0f} {}" : ", {}{:.4g} {}"), bound,
                        value, rate_unit(chart));
  }
  text += "\n";
  std::string levels;
  for (const MemoryLevel level : hardware::kMemoryLevels) {
    if (const auto intensity = total.intensity(level)) {
      levels += fmt::format("{}{} {}{:.4g}", levels.empty() ? "" : ", ", name_of(level), bound,
                            intensity->base());
    }
  }
  if (!levels.empty()) {
    text += fmt::format("intensity {}/byte: {}\n", operations_of(chart), levels);
  }
  return text + census_text(total) + "\n";
}

/// "72.8/74.8/181": one number per level, "-" where it was not measured.
std::string intensities(const Point& point) {
  if (point.record.zero_ai() && point.record.flops_complete) return "zero";
  std::string text, bound(at_least(point.record.flops_complete));
  for (const auto& intensity : point.intensity) {
    if (&intensity != point.intensity.data()) text += "/";
    if (intensity) text += std::exchange(bound, "");  // the first number says it for all
    text += intensity_text(intensity);
  }
  return text;
}

/// Kernels of several runs say of which one they are; launches and shares, which the tables of runs
/// and differences give too, make room for it.
std::vector<Column> with_phase(const Chart& chart, std::vector<Column> columns) {
  if (chart.phases.size() < 2) return columns;
  for (Column& column : columns) {
    column.optional = column.title == "launches" || column.title == "share";
  }
  columns.insert(columns.begin() + 1, {"phase", Align::Left, true});
  return columns;
}
std::vector<std::string> with_phase(const Chart& chart, const Point& point,
                                    std::vector<std::string> cells) {
  if (chart.phases.size() > 1) cells.insert(cells.begin() + 1, shorten(point.phase, kLongestLabel));
  return cells;
}

std::string at_least_text(const Chart& chart, const TextOptions& options) {
  const std::string note = at_least_note(chart);
  return note.empty() ? "" : wrapped(note, options.width, 0, 3);
}

/// "152.0%*" of a kernel above its roof; above_text() says why.
std::string of_roof(const Point& point, double fraction) {
  return fmt::format("{}{}{}", at_least(point.record.flops_complete), percent_text(fraction),
                     point.above_roof.empty() ? "" : "*");
}

std::string above_text(const Chart& chart, const TextOptions& options) {
  std::string text;
  for (const std::string& note : above_roof_notes(chart)) {
    text += wrapped("* " + note, options.width, 0, 2);
  }
  return text;
}

std::string kernels_text(const Chart& chart, const TextOptions& options) {
  Table table(with_phase(chart, {{"kernel", Align::Left, true},
                                 {"launches", Align::Right, false},
                                 {"time", Align::Right, false},
                                 {"share", Align::Right, false},
                                 {"AI L1/L2/DRAM", Align::Right, false},
                                 {rate_unit(chart), Align::Right, false},
                                 {"limiter", Align::Left, false},
                                 {"of roof", Align::Right, false}}));
  const auto shown = std::min<std::size_t>(chart.points.size(),
                                           static_cast<std::size_t>(std::max(options.top, 1)));
  for (std::size_t i = 0; i < shown; ++i) {
    const Point& point = chart.points[i];
    const std::string limiter =
        point.limiter == "compute" ? point.terms.compute_roof : point.limiter;
    const std::string_view bound = at_least(point.record.flops_complete);
    table.add(with_phase(
        chart, point,
        {point.short_name, std::to_string(point.record.launches), time_text(point.record.time),
         percent_text(point.time_fraction), intensities(point),
         point.rate ? fmt::format("{}{:.0f}", bound, chart_gflops(chart, *point.rate)) : "-",
         limiter.empty() ? "-" : limiter,
         point.fraction_of_roof ? of_roof(point, *point.fraction_of_roof) : "-"}));
  }
  std::string text = table.render(options.width, 0);
  if (const auto left_out = table.left_out(options.width, 0); !left_out.empty()) {
    text += dim(fmt::format("no room for: {}; a wider terminal or --format csv shows them\n",
                            fmt::join(left_out, ", ")),
                options.color);
  }
  if (shown < chart.points.size()) {
    double rest = 0.0;
    for (std::size_t i = shown; i < chart.points.size(); ++i) rest += chart.points[i].time_fraction;
    text += fmt::format("and {} more kernels ({} of the time); --top shows more\n",
                        chart.points.size() - shown, percent_text(rest));
  }
  return text + at_least_text(chart, options) + "\n";
}

/// Times and DRAM bytes of the kernels whose shapes are known, beside the measured ones.
std::string predictions_text(const Chart& chart, const TextOptions& options) {
  Table table({{"predicted", Align::Left, true},
               {"shape", Align::Left, false},
               {"measured", Align::Right, false},
               {"predicted", Align::Right, false},
               {"ratio", Align::Right, false},
               {"DRAM meas.", Align::Right, false},
               {"DRAM pred.", Align::Right, false}});
  int shown = 0;
  for (const Point& point : chart.points) {
    if (!point.predicted || shown >= std::max(options.top, 1)) continue;
    ++shown;
    const auto& time = point.predicted->measured;
    const bool counted = !point.record.from_shapes;
    const auto measured =
        counted ? point.record.bytes_at(MemoryLevel::Dram) : std::optional<Bytes>();
    table.add(
        {point.short_name, point.predicted->shape, time_text(time),
         time_text(point.predicted->time),
         time && time->base() > 0.0 ? fmt::format("{:.2f}", point.predicted->time / *time) : "-",
         measured ? format_bytes(*measured) : "-",
         format_bytes(point.predicted->bytes[static_cast<std::size_t>(MemoryLevel::Dram)])});
  }
  return shown == 0 ? "" : table.render(options.width, 0) + "\n";
}

std::string phases_text(const Chart& chart, const TextOptions& options) {
  if (chart.phases.size() < 2) return "";
  Table table({{"phase", Align::Left, true},
               {"kernels", Align::Right, false},
               {"launches", Align::Right, false},
               {"time", Align::Right, false},
               {"zero-AI", Align::Right, false},
               {"of time", Align::Right, false},
               {"tensor", Align::Right, false},
               {std::string(operations_of(chart)), Align::Right, false},
               {"AI DRAM", Align::Right, false}});
  for (const roofline::Phase& phase : chart.phases) {
    const roofline::Total& total = phase.total;
    const std::string_view bound = at_least(total.flops_complete || !total.flops);
    const double tensor = total.time.base() > 0.0 ? total.tensor_time / total.time : 0.0;
    table.add({phase.label, std::to_string(total.kernels), std::to_string(total.launches),
               format_ms(to_ms(total.time)),
               total.knows_zero_ai() ? fmt::format("{} ({})", total.zero_ai.launches,
                                                   percent_text(total.zero_ai.launch_fraction))
                                     : "-",
               total.knows_zero_ai() ? percent_text(total.zero_ai.time_fraction) : "-",
               total.flops ? percent_text(tensor) : "-",
               total.flops ? fmt::format("{}{}", bound,
                                         operations_text(*total.flops, operations_of(chart), 3))
                           : "-",
               fmt::format("{}{}", bound, intensity_text(total.intensity(MemoryLevel::Dram)))});
  }
  return table.render(options.width, 0) + "\n";
}

/// What the device did over time, for runs that say when launches began.
std::string timelines_text(const Chart& chart, const TextOptions& options) {
  std::string text;
  for (const roofline::Phase& phase : chart.phases) {
    if (!phase.timeline) continue;
    const profile::Timeline& line = *phase.timeline;
    const auto share = [&line](Seconds time) {
      return fmt::format("{} ({})", format_time(time),
                         percent_text(line.span.base() > 0.0 ? time / line.span : 0.0));
    };
    std::string one = chart.phases.size() > 1 ? phase.label + ": " : "";
    one += fmt::format("{} on the device, idle {}", format_time(line.span), share(line.idle));
    if (line.host_late)
      one += fmt::format(", of it waiting for the host {}", share(*line.host_late));
    if (line.late_stretches > 0) {
      one +=
          fmt::format("; launch-bound in {} of {}, {}", number_of(line.late_stretches, "stretch"),
                      number_of(line.late_launches, "launch"), share(line.late_span));
    }
    if (line.communication > Seconds{}) {
      one += fmt::format("; communication {}, {} of it not hidden", share(line.communication),
                         format_time(line.exposed_communication));
    }
    if (line.phases.size() > 1) {
      for (const profile::TimeShare& part : line.phases) {
        one += fmt::format("; {} {}", part.name, format_time(part.time));
      }
    }
    text += wrapped(visible(one), options.width, 0, 2);
  }
  return text.empty() ? text : text + "\n";
}

/// The kernels with the most to gain.
std::string advice_text(const Chart& chart, const TextOptions& options) {
  constexpr std::size_t kShown = 5;
  std::vector<const Point*> points;
  for (const Point& point : chart.points) {
    if (point.gain > Seconds{} && !point.advice.empty()) points.push_back(&point);
  }
  std::stable_sort(points.begin(), points.end(),
                   [](const Point* a, const Point* b) { return a->gain > b->gain; });
  if (points.size() > kShown) points.resize(kShown);
  std::string text = points.empty() ? "" : "most to gain\n";
  for (const Point* point : points) {
    text += wrapped(point->short_name + ": " + point->advice, options.width, 2, 4);
  }
  return text.empty() ? text : text + "\n";
}

std::string comparison_text(const roofline::Comparison& comparison, const TextOptions& options) {
  std::string text = visible(fmt::format("difference: {} minus {}; paired: {} and {} of the time",
                                         comparison.second, comparison.first,
                                         percent_text(comparison.paired_first),
                                         percent_text(comparison.paired_second))) +
                     "\n";
  Table table({{"kernel", Align::Left, true},
               {shorten(comparison.first, kLongestLabel), Align::Right, false},
               {shorten(comparison.second, kLongestLabel), Align::Right, false},
               {"difference", Align::Right, false},
               {"launches", Align::Right, false},
               {"change", Align::Left, false}});
  const auto add = [&table](const roofline::Difference& one, const std::string& name) {
    const auto launches = [](const auto& side) {
      return side ? std::to_string(side->launches) : std::string("-");
    };
    table.add({name, one.first ? time_text(one.first->time) : "-",
               one.second ? time_text(one.second->time) : "-",
               fmt::format("{:+.4g} ms", to_ms(one.delta)),
               launches(one.first) + " -> " + launches(one.second), one.change});
  };
  for (const auto& one : comparison.classes) add(one, "all " + one.name);
  const auto shown = std::min<std::size_t>(comparison.kernels.size(),
                                           static_cast<std::size_t>(std::max(options.top, 1)));
  for (std::size_t i = 0; i < shown; ++i) {
    add(comparison.kernels[i], comparison.kernels[i].short_name);
  }
  return text + table.render(options.width, 0) + "\n";
}

std::string notes_text(const Chart& chart, const TextOptions& options) {
  std::string text = "formulas\n";
  if (chart.formulas.empty()) text.clear();
  for (const profile::FormulaUse& use : chart.formulas) {
    text += wrapped(fmt::format("{} = {}", use.quantity, use.text), options.width, 2, 6);
  }
  for (const profile::Warning& warning : chart.warnings) {
    // A command to copy stands on a line of its own and is not broken.
    const std::size_t command = warning.message.find("collect it with: ");
    text += labelled("warning", warning.name + ": " + warning.message.substr(0, command),
                     options.width, options.color);
    if (command != std::string::npos) text += "  " + warning.message.substr(command) + "\n";
  }
  return text + "\n" + provenance_to_text(chart.provenance, options.color);
}

}  // namespace

std::string roofline_to_text(const Chart& chart, const TextOptions& options) {
  std::string text =
      bold(shorten(chart.title, static_cast<std::size_t>(options.width)), options.color) + "\n" +
      roofs_text(chart, options.width);
  if (chart.points.empty()) return text + notes_text(chart, options);
  text += total_text(chart) + "\n";
  const std::string plot = roofline_plot(chart, options.width);
  const std::string above = above_text(chart, options);
  if (!plot.empty() || !above.empty()) text += plot + above + "\n";
  if (chart.comparison) text += comparison_text(*chart.comparison, options);
  for (const roofline::Comparison& pair : chart.more_comparisons) {
    text += comparison_text(pair, options);
  }
  return text + kernels_text(chart, options) + predictions_text(chart, options) +
         phases_text(chart, options) + timelines_text(chart, options) +
         advice_text(chart, options) + notes_text(chart, options);
}

/// T >= max(FLOPs / peak, bytes / bandwidth, launches * overhead)  [arXiv 2009.04598]
std::string roofline_times_to_text(const Chart& chart, const TextOptions& options) {
  std::string text =
      bold(shorten(chart.title, static_cast<std::size_t>(options.width)), options.color) + "\n" +
      roofs_text(chart, options.width) + total_text(chart) + "\n";
  Table table(
      with_phase(chart, {{"kernel", Align::Left, true},
                         {"launches", Align::Right, false},
                         {fmt::format("{} time", operations_of(chart)), Align::Right, false},
                         {"L1 time", Align::Right, false},
                         {"L2 time", Align::Right, false},
                         {"DRAM time", Align::Right, false},
                         {"launch", Align::Right, false},
                         {"measured", Align::Right, false},
                         {"ideal/measured", Align::Right, false}}));
  const auto shown = std::min<std::size_t>(chart.points.size(),
                                           static_cast<std::size_t>(std::max(options.top, 1)));
  for (std::size_t i = 0; i < shown; ++i) {
    const Point& point = chart.points[i];
    const Seconds ideal = max(point.bound.value_or(Seconds{}), point.terms.launch);
    const auto& time = point.record.time;
    const std::string_view bound = at_least(point.record.flops_complete);
    table.add(with_phase(
        chart, point,
        {point.short_name, std::to_string(point.record.launches),
         point.terms.compute ? fmt::format("{}{}", bound, time_text(point.terms.compute)) : "-",
         time_text(point.terms.level[0]), time_text(point.terms.level[1]),
         time_text(point.terms.level[2]), time_text(point.terms.launch), time_text(time),
         time && time->base() > 0.0 ? of_roof(point, ideal / *time) : "-"}));
  }
  return text + table.render(options.width, 0) + above_text(chart, options) +
         at_least_text(chart, options) + "\n" + notes_text(chart, options);
}

}  // namespace rooftile::report
