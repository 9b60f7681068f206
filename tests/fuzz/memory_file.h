// SPDX-License-Identifier: Apache-2.0
//
// For readers that take a path: the input lives in an anonymous file, which is used again for every
// input.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

namespace rooftile::fuzz {

class MemoryFile {
 public:
  MemoryFile() : file_(memfd_create("rooftile_fuzz", 0)) {
    if (file_ < 0) std::abort();
    path_ = "/proc/self/fd/" + std::to_string(file_);
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { close(file_); }

  /// Replaces the content; the path of it.
  const std::string& holding(const std::uint8_t* data, std::size_t size) {
    const bool written = ftruncate(file_, 0) == 0 &&
                         pwrite(file_, data, size, 0) == static_cast<ssize_t>(size) &&
                         lseek(file_, 0, SEEK_SET) == 0;
    if (!written) std::abort();
    return path_;
  }

 private:
  int file_;
  std::string path_;
};

/// Every refusal says why.
template <typename T>
bool explained(const T& result) {
  if (!result && result.error().message.empty()) std::abort();
  return static_cast<bool>(result);
}

}  // namespace rooftile::fuzz
