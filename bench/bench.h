// SPDX-License-Identifier: Apache-2.0
//
// A small harness for readable benchmarks: each row says what was measured, our value, the rival's
// value measured in the same run, their ratio, and whether our target was met.
//
//   what                        ours         rival                   ratio   target
//   CSV into fields             900 MB/s     90 MB/s (Python csv)    10.0x   >= 300 MB/s ok
//
// A new benchmark is one file bench/<name>_bench.cpp with a main that calls bench::print; it exits
// with 1 when a target is missed. The two cores are shared: the best of several runs is taken, as
// noise only ever adds time.
#pragma once

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/text.h"

namespace rooftile::bench {

struct Rival {
  std::string name;
  double value;
};

struct Row {
  std::string what;
  std::string unit;
  double ours = 0.0;
  std::optional<Rival> rival = {};    ///< absent when it is not installed
  std::optional<double> target = {};  ///< at least (rates) or at most (times) this much
  bool less_is_better = false;        ///< times, as opposed to rates
};

/// Seconds of the fastest of `runs` calls.
inline double best_seconds(int runs, const std::function<void()>& work) {
  double best = 0.0;
  for (int i = 0; i < runs; ++i) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    if (i == 0 || taken.count() < best) best = taken.count();
  }
  return best;
}

/// Runs a shell command that prints one number; nothing when it fails (a rival that is not here).
inline std::optional<double> number_from(const std::string& command) {
  std::string output;
  const auto close = [](std::FILE* pipe) { pclose(pipe); };
  const std::unique_ptr<std::FILE, decltype(close)> pipe(
      popen((command + " 2>/dev/null").c_str(), "r"), close);
  if (!pipe) return std::nullopt;
  std::array<char, 256> block{};
  while (const std::size_t got = std::fread(block.data(), 1, block.size(), pipe.get())) {
    output.append(block.data(), got);
  }
  return parse_double(trim(output));
}

/// The best rate of two runs of a Python statement over `megabytes`; nothing where it cannot run.
inline std::optional<Rival> python_rival(const std::string& name, const std::string& setup,
                                         const std::string& statement, double megabytes) {
  const auto seconds =
      number_from(fmt::format("/usr/bin/env PATH=/usr/bin:$PATH python3 -c \"import timeit; "
                              "print(min(timeit.repeat(setup='{}', stmt='{}', number=1, "
                              "repeat=2)))\"",
                              setup, statement));
  if (!seconds) return std::nullopt;
  return Rival{.name = name, .value = megabytes / *seconds};
}

inline std::string format_value(double value, const std::string& unit) {
  if (unit.empty() || unit.front() == '/') return fmt::format("{}{}", format_count(value), unit);
  if (value >= 100) return fmt::format("{:.0f} {}", value, unit);
  return fmt::format("{:.3g} {}", value, unit);
}

/// Prints the rows; returns the exit code, 1 when a target was missed.
inline int print(const std::vector<Row>& rows) {
  int status = 0;
  fmt::print("{:<34} {:<14} {:<30} {:>7}   {}\n", "what", "ours", "rival", "ratio", "target");
  for (const Row& row : rows) {
    std::string rival = "not installed";
    std::string ratio = "-";
    if (row.rival) {
      rival = fmt::format("{} ({})", format_value(row.rival->value, row.unit), row.rival->name);
      const double faster =
          row.less_is_better ? row.rival->value / row.ours : row.ours / row.rival->value;
      ratio = fmt::format("{:.1f}x", faster);
    }
    std::string target;
    if (row.target) {
      const bool met = row.less_is_better ? row.ours <= *row.target : row.ours >= *row.target;
      if (!met) status = 1;
      target = fmt::format("{} {} {}",
                           row.less_is_better ? "<=" : ">=", format_value(*row.target, row.unit),
                           met ? "ok" : "MISSED");
    }
    fmt::print("{:<34} {:<14} {:<30} {:>7}   {}\n", row.what, format_value(row.ours, row.unit),
               rival, ratio, target);
  }
  return status;
}

}  // namespace rooftile::bench
