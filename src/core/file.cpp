// SPDX-License-Identifier: Apache-2.0
#include "core/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

namespace rooftile {

namespace {

std::string reason(int error) {
  return std::generic_category().message(error);
}

}  // namespace

InputFile::InputFile(std::string path, int descriptor, std::int64_t size)
    : path_(std::move(path)), descriptor_(descriptor), size_(size) {
}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_(other.size_) {
}

InputFile& InputFile::operator=(InputFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(size_, other.size_);
  return *this;
}

InputFile::~InputFile() {
  if (descriptor_ > STDERR_FILENO) ::close(descriptor_);
}

Result<InputFile> InputFile::open(const std::string& path) {
  if (path == "-") return InputFile("<stdin>", STDIN_FILENO, 0);
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return bad_input(path, fmt::format("cannot be opened: {}", reason(errno)));
  InputFile file(path, descriptor, 0);
  struct stat status{};
  if (::fstat(descriptor, &status) == 0) {
    if (S_ISDIR(status.st_mode)) return bad_input(path, "is a folder, not a file");
    if (S_ISREG(status.st_mode)) file.size_ = status.st_size;
  }
  return file;
}

Result<std::size_t> InputFile::read(char* data, std::size_t size) {
  while (true) {
    const ssize_t got = ::read(descriptor_, data, size);
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) return bad_input(path_, fmt::format("cannot be read: {}", reason(errno)));
  }
}

Result<std::string> read_file(const std::string& path, std::size_t max_bytes) {
  ROOFTILE_TRY(InputFile file, InputFile::open(path));
  std::string content;
  std::size_t used = 0;
  content.resize(std::min<std::size_t>(
                     max_bytes, file.size() > 0 ? static_cast<std::size_t>(file.size()) : 65536) +
                 1);
  while (true) {
    ROOFTILE_TRY(const std::size_t got, file.read(content.data() + used, content.size() - used));
    used += got;
    if (got == 0) break;
    if (used > max_bytes) return bad_input(path, fmt::format("is larger than {} bytes", max_bytes));
    if (used == content.size()) content.resize(std::min(content.size() * 2, max_bytes + 1));
  }
  content.resize(used);
  return content;
}

namespace {

tl::unexpected<Error> cannot_write(const std::string& path, int number) {
  return bad_input(
      path, fmt::format("cannot be written: {}", reason(number)),
      number == ENOENT || number == EACCES ? "check that the folder exists and is writable" : "");
}

/// Writes everything, syncs and closes; the number of the first error, or 0.
int write_and_close(int descriptor, std::string_view content) {
  int failure = 0;
  while (!content.empty() && failure == 0) {
    const ssize_t put = ::write(descriptor, content.data(), content.size());
    if (put >= 0) {
      content.remove_prefix(static_cast<std::size_t>(put));
    } else if (errno != EINTR) {
      failure = errno;
    }
  }
  // Pipes and devices cannot be synced.
  if (failure == 0 && ::fsync(descriptor) != 0 && errno != EINVAL && errno != EROFS) {
    failure = errno;
  }
  if (::close(descriptor) != 0 && failure == 0) failure = errno;
  return failure;
}

/// The name behind all symbolic links, so that renaming replaces the file and not a link to it.
std::string behind_links(const std::string& path) {
  std::error_code failure;
  const std::filesystem::path real = std::filesystem::canonical(path, failure);
  return failure ? path : real.string();
}

}  // namespace

Status write_file_atomic(const std::string& path, std::string_view content) {
  struct stat before{};
  const bool exists = ::stat(path.c_str(), &before) == 0;
  if (exists && !S_ISREG(before.st_mode)) {  // a device or a pipe is written to, never replaced
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor < 0) return cannot_write(path, errno);
    if (const int failure = write_and_close(descriptor, content))
      return cannot_write(path, failure);
    return {};
  }
  const std::string target = exists ? behind_links(path) : path;
  const mode_t mode = exists ? before.st_mode & 07777 : 0644;
  const std::string temporary = fmt::format("{}.tmp{}", target, ::getpid());
  const int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
  if (descriptor < 0) return cannot_write(path, errno);
  int failure = exists && ::fchmod(descriptor, mode) != 0 ? errno : 0;
  const int written = write_and_close(descriptor, content);
  if (failure == 0) failure = written;
  if (failure == 0 && ::rename(temporary.c_str(), target.c_str()) != 0) failure = errno;
  if (failure == 0) return {};
  ::unlink(temporary.c_str());
  return cannot_write(path, failure);
}

}  // namespace rooftile
