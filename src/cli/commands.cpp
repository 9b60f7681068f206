// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <span>
#include <string>

#include "core/text.h"
#include "rooftile/version.h"

namespace rooftile::cli {

namespace {

constexpr std::array kCommands{add_predict, add_compare,  add_generate, add_kernel,
                               add_traffic, add_scale,    add_roofline, add_characterize,
                               add_fit,     add_evaluate, add_gpus,     add_models};

constexpr const char* kDescription =
    "rooftile measures, explains and forecasts deep-learning performance on GPUs.\n"
    "No GPU, no Python and no network are needed to predict.";

constexpr const char* kExamples =
    "\nExamples:\n"
    "  rooftile predict gpt2-large --gpu h100-sxm\n"
    "  rooftile predict gpt2-large --gpu h100-sxm --phase train --batch 4 --seq 1024\n"
    "  rooftile compare llama3-8b --gpus a100-sxm-80gb,h100-sxm,mi300x --phase decode --dtype "
    "bf16\n"
    "  rooftile kernel gemm --m 4096 --n 4096 --k 4096 --gpu l4 --dtype bf16\n"
    "  rooftile roofline profile.csv\n"
    "  rooftile gpus h100-sxm\n"
    "\nExit codes: 0 ok, 1 bad input, 2 usage, 3 unsupported content, 70 internal error.\n";

/// Usage errors in the house form, with the nearest option or subcommand.
int report_usage(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* reached = &app;  // the command as far as it was understood
  std::string path = "rooftile";
  while (!reached->get_subcommands().empty()) {
    reached = reached->get_subcommands().front();
    path += " " + reached->get_name();
  }
  std::vector<std::string> owned;
  for (const CLI::App* sub : reached->get_subcommands({})) owned.push_back(sub->get_name());
  for (const CLI::Option* option : reached->get_options()) {
    for (const std::string& name : option->get_lnames()) owned.push_back("--" + name);
  }
  const std::vector<std::string_view> names(owned.begin(), owned.end());
  std::string message = error.what();
  std::string hint = "see " + path + " --help";
  // CLI11 ends "The following argument was not expected: --bacth" with the word itself.
  std::string word = message.substr(message.rfind(' ') + 1);
  const std::vector<std::string> unknown = app.remaining(true);
  if (!reached->get_subcommands({}).empty() && !unknown.empty()) {
    word = unknown.front();
    message = reached == &app ? fmt::format("unknown command \"{}\"", printable(word))
                              : fmt::format("\"{}\" has no \"{}\"", path, printable(word));
  }
  if (const auto near = nearest(word, names))
    hint = "did you mean \"" + std::string(*near) + "\"? " + hint;
  std::fputs(
      to_string(Error{.code = ErrorCode::Usage, .where = {}, .message = message, .hint = hint})
          .c_str(),
      stderr);
  return static_cast<int>(ErrorCode::Usage);
}

/// Nothing that can be given may be empty: where a script's variable was not set, leaving the
/// option out would do something else than what was meant.
Status check_nothing_empty(std::span<const char* const> arguments) {
  std::string_view before;
  bool options_end = false;
  for (const std::string_view argument : arguments) {
    const bool option =
        before.size() > 1 && before != "--" && before[0] == '-' && !parse_double(before);
    if (trim(argument).empty()) {
      return usage_error(
          option ? fmt::format("the value of {} is empty", before) : "an argument is empty",
          "give a value, or leave it out");
    }
    options_end = options_end || argument == "--";
    if (!options_end && argument.starts_with("--") && argument.find('=') == argument.size() - 1) {
      return usage_error(
          fmt::format("the value of {} is empty", argument.substr(0, argument.size() - 1)),
          "give a value, or leave it out");
    }
    before = argument;
  }
  return {};
}

}  // namespace

int run(int argc, const char* const* argv) {
  const auto arguments = std::span(argv, static_cast<std::size_t>(std::max(argc, 1))).subspan(1);
  if (const Status status = check_nothing_empty(arguments); !status) {
    std::fputs(to_string(status.error()).c_str(), stderr);
    return static_cast<int>(status.error().code);
  }
  CLI::App app(kDescription, "rooftile");
  Context context;
  app.set_version_flag("--version", fmt::format("rooftile {}", version()));
  app.footer(kExamples);
  app.require_subcommand(1);
  app.set_help_all_flag("--help-all", "help of all subcommands");
  app.add_option("--catalog", context.catalog_folders,
                 "folder that overlays the embedded catalogue (gpus/, models/, ...); may repeat");
  app.fallthrough();
  for (const auto add : kCommands) add(app, context);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& request) {  // --help, --version
    return app.exit(request);
  } catch (const CLI::ParseError& error) {
    return report_usage(app, error);
  }
  return context.exit_status;
}

}  // namespace rooftile::cli
