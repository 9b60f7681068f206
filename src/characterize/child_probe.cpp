// SPDX-License-Identifier: Apache-2.0
#include "characterize/child_probe.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>

namespace rooftile::characterize {

namespace {

constexpr std::chrono::seconds kPatience{30};
constexpr char kOk = '+', kFailed = '-';

void write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t done = ::write(descriptor, text.data(), text.size());
    if (done <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(done));
  }
}

/// Reads until the writer closes; false when that takes too long.
bool read_all(int descriptor, std::string& out) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    pollfd ready{.fd = descriptor, .events = POLLIN, .revents = 0};
    if (::poll(&ready, 1, static_cast<int>(left.count())) <= 0) continue;
    std::array<char, 4096> block{};
    const ssize_t got = ::read(descriptor, block.data(), block.size());
    if (got <= 0) return true;
    out.append(block.data(), static_cast<std::size_t>(got));
    if (out.size() > 1 << 20) return true;
  }
}

}  // namespace

Result<std::string> run_in_child(const std::function<Result<std::string>()>& function,
                                 const std::string& name) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return bad_input(name, "cannot create a pipe");
  const pid_t child = ::fork();
  if (child < 0) return bad_input(name, "cannot create a process");
  if (child == 0) {
    ::close(ends[0]);
    const Result<std::string> result = function();
    // Fields of the error, one per line; the message has no line breaks of its own.
    write_all(ends[1], result ? kOk + *result
                              : kFailed + result.error().message + "\n" + result.error().hint);
    ::_exit(0);  // no destructors and no atexit handlers of a driver
  }
  ::close(ends[1]);
  std::string text;
  const bool in_time = read_all(ends[0], text);
  ::close(ends[0]);
  if (!in_time) ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!in_time) {
    return unsupported(name,
                       fmt::format("the driver did not answer within {} s", kPatience.count()));
  }
  if (text.empty() || !WIFEXITED(status)) {
    return unsupported(name, "the driver ended the process while looking for devices",
                       "is /sys mounted? PoCL aborts without it");
  }
  if (text[0] == kOk) return text.substr(1);
  const std::size_t line = text.find('\n');
  return unsupported(name, text.substr(1, line - 1),
                     line == std::string::npos ? "" : text.substr(line + 1));
}

}  // namespace rooftile::characterize
