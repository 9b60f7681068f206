// SPDX-License-Identifier: Apache-2.0
#include "profile/number_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>

#include "core/text.h"

namespace rooftile::profile {

namespace {

constexpr std::array<std::string_view, 12> kMissing{
    "n/a", "N/A", "nan", "-nan", "NaN", "-", "no data", "(!) n/a", "None", "null", "NULL", "nil"};

constexpr std::array<std::string_view, 7> kSpaces{"\xC2\xA0",      // no-break space
                                                  "\xA0",          // the same in Latin-1
                                                  "\xE2\x80\xAF",  // narrow no-break space
                                                  "\xE2\x80\x89",  // thin space
                                                  "\xE2\x80\x99",  // right quotation mark
                                                  "'",
                                                  " "};

/// A finite number with '.' as decimal mark; leading '+' and exponents are fine.
std::optional<double> plain_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

/// The digits with every `thousands` dropped and `decimal` turned into a point.
std::optional<double> number_with(std::string_view text, char thousands, char decimal) {
  std::string clean;
  clean.reserve(text.size());
  for (const char c : text) {
    if (c == thousands) continue;
    clean.push_back(c == decimal ? '.' : c);
  }
  return plain_number(clean);
}

std::string without_spaces(std::string_view text) {
  std::string clean;
  while (!text.empty()) {
    bool skipped = false;
    for (const std::string_view space : kSpaces) {
      if (!text.starts_with(space)) continue;
      text.remove_prefix(space.size());
      skipped = true;
      break;
    }
    if (skipped) continue;
    clean.push_back(text.front());
    text.remove_prefix(1);
  }
  return clean;
}

bool is_missing(std::string_view text) {
  return text.empty() || std::find(kMissing.begin(), kMissing.end(), text) != kMissing.end();
}

std::size_t digits_after(std::string_view text, std::size_t mark) {
  std::size_t n = 0;
  while (mark + 1 + n < text.size() && text[mark + 1 + n] >= '0' && text[mark + 1 + n] <= '9') ++n;
  return n;
}

}  // namespace

void NumberFormat::learn(Mark mark) {
  if (mark_ == Mark::Unknown) mark_ = mark;
  if (mark_ != mark) contradictory_ = true;
}

/// A number with at least one ',' or '.'; the header explains the rules.
NumberFormat::Reading NumberFormat::with_marks(std::string_view text) {
  const std::size_t comma = text.rfind(','), point = text.rfind('.');
  const bool has_comma = comma != std::string_view::npos;
  const bool has_point = point != std::string_view::npos;
  bool ambiguous = false;
  if (has_comma && has_point) {
    learn(comma > point ? Mark::Comma : Mark::Point);
  } else {
    const char sign = has_comma ? ',' : '.';
    const std::size_t first = text.find(sign), last = has_comma ? comma : point;
    const std::size_t lead = first - (text.starts_with('-') || text.starts_with('+') ? 1 : 0);
    const bool plain_tail = digits_after(text, last) + last + 1 == text.size();
    if (first != last) {  // repeated: thousands
      learn(has_comma ? Mark::Point : Mark::Comma);
    } else if (digits_after(text, last) != 3 || lead > 3 || lead == 0 || !plain_tail ||
               text.substr(first - lead, lead) == "0") {
      learn(has_comma ? Mark::Comma : Mark::Point);
    } else {
      ambiguous = mark_ == Mark::Unknown;
    }
  }
  const bool comma_decimal = mark_ == Mark::Comma;
  const auto value = number_with(text, comma_decimal ? '.' : ',', comma_decimal ? ',' : '.');
  if (!value) return {.kind = Kind::Text, .value = 0.0, .other = std::nullopt};
  Reading reading{.kind = Kind::Number, .value = *value, .other = std::nullopt};
  if (ambiguous) {
    reading.other = number_with(text, '.', ',');
    if (has_point && !guess_) guess_ = Guess{.text = std::string(text), .value = *value};
  }
  return reading;
}

NumberFormat::Reading NumberFormat::read(std::string_view text) {
  text = trim(text);
  if (text.empty()) return {};
  bool simple = true;  // only digits: most values of most exports
  for (const char c : text) simple = simple && c >= '0' && c <= '9';
  if (simple || (mark_ == Mark::Point && text.find(',') == std::string_view::npos)) {
    if (const auto value = plain_number(text)) {
      return {.kind = Kind::Number, .value = *value, .other = std::nullopt};
    }
  }
  if (is_missing(text)) return {};
  if (const std::size_t list = text.find(" ("); list != std::string_view::npos && list > 0) {
    text = text.substr(0, list);  // "12 (3; 9)": the value, then its instances
  }
  if (text.starts_with("(!)")) text = trim(text.substr(3));
  const std::string clean = without_spaces(text);
  for (const char c : clean) {
    const bool numeric = (c >= '0' && c <= '9') || c == '.' || c == ',' || c == '-' || c == '+' ||
                         c == 'e' || c == 'E';
    if (!numeric) return {.kind = Kind::Text, .value = 0.0, .other = std::nullopt};
  }
  if (clean.find_first_of(",.") != std::string::npos &&
      clean.find_first_of("0123456789") != std::string::npos) {
    return with_marks(clean);
  }
  if (const auto value = plain_number(clean)) {
    return {.kind = Kind::Number, .value = *value, .other = std::nullopt};
  }
  return {.kind = Kind::Text, .value = 0.0, .other = std::nullopt};
}

namespace {

struct Base {
  std::string_view name;
  UnitKind kind;
};

constexpr std::array<Base, 30> kBases{{
    {"byte", UnitKind::Byte},         {"bytes", UnitKind::Byte},   {"Byte", UnitKind::Byte},
    {"Bytes", UnitKind::Byte},        {"B", UnitKind::Byte},       {"second", UnitKind::Second},
    {"seconds", UnitKind::Second},    {"sec", UnitKind::Second},   {"s", UnitKind::Second},
    {"hz", UnitKind::Hertz},          {"Hz", UnitKind::Hertz},     {"HZ", UnitKind::Hertz},
    {"cycle", UnitKind::Count},       {"cycles", UnitKind::Count}, {"inst", UnitKind::Count},
    {"instruction", UnitKind::Count}, {"sector", UnitKind::Count}, {"sectors", UnitKind::Count},
    {"warp", UnitKind::Count},        {"block", UnitKind::Count},  {"thread", UnitKind::Count},
    {"request", UnitKind::Count},     {"op", UnitKind::Count},     {"ops", UnitKind::Count},
    {"flop", UnitKind::Count},        {"count", UnitKind::Count},  {"sample", UnitKind::Count},
    {"register", UnitKind::Count},    {"SM", UnitKind::Count},     {"wavefront", UnitKind::Count},
}};

struct Prefix {
  std::string_view text;
  double factor;
};
constexpr std::array<Prefix, 14> kPrefixes{{{"", 1.0},
                                            {"n", 1e-9},
                                            {"u", 1e-6},
                                            {"\xC2\xB5", 1e-6},
                                            {"m", 1e-3},
                                            {"k", 1e3},
                                            {"K", 1e3},
                                            {"M", 1e6},
                                            {"G", 1e9},
                                            {"T", 1e12},
                                            {"Ki", 1024.0},
                                            {"Mi", 1048576.0},
                                            {"Gi", 1073741824.0},
                                            {"P", 1e15}}};

struct Part {
  UnitKind kind;
  double factor;
  bool cycle;
};

std::optional<Part> parse_part(std::string_view text) {
  for (const Prefix& prefix : kPrefixes) {
    if (!text.starts_with(prefix.text)) continue;
    const std::string_view rest = text.substr(prefix.text.size());
    for (const Base& base : kBases) {
      if (rest == base.name) {
        return Part{base.kind, prefix.factor, rest == "cycle" || rest == "cycles"};
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<CounterUnit> parse_unit(std::string_view text) {
  text = trim(text);
  if (text.empty()) return CounterUnit{};
  if (text == "%") return CounterUnit{.kind = UnitKind::Percent, .factor = 1.0};
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) {
    const auto part = parse_part(text);
    if (!part) return std::nullopt;
    return CounterUnit{.kind = part->kind, .factor = part->factor};
  }
  const std::string_view numerator = trim(text.substr(0, slash));
  const auto top =
      numerator.empty() ? std::optional(Part{UnitKind::Count, 1.0, false}) : parse_part(numerator);
  const auto bottom = parse_part(trim(text.substr(slash + 1)));
  if (!top || !bottom) return std::nullopt;
  const double factor = top->factor / bottom->factor;
  if (bottom->kind == UnitKind::Second) {
    if (top->cycle) return CounterUnit{.kind = UnitKind::Hertz, .factor = factor};
    if (top->kind == UnitKind::Byte) {
      return CounterUnit{.kind = UnitKind::BytePerSecond, .factor = factor};
    }
    return CounterUnit{.kind = UnitKind::CountPerSecond, .factor = factor};
  }
  if (bottom->cycle) return CounterUnit{.kind = UnitKind::PerCycle, .factor = factor};
  return CounterUnit{.kind = UnitKind::Other, .factor = factor};
}

}  // namespace rooftile::profile
