// SPDX-License-Identifier: Apache-2.0
#include "calibration/checkpoint.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/file.h"
#include "core/json.h"

namespace rooftile::calibration {

namespace {

constexpr const char* kStartAnew = "delete the checkpoint and run the command again";

/// Parameters are logarithms or numbers around 1; weights of a network are smaller still.
constexpr double kLargest = 500;

Result<std::vector<double>> read_result(const JsonView& view, std::size_t size) {
  ROOFTILE_TRY(const auto elements, view.elements());
  if (elements.size() != size) {
    return view.error(fmt::format("has {} numbers, not {}", elements.size(), size), kStartAnew);
  }
  std::vector<double> result;
  result.reserve(size);
  for (const JsonView& element : elements) {
    ROOFTILE_TRY(result.emplace_back(), element.number());
    if (!(std::abs(result.back()) <= kLargest)) {
      return element.error(fmt::format("{} is not the result of a fit", result.back()), kStartAnew);
    }
  }
  return result;
}

}  // namespace

Result<TaskResults> read_checkpoint(const std::string& path, const std::string& key,
                                    const std::map<std::string, std::size_t>& sizes) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return TaskResults{};
  ROOFTILE_TRY(const std::string text, read_file(path));
  ROOFTILE_TRY(const auto document, JsonDocument::parse(text, path));
  constexpr std::array<std::string_view, 2> kKeys{"key", "tasks"};
  ROOFTILE_CHECK(document.root().expect_keys(kKeys));
  ROOFTILE_TRY(const auto key_view, document.root().at("key"));
  ROOFTILE_TRY(const auto written_for, key_view.string());
  if (written_for != key) return TaskResults{};
  ROOFTILE_TRY(const auto tasks, document.root().at("tasks"));
  ROOFTILE_TRY(const auto members, tasks.members());
  TaskResults results;
  for (const auto& [name, view] : members) {
    const auto size = sizes.find(name);
    if (size == sizes.end()) return view.error("is not a task of this fit", kStartAnew);
    ROOFTILE_TRY(results[name], read_result(view, size->second));
  }
  return results;
}

Status write_checkpoint(const std::string& path, const std::string& key,
                        const TaskResults& results) {
  nlohmann::ordered_json json{{"key", key}, {"tasks", nlohmann::ordered_json::object()}};
  for (const auto& [name, values] : results) json["tasks"][name] = values;
  return write_file_atomic(path, json.dump() + "\n");
}

}  // namespace rooftile::calibration
