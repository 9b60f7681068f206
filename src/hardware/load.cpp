// SPDX-License-Identifier: Apache-2.0
#include "hardware/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <tuple>

#include "core/provenance.h"
#include "core/text.h"
#include "hardware/catalog_files.h"
#include "hardware/head_scan.h"

namespace rooftile::hardware {

namespace {

constexpr std::string_view kGpuFolder = "gpus/";

bool is_alnum(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/// Names of GPUs may hold a slash ("AMD Instinct MI250X/MI250").
bool is_path(std::string_view text) {
  if (text.ends_with(kExtension)) return true;
  std::error_code ignored;
  return text.find('/') != std::string_view::npos &&
         std::filesystem::exists(std::filesystem::path(text), ignored);
}

GpuEntry entry_of(const std::string& file, std::string_view content) {
  GpuEntry entry{.file = file, .id = {}, .name = {}, .aliases = {}, .layer = 0};
  const auto head = scan_head(content);
  if (head && !head->id.empty()) {
    entry.id = head->id;
    entry.name = head->name;
    entry.aliases = head->aliases;
  } else {
    entry.id = file.substr(kGpuFolder.size(), file.size() - kGpuFolder.size() - kExtension.size());
  }
  return entry;
}

bool answers_to(const GpuEntry& entry, std::string_view wanted) {
  if (normalized_gpu_name(entry.id) == wanted || normalized_gpu_name(entry.name) == wanted)
    return true;
  return std::any_of(entry.aliases.begin(), entry.aliases.end(), [&](const std::string& alias) {
    return normalized_gpu_name(alias) == wanted;
  });
}

/// The id whose id or other name is spelt most like `wanted`.
std::optional<std::string> nearest_id(std::string_view wanted,
                                      const std::vector<GpuEntry>& entries) {
  std::vector<std::pair<std::string, std::string>> names;  // as compared -> id
  for (const GpuEntry& entry : entries) {
    names.emplace_back(normalized_gpu_name(entry.id), entry.id);
    for (const std::string& alias : entry.aliases) {
      names.emplace_back(normalized_gpu_name(alias), entry.id);
    }
  }
  std::vector<std::string_view> candidates;
  for (const auto& [name, id] : names) candidates.push_back(name);
  const auto close = nearest(wanted, candidates);
  if (!close) return std::nullopt;
  const auto it = std::find_if(names.begin(), names.end(),
                               [&](const auto& name) { return name.first == *close; });
  return it->second;
}

/// Ids that contain the wanted text ("b200" -> b200-sxm, gb200), else the nearest spelling.
std::string suggestion(std::string_view wanted, const std::vector<GpuEntry>& entries) {
  constexpr std::size_t kMost = 6;
  std::vector<std::string> near;
  for (const GpuEntry& entry : entries) {
    if (wanted.size() >= 2 && normalized_gpu_name(entry.id).find(wanted) != std::string::npos)
      near.push_back(entry.id);
  }
  if (near.size() > kMost) near.resize(kMost);
  if (!near.empty()) return fmt::format("did you mean {}?", fmt::join(near, ", "));
  if (const auto id = nearest_id(wanted, entries)) return fmt::format("did you mean \"{}\"?", *id);
  return "`rooftile gpus` lists the known GPUs; the path of a JSON file also works";
}

}  // namespace

std::string normalized_gpu_name(std::string_view name) {
  static constexpr std::array<std::string_view, 9> kOptionalWords{
      "nvidia", "amd", "intel", "tesla", "geforce", "instinct", "radeon", "quadro", "(r)"};
  std::string lower = to_lower(trim(name));
  std::string_view rest = lower;
  const auto skip_word = [&rest]() {
    for (const std::string_view word : kOptionalWords) {
      // Only a whole word: "tesla-v100" and "tesla_v100", not "teslavision".
      if (rest.starts_with(word) && rest.size() > word.size() && !is_alnum(rest[word.size()])) {
        rest.remove_prefix(word.size());
        while (!rest.empty() && !is_alnum(rest.front())) rest.remove_prefix(1);
        return true;
      }
    }
    return false;
  };
  while (skip_word()) {
  }
  std::string out;
  std::copy_if(rest.begin(), rest.end(), std::back_inserter(out), is_alnum);
  return out;
}

std::string gpu_file_stem(std::string_view name) {
  std::string out;
  for (const char c : to_lower(name)) {
    if (is_alnum(c)) {
      out += c;
    } else if (!out.empty() && out.back() != '_') {
      out += '_';
    }
  }
  while (out.ends_with('_')) out.pop_back();
  return out;
}

namespace {

/// Those of all layers.
std::vector<GpuEntry> all_entries(const Catalog& catalog) {
  std::vector<GpuEntry> entries;
  for (const std::string& file : catalog.list(kGpuFolder)) {
    if (!file.ends_with(kExtension)) continue;
    const auto content = catalog.read(file);
    entries.push_back(entry_of(file, content ? std::string_view(content->content) : ""));
    entries.back().layer = catalog.layer(file);
  }
  return entries;
}

/// Without the entries that another one of a later layer hides.
std::vector<GpuEntry> visible(std::vector<GpuEntry> entries) {
  std::map<std::string, int> newest;  // id -> layer
  for (const GpuEntry& entry : entries) {
    int& layer = newest[entry.id];
    layer = std::max(layer, entry.layer);
  }
  std::erase_if(entries, [&](const GpuEntry& entry) { return entry.layer < newest[entry.id]; });
  return entries;
}

/// The file of an earlier layer that is read for `wanted`, or has the same id, without `chosen`.
std::string replaced_by(const GpuEntry& chosen, std::string_view wanted,
                        const std::vector<GpuEntry>& entries, const Catalog& catalog) {
  const GpuEntry* latest = nullptr;
  for (const GpuEntry& entry : entries) {
    if (entry.layer >= chosen.layer || (entry.id != chosen.id && !answers_to(entry, wanted))) {
      continue;
    }
    if (latest == nullptr || entry.layer > latest->layer) latest = &entry;
  }
  return latest == nullptr ? std::string() : catalog.name_of(latest->file);
}

Result<GpuSpec> parse_file(const Catalog::File& file, const Catalog& catalog) {
  ROOFTILE_TRY(GpuSpec gpu, parse_gpu(file.content, file.name, catalog));
  gpu.input = make_input("gpu", gpu.id, file);
  return gpu;
}

}  // namespace

std::vector<GpuEntry> gpu_entries(const Catalog& catalog) {
  const std::vector<GpuEntry> all = all_entries(catalog);
  std::vector<GpuEntry> entries = visible(all);
  for (GpuEntry& entry : entries) {
    entry.replaces = replaced_by(entry, normalized_gpu_name(entry.id), all, catalog);
  }
  return entries;
}

Result<GpuSpec> load_gpu(const Catalog& catalog, const GpuEntry& entry) {
  ROOFTILE_TRY(Catalog::File file, catalog.read(entry.file));
  if (file.replaces.empty()) file.replaces = entry.replaces;
  return parse_file(file, catalog);
}

Result<GpuSpec> load_gpu(const Catalog& catalog, std::string_view name_or_path) {
  if (is_path(name_or_path)) {
    ROOFTILE_TRY(const auto file, Catalog::read_path(std::string(name_or_path), kMostFileBytes));
    return parse_file(file, catalog);
  }
  const std::string wanted = normalized_gpu_name(name_or_path);
  const std::vector<GpuEntry> all = all_entries(catalog);
  const std::vector<GpuEntry> entries = visible(all);
  std::vector<const GpuEntry*> matches;
  for (const GpuEntry& entry : entries) {
    if (!wanted.empty() && answers_to(entry, wanted)) matches.push_back(&entry);
  }
  if (matches.empty())
    return bad_input({}, fmt::format("unknown GPU \"{}\"", printable(name_or_path)),
                     suggestion(wanted, entries));
  std::stable_sort(matches.begin(), matches.end(), [](const GpuEntry* a, const GpuEntry* b) {
    return a->layer > b->layer;  // the user's own before built-in ones
  });
  if (matches.size() > 1 && matches[0]->layer == matches[1]->layer)
    return bad_input({},
                     fmt::format("the GPU name \"{}\" is claimed by {} and {}",
                                 printable(name_or_path), matches[0]->file, matches[1]->file),
                     "remove the name from one of them, or give the path of the file");
  GpuEntry chosen = *matches[0];
  chosen.replaces = replaced_by(chosen, wanted, all, catalog);
  return load_gpu(catalog, chosen);
}

Result<std::vector<GpuSpec>> list_gpus(const Catalog& catalog) {
  std::vector<GpuSpec> gpus;
  for (const GpuEntry& entry : gpu_entries(catalog)) {
    ROOFTILE_TRY(GpuSpec gpu, load_gpu(catalog, entry));
    gpus.push_back(std::move(gpu));
  }
  std::stable_sort(gpus.begin(), gpus.end(), [](const GpuSpec& a, const GpuSpec& b) {
    return std::tuple(a.vendor, a.year.value_or(0), a.id) <
           std::tuple(b.vendor, b.year.value_or(0), b.id);
  });
  return gpus;
}

}  // namespace rooftile::hardware
