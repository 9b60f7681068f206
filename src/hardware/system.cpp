// SPDX-License-Identifier: Apache-2.0
#include "hardware/system.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/file.h"
#include "core/json.h"
#include "core/text.h"
#include "hardware/lint.h"
#include "hardware/load.h"

namespace rooftile::hardware {

namespace {

constexpr std::string_view kFolder = "systems/";
constexpr std::string_view kExtension = ".json";
constexpr std::size_t kMostFileBytes = 1 << 20;
constexpr std::array kKinds{LinkKind::Fabric, LinkKind::Pcie};

Result<std::string> words(const JsonView& object, std::string_view key) {
  ROOFTILE_TRY(const JsonView member, object.at(key));
  ROOFTILE_TRY(std::string text, member.string());
  if (trim(text).empty()) return member.error("is empty");
  return text;
}

Result<LinkSpec> read_link(const JsonView& object) {
  LinkSpec link;
  ROOFTILE_TRY(link.name, words(object, "name"));
  ROOFTILE_TRY(const JsonView rate, object.at("per_direction"));
  ROOFTILE_TRY(link.per_direction, rate.quantity<BytesPerSecond>());
  if (link.per_direction <= BytesPerSecond{}) return rate.error("must be more than zero");
  if (const auto problem = link_problem(link)) return rate.error(*problem);
  return link;
}

Result<LinkKind> read_kind(const JsonView& link) {
  ROOFTILE_TRY(const JsonView member, link.at("kind"));
  ROOFTILE_TRY(const std::string text, member.string());
  std::vector<std::string_view> known;
  for (const LinkKind kind : kKinds) {
    if (text == name_of(kind)) return kind;
    known.push_back(name_of(kind));
  }
  return member.error(fmt::format("unknown kind \"{}\"", printable(text)),
                      did_you_mean(text, known, "kinds are"));
}

Status read_sources(const JsonView& root, SystemSpec& system) {
  ROOFTILE_TRY(const JsonView sources, root.at("sources"));
  ROOFTILE_TRY(const auto members, sources.members());
  for (const auto& [pointer, member] : members) {
    ROOFTILE_TRY(std::string text, member.string());
    if (trim(text).empty()) return member.error("is empty");
    system.sources.emplace_back(pointer, std::move(text));
  }
  for (const std::string_view number : {"/gpus", "/link/per_direction", "/network/per_direction"}) {
    if (number.starts_with("/network") && !system.network) continue;
    const bool said = std::any_of(
        system.sources.begin(), system.sources.end(),
        [&](const auto& source) { return number.starts_with(std::string_view(source.first)); });
    if (!said) {
      return sources.error(fmt::format("no source for {}", number),
                           "say where the number is from; \"\" stands for all of them");
    }
  }
  return {};
}

Status read_names(const JsonView& root, SystemSpec& system) {
  ROOFTILE_TRY(system.name, words(root, "name"));
  ROOFTILE_TRY(system.id, words(root, "id"));
  if (const auto aliases = root.find("aliases")) {
    ROOFTILE_TRY(const auto elements, aliases->elements());
    for (const JsonView& element : elements) {
      ROOFTILE_TRY(std::string alias, element.string());
      system.aliases.push_back(std::move(alias));
    }
  }
  if (root.find("gpu")) {
    ROOFTILE_TRY(system.gpu, words(root, "gpu"));
  }
  return {};
}

bool answers_to(const SystemSpec& system, std::string_view wanted) {
  if (normalized_gpu_name(system.id) == wanted || normalized_gpu_name(system.name) == wanted)
    return true;
  return std::any_of(system.aliases.begin(), system.aliases.end(),
                     [&](const auto& alias) { return normalized_gpu_name(alias) == wanted; });
}

}  // namespace

std::string_view name_of(LinkKind kind) {
  switch (kind) {
    case LinkKind::Fabric: return "fabric";
    case LinkKind::Pcie: return "pcie";
    case LinkKind::Network: return "network";
  }
  return "?";
}

Result<SystemSpec> parse_system(std::string_view text, std::string file) {
  static constexpr std::array<std::string_view, 9> kKeys{
      "schema", "name", "id", "aliases", "gpu", "gpus", "link", "network", "sources"};
  static constexpr std::array<std::string_view, 3> kLinkKeys{"kind", "name", "per_direction"};
  static constexpr std::array<std::string_view, 2> kNetworkKeys{"name", "per_direction"};
  constexpr std::int64_t kMostGpus = 1024;
  SystemSpec system;
  system.file = file;
  ROOFTILE_TRY(const JsonDocument document, JsonDocument::parse(text, std::move(file)));
  const JsonView root = document.root();
  ROOFTILE_CHECK(root.expect_keys(kKeys));
  ROOFTILE_TRY(const JsonView schema, root.at("schema"));
  ROOFTILE_CHECK(schema.integer(1, 1));
  ROOFTILE_CHECK(read_names(root, system));
  ROOFTILE_TRY(const JsonView gpus, root.at("gpus"));
  ROOFTILE_TRY(system.gpus, gpus.integer(1, kMostGpus));
  ROOFTILE_TRY(const JsonView link, root.at("link"));
  ROOFTILE_CHECK(link.expect_keys(kLinkKeys));
  ROOFTILE_TRY(system.kind, read_kind(link));
  ROOFTILE_TRY(system.link, read_link(link));
  if (const auto network = root.find("network")) {
    ROOFTILE_CHECK(network->expect_keys(kNetworkKeys));
    ROOFTILE_TRY(system.network, read_link(*network));
  }
  ROOFTILE_CHECK(read_sources(root, system));
  return system;
}

Result<SystemSpec> load_system(const Catalog& catalog, std::string_view name_or_path) {
  if (name_or_path.find('/') != std::string_view::npos || name_or_path.ends_with(kExtension)) {
    const std::string path(name_or_path);
    ROOFTILE_TRY(const std::string text, read_file(path, kMostFileBytes));
    return parse_system(text, path);
  }
  ROOFTILE_TRY(const std::vector<SystemSpec> systems, list_systems(catalog));
  const std::string wanted = normalized_gpu_name(name_or_path);
  std::vector<std::string_view> ids;
  for (const SystemSpec& system : systems) {
    if (answers_to(system, wanted)) return system;
    ids.push_back(system.id);
  }
  return bad_input({}, fmt::format("unknown system \"{}\"", printable(name_or_path)),
                   did_you_mean(name_or_path, ids, "a path to a JSON file, or one of"));
}

Result<std::vector<SystemSpec>> list_systems(const Catalog& catalog) {
  std::vector<SystemSpec> systems;
  for (const std::string& name : catalog.list(kFolder)) {
    if (!name.ends_with(kExtension)) continue;
    ROOFTILE_TRY(const Catalog::File file, catalog.read(name));
    ROOFTILE_TRY(SystemSpec system, parse_system(file.content, file.name));
    systems.push_back(std::move(system));
  }
  std::sort(systems.begin(), systems.end(),
            [](const SystemSpec& a, const SystemSpec& b) { return a.id < b.id; });
  return systems;
}

Result<SystemSpec> system_of(const GpuSpec& gpu, std::int64_t gpus) {
  SystemSpec system;
  system.name = fmt::format("{} x {}", gpus, gpu.name);
  system.gpu = gpu.id;
  system.gpus = gpus;
  system.file = gpu.file;
  const bool joined = gpu.interconnect && gpus <= gpu.interconnect->gpus.value_or(gpus);
  if (joined) {
    system.link = *gpu.interconnect;
  } else if (gpu.pcie) {
    system.kind = LinkKind::Pcie;
    system.link = *gpu.pcie;
  } else {
    return unsupported(gpu.file, fmt::format("states no link that joins {} GPUs", gpus),
                       "name the links with --system FILE");
  }
  return system;
}

Result<GroupLink> link_of(const SystemSpec& system, std::int64_t gpus) {
  if (gpus <= system.gpus) {
    return GroupLink{
        .kind = system.kind, .name = system.link.name, .per_direction = system.link.per_direction};
  }
  if (!system.network) {
    return bad_input(system.file,
                     fmt::format("{} GPUs are more than the {} of one {}, and the file states no "
                                 "network",
                                 gpus, system.gpus, system.name),
                     "use fewer GPUs, or a system file with \"network\"");
  }
  return GroupLink{
      .kind = LinkKind::Network,
      .name = system.network->name,
      .per_direction = system.network->per_direction / static_cast<double>(system.gpus)};
}

}  // namespace rooftile::hardware
