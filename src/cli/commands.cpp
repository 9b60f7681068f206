// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cli/help.h"
#include "cli/usage.h"
#include "core/text.h"
#include "rooftile/version.h"

namespace rooftile::cli {

namespace {

struct Command {
  const char* group;  ///< its heading in --help
  void (*add)(CLI::App&, Context&);
};

constexpr const char* kForecast = "Forecast";
constexpr const char* kExplain = "Explain";
constexpr const char* kMeasure = "Measure and fit";
constexpr const char* kLists = "Look up";

constexpr std::array kCommands{
    Command{kForecast, add_predict},  Command{kForecast, add_compare},
    Command{kForecast, add_generate}, Command{kExplain, add_kernel},
    Command{kExplain, add_traffic},   Command{kExplain, add_scale},
    Command{kExplain, add_roofline},  Command{kMeasure, add_characterize},
    Command{kMeasure, add_calibrate}, Command{kMeasure, add_fit},
    Command{kMeasure, add_evaluate},  Command{kLists, add_gpus},
    Command{kLists, add_models}};

constexpr const char* kDescription =
    "rooftile measures, explains and forecasts deep-learning performance on GPUs.\n"
    "No GPU, no Python and no network are needed to predict.";

constexpr const char* kFooter =
    "Results go to standard output, or to a file with -o; diagnostics and progress go to standard "
    "error. Exit codes: 0 ok, 1 bad input, 2 usage, 3 unsupported content, 70 internal error.\n"
    "\n"
    "rooftile help COMMAND explains one command, with examples.\n"
    "\n"
    "Examples:\n"
    "  rooftile predict gpt2-large --gpu h100-sxm\n"
    "  rooftile predict gpt2-large --gpu h100-sxm --phase train --batch 4 --seq 1k\n"
    "  rooftile compare llama3-8b --gpus a100-sxm-80gb,h100-sxm,mi300x --phase decode --dtype "
    "bf16\n"
    "  rooftile kernel gemm 4096x4096x4096 --gpu l4 --dtype bf16\n"
    "  rooftile roofline profile.csv\n"
    "  rooftile gpus h100-sxm\n";

int fail(const Error& error) {
  complain(error);
  return static_cast<int>(error.code);
}

/// Every option of the program that takes a list.
std::vector<std::string> list_options(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_type_name() == kListValue) names.push_back(option->get_name());
  }
  for (const CLI::App* sub : app.get_subcommands({})) {
    for (std::string& name : list_options(*sub)) names.push_back(std::move(name));
  }
  return names;
}

/// rooftile help [COMMAND [KIND]]; `help help` and `help --help` are `help`.
int show_help(const CLI::App& app, std::vector<std::string> words) {
  std::erase_if(words, [](const std::string& word) {
    return word == "help" || word == "--help" || word == "-h";
  });
  const auto command = find_command(app, words);
  if (!command) return fail(command.error());
  // CLI11 adds the command's own name to the path of its parent.
  std::string parent;
  for (const CLI::App* above = (*command)->get_parent(); above != nullptr;
       above = above->get_parent())
    parent = parent.empty() ? above->get_name() : above->get_name() + " " + parent;
  std::fputs((*command)->help(parent).c_str(), stdout);
  return 0;
}

void set_up(CLI::App& app, Context& context) {
  app.set_version_flag("--version", fmt::format("rooftile {}", version()), "show the version");
  app.set_help_flag("-h,--help", "show this help; after a command, the command's");
  app.set_help_all_flag("--help-all", "show the help of all commands");
  app.formatter(std::make_shared<HelpFormatter>(terminal().width));
  app.footer(kFooter);
  app.require_subcommand(1);
  app.add_option("--catalog", context.catalog_folders,
                 "folder that overlays the embedded catalogue (gpus/, models/, ...); may repeat")
      ->type_name("FOLDER");
  app.fallthrough();
  for (const Command& command : kCommands) {
    command.add(app, context);
    app.get_subcommands({}).back()->group(command.group);
  }
}

}  // namespace

int run(int argc, const char* const* argv) {
  const auto arguments = std::span(argv, static_cast<std::size_t>(std::max(argc, 1))).subspan(1);
  if (const Status status = check_nothing_empty(arguments); !status) return fail(status.error());
  CLI::App app(kDescription, "rooftile");
  Context context;
  set_up(app, context);
  if (arguments.empty()) {
    std::fputs(short_help(app, terminal().width).c_str(), stdout);
    return 0;
  }
  std::vector<std::string> words = join_lists(arguments, list_options(app));
  if (words.front() == "help") return show_help(app, words);
  try {
    std::reverse(words.begin(), words.end());  // as CLI11 wants them
    app.parse(std::move(words));
  } catch (const CLI::Success& request) {  // --help, --version
    return app.exit(request);
  } catch (const CLI::ParseError& error) {
    return fail(explain_usage(app, error));
  }
  return context.exit_status;
}

}  // namespace rooftile::cli
