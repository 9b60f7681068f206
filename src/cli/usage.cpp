// SPDX-License-Identifier: Apache-2.0
#include "cli/usage.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "core/text.h"

namespace rooftile::cli {

namespace {

/// Words that people use for something that has another name here.
struct Synonym {
  std::string_view command, word, meant;
};

constexpr std::array kSynonyms{
    Synonym{"rooftile", "forecast", "predict"},
    Synonym{"rooftile", "estimate", "predict"},
    Synonym{"rooftile", "memory", "predict"},
    Synonym{"rooftile", "train", "predict MODEL --phase train"},
    Synonym{"rooftile", "infer", "predict MODEL --phase infer"},
    Synonym{"rooftile", "profile", "roofline"},
    Synonym{"rooftile", "measure", "characterize"},
    Synonym{"rooftile", "benchmark", "characterize"},
    Synonym{"rooftile", "whatif", "scale"},
    Synonym{"rooftile", "list", "models or rooftile gpus"},
    Synonym{"rooftile kernel", "matmul", "gemm"},
    Synonym{"rooftile kernel", "mm", "gemm"},
    Synonym{"rooftile kernel", "bmm", "gemm --batch N"},
    Synonym{"rooftile kernel", "linear", "gemm"},
    Synonym{"rooftile kernel", "dense", "gemm"},
    Synonym{"rooftile kernel", "fc", "gemm"},
    Synonym{"rooftile kernel", "conv2d", "conv"},
    Synonym{"rooftile kernel", "convolution", "conv"},
    Synonym{"rooftile kernel", "flash", "attention"},
    Synonym{"rooftile kernel", "flash_attention", "attention"},
    Synonym{"rooftile kernel", "sdpa", "attention"},
    Synonym{"rooftile kernel", "mha", "attention"},
    Synonym{"rooftile kernel", "layer_norm", "layernorm"},
    Synonym{"rooftile kernel", "rms_norm", "rmsnorm"},
    Synonym{"rooftile kernel", "add", "elementwise --function add"},
    Synonym{"rooftile kernel", "mul", "elementwise --function mul"},
    Synonym{"rooftile kernel", "relu", "elementwise --function relu"},
    Synonym{"rooftile kernel", "gelu", "elementwise --function gelu"},
    Synonym{"rooftile kernel", "tanh", "elementwise --function tanh"},
    Synonym{"rooftile kernel", "pointwise", "elementwise"},
};

struct OptionSynonym {
  std::string_view word, meant;
};

constexpr std::array kOptionSynonyms{
    OptionSynonym{"--batch-size", "--batch"},     OptionSynonym{"--bs", "--batch"},
    OptionSynonym{"--sequence", "--seq"},         OptionSynonym{"--seq-len", "--seq"},
    OptionSynonym{"--seqlen", "--seq"},           OptionSynonym{"--precision", "--dtype"},
    OptionSynonym{"--mode", "--phase"},           OptionSynonym{"--device", "--gpu"},
    OptionSynonym{"--tensor-parallel", "--tp"},   OptionSynonym{"--data-parallel", "--dp"},
    OptionSynonym{"--pipeline-parallel", "--pp"}, OptionSynonym{"--out", "--output"}};

/// The command as far as it was understood, and how it is called.
struct Reached {
  const CLI::App* app;
  std::string path;
};

Reached reached_by(const CLI::App& app) {
  Reached reached{.app = &app, .path = "rooftile"};
  while (!reached.app->get_subcommands().empty()) {
    reached.app = reached.app->get_subcommands().front();
    reached.path += " " + reached.app->get_name();
  }
  return reached;
}

bool has_option(const CLI::App& app, std::string_view name) {
  return app.get_option_no_throw(std::string(name)) != nullptr;
}

Error usage(std::string message, std::string hint) {
  return {.code = ErrorCode::Usage,
          .where = {},
          .message = std::move(message),
          .hint = std::move(hint)};
}

std::string see(const Reached& reached) {
  return fmt::format("see {} --help", reached.path);
}

Error unknown_command(const Reached& reached, const std::string& word) {
  const bool top = reached.app->get_parent() == nullptr;
  const std::string message =
      top ? fmt::format("unknown command \"{}\"", printable(word))
          : fmt::format("{} does not know \"{}\"", reached.path, printable(word));
  const std::string key = to_lower(word);
  for (const Synonym& synonym : kSynonyms) {
    if (synonym.command == reached.path && synonym.word == key)
      return usage(message, fmt::format("use {} {}", reached.path, synonym.meant));
  }
  std::vector<std::string> owned;
  for (const CLI::App* sub : reached.app->get_subcommands({})) owned.push_back(sub->get_name());
  const std::vector<std::string_view> names(owned.begin(), owned.end());
  const std::string hint = did_you_mean(word, names, top ? "commands:" : "it knows");
  return usage(message, hint + (hint.ends_with("?") ? " " : "; ") + see(reached));
}

/// --gpus where one GPU is asked about, and the other way round: another command is meant.
std::optional<Error> one_or_several_gpus(const Reached& reached, std::string_view option) {
  const std::string& name = reached.app->get_name();
  if (option == "--gpus" && has_option(*reached.app, "--gpu")) {
    return usage(fmt::format("{} is about one GPU and takes --gpu, not --gpus", name),
                 "rooftile compare MODEL --gpus A,B,C shows several side by side");
  }
  if (option == "--gpu" && has_option(*reached.app, "--gpus")) {
    return usage(fmt::format("{} is about several GPUs and takes --gpus, not --gpu", name),
                 fmt::format("rooftile {} MODEL --gpus A,B,C; for one GPU use rooftile predict "
                             "MODEL --gpu GPU",
                             name));
  }
  return std::nullopt;
}

Error unknown_option(const Reached& reached, const std::string& argument) {
  const std::string word = argument.substr(0, argument.find('='));
  if (auto error = one_or_several_gpus(reached, word)) return *error;
  const std::string message =
      fmt::format("unknown option \"{}\" of {}", printable(word), reached.path);
  if (word == "--model" && has_option(*reached.app, "model")) {
    return usage(message, fmt::format("give the model without an option: {} MODEL", reached.path));
  }
  for (const OptionSynonym& synonym : kOptionSynonyms) {
    if (synonym.word == word && has_option(*reached.app, synonym.meant))
      return usage(message, fmt::format("use {}; {}", synonym.meant, see(reached)));
  }
  std::vector<std::string> owned;
  for (const CLI::Option* option : reached.app->get_options()) {
    for (const std::string& name : option->get_lnames()) owned.push_back("--" + name);
  }
  const std::vector<std::string_view> names(owned.begin(), owned.end());
  const auto near = nearest(word, names);
  return usage(message,
               near ? fmt::format("did you mean \"{}\"? {}", *near, see(reached)) : see(reached));
}

/// What remains: an option before a plain word, which may be the value of that option.
Error unexpected(const Reached& reached, const std::vector<std::string>& words) {
  const auto option = std::find_if(words.begin(), words.end(), [](const std::string& word) {
    return word.starts_with("-") && !parse_double(word);
  });
  if (option != words.end()) return unknown_option(reached, *option);
  return usage(fmt::format("unexpected argument \"{}\"", printable(words.front())),
               fmt::format("lists are separated by commas; {}", see(reached)));
}

/// "--batch" and "abc" of "Could not convert: --batch = abc"; CLI11 has no other way to tell.
Error not_convertible(const Reached& reached, std::string_view text) {
  text = text.substr(std::min(text.find(": ") + 2, text.size()));
  const std::size_t equals = text.find(" = ");
  const std::string_view name = text.substr(0, equals);
  std::string_view value = equals == std::string_view::npos ? "" : trim(text.substr(equals + 3));
  if (value.starts_with('[') && value.ends_with(']')) value = value.substr(1, value.size() - 2);
  return usage(fmt::format("{} \"{}\" is not a number", name, printable(value)), see(reached));
}

/// CLI11 says "--format: xml not in {text,json}" and "--top: Value 0 not in range 1 to 9".
Error not_valid(const Reached& reached, const std::string& text) {
  constexpr std::string_view kList = " not in {";
  constexpr std::string_view kRange = " not in range ";
  const std::size_t colon = text.find(": ");
  if (colon == std::string::npos) return usage(text, see(reached));
  const std::string option = text.substr(0, colon);
  const std::string_view rest = std::string_view(text).substr(colon + 2);
  if (const std::size_t list = rest.find(kList); list != std::string_view::npos) {
    const std::string_view value = rest.substr(0, list);
    const auto words =
        split(rest.substr(list + kList.size(), rest.size() - list - kList.size() - 1), ',');
    return usage(fmt::format("unknown {} \"{}\"", option, printable(value)),
                 did_you_mean(value, words, option + " is one of"));
  }
  if (const std::size_t range = rest.find(kRange);
      range != std::string_view::npos && rest.starts_with("Value ")) {
    const std::string limits(rest.substr(range + kRange.size()));
    return usage(fmt::format("{} must be from {}, not {}", option, limits,
                             printable(rest.substr(6, range - 6))),
                 see(reached));
  }
  return usage(text, see(reached));
}

}  // namespace

Error explain_usage(const CLI::App& app, const CLI::ParseError& error) {
  const Reached reached = reached_by(app);
  const std::string text = error.what();
  const std::vector<std::string> remaining = app.remaining(true);
  const auto word = std::find_if(remaining.begin(), remaining.end(),
                                 [](const std::string& w) { return !w.starts_with("-"); });
  if (!reached.app->get_subcommands({}).empty() && word != remaining.end() &&
      reached.app->get_require_subcommand_min() > 0) {
    return unknown_command(reached, *word);
  }
  if (!remaining.empty()) return unexpected(reached, remaining);
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr &&
      reached.app->get_require_subcommand_min() > 0 &&
      text.find("subcommand") != std::string::npos) {
    std::vector<std::string> kinds;
    for (const CLI::App* sub : reached.app->get_subcommands({})) kinds.push_back(sub->get_name());
    return usage(fmt::format("{} needs one of {}", reached.path, fmt::join(kinds, ", ")),
                 see(reached));
  }
  if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr)
    return not_convertible(reached, text);
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    return usage(fmt::format("{} needs a value", text.substr(0, text.find(':'))), see(reached));
  }
  if (dynamic_cast<const CLI::ValidationError*>(&error) != nullptr) return not_valid(reached, text);
  return usage(text, see(reached));
}

Result<const CLI::App*> find_command(const CLI::App& app, std::span<const std::string> path) {
  Reached reached{.app = &app, .path = "rooftile"};
  for (const std::string& word : path) {
    const auto subs = reached.app->get_subcommands({});
    const auto sub = std::find_if(subs.begin(), subs.end(),
                                  [&](const CLI::App* s) { return s->get_name() == word; });
    if (subs.empty()) {
      return tl::unexpected(
          usage(fmt::format("{} has no subcommands", reached.path),
                fmt::format("rooftile help{} explains it", reached.path.substr(8))));
    }
    if (sub == subs.end()) return tl::unexpected(unknown_command(reached, word));
    reached.app = *sub;
    reached.path += " " + word;
  }
  return reached.app;
}

std::vector<std::string> join_lists(std::span<const char* const> arguments,
                                    std::span<const std::string> list_options) {
  std::vector<std::string> result;
  bool in_list = false;
  for (const std::string_view argument : arguments) {
    const bool option = argument.starts_with("-");
    const bool after_value = !result.empty() && (!result.back().starts_with("-") ||
                                                 result.back().find('=') != std::string::npos);
    const bool open = in_list && !option && after_value &&
                      (result.back().ends_with(",") || argument.starts_with(","));
    if (open) {
      result.back() += argument;
      continue;
    }
    if (option) {
      const std::string_view name = argument.substr(0, argument.find('='));
      in_list = std::find(list_options.begin(), list_options.end(), name) != list_options.end();
    }
    result.emplace_back(argument);
  }
  return result;
}

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

}  // namespace rooftile::cli
