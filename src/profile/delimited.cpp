// SPDX-License-Identifier: Apache-2.0
#include "profile/delimited.h"

#include <algorithm>
#include <cstring>

#include "core/text.h"

namespace rooftile::profile {

namespace {

std::string unescape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    out.push_back(text[i]);
    if (text[i] == '"' && i + 1 < text.size() && text[i + 1] == '"') ++i;
  }
  return out;
}

const char* find_char(const char* p, const char* end, char c) {
  const void* hit = std::memchr(p, c, static_cast<std::size_t>(end - p));
  return hit == nullptr ? end : static_cast<const char*>(hit);
}

}  // namespace

bool LineFields::split(std::string_view line, char delimiter) {
  fields_.clear();
  unescaped_.clear();
  const char* p = line.data();
  const char* const end = p + line.size();
  while (true) {
    if (p != end && *p == '"') {
      const char* first = ++p;
      bool escapes = false;
      while (true) {
        p = find_char(p, end, '"');
        if (p == end) {
          fields_.emplace_back(first, static_cast<std::size_t>(end - first));
          return false;
        }
        if (p + 1 == end || p[1] != '"') break;
        escapes = true;
        p += 2;
      }
      const std::string_view field(first, static_cast<std::size_t>(p - first));
      fields_.push_back(escapes ? unescaped_.emplace_back(unescape(field)) : field);
      ++p;
      if (p != end && *p != delimiter) p = find_char(p, end, delimiter);  // text after the quote
    } else {
      const char* first = p;
      p = find_char(p, end, delimiter);
      fields_.emplace_back(first, static_cast<std::size_t>(p - first));
    }
    if (p == end) return true;
    ++p;
  }
}

std::optional<std::size_t> LineFields::find(std::string_view text) const {
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    if (trim(fields_[i]) == text) return i;
  }
  return std::nullopt;
}

std::optional<char> header_delimiter(std::string_view line, std::string_view wanted) {
  if (line.find(wanted) == std::string_view::npos) return std::nullopt;
  LineFields fields;
  for (const char delimiter : {',', ';', '\t', '|'}) {
    if (fields.split(line, delimiter) && fields.size() > 1 && fields.find(wanted)) {
      return delimiter;
    }
  }
  return std::nullopt;
}

bool all_digits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::optional<std::array<std::int64_t, 3>> parse_dim3(
    const std::array<std::string_view, 3>& fields) {
  std::array<std::int64_t, 3> dims{};
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const auto value = parse_int(fields[i]);
    if (!value || *value < 0) return std::nullopt;
    dims[i] = *value;
  }
  return dims;
}

std::optional<std::array<std::int64_t, 3>> parse_dim3(std::string_view text) {
  text = trim(text);
  if (text.starts_with('(') && text.ends_with(')')) text = text.substr(1, text.size() - 2);
  std::array<std::int64_t, 3> dims{1, 1, 1};
  std::size_t i = 0;
  for (const std::string_view part : split(text, ',')) {
    const auto value = parse_int(trim(part));
    if (!value || *value < 0 || i == dims.size()) return std::nullopt;
    dims[i++] = *value;
  }
  if (i == 0) return std::nullopt;
  return dims;
}

}  // namespace rooftile::profile
