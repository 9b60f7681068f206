// SPDX-License-Identifier: Apache-2.0
//
// How help looks: what a command is for, its options in groups, and examples last, where the eye
// is after the terminal has scrolled. Everything follows the width of the terminal; an example that
// is too long continues after a backslash, so that it can still be copied.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

namespace rooftile::cli {

/// Headings under which --help lists options; CLI11 shows them in the order of first use.
inline constexpr const char* kStepGroup = "Step";
inline constexpr const char* kGpusGroup = "Several GPUs";
inline constexpr const char* kMachineGroup = "Machine";
inline constexpr const char* kOutputGroup = "Output";

class HelpFormatter : public CLI::Formatter {
 public:
  explicit HelpFormatter(int width) : width_(static_cast<std::size_t>(width)) {}

  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override;

 private:
  std::size_t width_;
};

/// Text wrapped to `width`: paragraphs are filled, lines that begin with two spaces are commands
/// and break at a space, with a backslash.
std::string wrap_help(std::string_view text, std::size_t width);

/// What bare `rooftile` prints: one line per command and where to read on.
std::string short_help(const CLI::App& app, int width);

}  // namespace rooftile::cli
