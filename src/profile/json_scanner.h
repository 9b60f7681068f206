// SPDX-License-Identifier: Apache-2.0
//
// A streaming reader of JSON for traces of any size: events instead of a tree, in one pass and
// bounded memory (one string at a time). It is several times faster than a general parser and
// accepts what profilers really write: NaN and Infinity, raw control characters, bytes that are no
// UTF-8, and a top-level array that is never closed (Chrome's array format). Structure is checked:
// brackets match, depth and string length are limited.
//
// The handler has open(is_array), close(), key(text), string(text), number(value), other(); open()
// and close() come in pairs, key() precedes every member of an object.
#pragma once

#include <charconv>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "profile/text_source.h"

namespace rooftile::profile {

class JsonScanner {
 public:
  explicit JsonScanner(TextSource& source) : source_(source) {}

  /// Reads the whole text; errors name the byte.
  template <typename Handler>
  Status run(Handler& handler);

 private:
  enum class Expect : std::uint8_t { Value, FirstElement, FirstKey, Key, After };

  /// The next character that is not white space, without consuming it; 0 at the end.
  Result<char> peek();
  Status fill();
  Status read_string();
  Status read_escape();
  Status read_code_point();
  Result<std::uint32_t> read_hex();
  /// Consumes the next character if it is the wanted one.
  Result<bool> take(char wanted);
  Status read_number(double& value);
  Status skip_word();
  Status expect_colon();
  template <typename Handler>
  Status value(char c, Handler& handler, Expect& expect);
  [[nodiscard]] tl::unexpected<Error> damaged() const;

  TextSource& source_;
  std::vector<char> buffer_ = std::vector<char>(std::size_t{256} << 10);
  std::size_t position_ = 0, size_ = 0;
  std::int64_t before_ = 0;  ///< bytes consumed before the buffer
  bool finished_ = false;
  std::string text_;         ///< the string read last
  std::vector<char> stack_;  ///< '{' and '['
};

inline constexpr std::size_t kMaxJsonDepth = 256;

template <typename Handler>
Status JsonScanner::value(char c, Handler& handler, Expect& expect) {
  expect = Expect::After;
  if (c == '{' || c == '[') {
    if (stack_.size() >= kMaxJsonDepth) return damaged();
    ++position_;
    stack_.push_back(c);
    handler.open(c == '[');
    expect = c == '[' ? Expect::FirstElement : Expect::FirstKey;
    return {};
  }
  if (c == '"') {
    ROOFTILE_CHECK(read_string());
    handler.string(text_);
    return {};
  }
  if (c == '-' || (c >= '0' && c <= '9')) {
    double number = 0.0;
    ROOFTILE_CHECK(read_number(number));
    handler.number(number);
    return {};
  }
  ROOFTILE_CHECK(skip_word());
  handler.other();
  return {};
}

template <typename Handler>
Status JsonScanner::run(Handler& handler) {
  Expect expect = Expect::Value;
  while (true) {
    ROOFTILE_TRY(const char c, peek());
    if (c == 0) {
      const bool open_list = stack_.size() == 1 && stack_[0] == '[' && expect != Expect::FirstKey;
      if ((stack_.empty() && expect == Expect::After) || open_list) return {};
      return damaged();
    }
    const bool may_close =
        expect == Expect::After || expect == Expect::FirstElement || expect == Expect::FirstKey;
    if ((c == '}' || c == ']') && may_close) {
      if (stack_.empty() || stack_.back() != (c == '}' ? '{' : '[')) return damaged();
      ++position_;
      handler.close();
      stack_.pop_back();
      expect = Expect::After;
    } else if (expect == Expect::After) {
      if (c != ',' || stack_.empty()) return damaged();
      ++position_;
      expect = stack_.back() == '{' ? Expect::Key : Expect::Value;
    } else if (expect == Expect::Key || expect == Expect::FirstKey) {
      if (c != '"') return damaged();
      ROOFTILE_CHECK(read_string());
      handler.key(text_);
      ROOFTILE_CHECK(expect_colon());
      expect = Expect::Value;
    } else {
      ROOFTILE_CHECK(value(c, handler, expect));
    }
  }
}

}  // namespace rooftile::profile
