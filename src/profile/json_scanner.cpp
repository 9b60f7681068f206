// SPDX-License-Identifier: Apache-2.0
#include "profile/json_scanner.h"

#include <fmt/format.h>

#include <array>

#include "core/utf8.h"

namespace rooftile::profile {

namespace {

constexpr std::size_t kMaxString = std::size_t{16} << 20;

bool number_character(char c) {
  return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

}  // namespace

tl::unexpected<Error> JsonScanner::damaged() const {
  return bad_input(source_.name(),
                   fmt::format("the JSON of this trace is damaged near byte {}",
                               before_ + static_cast<std::int64_t>(position_)),
                   "the trace was cut; record it again");
}

/// Replaces the consumed buffer; notes the end.
Status JsonScanner::fill() {
  before_ += static_cast<std::int64_t>(size_);
  position_ = 0;
  size_ = 0;  // in case the read fails
  ROOFTILE_TRY(size_, source_.read(buffer_.data(), buffer_.size()));
  finished_ = size_ == 0;
  return {};
}

Result<char> JsonScanner::peek() {
  while (true) {
    while (position_ < size_) {
      const char c = buffer_[position_];
      if (c != ' ' && c != '\n' && c != '\r' && c != '\t') return c == '\0' ? '\1' : c;
      ++position_;
    }
    if (finished_) return '\0';
    ROOFTILE_CHECK(fill());
  }
}

Status JsonScanner::expect_colon() {
  ROOFTILE_TRY(const char c, peek());
  if (c != ':') return damaged();
  ++position_;
  return {};
}

/// From the opening quote to the closing one, into text_.
Status JsonScanner::read_string() {
  text_.clear();
  ++position_;
  while (true) {
    if (position_ == size_) {
      ROOFTILE_CHECK(fill());
      if (finished_) return damaged();
    }
    const char* first = buffer_.data() + position_;
    const std::size_t rest = size_ - position_;
    const char* quote = static_cast<const char*>(std::memchr(first, '"', rest));
    const std::size_t until = quote == nullptr ? rest : static_cast<std::size_t>(quote - first);
    const char* escape = static_cast<const char*>(std::memchr(first, '\\', until));
    const std::size_t length = escape == nullptr ? until : static_cast<std::size_t>(escape - first);
    if (text_.size() + length > kMaxString) return damaged();
    text_.append(first, length);
    position_ += length;
    if (escape != nullptr) {
      ++position_;
      ROOFTILE_CHECK(read_escape());
    } else if (quote != nullptr) {
      ++position_;
      return {};
    }
  }
}

Status JsonScanner::read_escape() {
  if (position_ == size_) ROOFTILE_CHECK(fill());
  if (finished_) return damaged();
  const char c = buffer_[position_++];
  switch (c) {
    case 'n': text_.push_back('\n'); return {};
    case 't': text_.push_back('\t'); return {};
    case 'r': text_.push_back('\r'); return {};
    case 'b': text_.push_back('\b'); return {};
    case 'f': text_.push_back('\f'); return {};
    case 'u': return read_code_point();
    default: text_.push_back(c); return {};  // \" \\ \/, and what is not an escape at all
  }
}

/// The four digits after "\u", and the second escape that the first half of a pair needs.
Status JsonScanner::read_code_point() {
  ROOFTILE_TRY(std::uint32_t code, read_hex());
  while (is_high_surrogate(code) && text_.size() <= kMaxString) {
    ROOFTILE_TRY(const bool escape, take('\\'));
    if (!escape) break;
    ROOFTILE_TRY(const bool unicode, take('u'));
    if (!unicode) {
      append_utf8(code, text_);
      return read_escape();
    }
    ROOFTILE_TRY(const std::uint32_t next, read_hex());
    if (is_low_surrogate(next)) {
      code = join_surrogates(code, next);
    } else {
      append_utf8(code, text_);
      code = next;
    }
  }
  append_utf8(code, text_);
  return {};
}

Result<bool> JsonScanner::take(char wanted) {
  if (position_ == size_) ROOFTILE_CHECK(fill());
  if (finished_ || buffer_[position_] != wanted) return false;
  ++position_;
  return true;
}

Result<std::uint32_t> JsonScanner::read_hex() {
  std::uint32_t code = 0;
  for (int digit = 0; digit < 4; ++digit) {
    if (position_ == size_) ROOFTILE_CHECK(fill());
    if (finished_) return damaged();
    const char c = buffer_[position_++];
    const std::size_t value =
        std::string_view("0123456789abcdef")
            .find(c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c);
    if (value == std::string_view::npos) return damaged();
    code = code * 16 + static_cast<std::uint32_t>(value);
  }
  return code;
}

/// Digits that may lie across two buffers.
Status JsonScanner::read_number(double& value) {
  std::array<char, 64> digits{};
  std::size_t n = 0;
  while (true) {
    if (position_ == size_) ROOFTILE_CHECK(fill());
    if (finished_ || !number_character(buffer_[position_])) break;
    if (n == digits.size()) return damaged();
    digits[n++] = buffer_[position_++];
  }
  if (n == 1 && digits[0] == '-') return skip_word();  // -Infinity
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + n, value);
  if (error == std::errc::result_out_of_range) {
    value = 0.0;
    return {};
  }
  if (error != std::errc{} || end != digits.data() + n) return damaged();
  return {};
}

/// true, false, null, NaN, Infinity.
Status JsonScanner::skip_word() {
  std::string word;
  while (true) {
    if (position_ == size_) ROOFTILE_CHECK(fill());
    if (finished_) break;
    const char c = buffer_[position_];
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))) break;
    if (word.size() > 8) return damaged();
    word.push_back(c);
    ++position_;
  }
  for (const std::string_view known : {"true", "false", "null", "NaN", "Infinity", "inf", "nan"}) {
    if (word == known) return {};
  }
  return damaged();
}

}  // namespace rooftile::profile
