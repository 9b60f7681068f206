// SPDX-License-Identifier: Apache-2.0
//
// What every subcommand shares. A subcommand is one file: an options struct, a function that
// registers it with CLI11 and a function that runs it and returns a Status; commands.cpp lists
// them all. Results go to stdout (or -o FILE), diagnostics and progress to stderr.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/output.h"
#include "core/result.h"
#include "rooftile/progress.h"
#include "study/session.h"

namespace rooftile::cli {

struct Context {
  std::vector<std::string> catalog_folders;  ///< --catalog, may repeat
  int exit_status = 0;                       ///< set by the command that ran

  /// Embedded files, ROOFTILE_CATALOG, then --catalog.
  [[nodiscard]] Result<study::Session> session() const {
    return study::Session::open(catalog_folders);
  }
};

/// Colour and width of the terminal that stdout is, if it is one. COLUMNS says another width; 60 is
/// the least that output is laid out for.
struct Terminal {
  bool is_terminal = false;
  bool color = false;
  int width = 100;    ///< for prose and most tables: never more than reads well
  int columns = 100;  ///< all there is, for wide tables
};
Terminal terminal();

/// Width of diagnostics: that of the terminal that stderr is, or what COLUMNS says, but never more
/// than reads well. Nothing: a file or a pipe, whose lines stay whole so that they can be searched.
std::optional<int> message_width();

/// A progress bar on stderr, drawn only when stderr is a terminal and the job takes more than two
/// seconds; Ctrl-C asks the job to stop so that it can save what is finished. Notices are always
/// written, as lines.
Progress progress_bar(std::string title);

/// How help shows the value of an option that takes a list.
inline constexpr const char* kListValue = "A,B,...";

/// An option that takes names separated by commas; an empty one among them is a usage error
/// (CLI11's own delimiter drops it). A space may follow a comma (usage.h: join_lists).
CLI::Option* add_list_option(CLI::App& command, const std::string& names,
                             std::vector<std::string>& list, const std::string& help);

/// Runs a command, prints its error if there is one and records the exit status.
template <typename Run>
void run_command(Context& context, const Run& run) {
  const Status status = run();
  if (status) return;
  complain(status.error());
  context.exit_status = static_cast<int>(status.error().code);
}

/// The same for a command that writes to `output`, whose format is settled first.
template <typename Run>
void run_command(Context& context, Output& output, const Run& run) {
  run_command(context, [&]() -> Status {
    ROOFTILE_CHECK(settle_format(output));
    return run();
  });
}

/// The program: parses, runs, returns the exit status.
int run(int argc, const char* const* argv);

}  // namespace rooftile::cli
