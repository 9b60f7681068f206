// SPDX-License-Identifier: Apache-2.0
#include "core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "core/utf8.h"

namespace rooftile {

namespace {

constexpr bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\v' || c == '\f';
}

struct Unit {
  std::string_view symbol;
  double factor;
};

// The units each dimension may be written in. "G" is 1e9 everywhere, "Gi" is 2^30.
template <typename Q>
constexpr auto units_of();
template <>
constexpr auto units_of<Bytes>() {
  return std::array<Unit, 10>{{{"B", 1},
                               {"kB", 1e3},
                               {"KB", 1e3},
                               {"MB", 1e6},
                               {"GB", 1e9},
                               {"TB", 1e12},
                               {"KiB", 1024.0},
                               {"MiB", 1048576.0},
                               {"GiB", 1073741824.0},
                               {"TiB", 1099511627776.0}}};
}
template <>
constexpr auto units_of<BytesPerSecond>() {
  return std::array<Unit, 7>{{{"B/s", 1},
                              {"kB/s", 1e3},
                              {"MB/s", 1e6},
                              {"GB/s", 1e9},
                              {"TB/s", 1e12},
                              {"MiB/s", 1048576.0},
                              {"GiB/s", 1073741824.0}}};
}
template <>
constexpr auto units_of<FlopsPerSecond>() {
  return std::array<Unit, 7>{{{"FLOP/s", 1},
                              {"MFLOP/s", 1e6},
                              {"GFLOP/s", 1e9},
                              {"TFLOP/s", 1e12},
                              {"PFLOP/s", 1e15},
                              {"GOP/s", 1e9},
                              {"TOP/s", 1e12}}};
}
template <>
constexpr auto units_of<Hertz>() {
  return std::array<Unit, 4>{{{"Hz", 1}, {"kHz", 1e3}, {"MHz", 1e6}, {"GHz", 1e9}}};
}
template <>
constexpr auto units_of<Seconds>() {
  return std::array<Unit, 4>{{{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}}};
}
template <>
constexpr auto units_of<Cycles>() {
  return std::array<Unit, 2>{{{"cycles", 1}, {"clk", 1}}};
}
template <>
constexpr auto units_of<BytesPerCycle>() {
  return std::array<Unit, 2>{{{"B/clk", 1}, {"B/cycle", 1}}};
}
template <>
constexpr auto units_of<FlopsPerCycle>() {
  return std::array<Unit, 2>{{{"FLOP/clk", 1}, {"FLOP/cycle", 1}}};
}

struct Scale {
  double factor;
  std::string_view prefix;
};

std::string format_scaled(double value, std::string_view unit, int digits) {
  static constexpr std::array<Scale, 10> kScales{{{1e18, "E"},
                                                  {1e15, "P"},
                                                  {1e12, "T"},
                                                  {1e9, "G"},
                                                  {1e6, "M"},
                                                  {1e3, "k"},
                                                  {1, ""},
                                                  {1e-3, "m"},
                                                  {1e-6, "u"},
                                                  {1e-9, "n"}}};
  if (value == 0.0 || !std::isfinite(value)) return fmt::format("{} {}", value, unit);
  // Round first, so that 999.96 becomes "1.00 k" and not "1000".
  const double magnitude = std::pow(10.0, digits - 1 - std::floor(std::log10(std::abs(value))));
  const double rounded = std::round(value * magnitude) / magnitude;
  const Scale* scale = &kScales.back();
  for (const Scale& candidate : kScales) {
    if (std::abs(rounded) >= candidate.factor * 0.9999999) {
      scale = &candidate;
      break;
    }
  }
  const double shown = rounded / scale->factor;
  const int integer_digits =
      shown == 0 ? 1 : static_cast<int>(std::floor(std::log10(std::abs(shown) * 1.0000001))) + 1;
  const int decimals = std::max(0, digits - std::max(1, integer_digits));
  return fmt::format("{:.{}f} {}{}", shown, decimals, scale->prefix, unit);
}

}  // namespace

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::string to_lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::optional<double> parse_double(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const bool starts_as_number =
      !text.empty() && (text[0] == '-' || text[0] == '.' || (text[0] >= '0' && text[0] <= '9'));
  if (!starts_as_number) return std::nullopt;  // from_chars would take "inf" and "nan"
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (!std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<std::int64_t> parse_int(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string printable(std::string_view text) {
  constexpr std::size_t kMost = 60;
  const std::size_t end = utf8_offset(text, kMost);
  return visible(text.substr(0, end)) + (end < text.size() ? "..." : "");
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t substitute = diagonal + (a[i] == b[j] ? 0U : 1U);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substitute, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

std::optional<std::string_view> nearest(std::string_view text,
                                        std::span<const std::string_view> candidates) {
  if (text.empty() || text.size() > 200) return std::nullopt;
  const std::string key = to_lower(text);
  const std::size_t allowed = std::max<std::size_t>(1, key.size() / 3);
  std::optional<std::string_view> best;
  std::size_t best_distance = allowed + 1;
  for (const std::string_view candidate : candidates) {
    const std::size_t longer = std::max(candidate.size(), key.size());
    const std::size_t shorter = std::min(candidate.size(), key.size());
    if (longer - shorter >= best_distance) continue;
    const std::size_t distance = edit_distance(key, to_lower(candidate));
    // Words without a common letter are not alike: "m" does not mean "b".
    if (distance < best_distance && distance < longer) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view text, std::span<const std::string_view> candidates,
                         std::string_view fallback) {
  if (const auto near = nearest(text, candidates))
    return fmt::format("did you mean \"{}\"?", printable(*near));
  constexpr std::size_t kMost = 100;
  std::vector<std::string> shown;
  for (const std::string_view candidate : candidates.first(std::min(kMost, candidates.size())))
    shown.push_back(printable(candidate));
  if (candidates.size() > kMost) shown.emplace_back("...");
  return fmt::format("{} {}", fallback, fmt::join(shown, ", "));
}

template <typename Q>
Result<Q> parse_quantity(std::string_view text) {
  static constexpr auto kUnits = units_of<Q>();
  const std::string_view body = trim(text);
  // The number ends where the unit's first letter begins; "1e3 B" keeps its exponent.
  std::size_t end = 0;
  while (end < body.size() &&
         (std::string_view("+-.0123456789").find(body[end]) != std::string_view::npos ||
          ((body[end] == 'e' || body[end] == 'E') && end + 1 < body.size() &&
           std::string_view("+-0123456789").find(body[end + 1]) != std::string_view::npos))) {
    ++end;
  }
  const auto value = parse_double(body.substr(0, end));
  const std::string_view symbol = trim(body.substr(end));
  const std::string example =
      fmt::format("write for example \"{} {}\"", value.value_or(1),
                  kUnits[std::min<std::size_t>(3, kUnits.size() - 1)].symbol);
  if (!value)
    return bad_input({}, fmt::format("\"{}\" is not a number with a unit", printable(text)),
                     example);
  if (symbol.empty())
    return bad_input({}, fmt::format("\"{}\" has no unit", printable(text)), example);
  for (const Unit& unit : kUnits) {
    if (unit.symbol == symbol) {
      const double base = *value * unit.factor;
      if (!std::isfinite(base))
        return bad_input({}, fmt::format("\"{}\" is out of range", printable(text)));
      return Q::from_base(base);
    }
  }
  std::vector<std::string_view> known;
  known.reserve(kUnits.size());
  for (const Unit& unit : kUnits) known.push_back(unit.symbol);
  return bad_input(
      {}, fmt::format("\"{}\" has the unknown unit \"{}\"", printable(text), printable(symbol)),
      fmt::format("known units are {}", fmt::join(known, ", ")));
}

template Result<Bytes> parse_quantity<Bytes>(std::string_view);
template Result<BytesPerSecond> parse_quantity<BytesPerSecond>(std::string_view);
template Result<FlopsPerSecond> parse_quantity<FlopsPerSecond>(std::string_view);
template Result<Hertz> parse_quantity<Hertz>(std::string_view);
template Result<Seconds> parse_quantity<Seconds>(std::string_view);
template Result<Cycles> parse_quantity<Cycles>(std::string_view);
template Result<BytesPerCycle> parse_quantity<BytesPerCycle>(std::string_view);
template Result<FlopsPerCycle> parse_quantity<FlopsPerCycle>(std::string_view);

std::string format_bytes(Bytes bytes, int digits) {
  return format_scaled(bytes.base(), "B", digits);
}
std::string format_flops(Flops flops, int digits) {
  return format_scaled(flops.base(), "FLOP", digits);
}
std::string format_time(Seconds time, int digits) {
  return format_scaled(time.base(), "s", digits);
}
std::string format_rate(FlopsPerSecond rate, int digits) {
  return format_scaled(rate.base(), "FLOP/s", digits);
}
std::string format_rate(BytesPerSecond rate, int digits) {
  return format_scaled(rate.base(), "B/s", digits);
}
std::string format_count(double count, int digits) {
  std::string text = format_scaled(count, "", digits);
  if (text.ends_with(' ')) text.pop_back();
  return text;
}

}  // namespace rooftile
