// SPDX-License-Identifier: Apache-2.0
#include "hardware/head_scan.h"

namespace rooftile::hardware {

namespace {

/// Walks over the tokens of a JSON text. It knows strings and nesting, nothing else.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::optional<GpuHead> head() {
    GpuHead out;
    int found = 0;
    if (!take('{')) return std::nullopt;
    while (found < 3) {
      const auto key = string();
      if (!key || !take(':')) break;
      if (*key == "id" || *key == "name") {
        const auto value = string();
        if (!value) return std::nullopt;
        (*key == "id" ? out.id : out.name) = *value;
        ++found;
      } else if (*key == "aliases") {
        if (!strings(out.aliases)) return std::nullopt;
        ++found;
      } else if (!skip_value()) {
        return std::nullopt;
      }
      if (!take(',')) break;
    }
    return out;
  }

 private:
  void skip_space() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t')) {
      ++at_;
    }
  }
  bool take(char wanted) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  std::optional<std::string_view> string() {
    if (!take('"')) return std::nullopt;
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    if (at_ >= text_.size()) return std::nullopt;
    return text_.substr(begin, at_++ - begin);
  }
  bool strings(std::vector<std::string>& out) {
    if (!take('[')) return false;
    while (true) {
      const auto value = string();
      if (!value) break;
      out.emplace_back(*value);
      if (!take(',')) break;
    }
    return take(']');
  }
  /// To the comma or bracket behind the value.
  bool skip_value() {
    int depth = 0;
    for (skip_space(); at_ < text_.size();) {
      const char c = text_[at_];
      if (c == '"') {
        if (!string()) return false;
        continue;
      }
      if (depth == 0 && (c == ',' || c == '}' || c == ']')) return true;
      if (c == '{' || c == '[') ++depth;
      if (c == '}' || c == ']') --depth;
      ++at_;
    }
    return false;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<GpuHead> scan_head(std::string_view text) {
  return Scanner(text).head();
}

}  // namespace rooftile::hardware
