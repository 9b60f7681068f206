// SPDX-License-Identifier: Apache-2.0
#include "fit/checkpoint.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/file.h"
#include "core/json.h"

namespace rooftile::fit {

Result<TaskResults> read_checkpoint(const std::string& path, const std::string& key) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return TaskResults{};
  ROOFTILE_TRY(const std::string text, read_file(path));
  ROOFTILE_TRY(const auto document, JsonDocument::parse(text, path));
  ROOFTILE_TRY(const auto key_view, document.root().at("key"));
  ROOFTILE_TRY(const auto written_for, key_view.string());
  if (written_for != key) return TaskResults{};
  ROOFTILE_TRY(const auto tasks, document.root().at("tasks"));
  ROOFTILE_TRY(const auto members, tasks.members());
  TaskResults results;
  for (const auto& [name, view] : members) {
    ROOFTILE_TRY(const auto elements, view.elements());
    for (const JsonView& element : elements) {
      ROOFTILE_TRY(const double value, element.number());
      results[name].push_back(value);
    }
  }
  return results;
}

Status write_checkpoint(const std::string& path, const std::string& key,
                        const TaskResults& results) {
  nlohmann::ordered_json json{{"key", key}, {"tasks", nlohmann::ordered_json::object()}};
  for (const auto& [name, values] : results) json["tasks"][name] = values;
  return write_file_atomic(path, json.dump() + "\n");
}

}  // namespace rooftile::fit
