// SPDX-License-Identifier: Apache-2.0
#include "core/catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "core/embedded_files.h"
#include "core/file.h"
#include "core/text.h"

namespace rooftile {

namespace fs = std::filesystem;

Catalog Catalog::embedded() {
  Catalog catalog;
  for (const EmbeddedFile& file : embedded_files()) {
    catalog.entries_.emplace(file.name, Entry{.path = {}, .embedded = file.content, .owned = {}});
  }
  return catalog;
}

Result<Catalog> Catalog::standard() {
  Catalog catalog = embedded();
  if (const char* folders = std::getenv("ROOFTILE_CATALOG"); folders != nullptr) {
    for (const std::string_view folder : split(folders, ':')) {
      if (!folder.empty()) ROOFTILE_CHECK(catalog.overlay(std::string(folder)));
    }
  }
  return catalog;
}

Status Catalog::overlay(const std::string& folder) {
  constexpr std::size_t kMostFiles = 100000;
  std::error_code failure;
  if (!fs::is_directory(folder, failure)) {
    return bad_input(folder, "is not a folder",
                     "ROOFTILE_CATALOG and --catalog name folders with gpus/, models/, ...");
  }
  std::size_t count = 0;
  ++overlays_;
  fs::recursive_directory_iterator it(folder, failure);
  for (; !failure && it != fs::recursive_directory_iterator(); it.increment(failure)) {
    if (!it->is_regular_file(failure)) continue;
    if (++count > kMostFiles)
      return bad_input(folder, fmt::format("holds more than {} files", kMostFiles));
    const std::string name = fs::relative(it->path(), folder, failure).generic_string();
    entries_.insert_or_assign(
        name, Entry{.path = it->path().string(), .embedded = {}, .owned = {}, .layer = overlays_});
  }
  if (failure) return bad_input(folder, fmt::format("cannot be read: {}", failure.message()));
  return {};
}

void Catalog::add(std::string relative_name, std::string content) {
  entries_.insert_or_assign(
      std::move(relative_name),
      Entry{.path = {}, .embedded = {}, .owned = std::move(content), .layer = overlays_});
}

std::vector<std::string> Catalog::list(std::string_view prefix) const {
  std::vector<std::string> names;
  for (auto it = entries_.lower_bound(prefix);
       it != entries_.end() && it->first.starts_with(prefix); ++it) {
    names.push_back(it->first);
  }
  return names;
}

bool Catalog::contains(std::string_view relative_name) const {
  return entries_.find(relative_name) != entries_.end();
}

int Catalog::layer(std::string_view relative_name) const {
  const auto it = entries_.find(relative_name);
  return it == entries_.end() ? 0 : it->second.layer;
}

Result<Catalog::File> Catalog::read(std::string_view relative_name) const {
  const auto it = entries_.find(relative_name);
  if (it == entries_.end())
    return bad_input(fmt::format("catalog:{}", relative_name), "no such file");
  const Entry& entry = it->second;
  if (entry.path.empty()) {
    return File{.name = fmt::format("catalog:{}", relative_name),
                .content = entry.owned.empty() ? std::string(entry.embedded) : entry.owned};
  }
  ROOFTILE_TRY(std::string content, read_file(entry.path));
  return File{.name = entry.path, .content = std::move(content)};
}

}  // namespace rooftile
