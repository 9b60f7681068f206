// SPDX-License-Identifier: Apache-2.0
#include "profile/dimension.h"

#include <fmt/format.h>

#include <cmath>

#include "core/text.h"

namespace rooftile::profile {

namespace {

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// What a value is, and units of it.
struct Words {
  std::string_view noun, units;
};

Words words_of(Dimension dimension) {
  switch (dimension) {
    case Dimension::Time: return {"a time", "nsecond, usecond, msecond, second"};
    case Dimension::Bytes: return {"bytes", "byte, Kbyte, Mbyte, Gbyte"};
    case Dimension::ByteRate: return {"bytes per second", "byte/second, Gbyte/second"};
    case Dimension::Clock: return {"a clock", "hz, Mhz, Ghz, cycle/second"};
    case Dimension::PerCycle: return {"a rate per cycle", "byte/cycle, inst/cycle"};
    case Dimension::CountRate: return {"a count per second", "inst/second"};
    case Dimension::Count: return {"a count", "inst, sector, cycle, or none"};
    case Dimension::Share: return {"a share", "%"};
  }
  return {};
}

/// "a unit of ..."
std::string_view noun_of(UnitKind kind) {
  switch (kind) {
    case UnitKind::Count: return "counts";
    case UnitKind::Byte: return "bytes";
    case UnitKind::Second: return "time";
    case UnitKind::Hertz: return "clocks";
    case UnitKind::BytePerSecond: return "bytes per second";
    case UnitKind::PerCycle: return "rates per cycle";
    case UnitKind::CountPerSecond: return "counts per second";
    case UnitKind::Percent: return "shares";
    case UnitKind::Other: return "something else";
  }
  return "";
}

bool fits(Dimension dimension, UnitKind kind) {
  switch (dimension) {
    case Dimension::Time: return kind == UnitKind::Second;
    case Dimension::Bytes: return kind == UnitKind::Byte;
    case Dimension::ByteRate: return kind == UnitKind::BytePerSecond;
    case Dimension::Clock: return kind == UnitKind::Hertz;
    case Dimension::PerCycle: return kind == UnitKind::PerCycle || kind == UnitKind::Count;
    case Dimension::CountRate: return kind == UnitKind::CountPerSecond;
    case Dimension::Count: return kind == UnitKind::Count;
    case Dimension::Share: return kind == UnitKind::Percent;
  }
  return false;
}

}  // namespace

Dimension dimension_of(std::string_view counter) {
  if (has(counter, ".pct_of_peak_sustained")) return Dimension::Share;
  if (counter == "duration" || has(counter, "__time_")) return Dimension::Time;
  const bool bytes = has(counter, "bytes") || counter.ends_with("data volume");
  if (counter.ends_with("_throughput")) return Dimension::ByteRate;  // nvprof
  if (counter.ends_with(".per_second")) {
    if (has(counter, "__cycles_")) return Dimension::Clock;
    return bytes ? Dimension::ByteRate : Dimension::CountRate;
  }
  if (counter.ends_with(".peak_sustained") || counter.ends_with(".per_cycle_elapsed") ||
      counter.starts_with("derived__"))
    return Dimension::PerCycle;
  return bytes ? Dimension::Bytes : Dimension::Count;
}

bool needs_unit(std::string_view counter) {
  switch (dimension_of(counter)) {
    case Dimension::Time:
    case Dimension::Bytes:
    case Dimension::ByteRate:
    case Dimension::Clock:
    case Dimension::CountRate: return true;
    case Dimension::PerCycle: return has(counter, "bytes");
    case Dimension::Share:
    case Dimension::Count: return false;
  }
  return true;
}

Result<CounterUnit> read_unit(std::string_view text, const CounterCell& cell,
                              const TextSource& source) {
  if (text.empty()) return CounterUnit{};
  const auto unit = parse_unit(text);
  if (!unit && !needs_unit(cell.counter)) return CounterUnit{};
  if (!unit) {
    return unsupported(
        source.where(),
        fmt::format("the unit \"{}\" of {} is not known", printable(text), cell.shown),
        "export with --print-units base");
  }
  const Dimension dimension = dimension_of(cell.counter);
  if (fits(dimension, unit->kind)) return *unit;
  const auto [noun, units] = words_of(dimension);
  return bad_input(source.where(),
                   fmt::format("column \"{}\": {} is {}, but \"{}\" is a unit of {}", cell.column,
                               cell.shown, noun, printable(text), noun_of(unit->kind)),
                   fmt::format("expected {}; are columns or rows swapped?", units));
}

tl::unexpected<Error> negative_value(std::string_view text, const CounterCell& cell,
                                     const TextSource& source) {
  return bad_input(
      source.where(),
      fmt::format("column \"{}\": {} is {} and cannot be negative, but \"{}\" is", cell.column,
                  cell.shown, words_of(dimension_of(cell.counter)).noun, printable(text)),
      "the export is damaged, or columns are swapped");
}

Status check_average(const SummedTime& time, const TextSource& source) {
  constexpr double kRounded = 0.05;  // printed digits
  const double sum = time.calls * time.average;
  if (!(sum > 0.0) || time.total < 0.0 || std::abs(time.total / sum - 1.0) <= kRounded) return {};
  return bad_input(source.where(),
                   fmt::format("the total is {}, but {:g} calls of {} on average make {}",
                               format_time(Seconds::from_base(time.total)), time.calls,
                               format_time(Seconds::from_base(time.average)),
                               format_time(Seconds::from_base(sum))),
                   "one of the columns is in another unit than the file says");
}

}  // namespace rooftile::profile
