// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "core/text.h"
#include "core/utf8.h"

namespace rooftile::cli {

namespace {

// The one thing a signal handler may touch.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
volatile std::sig_atomic_t interrupted = 0;

void on_interrupt(int /*signal*/) {
  interrupted = 1;
}

constexpr int kFewestColumns = 60, kMostColumns = 1000;
constexpr int kWidestProse = 100;

/// Of the terminal behind `descriptor`, if it is one; COLUMNS says another.
std::optional<int> columns_of(int descriptor) {
  const char* columns = std::getenv("COLUMNS");
  const auto stated = columns != nullptr ? parse_int(columns) : std::nullopt;
  if (stated && *stated > 0)
    return static_cast<int>(std::clamp<std::int64_t>(*stated, kFewestColumns, kMostColumns));
  winsize size{};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
  return std::max<int>(size.ws_col, kFewestColumns);
}

/// Draws "title  42 % [=====>    ] 0:12 left  note" on one line of stderr.
class Bar {
 public:
  explicit Bar(std::string title) : title_(std::move(title)) {
    std::signal(SIGINT, on_interrupt);
    std::signal(SIGTERM, on_interrupt);
  }
  ~Bar() {
    if (drawn_) std::fputs("\r\033[K", stderr);
  }
  Bar(const Bar&) = delete;
  Bar& operator=(const Bar&) = delete;

  bool update(const ProgressState& state) {
    if (!state.notice.empty()) note(state.notice);
    const auto now = std::chrono::steady_clock::now();
    const double elapsed = std::chrono::duration<double>(now - start_).count();
    const bool due = elapsed > 2.0 && now - last_ > std::chrono::milliseconds(100);
    if (due && ::isatty(STDERR_FILENO) != 0) {
      last_ = now;
      drawn_ = true;
      draw(state, elapsed);
    }
    return interrupted == 0;
  }

 private:
  /// A line of its own, also where no bar is drawn.
  void note(const std::string& notice) {
    if (drawn_) std::fputs("\r\033[K", stderr);
    say(notice);
    drawn_ = false;
  }

  void draw(const ProgressState& state, double elapsed) const {
    constexpr int kWidth = 30;
    const double fraction = std::clamp(state.fraction, 0.0, 1.0);
    const int full = static_cast<int>(fraction * kWidth);
    const double left = fraction > 0 ? elapsed * (1 - fraction) / fraction : 0;
    const std::string line = visible(fmt::format(
        "{} {:3.0f} % [{:=<{}}{: <{}}] {}:{:02d} left  {}", title_, fraction * 100, "", full, "",
        kWidth - full, static_cast<int>(left) / 60, static_cast<int>(left) % 60, state.note));
    // A line that wraps could not be drawn over.
    const auto room = static_cast<std::size_t>(columns_of(STDERR_FILENO).value_or(80) - 1);
    std::fputs(("\r\033[K" + line.substr(0, utf8_offset(line, room))).c_str(), stderr);
    std::fflush(stderr);
  }

  std::string title_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_ = start_;
  bool drawn_ = false;
};

}  // namespace

CLI::Option* add_list_option(CLI::App& command, const std::string& names,
                             std::vector<std::string>& list, const std::string& help) {
  CLI::Option* option = command.add_option_function<std::vector<std::string>>(
      names,
      [&list, names](const std::vector<std::string>& arguments) {
        list.clear();
        for (const std::string& argument : arguments) {
          for (const std::string_view part : split(argument, ',')) {
            if (trim(part).empty()) {
              throw CLI::ValidationError(fmt::format(
                  "{} \"{}\" has an empty part between its commas", names, printable(argument)));
            }
            list.emplace_back(trim(part));
          }
        }
      },
      help);
  return option->type_name(kListValue)->allow_extra_args(false);
}

Terminal terminal() {
  Terminal result;
  result.is_terminal = ::isatty(STDOUT_FILENO) != 0;
  result.color = result.is_terminal && std::getenv("NO_COLOR") == nullptr;
  result.columns = columns_of(STDOUT_FILENO).value_or(result.columns);
  result.width = std::min(result.columns, kWidestProse);
  return result;
}

std::optional<int> message_width() {
  const auto columns = columns_of(STDERR_FILENO);
  return columns ? std::optional(std::min(*columns, kWidestProse)) : std::nullopt;
}

Progress progress_bar(std::string title) {
  // std::function wants a copyable target; the bar lives as long as the last copy.
  auto bar = std::make_shared<Bar>(std::move(title));
  return [bar](const ProgressState& state) { return bar->update(state); };
}

}  // namespace rooftile::cli
