// SPDX-License-Identifier: Apache-2.0
#include "report/document.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/text.h"
#include "report/lines.h"

namespace rooftile::report {

namespace {

using nlohmann::ordered_json;

constexpr std::array<std::string_view, 16> kUnitNames{
    "",       "count",       "amount",     "ms",       "signed_ms", "bytes",
    "flops",  "bytes_per_s", "flop_per_s", "fraction", "percent",   "signed_fraction",
    "factor", "number",      "decimals",   "phase"};

/// Up to four significant digits without an exponent: 1978.9 -> "1979", 0.206 -> "0.206".
std::string number_text(double value) {
  const double size = value < 0 ? -value : value;
  if (size >= 1e7 || (size > 0 && size < 1e-4)) return fmt::format("{:.3g}", value);
  return size >= 1000 ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
}

std::string quantity_text(double value, Unit unit) {
  switch (unit) {
    case Unit::Amount: return format_count(value);
    case Unit::Milliseconds: return format_ms(value);
    case Unit::SignedMilliseconds: return (value > 0 ? "+" : "") + format_ms(value);
    case Unit::Bytes: return format_bytes(Bytes::from_base(value));
    case Unit::Flops: return format_flops(Flops::from_base(value));
    case Unit::BytesPerSecond: return format_rate(BytesPerSecond::from_base(value));
    case Unit::FlopsPerSecond: return format_rate(FlopsPerSecond::from_base(value));
    case Unit::Fraction: return fmt::format("{:.1f} %", value * 100);
    case Unit::Percent: return fmt::format("{:.0f} %", value * 100);
    case Unit::SignedFraction: return fmt::format("{:+.1f} %", value * 100);
    case Unit::Factor: return fmt::format("{:.2f}x", value);
    case Unit::Decimals: return fmt::format("{:.2f}", value);
    case Unit::None:
    case Unit::Count:
    case Unit::Number:
    case Unit::Phase: break;
  }
  return number_text(value);
}

/// The text without its numbers: "needs # GB of memory".
std::string kind_of(const Warning& warning) {
  if (!warning.kind.empty()) return warning.kind;
  constexpr std::string_view kDigits = "0123456789.";
  std::string kind;
  bool number = false;
  for (const char c : warning.text) {
    const bool digit = kDigits.find(c) != std::string_view::npos;
    if (digit && number) continue;
    number = digit;
    kind += digit ? '#' : c;
  }
  return kind;
}

/// "l4, t4 and 3 more"
std::string subjects_text(const std::vector<std::string>& subjects) {
  constexpr std::size_t kMost = 3;
  if (subjects.size() <= kMost) return fmt::format("{}", fmt::join(subjects, ", "));
  return fmt::format("{} and {} more", fmt::join(subjects.begin(), subjects.begin() + 2, ", "),
                     subjects.size() - 2);
}

}  // namespace

Data::Data() : json_(std::make_unique<ordered_json>()) {
}
Data::Data(ordered_json json) : json_(std::make_unique<ordered_json>(std::move(json))) {
}
Data::Data(const Data& other) : json_(std::make_unique<ordered_json>(*other.json_)) {
}
Data::Data(Data&& other) noexcept : json_(std::exchange(other.json_, nullptr)) {
}
Data& Data::operator=(Data other) noexcept {
  std::swap(json_, other.json_);
  return *this;
}
Data::~Data() = default;
bool Data::operator==(const Data& other) const {
  return *json_ == *other.json_;
}

std::string_view name_of(Unit unit) {
  return kUnitNames[static_cast<std::size_t>(unit)];
}

const ordered_json& value_at(const ordered_json& row, std::string_view at) {
  static const ordered_json kNothing;
  const ordered_json* value = &row;
  while (!at.empty()) {
    const std::size_t end = std::min(at.find('/'), at.size());
    const std::string_view key = at.substr(0, end);
    at.remove_prefix(std::min(end + 1, at.size()));
    if (value->is_array()) {
      const auto index = parse_int(key);
      if (!index || *index < 0 || static_cast<std::size_t>(*index) >= value->size())
        return kNothing;
      value = &(*value)[static_cast<std::size_t>(*index)];
      continue;
    }
    if (!value->is_object()) return kNothing;
    const auto member = value->find(std::string(key));
    if (member == value->end()) return kNothing;
    value = &*member;
  }
  return *value;
}

ordered_json value_of(const ordered_json& row, const Field& field) {
  const ordered_json& value = value_at(row, field.at);
  if (field.per == 1 || !value.is_number()) return value;
  return value.get<double>() / field.per;
}

std::vector<const ordered_json*> rows_of(const Document& document, const Rows& rows) {
  std::vector<const ordered_json*> list;
  const auto in_tree = [&](const std::string& at) -> const ordered_json& {
    return value_at(document.data.json(), std::string_view(at).substr(1));
  };
  if (!rows.first.empty()) list.push_back(&in_tree(rows.first));
  for (const ordered_json& row : rows.at.empty() ? rows.own.json() : in_tree(rows.at))
    list.push_back(&row);
  return list;
}

std::string shown(const ordered_json& value, Unit unit) {
  if (value.is_null()) return "-";
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    if (unit == Unit::Phase) return std::string(short_phase(text));
    return text;
  }
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_number_integer() && (unit == Unit::Count || unit == Unit::None))
    return fmt::format("{}", value.get<std::int64_t>());
  if (value.is_number()) return quantity_text(value.get<double>(), unit);
  if (value.is_array()) {
    std::vector<std::string> parts;
    for (const ordered_json& one : value) parts.push_back(shown(one, unit));
    return fmt::format("{}", fmt::join(parts, ", "));
  }
  std::vector<std::string> parts;  // an object: "sms x2, dram_bw x4"
  for (const auto& [key, one] : value.items()) {
    std::string text = shown(one, unit);
    if (text != "0 %") parts.push_back(fmt::format("{} {}", key, text));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::vector<std::string> folded(const std::vector<Warning>& warnings) {
  struct Kind {
    std::string key;
    const Warning* first;
    std::vector<std::string> subjects;
    std::size_t count = 0;
    bool same = true;  // word for word
  };
  std::vector<Kind> kinds;
  for (const Warning& warning : warnings) {
    std::string key = kind_of(warning);
    auto it =
        std::find_if(kinds.begin(), kinds.end(), [&](const Kind& kind) { return kind.key == key; });
    if (it == kinds.end())
      it = kinds.insert(kinds.end(), {.key = std::move(key), .first = &warning, .subjects = {}});
    ++it->count;
    it->same = it->same && it->first->text == warning.text;
    if (!warning.subject.empty() &&
        std::find(it->subjects.begin(), it->subjects.end(), warning.subject) == it->subjects.end())
      it->subjects.push_back(warning.subject);
  }
  std::vector<std::string> lines;
  for (const Kind& kind : kinds) {
    std::string line = kind.subjects.empty() ? "" : subjects_text(kind.subjects) + ": ";
    line += kind.first->text;
    if (!kind.same && !kind.subjects.empty())
      line += fmt::format(" (figures for {}, similar for the others)", kind.subjects.front());
    if (kind.subjects.empty() && kind.count > 1)
      line += fmt::format(" (and {} more like it)", kind.count - 1);
    lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<Warning> warnings_of(const std::vector<std::string>& texts) {
  std::vector<Warning> warnings;
  warnings.reserve(texts.size());
  for (const std::string& text : texts) warnings.push_back({.text = text});
  return warnings;
}

}  // namespace rooftile::report
