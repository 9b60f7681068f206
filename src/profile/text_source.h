// SPDX-License-Identifier: Apache-2.0
//
// Text of any size in bounded memory, line by line. Gzip is unpacked on the fly, UTF-16 (what
// PowerShell's ">" writes) becomes UTF-8, a byte-order mark is dropped and CRLF is one line end.
// Profiler logs mix the program's own output with the tool's tables, so importers recover records
// line by line instead of trusting the whole file to be one CSV.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"
#include "rooftile/progress.h"

namespace rooftile::profile {

class TextSource {
 public:
  /// `path` may be "-" for standard input.
  static Result<TextSource> open(const std::string& path);
  /// Reads from memory; `name` is what errors call it. Compressed bytes are accepted here too.
  static Result<TextSource> from_text(std::string text, std::string name);
  TextSource(TextSource&&) noexcept;
  TextSource& operator=(TextSource&&) noexcept;
  TextSource(const TextSource&) = delete;
  TextSource& operator=(const TextSource&) = delete;
  ~TextSource();

  /// Up to `bytes` of what comes next, without consuming it (sniffing).
  Result<std::string_view> peek(std::size_t bytes);
  /// The next line without its end; false at the end of the text. Valid until the next call.
  Result<bool> next_line(std::string_view& line);
  /// Raw decoded bytes, for formats that are not made of lines; 0 at the end.
  Result<std::size_t> read(char* data, std::size_t size);

  /// Called while the text is read; for readers that go another way, report() calls it.
  void set_progress(Progress progress);
  /// Tells the caller where the import is; an error when it asks to stop.
  Status report(double fraction);
  /// The path of a regular file that is not compressed, for readers that open it themselves.
  [[nodiscard]] std::optional<std::string> plain_file() const;

  [[nodiscard]] const std::string& name() const;
  /// Number of the line that next_line() returned last, from 1.
  [[nodiscard]] std::int64_t line() const;
  /// "file:line" of that line.
  [[nodiscard]] std::string where() const;
  /// Bytes of decoded text handed out so far.
  [[nodiscard]] std::int64_t bytes_read() const;

 private:
  struct State;
  explicit TextSource(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace rooftile::profile
