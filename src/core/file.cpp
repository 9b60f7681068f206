// SPDX-License-Identifier: Apache-2.0
#include "core/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>

#include "core/number_of.h"

namespace rooftile {

namespace {

std::string reason(int error) {
  return std::generic_category().message(error);
}

}  // namespace

InputFile::InputFile(std::string path, int descriptor)
    : path_(std::move(path)), descriptor_(descriptor) {
}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_(other.size_),
      limit_(other.limit_),
      got_(other.got_),
      first_(other.first_),
      may_wait_(other.may_wait_),
      patience_(other.patience_),
      waited_(other.waited_) {
}

InputFile& InputFile::operator=(InputFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(size_, other.size_);
  std::swap(limit_, other.limit_);
  std::swap(got_, other.got_);
  std::swap(first_, other.first_);
  std::swap(may_wait_, other.may_wait_);
  std::swap(patience_, other.patience_);
  std::swap(waited_, other.waited_);
  return *this;
}

InputFile::~InputFile() {
  if (descriptor_ > STDERR_FILENO) ::close(descriptor_);
}

Result<InputFile> InputFile::open(const std::string& path, const InputLimits& limits) {
  if (path == "-") {
    InputFile input("<stdin>", STDIN_FILENO);
    ROOFTILE_CHECK(input.look(limits));
    return input;
  }
  // Without O_NONBLOCK a pipe that nobody writes to would hold the program here, or in a read.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return bad_input(path, fmt::format("cannot be opened: {}", reason(errno)));
  InputFile file(path, descriptor);
  ROOFTILE_CHECK(file.look(limits));
  ROOFTILE_CHECK(file.wait_for_writer());
  return file;
}

/// What it is, and so how much of it is read.
Status InputFile::look(const InputLimits& limits) {
  limit_ = limits.pipe;
  patience_ = limits.patience;
  struct stat status{};
  if (::fstat(descriptor_, &status) != 0) return {};
  if (S_ISDIR(status.st_mode)) return bad_input(path_, "is a folder, not a file");
  if (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode)) limit_ = limits.device;
  may_wait_ = !S_ISREG(status.st_mode);
  if (!may_wait_) {
    limit_ = limits.file;
    size_ = status.st_size;
  }
  return {};
}

/// A named pipe has no writer at first. Reading says which: nothing (0) without a writer, "again"
/// with one that has not written yet. One that was there and left, as that of an empty <(command),
/// hangs up.
Status InputFile::wait_for_writer() {
  struct stat status{};
  if (::fstat(descriptor_, &status) != 0 || !S_ISFIFO(status.st_mode)) return {};
  constexpr auto kLongest = std::chrono::seconds(5);
  const auto end = std::chrono::steady_clock::now() + kLongest;
  while (std::chrono::steady_clock::now() < end) {
    pollfd waiting{.fd = descriptor_, .events = POLLIN, .revents = 0};
    constexpr int kMilliseconds = 50;
    if (::poll(&waiting, 1, kMilliseconds) > 0) return {};
    char byte = 0;
    const ssize_t got = ::read(descriptor_, &byte, 1);
    if (got < 0) return {};  // a writer; any real error shows when reading
    if (got == 1) {
      first_ = byte;
      return {};
    }
  }
  return bad_input(path_, fmt::format("is a pipe that nobody wrote to for {} s", kLongest.count()),
                   "start the command that writes to it first");
}

/// Until there is something to read, or the end. A pipe that drips for ever uses up its patience.
Status InputFile::wait_for_bytes() {
  constexpr std::int64_t kBytesPerSecond = 1'000'000;
  using std::chrono::milliseconds;
  const auto allowed = patience_ + std::chrono::seconds(got_ / kBytesPerSecond);
  while (waited_ < allowed) {
    const auto left = std::chrono::ceil<milliseconds>(allowed - waited_).count();
    pollfd waiting{.fd = descriptor_, .events = POLLIN, .revents = 0};
    const auto start = std::chrono::steady_clock::now();
    const int ready = ::poll(&waiting, 1, static_cast<int>(left));
    waited_ += std::chrono::steady_clock::now() - start;
    if (ready > 0 || (ready < 0 && errno != EINTR)) return {};  // reading tells what is wrong
  }
  return bad_input(path_,
                   fmt::format("gave only {} in {:.3g} s of waiting", number_of(got_, "byte"),
                               std::chrono::duration<double>(waited_).count()),
                   "this is not a regular file: does it ever end? If it is only slow, write it to "
                   "a file first");
}

Result<std::size_t> InputFile::read(char* data, std::size_t size) {
  if (size == 0) return 0;
  ssize_t got = 1;
  if (first_) {
    *data = *std::exchange(first_, std::nullopt);
  } else {
    // Standard input is not ours to change: it may block, so it is asked first.
    if (may_wait_ && descriptor_ == STDIN_FILENO) ROOFTILE_CHECK(wait_for_bytes());
    got = ::read(descriptor_, data, size);
    while (got < 0 && (errno == EINTR || errno == EAGAIN)) {
      if (errno == EAGAIN) ROOFTILE_CHECK(wait_for_bytes());
      got = ::read(descriptor_, data, size);
    }
  }
  if (got < 0) return bad_input(path_, fmt::format("cannot be read: {}", reason(errno)));
  got_ += got;
  if (got_ > limit_) {
    return size_ > 0 ? bad_input(path_, fmt::format("is larger than {} bytes", limit_))
                     : bad_input(path_, fmt::format("gives more than {} bytes", limit_),
                                 "this is not a regular file: does it ever end?");
  }
  return static_cast<std::size_t>(got);
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
