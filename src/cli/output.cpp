// SPDX-License-Identifier: Apache-2.0
#include "cli/output.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>

#include "cli/command.h"
#include "cli/help.h"
#include "core/file.h"
#include "core/text.h"
#include "core/utf8.h"
#include "report/lines.h"

namespace rooftile::cli {

namespace {

struct Ending {
  std::string_view text, format;
};

/// Files that no command writes.
constexpr std::array<std::string_view, 9> kForeign{".pdf", ".png", ".jpg", ".jpeg", ".eps",
                                                   ".ps",  ".gz",  ".zip", ".xlsx"};

/// The first one of a format is the one that hints name.
std::vector<Ending> endings() {
  std::vector<Ending> list;
  for (const report::Writer& writer : report::writers()) {
    for (const std::string_view text : writer.endings) list.push_back({text, writer.name});
  }
  for (const std::string_view text : kForeign) list.push_back({text, ""});
  return list;
}

/// ".svg" of "chart.svg", ".trace.json" of "step.trace.json"; nothing of "report", "-" and
/// "/dev/stdout".
std::string ending_of(const std::string& file) {
  std::string ending = std::filesystem::path(file).extension().string();
  for (const Ending& known : endings()) {
    if (known.text.size() > ending.size() && to_lower(file).ends_with(known.text))
      ending = file.substr(file.size() - known.text.size());
  }
  return ending.size() > 1 ? ending : "";
}

/// Formats that the ending of `file` stands for, the likeliest first; none: nobody knows it.
std::vector<std::string_view> formats_of(const std::string& file) {
  const std::string name = to_lower(ending_of(file));
  std::vector<std::string_view> formats;
  for (const Ending& ending : endings()) {
    if (name == ending.text) formats.push_back(ending.format);
  }
  return formats;
}

std::string endings_text(std::span<const std::string> formats) {
  std::vector<std::string_view> texts;
  for (const std::string& format : formats) texts.push_back(report::writer_of(format).endings[0]);
  return fmt::format("{}", fmt::join(texts, ", "));
}

bool contains(std::span<const std::string> list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

}  // namespace

void add_output_options(CLI::App& command, Output& output, const report::Offers& offers) {
  const std::vector<std::string> formats = report::formats_for(offers);
  output.format = formats.front();
  output.formats = formats;
  command.add_option("--format", output.format, "how to write the result")
      ->check(CLI::IsMember(formats))
      ->each([&output](const std::string&) { output.chosen = true; })
      ->group(kOutputGroup)
      ->capture_default_str();
  command
      .add_option("-o,--output", output.file,
                  "write to this file instead of standard output; its ending chooses the format: " +
                      endings_text(formats))
      ->type_name("FILE")
      ->group(kOutputGroup);
}

Result<std::string> format_by_ending(std::string_view writer, const std::string& file,
                                     std::span<const std::string> formats) {
  const std::string ending = ending_of(file);
  if (ending.empty()) return formats.front();
  for (const std::string_view format : formats_of(file)) {
    if (contains(formats, format)) return std::string(format);
  }
  return usage_error(fmt::format("{} cannot write \"{}\" files", writer, printable(ending)),
                     fmt::format("it writes {}", endings_text(formats)));
}

Status settle_format(Output& output) {
  if (!output.chosen) {
    auto format = format_by_ending("this command", output.file, output.formats);
    if (!format) {
      format.error().hint += "; --format decides for other names";
      return tl::unexpected(format.error());
    }
    output.format = *format;
    return {};
  }
  const auto fitting = formats_of(output.file);
  const bool fits = std::find(fitting.begin(), fitting.end(), output.format) != fitting.end();
  if (fits || fitting.empty()) return {};
  return usage_error(fmt::format("--format {} does not make \"{}\" files", output.format,
                                 printable(ending_of(output.file))),
                     fmt::format("end the name in {}", endings_text(std::array{output.format})));
}

Status emit(const Output& output, const report::Document& document) {
  const report::Writer& writer = report::writer_of(output.format);
  if (!writer.warnings) {
    for (const std::string& line : report::folded(document.warnings)) warn(line);
  }
  const Terminal screen = terminal();
  const report::WriteOptions options{.width = screen.columns,
                                     .color = screen.color && output.file.empty()};
  return emit(output, report::write(output.format, document, options));
}

Status emit(const Output& output, const std::string& text) {
  // The writers of the other formats escape what names hold; text is made harmless here.
  const std::string safe = report::writer_of(output.format).lines ? report::safe_lines(text) : text;
  if (!output.file.empty() && output.file != "-") return write_file_atomic(output.file, safe);
  if (std::fwrite(safe.data(), 1, safe.size(), stdout) != safe.size() || std::fflush(stdout) != 0) {
    return bad_input("<stdout>", "cannot be written");
  }
  return {};
}

void say(std::string_view text) {
  const auto width = message_width();
  const std::string_view words = trim(text);
  // An item of a list keeps its indentation.
  const int indent = static_cast<int>(std::min(text.find_first_not_of(' '), text.size()));
  fmt::print(stderr, "{}",
             width ? report::wrapped(words, *width, indent, indent + 2) : visible(text) + "\n");
}

void warn(std::string_view text) {
  say(fmt::format("warning: {}", text));
}

void complain(const Error& error, std::string_view lead) {
  const std::string lines = std::string(lead) + to_string(error);
  for (const std::string_view line :
       split(std::string_view(lines).substr(0, lines.size() - 1), '\n'))
    say(line);
}

}  // namespace rooftile::cli
