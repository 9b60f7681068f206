// SPDX-License-Identifier: Apache-2.0
#include "cli/output.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>

#include "cli/help.h"
#include "core/file.h"
#include "core/text.h"
#include "core/utf8.h"
#include "report/table.h"

namespace rooftile::cli {

namespace {

struct Ending {
  std::string_view text, format;
};

// The first one of a format is the one that hints name. Endings without a format belong to files
// that no command writes.
constexpr std::array kEndings{Ending{".txt", "text"},    Ending{".trace.json", "trace"},
                              Ending{".json", "json"},   Ending{".json", "trace"},
                              Ending{".csv", "csv"},     Ending{".svg", "svg"},
                              Ending{".html", "html"},   Ending{".htm", "html"},
                              Ending{".md", "markdown"}, Ending{".pdf", ""},
                              Ending{".png", ""},        Ending{".jpg", ""},
                              Ending{".jpeg", ""},       Ending{".eps", ""},
                              Ending{".ps", ""},         Ending{".gz", ""},
                              Ending{".zip", ""},        Ending{".xlsx", ""}};

/// ".svg" of "chart.svg", ".trace.json" of "step.trace.json"; nothing of "report", "-" and
/// "/dev/stdout".
std::string ending_of(const std::string& file) {
  std::string ending = std::filesystem::path(file).extension().string();
  for (const Ending& known : kEndings) {
    if (known.text.size() > ending.size() && to_lower(file).ends_with(known.text))
      ending = file.substr(file.size() - known.text.size());
  }
  return ending.size() > 1 ? ending : "";
}

/// Formats that the ending of `file` stands for, the likeliest first; none: nobody knows it.
std::vector<std::string_view> formats_of(const std::string& file) {
  const std::string name = to_lower(ending_of(file));
  std::vector<std::string_view> formats;
  for (const Ending& ending : kEndings) {
    if (name == ending.text) formats.push_back(ending.format);
  }
  return formats;
}

std::string endings_text(std::span<const std::string> formats) {
  std::vector<std::string_view> endings;
  for (const std::string& format : formats) {
    const auto* first = std::find_if(kEndings.begin(), kEndings.end(),
                                     [&](const Ending& ending) { return ending.format == format; });
    if (first != kEndings.end()) endings.push_back(first->text);
  }
  return fmt::format("{}", fmt::join(endings, ", "));
}

bool contains(std::span<const std::string> list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

}  // namespace

void add_output_options(CLI::App& command, Output& output,
                        const std::vector<std::string>& formats) {
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

Status emit(const Output& output, const std::string& text) {
  // The writers of the other formats escape what names hold; text is made harmless here.
  const bool lines = output.format == "text" || output.format == "markdown";
  const std::string safe = lines ? report::safe_lines(text) : text;
  if (!output.file.empty() && output.file != "-") return write_file_atomic(output.file, safe);
  if (std::fwrite(safe.data(), 1, safe.size(), stdout) != safe.size() || std::fflush(stdout) != 0) {
    return bad_input("<stdout>", "cannot be written");
  }
  return {};
}

Status emit_bare(const Output& output, const std::string& text,
                 const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) warn(warning);
  return emit(output, text);
}

void warn(std::string_view text) {
  fmt::print(stderr, "warning: {}\n", visible(text));
}

}  // namespace rooftile::cli
