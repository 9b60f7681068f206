// SPDX-License-Identifier: Apache-2.0
#include "core/line_fields.h"

#include <cstring>

#include "core/text.h"

namespace rooftile {

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

}  // namespace rooftile
