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
#include "report/writer.h"

namespace rooftile::cli {

struct Output {
  std::string format = "text";
  std::string file;                  ///< empty: stdout
  std::vector<std::string> formats;  ///< that the command offers
  bool chosen = false;               ///< --format was given

  /// The format shows charts, which cost time to make.
  [[nodiscard]] bool draws() const {
    return report::writer_of(format).needs == report::Needs::Charts;
  }
  [[nodiscard]] bool traces() const {
    return report::writer_of(format).needs == report::Needs::Timeline;
  }
};

/// Adds --format (those that make sense for the result) and -o/--output.
void add_output_options(CLI::App& command, Output& output, const report::Offers& offers);
/// The format of `formats` that the name of a file ends in ("chart.html"), the first one where it
/// has no ending; any other ending is a usage error that says what `writer` can write.
Result<std::string> format_by_ending(std::string_view writer, const std::string& file,
                                     std::span<const std::string> formats);

/// Without --format the ending of the file decides; one of another format than --format is a usage
/// error.
Status settle_format(Output& output);

/// Writes the document in the format that was chosen. Warnings for which that has no place go to
/// standard error.
Status emit(const Output& output, const report::Document& document);

/// Writes the finished text to output.file (atomically) or to stdout.
Status emit(const Output& output, const std::string& text);

/// A line on stderr, wrapped to the terminal.
void say(std::string_view text);
/// "warning: text" on stderr.
void warn(std::string_view text);
/// "error: where: message" and "hint: ..." on stderr; `lead` stands before them ("rank 3: ").
void complain(const Error& error, std::string_view lead = "");

}  // namespace rooftile::cli
