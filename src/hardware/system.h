// SPDX-License-Identifier: Apache-2.0
//
// Several GPUs: how many of them share a node, by what they are joined inside of it, and by what
// nodes are joined. A system is one sourced JSON file (docs/format/system.md) or, where nobody
// names one, a single node of the GPUs' own links. GPUs are numbered so that neighbours in number
// are near: a group that lies inside of a node uses the node's links, any other one the network.
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
  Network,
};
/// fabric pcie network
std::string_view name_of(LinkKind kind);

struct SystemSpec {
  std::string name;
  std::string id;  ///< the short name people type, "dgx-a100"
  std::vector<std::string> aliases;
  std::optional<std::string> gpu;  ///< id of the GPU in it; absent: any
  std::int64_t gpus = 1;           ///< in one node
  LinkKind kind = LinkKind::Fabric;
  LinkSpec link;                                             ///< of one GPU inside of the node
  std::optional<LinkSpec> network;                           ///< of one node, shared by its GPUs
  std::vector<std::pair<std::string, std::string>> sources;  ///< JSON pointer -> where it is from
  std::string file;
};

/// `file` is what errors call the text. Unknown keys, numbers without a unit or a source are
/// errors, and so is a link whose rate contradicts its name.
Result<SystemSpec> parse_system(std::string_view text, std::string file);

/// An id or alias of the catalogue ("dgx-a100"), or a path (contains '/' or ends in ".json").
Result<SystemSpec> load_system(const Catalog& catalog, std::string_view name_or_path);

/// All systems of the catalogue, by id; the first bad file is the error.
Result<std::vector<SystemSpec>> list_systems(const Catalog& catalog);

/// One node of `gpus` GPUs with the links of their data sheet: the GPU interconnect where it joins
/// as many, else PCIe. An error when the file states neither.
Result<SystemSpec> system_of(const GpuSpec& gpu, std::int64_t gpus);

/// What one GPU of a group has to talk to the others.
struct GroupLink {
  LinkKind kind = LinkKind::Fabric;
  std::string name;
  BytesPerSecond per_direction;
};

/// The link of a group of neighbours that spans `gpus` GPUs.
Result<GroupLink> link_of(const SystemSpec& system, std::int64_t gpus);

}  // namespace rooftile::hardware
