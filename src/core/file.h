// SPDX-License-Identifier: Apache-2.0
//
// Files: whole reads, streaming reads, and atomic writes (a reader sees the old file or the new
// one, never half of it). Every read has a limit, so that no input is endless, and a pipe that
// nobody writes to, or that drips, is an error, not a wait without end.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"

namespace rooftile {

/// Reads a whole file, at most `max_bytes` of it; larger files are an error. "-" is standard input.
Result<std::string> read_file(const std::string& path,
                              std::size_t max_bytes = std::size_t{256} << 20);

/// Writes to a temporary file next to `path`, syncs it and renames it over `path`. A link stays a
/// link, an existing file keeps its mode; devices and pipes are written to as they are.
Status write_file_atomic(const std::string& path, std::string_view content);

/// Most that is streamed out of one input. A file has an end, a pipe need not have one, and of a
/// device (a terminal, /dev/urandom) nobody wants much.
struct InputLimits {
  std::int64_t file = std::int64_t{64} << 30;
  std::int64_t pipe = std::int64_t{4} << 30;
  std::int64_t device = std::int64_t{64} << 20;
  /// Waiting for bytes of a pipe or a device, in all; each megabyte that came buys a second more.
  std::chrono::milliseconds patience = std::chrono::minutes(1);
};

/// An open file descriptor for streaming.
class InputFile {
 public:
  /// "-" is standard input.
  static Result<InputFile> open(const std::string& path, const InputLimits& limits = {});
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&& other) noexcept;
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile();

  /// Reads up to `size` bytes; 0 at the end, an error beyond the limit.
  Result<std::size_t> read(char* data, std::size_t size);
  /// Size in bytes when known (regular files), else 0.
  [[nodiscard]] std::int64_t size() const { return size_; }

 private:
  InputFile(std::string path, int descriptor);
  Status look(const InputLimits& limits);
  Status wait_for_writer();
  Status wait_for_bytes();

  std::string path_;
  int descriptor_ = -1;
  std::int64_t size_ = 0;
  std::int64_t limit_ = 0, got_ = 0;
  std::optional<char> first_;  ///< read while waiting for a writer
  bool may_wait_ = false;      ///< not a regular file
  std::chrono::steady_clock::duration patience_{}, waited_{};
};

}  // namespace rooftile
