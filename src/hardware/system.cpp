// SPDX-License-Identifier: Apache-2.0
#include "hardware/system.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "core/json.h"
#include "core/provenance.h"
#include "core/text.h"
#include "hardware/catalog_files.h"
#include "hardware/lint_checks.h"
#include "hardware/load.h"

namespace rooftile::hardware {

namespace {

constexpr std::string_view kSystemFolder = "systems/";
/// Of one node: 1 Gbit/s Ethernet to more than a rack of 72 GPUs has.
constexpr Plausible kNetwork{1e8, 2e13, "B/s"};
constexpr std::array kKinds{LinkKind::Fabric, LinkKind::Pcie};
/// GPUs in the slots of one server, as in the boxes of data/systems; for links whose file does not
/// say how many they join.
constexpr std::int64_t kGpusOfAHost = 8;

Result<std::string> words(const JsonView& object, std::string_view key) {
  ROOFTILE_TRY(const JsonView member, object.at(key));
  ROOFTILE_TRY(std::string text, member.string());
  if (trim(text).empty()) return member.error("is empty");
  return text;
}

Result<LinkSpec> read_link(const JsonView& object, const Plausible& range) {
  LinkSpec link;
  ROOFTILE_TRY(link.name, words(object, "name"));
  ROOFTILE_TRY(const JsonView rate, object.at("per_direction"));
  ROOFTILE_TRY(link.per_direction, rate.quantity<BytesPerSecond>());
  if (link.per_direction <= BytesPerSecond{}) return rate.error("must be more than zero");
  if (const auto problem = link_problem(link)) return rate.error(*problem);
  std::vector<LintFinding> findings;
  LintReport report(kUnitSlip, findings);
  expect(link.per_direction.base(), range, rate.pointer(), report);
  if (!findings.empty()) return rate.error(findings.front().message);
  return link;
}

Result<LinkKind> read_link_kind(const JsonView& link) {
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
                           "say where the number comes from; \"\" stands for all of them");
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

/// The options that would join more GPUs: systems of this GPU, else boxes with its slots.
std::string systems_for(const Catalog& catalog, const GpuSpec& gpu) {
  std::vector<std::string> own, boxes;
  if (const auto systems = list_systems(catalog)) {
    for (const SystemSpec& system : *systems) {
      if (!system.network) continue;
      if (system.gpu && *system.gpu == gpu.id) own.push_back("--system " + system.id);
      if (!system.gpu && gpu.pcie && gpu.pcie->name == system.link.name) {
        boxes.push_back("--system " + system.id);
      }
    }
  }
  std::vector<std::string>& known = own.empty() && !gpu.interconnect ? boxes : own;
  known.emplace_back("--system FILE");
  return fmt::format("{}", fmt::join(known, " or "));
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
  ROOFTILE_TRY(system.kind, read_link_kind(link));
  ROOFTILE_TRY(system.link, read_link(link, kLink));
  if (const auto network = root.find("network")) {
    ROOFTILE_CHECK(network->expect_keys(kNetworkKeys));
    ROOFTILE_TRY(system.network, read_link(*network, kNetwork));
  }
  ROOFTILE_CHECK(read_sources(root, system));
  return system;
}

namespace {

Result<SystemSpec> parse_file(const Catalog::File& file) {
  ROOFTILE_TRY(SystemSpec system, parse_system(file.content, file.name));
  system.input = make_input("system", system.id, file);
  return system;
}

bool is_embedded(const SystemSpec& system) {
  return system.input.origin == "embedded";
}

}  // namespace

Result<SystemSpec> load_system(const Catalog& catalog, std::string_view name_or_path) {
  if (name_or_path.find('/') != std::string_view::npos || name_or_path.ends_with(kExtension)) {
    ROOFTILE_TRY(const auto file, Catalog::read_path(std::string(name_or_path), kMostFileBytes));
    return parse_file(file);
  }
  ROOFTILE_TRY(const std::vector<SystemSpec> systems, list_systems(catalog));
  const std::string wanted = normalized_gpu_name(name_or_path);
  std::vector<std::string_view> ids;
  const SystemSpec* found = nullptr;
  std::string replaced;
  for (const SystemSpec& system : systems) {
    ids.push_back(system.id);
    if (!answers_to(system, wanted)) continue;
    if (found == nullptr) {
      found = &system;
    } else if (is_embedded(*found) != is_embedded(system)) {  // the user's own comes first
      replaced = is_embedded(*found) ? found->file : system.file;
      if (is_embedded(*found)) found = &system;
    }
  }
  if (found != nullptr) {
    SystemSpec system = *found;
    if (system.input.replaces.empty()) system.input.replaces = replaced;
    return system;
  }
  return bad_input({}, fmt::format("unknown system \"{}\"", printable(name_or_path)),
                   did_you_mean(name_or_path, ids, "a path to a JSON file, or one of"));
}

Result<std::vector<SystemSpec>> list_systems(const Catalog& catalog) {
  struct Entry {
    SystemSpec system;
    int layer = 0;
  };
  std::vector<Entry> entries;
  for (const std::string& name : catalog.list(kSystemFolder)) {
    if (!name.ends_with(kExtension)) continue;
    ROOFTILE_TRY(const Catalog::File file, catalog.read(name));
    ROOFTILE_TRY(SystemSpec system, parse_file(file));
    entries.push_back({.system = std::move(system), .layer = catalog.layer(name)});
  }
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tuple(std::string_view(a.system.id), -a.layer) <
           std::tuple(std::string_view(b.system.id), -b.layer);
  });
  std::vector<SystemSpec> systems;
  for (Entry& entry : entries) {
    if (systems.empty() || systems.back().id != entry.system.id) {
      systems.push_back(std::move(entry.system));
    } else if (Input& winner = systems.back().input; winner.replaces.empty()) {
      winner.replaces = entry.system.file;  // the same id in an earlier layer
    }
  }
  return systems;
}

Result<SystemSpec> system_of(const Catalog& catalog, const GpuSpec& gpu, std::int64_t gpus) {
  SystemSpec system;
  system.name = fmt::format("{} x {}", gpus, gpu.name);
  system.gpu = gpu.id;
  system.gpus = gpus;
  system.file = gpu.file;
  if (gpu.interconnect && gpus <= gpu.interconnect->gpus.value_or(kGpusOfAHost)) {
    system.link = *gpu.interconnect;
    return system;
  }
  if (!gpu.pcie && !gpu.interconnect) {
    return unsupported(gpu.file, fmt::format("states no link that joins {} GPUs", gpus),
                       "name the links with --system FILE");
  }
  if (gpu.pcie && gpus <= gpu.pcie->gpus.value_or(kGpusOfAHost)) {
    system.kind = LinkKind::Pcie;
    system.link = *gpu.pcie;
    return system;
  }
  const std::int64_t joined =
      std::max(gpu.interconnect ? gpu.interconnect->gpus.value_or(kGpusOfAHost) : 0,
               gpu.pcie ? gpu.pcie->gpus.value_or(kGpusOfAHost) : 0);
  return bad_input(gpu.file,
                   fmt::format("{} GPUs are more than the {} that the links of one {} connect",
                               gpus, joined, gpu.name),
                   fmt::format("say what connects the nodes: {}", systems_for(catalog, gpu)));
}

namespace {

tl::unexpected<Error> no_network(const SystemSpec& system, std::int64_t gpus) {
  return bad_input(system.file,
                   fmt::format("{} GPUs are more than the {} of one {}, and the file states no "
                               "network",
                               gpus, system.gpus, system.name),
                   "use fewer GPUs, or a system file with \"network\"");
}

GroupLink inside_of(const SystemSpec& system) {
  return {
      .kind = system.kind, .name = system.link.name, .per_direction = system.link.per_direction};
}

/// How the groups lie in the nodes.
struct Placement {
  std::int64_t fewest = 0, most = 0;  ///< members of a group in a node, of those that leave it
  std::int64_t nodes = 1;             ///< of a group
  std::int64_t leaving = 0;           ///< groups of a stage that leave one node
};

/// Counts the members of one group per node.
void place(const GroupLayout& groups, std::int64_t first, std::int64_t node_size,
           std::map<std::int64_t, std::int64_t>& leaving, Placement& placed) {
  std::map<std::int64_t, std::int64_t> members;  // by node
  for (std::int64_t i = 0; i < groups.size; ++i) {
    ++members[(first + i * groups.stride) / node_size];
  }
  if (members.size() == 1) return;
  placed.nodes = std::max(placed.nodes, static_cast<std::int64_t>(members.size()));
  for (const auto& [node, count] : members) {
    placed.fewest = placed.fewest == 0 ? count : std::min(placed.fewest, count);
    placed.most = std::max(placed.most, count);
    placed.leaving = std::max(placed.leaving, ++leaving[node]);
  }
}

Placement placement_of(const GroupLayout& groups, std::int64_t node_size) {
  Placement placed;
  for (std::int64_t stage = 0; stage < groups.total; stage += groups.stage) {
    std::map<std::int64_t, std::int64_t> leaving;  // groups by node
    for (std::int64_t row = stage; row < stage + groups.stage; row += groups.size * groups.stride) {
      for (std::int64_t first = row; first < row + groups.stride; ++first) {
        place(groups, first, node_size, leaving, placed);
      }
    }
  }
  return placed;
}

}  // namespace

Result<GroupLink> link_of(const SystemSpec& system, const GroupLayout& groups) {
  GroupLink link = inside_of(system);
  link.in_node = groups.size;
  if (groups.total <= system.gpus) return link;
  if (!system.network) return no_network(system, groups.total);
  const Placement placed = placement_of(groups, system.gpus);
  if (placed.nodes == 1) return link;
  link.in_node = placed.most;
  link.nodes = placed.nodes;
  const BytesPerSecond node = system.network->per_direction;
  link.network = NetworkShare{.name = system.network->name,
                              .per_direction = node * (static_cast<double>(placed.fewest) /
                                                       static_cast<double>(system.gpus)),
                              .at_most = node / static_cast<double>(placed.leaving)};
  return link;
}

Result<std::vector<GroupLink>> stage_links(const SystemSpec& system, std::int64_t stage,
                                           std::int64_t total) {
  std::vector<GroupLink> borders;
  if (total > system.gpus && !system.network) return no_network(system, total);
  for (std::int64_t first = 0; first + stage < total; first += stage) {
    GroupLink link = inside_of(system);
    std::map<std::int64_t, std::int64_t> leaving;  // GPUs by node
    std::int64_t most = 0;
    for (std::int64_t i = first; i < first + stage; ++i) {
      const std::int64_t node = i / system.gpus;
      if ((i + stage) / system.gpus != node) most = std::max(most, ++leaving[node]);
    }
    if (most > 0) {
      const BytesPerSecond node = system.network->per_direction;
      link.nodes = 2;
      link.network = NetworkShare{.name = system.network->name,
                                  .per_direction = node / static_cast<double>(system.gpus),
                                  .at_most = node / static_cast<double>(most)};
    } else {
      link.in_node = 2;
    }
    borders.push_back(std::move(link));
  }
  return borders;
}

}  // namespace rooftile::hardware
