// SPDX-License-Identifier: Apache-2.0
#include "cli/help.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/text.h"

namespace rooftile::cli {

namespace {

/// The words of `text` on lines of at most `width` columns; a longer word has a line of its own.
std::vector<std::string> fill(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  for (const std::string_view word : split(text, ' ')) {
    if (word.empty()) continue;
    if (!lines.empty() && lines.back().size() + 1 + word.size() <= width) {
      lines.back().append(" ").append(word);
    } else {
      lines.emplace_back(word);
    }
  }
  return lines;
}

/// "  rooftile predict ..." on as many lines as it needs, with backslashes between them.
std::string wrap_command(std::string_view line, std::size_t width) {
  const std::vector<std::string_view> words = split(trim(line), ' ');
  std::string result;
  std::string current = " ";
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string part(words[i]);  // an option stays on one line with its value
    if (part.starts_with("-") && i + 1 < words.size() && !words[i + 1].starts_with("-"))
      part.append(" ").append(words[++i]);
    if (current.size() + 1 + part.size() + 2 > width && current.size() > 5) {
      result += current + " \\\n";
      current = "     ";
    }
    current.append(" ").append(part);
  }
  return result + current + "\n";
}

/// An entry of a list: its name, and what it means in the next column.
std::string make_entry(const std::string& name, std::string_view meaning, std::size_t column,
                       std::size_t width) {
  std::string result = "  " + name;
  const bool fits = result.size() + 2 <= column;
  if (!fits) result += "\n";
  bool first = fits;
  for (const std::string& line : fill(meaning, width - column)) {
    const std::size_t indent = first ? column - result.size() : column;
    result += std::string(indent, ' ') + line + "\n";
    first = false;
  }
  if (result.back() != '\n') result += "\n";
  return result;
}

/// INT of "INT:INT in [1 - 64]", "" of a flag.
std::string placeholder(const CLI::Option& option) {
  if (option.get_type_size() == 0) return {};
  std::string type = option.get_type_name();
  type.resize(std::min(type.find(':'), type.size()));
  if (type == "INT" || type == "UINT") type = "N";
  if (type == "TEXT") type = "NAME";
  return type;
}

/// "text, json, csv" of "TEXT:{text,json,csv}".
std::string choices(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t open = type.find(":{");
  if (open == std::string::npos || type.back() != '}') return {};
  const auto words = split(std::string_view(type).substr(open + 2, type.size() - open - 3), ',');
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string meaning_of(const CLI::Option& option) {
  std::string meaning = option.get_description();
  if (const std::string words = choices(option); !words.empty()) meaning += ": " + words;
  std::vector<std::string> remarks;
  if (option.get_required()) remarks.emplace_back("required");
  for (const CLI::Option* other : option.get_needs())
    remarks.push_back("with " + other->get_name());
  if (!option.get_default_str().empty()) remarks.push_back("default: " + option.get_default_str());
  if (!remarks.empty()) meaning += fmt::format(" ({})", fmt::join(remarks, ", "));
  return meaning;
}

std::string upper(std::string name) {
  for (char& c : name) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return name;
}

std::string usage_line(const CLI::App& app, const std::string& name) {
  std::string line = "Usage: " + name;
  const auto subcommands = app.get_subcommands({});
  const bool needs_one = !subcommands.empty() && app.get_require_subcommand_min() > 0;
  if (needs_one) line += app.get_parent() == nullptr ? " COMMAND" : " KIND";
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_positional()) continue;
    const bool list = option->get_expected_max() >= CLI::detail::expected_max_vector_size;
    const std::string word = upper(option->get_name(true)) + (list ? "..." : "");
    line += option->get_required() ? " " + word : " [" + word + "]";
  }
  line += " [options]\n";
  for (const CLI::App* sub : subcommands) {
    if (!needs_one) line += fmt::format("       {} {} [options]\n", name, sub->get_name());
  }
  return line;
}

std::size_t column_of(std::size_t width) {
  return width < 80 ? 22 : 28;
}

/// Positional arguments, then the groups of options, each with the GPU first. The help flags of a
/// command are those of the program.
std::string options_of(const CLI::App& app, std::size_t width) {
  std::string result;
  const std::size_t column = column_of(width);
  const auto list = [&](const std::string& title, const auto& belongs) {
    std::string first;
    std::string rest;
    for (const CLI::Option* option : app.get_options()) {
      if (!belongs(*option)) continue;
      const bool positional = option->get_positional();
      std::string name = positional ? upper(option->get_name(true)) : option->get_name(false, true);
      const bool gpu = name.starts_with("--gpu");
      if (const std::string value = placeholder(*option); !positional && !value.empty())
        name += " " + value;
      (gpu ? first : rest) += make_entry(name, meaning_of(*option), column, width);
    }
    if (!first.empty() || !rest.empty()) result += "\n" + title + ":\n" + first + rest;
  };
  list("Arguments", [](const CLI::Option& option) { return option.get_positional(); });
  for (const std::string& group : app.get_groups()) {
    list(group, [&](const CLI::Option& option) {
      const bool help = &option == app.get_help_ptr() || &option == app.get_help_all_ptr();
      return option.get_group() == group && !option.get_positional() &&
             (app.get_parent() == nullptr || !help);
    });
  }
  return result;
}

/// CLI11 hands the footer of a command down to its subcommands; each has its own or none.
std::string own_footer(const CLI::App& app) {
  for (const CLI::App* above = app.get_parent(); above != nullptr; above = above->get_parent()) {
    if (app.get_footer() == above->get_footer()) return {};
  }
  return app.get_footer();
}

std::string subcommands_of(const CLI::App& app, std::size_t width) {
  std::string result;
  std::vector<std::string> seen;
  constexpr std::size_t kColumn = 16;
  for (const CLI::App* first : app.get_subcommands({})) {
    const std::string group = first->get_group();
    if (std::find(seen.begin(), seen.end(), group) != seen.end()) continue;
    seen.push_back(group);
    result += "\n" + (group == "Subcommands" ? "Kinds" : group) + ":\n";
    for (const CLI::App* sub : app.get_subcommands({})) {
      if (sub->get_group() == group)
        result += make_entry(sub->get_name(), sub->get_description(), kColumn, width);
    }
  }
  return result;
}

}  // namespace

std::string wrap_help(std::string_view text, std::size_t width) {
  std::string result;
  std::string paragraph;
  const auto finish = [&] {
    for (const std::string& line : fill(paragraph, width)) result += line + "\n";
    paragraph.clear();
  };
  for (const std::string_view line : split(text, '\n')) {
    if (!line.empty() && !line.starts_with("  ") && !line.ends_with(":")) {
      paragraph.append(paragraph.empty() ? "" : " ").append(line);
      continue;
    }
    finish();
    if (line.starts_with("  ")) {
      result += wrap_command(line, width);
    } else if (!line.empty()) {
      for (const std::string& part : fill(line, width)) result += part + "\n";
    } else if (!result.empty() && !result.ends_with("\n\n")) {
      result += "\n";
    }
  }
  finish();
  while (result.ends_with("\n\n")) result.pop_back();
  return result;
}

std::string HelpFormatter::make_help(const CLI::App* app, std::string name,
                                     CLI::AppFormatMode mode) const {
  const bool top = app->get_parent() == nullptr;
  std::string result = wrap_help((top ? "" : name + ": ") + app->get_description(), width_) + "\n";
  result += usage_line(*app, name);
  result += subcommands_of(*app, width_);
  result += options_of(*app, width_);
  if (const std::string footer = wrap_help(own_footer(*app), width_); !footer.empty())
    result += "\n" + footer;
  if (mode != CLI::AppFormatMode::All) return result;
  for (const CLI::App* sub : app->get_subcommands({})) {
    const std::string path = name + " " + sub->get_name();
    result += "\n" + path + "\n\n" + make_help(sub, path, mode);
  }
  return result;
}

std::string short_help(const CLI::App& app, int width) {
  const auto columns = static_cast<std::size_t>(width);
  return wrap_help(app.get_description(), columns) + "\n" + usage_line(app, app.get_name()) +
         subcommands_of(app, columns) + "\n" +
         wrap_help(
             "Try:\n"
             "  rooftile predict gpt2-large --gpu h100-sxm\n"
             "  rooftile help predict\n"
             "  rooftile --help\n",
             columns);
}

}  // namespace rooftile::cli
