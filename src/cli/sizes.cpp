// SPDX-License-Identifier: Apache-2.0
#include "cli/sizes.h"

#include <fmt/format.h>

#include <cmath>

#include "core/text.h"

namespace rooftile::cli {

std::optional<std::int64_t> parse_tokens(std::string_view text) {
  text = trim(text);
  double factor = 1;
  if (text.ends_with("i")) text.remove_suffix(1);  // 8Ki is 8k
  if (text.ends_with("k") || text.ends_with("K")) factor = 1024;
  if (text.ends_with("M")) factor = 1024.0 * 1024;
  if (factor > 1) text.remove_suffix(1);
  if (factor == 1) return parse_int(text);
  const auto number = parse_double(text);
  constexpr double kMost = 1e15;  // far below 2^53: the product is exact
  if (!number || !(std::abs(*number * factor) < kMost)) return std::nullopt;
  const double tokens = *number * factor;
  if (tokens != std::floor(tokens)) return std::nullopt;
  return static_cast<std::int64_t>(tokens);
}

CLI::Option* add_tokens_option(CLI::App& command, const std::string& name,
                               std::optional<std::int64_t>& tokens, const std::string& help) {
  return command
      .add_option_function<std::string>(
          name,
          [&tokens, name](const std::string& text) {
            tokens = parse_tokens(text);
            if (!tokens) {
              throw CLI::ValidationError(
                  fmt::format("{} \"{}\" is not a number of tokens, such as 1024 or 1k", name,
                              printable(text)));
            }
          },
          help)
      ->type_name("N");
}

CLI::Option* add_phase_option(CLI::App& command, std::string& phase, const std::string& help) {
  return command.add_option("--phase", phase, help)
      ->transform(
          [](const std::string& word) -> std::string {
            const std::string lower = to_lower(word);
            if (lower == "training") return "train";
            return lower == "inference" ? "infer" : lower;
          },
          "")
      ->capture_default_str();
}

Result<std::vector<std::int64_t>> parse_shape(std::string_view text, std::string_view form) {
  const std::size_t sizes = split(form, 'x').size();
  const std::string lower = to_lower(text);
  const std::vector<std::string_view> parts = split(lower, 'x');
  std::vector<std::int64_t> shape;
  for (const std::string_view part : parts) {
    const auto size = parse_int(trim(part));
    if (size && *size >= 1) shape.push_back(*size);
  }
  if (shape.size() == sizes && parts.size() == sizes) return shape;
  return usage_error(fmt::format("\"{}\" is not a shape of the form {}", printable(text), form),
                     fmt::format("write {} whole numbers with x between them, as in {}", sizes,
                                 sizes == 3 ? "4096x4096x1024" : "65536x1024"));
}

}  // namespace rooftile::cli
