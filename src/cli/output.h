// SPDX-License-Identifier: Apache-2.0
//
// Where and how a command writes its result, and the one list of file endings: a name must not
// promise a format that the file does not have.
#pragma once

#include <CLI/CLI.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace rooftile::cli {

struct Output {
  std::string format = "text";
  std::string file;                  ///< empty: stdout
  std::vector<std::string> formats;  ///< that the command offers
  bool chosen = false;               ///< --format was given
};

/// Adds --format (one of `formats`, the first is the default) and -o/--output.
void add_output_options(CLI::App& command, Output& output, const std::vector<std::string>& formats);

/// The format of `formats` that the name of a file ends in ("chart.html"), the first one where it
/// has no ending; any other ending is a usage error that says what `writer` can write.
Result<std::string> format_by_ending(std::string_view writer, const std::string& file,
                                     std::span<const std::string> formats);

/// Without --format the ending of the file decides; one of another format than --format is a usage
/// error.
Status settle_format(Output& output);

/// Writes the finished text to output.file (atomically) or to stdout.
Status emit(const Output& output, const std::string& text);

/// The same for a format that has no place for warnings (tables, pictures): they go to stderr.
Status emit_bare(const Output& output, const std::string& text,
                 const std::vector<std::string>& warnings);

/// "warning: text" on stderr.
void warn(std::string_view text);

}  // namespace rooftile::cli
