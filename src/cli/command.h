// SPDX-License-Identifier: Apache-2.0
//
// What every subcommand shares. A subcommand is one file: an options struct, a function that
// registers it with CLI11 and a function that runs it and returns a Status; commands.cpp lists
// them all. Results go to stdout (or -o FILE), diagnostics and progress to stderr.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "core/catalog.h"
#include "core/progress.h"
#include "core/result.h"

namespace rooftile::cli {

struct Context {
  std::vector<std::string> catalog_folders;  ///< --catalog, may repeat
  int exit_status = 0;                       ///< set by the command that ran

  /// Embedded files, ROOFTILE_CATALOG, then --catalog.
  [[nodiscard]] Result<Catalog> catalog() const;
};

/// Where and how a command writes its result.
struct Output {
  std::string format = "text";
  std::string file;                  ///< empty: stdout
  std::vector<std::string> formats;  ///< that the command offers
  bool chosen = false;               ///< --format was given
};

/// Adds --format (one of `formats`, the first is the default) and -o/--output.
void add_output_options(CLI::App& command, Output& output, const std::vector<std::string>& formats);

/// The format asked for; without --format the one that the name of the file ends in ("chart.html").
std::string format_of(const Output& output);

/// Writes the finished text to output.file (atomically) or to stdout.
Status emit(const Output& output, const std::string& text);

/// The same for a format that has no place for warnings (tables, pictures): they go to stderr.
Status emit_bare(const Output& output, const std::string& text,
                 const std::vector<std::string>& warnings);

/// Colour and width of the terminal that stdout is, if it is one.
struct Terminal {
  bool is_terminal = false;
  bool color = false;
  int width = 100;    ///< for prose and most tables: never more than reads well
  int columns = 100;  ///< all there is, for wide tables
};
Terminal terminal();

/// A progress bar on stderr, drawn only when stderr is a terminal and the job takes more than two
/// seconds; Ctrl-C asks the job to stop so that it can save what is finished.
Progress progress_bar(std::string title);

/// Runs `command`, prints its error if there is one and records the exit status.
template <typename Run>
void run_command(Context& context, const Run& run) {
  const Status status = run();
  if (status) return;
  std::fputs(to_string(status.error()).c_str(), stderr);
  context.exit_status = static_cast<int>(status.error().code);
}

/// The program: parses, runs, returns the exit status.
int run(int argc, const char* const* argv);

}  // namespace rooftile::cli
