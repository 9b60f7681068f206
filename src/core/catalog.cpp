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
    catalog.insert(std::string(file.name),
                   {.path = {}, .embedded = file.content, .owned = {}, .replaces = {}, .layer = 0});
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
  overlays_.push_back(folder);
  fs::recursive_directory_iterator it(folder, failure);
  for (; !failure && it != fs::recursive_directory_iterator(); it.increment(failure)) {
    if (!it->is_regular_file(failure)) continue;
    if (++count > kMostFiles)
      return bad_input(folder, fmt::format("holds more than {} files", kMostFiles));
    const std::string name = fs::relative(it->path(), folder, failure).generic_string();
    insert(name, {.path = it->path().string(),
                  .embedded = {},
                  .owned = {},
                  .replaces = {},
                  .layer = top_layer()});
  }
  if (failure) return bad_input(folder, fmt::format("cannot be read: {}", failure.message()));
  return {};
}

void Catalog::add(std::string relative_name, std::string content) {
  insert(std::move(relative_name), {.path = {},
                                    .embedded = {},
                                    .owned = std::move(content),
                                    .replaces = {},
                                    .layer = top_layer()});
}

void Catalog::insert(std::string relative_name, Entry entry) {
  const auto before = entries_.find(relative_name);
  if (before != entries_.end() && before->second.layer < entry.layer) {
    const bool itself = !entry.path.empty() && before->second.path == entry.path;  // named twice
    entry.replaces = itself ? before->second.replaces : name_of(relative_name);
  }
  entries_.insert_or_assign(std::move(relative_name), std::move(entry));
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

std::string Catalog::name_of(std::string_view relative_name) const {
  const auto it = entries_.find(relative_name);
  if (it == entries_.end() || it->second.path.empty()) {
    return fmt::format("catalog:{}", relative_name);
  }
  return it->second.path;
}

Result<Catalog::File> Catalog::read(std::string_view relative_name) const {
  const auto it = entries_.find(relative_name);
  if (it == entries_.end()) return bad_input(name_of(relative_name), "no such file");
  const Entry& entry = it->second;
  File file{.name = name_of(relative_name),
            .content = {},
            .replaces = entry.replaces,
            .origin = entry.layer == 0 ? Origin::Embedded : Origin::Overlay};
  if (entry.path.empty()) {
    file.content = entry.owned.empty() ? std::string(entry.embedded) : entry.owned;
  } else {
    ROOFTILE_TRY(file.content, read_file(entry.path));
  }
  return file;
}

Result<Catalog::File> Catalog::read_path(const std::string& path, std::size_t max_bytes) {
  File file{.name = path, .content = {}, .replaces = {}, .origin = Origin::File};
  ROOFTILE_TRY(file.content, read_file(path, max_bytes));
  return file;
}

}  // namespace rooftile
