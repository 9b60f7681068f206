// SPDX-License-Identifier: Apache-2.0
#include "characterize/cpu/topology.h"

#include <sched.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <tuple>

#include "core/file.h"
#include "core/text.h"
#ifdef ROOFTILE_HAVE_HWLOC
#include <hwloc.h>
#endif

namespace rooftile::characterize::cpu {

namespace {

std::optional<std::string> read_trimmed(const std::string& path) {
  const Result<std::string> text = read_file(path, 1 << 20);
  if (!text) return std::nullopt;
  return std::string(trim(*text));
}

std::optional<std::int64_t> read_number(const std::string& path) {
  const auto text = read_trimmed(path);
  return text ? parse_int(*text) : std::nullopt;
}

/// "512K" as /sys writes cache sizes.
std::optional<Bytes> read_cache_size(const std::string& path) {
  auto text = read_trimmed(path);
  if (!text || text->empty()) return std::nullopt;
  double factor = 1.0;
  if (text->back() == 'K') factor = 1024.0;
  if (text->back() == 'M') factor = 1048576.0;
  if (factor != 1.0) text->pop_back();
  const auto value = parse_int(*text);
  if (!value || *value <= 0) return std::nullopt;
  return Bytes::from_base(static_cast<double>(*value) * factor);
}

/// The value of the first "key : value" line of /proc/cpuinfo or /proc/meminfo.
std::optional<std::string> proc_value(const std::string& path, std::string_view key) {
  const Result<std::string> text = read_file(path, 16 << 20);
  if (!text) return std::nullopt;
  for (const std::string_view line : split(*text, '\n')) {
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos && trim(line.substr(0, colon)) == key) {
      return std::string(trim(line.substr(colon + 1)));
    }
  }
  return std::nullopt;
}

std::optional<Bytes> total_memory(const std::string& root) {
  const auto text = proc_value(root + "proc/meminfo", "MemTotal");  // "24595484 kB"
  if (!text) return std::nullopt;
  const auto kib = parse_int(std::string_view(*text).substr(0, text->find(' ')));
  if (!kib || *kib <= 0) return std::nullopt;
  return Bytes::from_base(static_cast<double>(*kib) * 1024.0);
}

/// The highest clock of the processors, boost included; in kHz in the files.
std::optional<Hertz> highest_clock(const std::string& root,
                                   const std::vector<Processor>& processors) {
  std::optional<Hertz> highest;
  for (const Processor& p : processors) {
    const auto khz = read_number(root + "sys/devices/system/cpu/cpu" + std::to_string(p.index) +
                                 "/cpufreq/cpuinfo_max_freq");
    if (!khz || *khz <= 0) continue;
    const Hertz clock = Hertz::from_base(static_cast<double>(*khz) * 1e3);
    highest = max(highest.value_or(clock), clock);
  }
  return highest;
}

/// The processors this process is allowed on, or all of them where that cannot be asked.
std::optional<std::set<std::int64_t>> allowed_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return std::nullopt;
  std::set<std::int64_t> out;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(static_cast<std::size_t>(i), &set)) out.insert(i);
  }
  return out;
}

void add_sysfs_caches(const std::string& folder, std::int64_t processor, std::vector<Cache>& out) {
  for (int index = 0; index < 16; ++index) {
    const std::string cache = folder + "/cache/index" + std::to_string(index) + "/";
    const auto type = read_trimmed(cache + "type");
    if (!type) return;
    const auto level = read_number(cache + "level");
    const auto size = read_cache_size(cache + "size");
    if (*type == "Instruction" || !level || !size) continue;
    const auto list = parse_cpu_list(read_trimmed(cache + "shared_cpu_list").value_or(""));
    Cache found{.level = *level,
                .size = *size,
                .line = std::nullopt,
                .processors = list.value_or(std::vector<std::int64_t>{processor})};
    if (const auto line = read_number(cache + "coherency_line_size")) {
      found.line = Bytes::from_base(static_cast<double>(*line));
    }
    if (std::find(out.begin(), out.end(), found) == out.end()) out.push_back(found);
  }
}

std::map<std::int64_t, std::int64_t> sysfs_nodes(const std::string& root) {
  std::map<std::int64_t, std::int64_t> node_of;
  for (std::int64_t node = 0; node < 1024; ++node) {
    const auto list =
        read_trimmed(root + "sys/devices/system/node/node" + std::to_string(node) + "/cpulist");
    if (!list) {
      if (node > 64) break;  // numbers may have gaps, but not large ones
      continue;
    }
    const auto processors = parse_cpu_list(*list);
    for (const std::int64_t p : processors.value_or(std::vector<std::int64_t>{})) {
      node_of[p] = node;
    }
  }
  return node_of;
}

void sort_caches(std::vector<Cache>& caches) {
  std::sort(caches.begin(), caches.end(), [](const Cache& a, const Cache& b) {
    return std::tie(a.level, a.processors) < std::tie(b.level, b.processors);
  });
}

std::string processor_model(const std::string& root) {
  for (const char* key : {"model name", "Model", "cpu model"}) {
    if (const auto model = proc_value(root + "proc/cpuinfo", key)) return *model;
  }
  return "unknown processor";
}

#ifdef ROOFTILE_HAVE_HWLOC

struct HwlocDeleter {
  void operator()(hwloc_topology* t) const { hwloc_topology_destroy(t); }
};

std::int64_t ancestor_index(hwloc_obj_t object, hwloc_obj_type_t type, hwloc_topology_t t) {
  const hwloc_obj_t found = hwloc_get_ancestor_obj_by_type(t, type, object);
  return found == nullptr ? 0 : static_cast<std::int64_t>(found->logical_index);
}

std::vector<std::int64_t> processor_indices(hwloc_const_cpuset_t set) {
  std::vector<std::int64_t> out;
  for (int i = hwloc_bitmap_first(set); i >= 0; i = hwloc_bitmap_next(set, i)) out.push_back(i);
  return out;
}

std::optional<Topology> load_from_hwloc() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return std::nullopt;
  const std::unique_ptr<hwloc_topology, HwlocDeleter> topology(raw);
  if (hwloc_topology_load(raw) != 0) return std::nullopt;
  const auto allowed = allowed_processors();
  Topology out{
      .model = processor_model("/"), .processors = {}, .caches = {}, .memory = {}, .max_clock = {}};
  hwloc_obj_t pu = nullptr;
  while ((pu = hwloc_get_next_obj_by_type(raw, HWLOC_OBJ_PU, pu)) != nullptr) {
    const auto index = static_cast<std::int64_t>(pu->os_index);
    if (allowed && !allowed->contains(index)) continue;
    const int node = hwloc_bitmap_first(pu->nodeset);
    out.processors.push_back({.index = index,
                              .core = ancestor_index(pu, HWLOC_OBJ_CORE, raw),
                              .package = ancestor_index(pu, HWLOC_OBJ_PACKAGE, raw),
                              .node = std::max(node, 0)});
  }
  for (const hwloc_obj_type_t type : {HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L3CACHE,
                                      HWLOC_OBJ_L4CACHE, HWLOC_OBJ_L5CACHE}) {
    hwloc_obj_t cache = nullptr;
    while ((cache = hwloc_get_next_obj_by_type(raw, type, cache)) != nullptr) {
      const auto& attributes = cache->attr->cache;
      if (attributes.size == 0) continue;
      Cache found{.level = static_cast<std::int64_t>(attributes.depth),
                  .size = Bytes::from_base(static_cast<double>(attributes.size)),
                  .line = std::nullopt,
                  .processors = processor_indices(cache->cpuset)};
      if (attributes.linesize > 0) found.line = Bytes::from_base(attributes.linesize);
      out.caches.push_back(std::move(found));
    }
  }
  out.memory = total_memory("/");
  out.max_clock = highest_clock("/", out.processors);
  if (out.processors.empty()) return std::nullopt;
  std::sort(out.processors.begin(), out.processors.end(),
            [](const Processor& a, const Processor& b) { return a.index < b.index; });
  sort_caches(out.caches);
  return out;
}

#endif

}  // namespace

std::optional<std::vector<std::int64_t>> parse_cpu_list(std::string_view text) {
  constexpr std::int64_t kMost = 65536;
  std::vector<std::int64_t> out;
  for (const std::string_view part : split(trim(text), ',')) {
    const std::size_t dash = part.find('-');
    const auto first = parse_int(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_int(part.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last >= kMost) return std::nullopt;
    for (std::int64_t i = *first; i <= *last; ++i) out.push_back(i);
    if (static_cast<std::int64_t>(out.size()) > kMost) return std::nullopt;
  }
  return out;
}

Topology load_topology_from_sysfs(const std::string& root) {
  Topology out{.model = processor_model(root),
               .processors = {},
               .caches = {},
               .memory = {},
               .max_clock = {}};
  const std::string base = root + "sys/devices/system/cpu/";
  const auto online = parse_cpu_list(read_trimmed(base + "online").value_or("0"));
  const auto allowed = root == "/" ? allowed_processors() : std::nullopt;
  const auto node_of = sysfs_nodes(root);
  for (const std::int64_t p : online.value_or(std::vector<std::int64_t>{0})) {
    const std::string folder = base + "cpu" + std::to_string(p);
    add_sysfs_caches(folder, p, out.caches);
    if (allowed && !allowed->contains(p)) continue;
    const auto package = read_number(folder + "/topology/physical_package_id").value_or(0);
    // Core numbers repeat in every package; the first hardware thread of a core names it instead.
    const auto siblings =
        parse_cpu_list(read_trimmed(folder + "/topology/thread_siblings_list").value_or(""));
    out.processors.push_back({.index = p,
                              .core = siblings && !siblings->empty() ? siblings->front() : p,
                              .package = std::max<std::int64_t>(package, 0),
                              .node = node_of.contains(p) ? node_of.at(p) : 0});
  }
  sort_caches(out.caches);
  out.memory = total_memory(root);
  out.max_clock = highest_clock(root, out.processors);
  return out;
}

Topology load_topology() {
#ifdef ROOFTILE_HAVE_HWLOC
  if (auto topology = load_from_hwloc()) return *std::move(topology);
#endif
  return load_topology_from_sysfs("/");
}

std::vector<Processor> choose_processors(const Topology& topology,
                                         std::optional<std::int64_t> threads) {
  std::vector<Processor> first, rest;  // first hardware threads of the cores, then the others
  std::set<std::pair<std::int64_t, std::int64_t>> seen;
  for (const Processor& p : topology.processors) {
    (seen.insert({p.package, p.core}).second ? first : rest).push_back(p);
  }
  const auto nearest_first = [](const Processor& a, const Processor& b) {
    return std::tie(a.package, a.node, a.core, a.index) <
           std::tie(b.package, b.node, b.core, b.index);
  };
  std::sort(first.begin(), first.end(), nearest_first);
  std::sort(rest.begin(), rest.end(), nearest_first);
  if (!threads) return first;
  first.insert(first.end(), rest.begin(), rest.end());
  if (*threads < static_cast<std::int64_t>(first.size())) {
    first.resize(static_cast<std::size_t>(std::max<std::int64_t>(*threads, 1)));
  }
  return first;
}

std::vector<CacheLevel> cache_levels(const Topology& topology,
                                     const std::vector<Processor>& processors) {
  std::map<std::int64_t, CacheLevel> levels;
  for (const Cache& cache : topology.caches) {
    const bool used = std::any_of(processors.begin(), processors.end(), [&](const Processor& p) {
      return std::binary_search(cache.processors.begin(), cache.processors.end(), p.index);
    });
    if (!used) continue;
    auto [level, is_new] =
        levels.try_emplace(cache.level, CacheLevel{.name = "L" + std::to_string(cache.level),
                                                   .capacity = {},
                                                   .instances = 0,
                                                   .line = cache.line});
    level->second.capacity += cache.size;
    ++level->second.instances;
  }
  std::vector<CacheLevel> out;
  for (auto& [number, level] : levels) out.push_back(std::move(level));
  return out;
}

}  // namespace rooftile::characterize::cpu
