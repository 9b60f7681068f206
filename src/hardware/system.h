// SPDX-License-Identifier: Apache-2.0
//
// Several GPUs: how many of them share a node, by what they are joined inside it, and by what
// nodes are joined. A system is one sourced JSON file (docs/format/system.md) or, where nobody
// names one, a single node of the GPUs' own links, which holds as many GPUs as these join. GPUs are
// numbered so that neighbours in number are near; node after node is filled. A group inside a
// node uses the node's links, any other one the network too: with k members in a node of n GPUs it
// has k/n of that node's network.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/catalog.h"
#include "core/result.h"
#include "hardware/gpu_spec.h"

namespace rooftile::hardware {

enum class LinkKind : std::uint8_t {
  Fabric,  ///< NVLink, Infinity Fabric: every GPU has its links to itself
  Pcie,    ///< through the host's bridges
};
/// fabric pcie
std::string_view name_of(LinkKind kind);

struct SystemSpec {
  std::string name;
  std::string id;  ///< the short name people type, "dgx-a100"
  std::vector<std::string> aliases;
  std::optional<std::string> gpu;  ///< id of the GPU in it; absent: any
  std::int64_t gpus = 1;           ///< in one node
  LinkKind kind = LinkKind::Fabric;
  LinkSpec link;                                             ///< of one GPU inside the node
  std::optional<LinkSpec> network;                           ///< of one node, shared by its GPUs
  std::vector<std::pair<std::string, std::string>> sources;  ///< JSON pointer -> where it is from
  std::string file;
  Input input;  ///< the record of that file; empty where nobody named a system
};

/// `file` is what errors call the text. Unknown keys, numbers without a unit or a source are
/// errors, and so is a link whose rate contradicts its name.
Result<SystemSpec> parse_system(std::string_view text, std::string file);

/// An id or alias of the catalogue ("dgx-a100"), or a path (contains '/' or ends in ".json").
Result<SystemSpec> load_system(const Catalog& catalog, std::string_view name_or_path);

/// All systems of the catalogue, by id; the first bad file is the error.
Result<std::vector<SystemSpec>> list_systems(const Catalog& catalog);

/// One node of `gpus` GPUs with the links of their data sheet: the GPU interconnect where it joins
/// as many, else PCIe for as many as one host holds. More are an error that names systems of the
/// catalogue with a network, and so are GPUs whose file states no link.
Result<SystemSpec> system_of(const Catalog& catalog, const GpuSpec& gpu, std::int64_t gpus);

/// What the members of a group in one node have of its network.
struct NetworkShare {
  std::string name;
  BytesPerSecond per_direction;  ///< the members of the node that holds the fewest
  /// The node's network / groups of it that leave it at the same time: no more for any of them.
  BytesPerSecond at_most;
};

/// What the GPUs of a group have to talk to one another.
struct GroupLink {
  LinkKind kind = LinkKind::Fabric;
  std::string name;
  BytesPerSecond per_direction;              ///< of one GPU, inside its node
  std::int64_t in_node = 1;                  ///< most members in one node
  std::int64_t nodes = 1;                    ///< most nodes that a group lies in
  std::optional<NetworkShare> network = {};  ///< groups that leave their node
};

/// Equal groups among the GPUs 0 to total - 1, which work in stages of `stage` GPUs: `size`
/// members, each `stride` behind the one before.
struct GroupLayout {
  std::int64_t size = 1, stride = 1;
  std::int64_t stage = 1;
  std::int64_t total = 1;
};

/// The links of the worst placed of the groups.
Result<GroupLink> link_of(const SystemSpec& system, const GroupLayout& groups);

/// The links from every GPU of a stage to the same one of the next stage, one entry per border.
Result<std::vector<GroupLink>> stage_links(const SystemSpec& system, std::int64_t stage,
                                           std::int64_t total);

}  // namespace rooftile::hardware
