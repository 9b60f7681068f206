// SPDX-License-Identifier: Apache-2.0
#include "characterize/environment.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>

#include "core/file.h"
#include "core/text.h"

namespace rooftile::characterize {

namespace {

constexpr double kBusyLimit = 0.05;
constexpr double kStolenLimit = 0.02;
constexpr double kClockLimit = 0.03;

double own_ticks() {
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0.0;
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return (seconds(usage.ru_utime) + seconds(usage.ru_stime)) *
         static_cast<double>(sysconf(_SC_CLK_TCK));
}

}  // namespace

// "cpu  user nice system idle iowait irq softirq steal guest guest_nice": guest is part of user.
std::optional<ProcessorTimes> parse_proc_stat(std::string_view text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  if (!line.starts_with("cpu ")) return std::nullopt;
  std::array<double, 8> ticks{};
  std::size_t count = 0;
  for (const std::string_view word : split(line.substr(4), ' ')) {
    if (trim(word).empty()) continue;
    const auto value = parse_int(trim(word));
    if (!value || *value < 0) return std::nullopt;
    if (count < ticks.size()) ticks[count++] = static_cast<double>(*value);
  }
  if (count < 4) return std::nullopt;
  return ProcessorTimes{.busy = ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6],
                        .idle = ticks[3] + ticks[4],
                        .stolen = ticks[7],
                        .own = 0.0};
}

std::optional<ProcessorTimes> observe_processor_times() {
  const Result<std::string> text = read_file("/proc/stat", 16 << 20);
  if (!text) return std::nullopt;
  auto times = parse_proc_stat(*text);
  if (times) times->own = own_ticks();
  return times;
}

BackgroundLoad background_load(const ProcessorTimes& before, const ProcessorTimes& after) {
  const double busy = after.busy - before.busy;
  const double stolen = after.stolen - before.stolen;
  const double total = busy + stolen + after.idle - before.idle;
  if (total <= 0) return {};
  return {.others_fraction = std::clamp((busy - (after.own - before.own)) / total, 0.0, 1.0),
          .stolen_fraction = std::clamp(stolen / total, 0.0, 1.0)};
}

std::vector<std::string> load_warnings(const BackgroundLoad& load) {
  std::vector<std::string> out;
  if (load.others_fraction > kBusyLimit) {
    out.push_back(
        fmt::format("background load: other processes used {:.0f} % of the processors "
                    "while measuring; bandwidths may be too low",
                    load.others_fraction * 100));
  }
  if (load.stolen_fraction > kStolenLimit) {
    out.push_back(fmt::format("the hypervisor took {:.0f} % of the processor time away",
                              load.stolen_fraction * 100));
  }
  return out;
}

std::optional<std::string> clock_warning(const std::vector<Hertz>& observed) {
  if (observed.size() < 2) return std::nullopt;
  const auto [low, high] = std::minmax_element(observed.begin(), observed.end());
  if (*high - *low <= *high * kClockLimit) return std::nullopt;
  return fmt::format(
      "the clock moved between {:.2f} and {:.2f} GHz while measuring (throttling, "
      "or a governor that saves power)",
      low->base() * 1e-9, high->base() * 1e-9);
}

std::vector<std::pair<std::string, std::string>> host_environment() {
  std::vector<std::pair<std::string, std::string>> out;
  utsname name{};
  if (uname(&name) == 0) {
    out.emplace_back("kernel", fmt::format("{} {} {}", name.sysname, name.release, name.machine));
  }
  const auto add_file = [&out](const char* key, const char* path) {
    const Result<std::string> text = read_file(path, 1 << 16);
    if (text && !trim(*text).empty()) out.emplace_back(key, printable(trim(*text)));
  };
  add_file("governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  add_file("boost", "/sys/devices/system/cpu/cpufreq/boost");
  add_file("max_frequency_khz", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq");
  add_file("transparent_hugepages", "/sys/kernel/mm/transparent_hugepage/enabled");
  return out;
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm date{};
  gmtime_r(&now, &date);
  return fmt::format("{:04d}-{:02d}-{:02d}", date.tm_year + 1900, date.tm_mon + 1, date.tm_mday);
}

}  // namespace rooftile::characterize
