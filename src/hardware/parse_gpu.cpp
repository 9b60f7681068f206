// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/json.h"
#include "core/text.h"
#include "hardware/file_fields.h"
#include "hardware/load.h"

namespace rooftile::hardware {

namespace {

Status read_clock(const JsonView& root, Clocks& clock) {
  static constexpr std::array<std::string_view, 3> kKeys{"base", "boost", "tensor"};
  ROOFTILE_TRY(const JsonView object, root.at("clock"));
  ROOFTILE_CHECK(object.expect_keys(kKeys));
  ROOFTILE_TRY(const JsonView boost, object.at("boost"));
  ROOFTILE_TRY(clock.boost, positive<Hertz>(boost));
  ROOFTILE_CHECK(read(object, "base", clock.base));
  return read(object, "tensor", clock.tensor);
}

Status read_sm(const JsonView& root, SmSpec& sm) {
  static constexpr std::array<std::string_view, 10> kKeys{
      "count",      "fp32_lanes", "warp_size", "max_threads",      "max_warps",
      "max_blocks", "registers",  "shared",    "shared_per_block", "flop_per_clock"};
  constexpr std::int64_t kMostSms = 1 << 16;
  constexpr std::int64_t kMostLanes = 1 << 12;
  ROOFTILE_TRY(const JsonView object, root.at("sm"));
  ROOFTILE_CHECK(object.expect_keys(kKeys));
  ROOFTILE_TRY(const JsonView count, object.at("count"));
  ROOFTILE_TRY(sm.count, count.integer(1, kMostSms));
  ROOFTILE_TRY(const JsonView lanes, object.at("fp32_lanes"));
  ROOFTILE_TRY(sm.fp32_lanes, lanes.integer(1, kMostLanes));
  ROOFTILE_TRY(const JsonView warp, object.at("warp_size"));
  ROOFTILE_TRY(sm.warp_size, warp.integer(1, kMostLanes));
  ROOFTILE_CHECK(read_count(object, "max_threads", sm.max_threads));
  ROOFTILE_CHECK(read_count(object, "max_warps", sm.max_warps));
  ROOFTILE_CHECK(read_count(object, "max_blocks", sm.max_blocks));
  ROOFTILE_CHECK(read_count(object, "registers", sm.registers));
  ROOFTILE_CHECK(read(object, "shared", sm.shared));
  ROOFTILE_CHECK(read(object, "shared_per_block", sm.shared_per_block));
  return read_flop_per_clock(object, sm.flop_per_clock);
}

Status read_level(const JsonView& object, MemorySpec& level) {
  ROOFTILE_CHECK(read(object, "size", level.size));
  ROOFTILE_CHECK(read(object, "bandwidth", level.bandwidth));
  ROOFTILE_CHECK(read(object, "bandwidth_per_sm", level.bandwidth_per_sm));
  ROOFTILE_CHECK(read(object, "line", level.line));
  ROOFTILE_CHECK(read(object, "sector", level.sector));
  return read(object, "latency", level.latency);
}

Status read_dram(const JsonView& memory, DramSpec& dram) {
  static constexpr std::array<std::string_view, 8> kKeys{
      "type", "size", "bandwidth", "bus_bits", "data_rate", "line", "sector", "latency"};
  ROOFTILE_TRY(const JsonView object, memory.at("dram"));
  ROOFTILE_CHECK(object.expect_keys(kKeys));
  ROOFTILE_TRY(dram.type, required_string(object, "type"));
  ROOFTILE_TRY([[maybe_unused]] const JsonView size, object.at("size"));
  ROOFTILE_TRY([[maybe_unused]] const JsonView bandwidth, object.at("bandwidth"));
  ROOFTILE_CHECK(read_level(object, dram));
  ROOFTILE_CHECK(read_count(object, "bus_bits", dram.bus_bits));
  if (const auto rate = object.find("data_rate")) {
    ROOFTILE_TRY(dram.gbit_per_pin, number_with_unit(*rate, "Gbit/s"));
  }
  return {};
}

Status read_memory(const JsonView& root, GpuSpec& gpu) {
  static constexpr std::array<std::string_view, 4> kKeys{"l1", "l2", "last_level", "dram"};
  static constexpr std::array<std::string_view, 6> kL1Keys{
      "size", "includes_shared", "bandwidth_per_sm", "line", "sector", "latency"};
  static constexpr std::array<std::string_view, 5> kLevelKeys{"size", "bandwidth", "line", "sector",
                                                              "latency"};
  ROOFTILE_TRY(const JsonView memory, root.at("memory"));
  ROOFTILE_CHECK(memory.expect_keys(kKeys));
  if (const auto l1 = memory.find("l1")) {
    ROOFTILE_CHECK(l1->expect_keys(kL1Keys));
    ROOFTILE_CHECK(read_level(*l1, gpu.l1));
    if (const auto flag = l1->find("includes_shared")) {
      ROOFTILE_TRY(gpu.l1.includes_shared, flag->boolean());
    }
  }
  if (const auto l2 = memory.find("l2")) {
    ROOFTILE_CHECK(l2->expect_keys(kLevelKeys));
    ROOFTILE_CHECK(read_level(*l2, gpu.l2));
  }
  if (const auto last = memory.find("last_level")) {
    ROOFTILE_CHECK(last->expect_keys(kLevelKeys));
    ROOFTILE_CHECK(read_level(*last, gpu.last_level.emplace()));
  }
  return read_dram(memory, gpu.dram);
}

Status read_rates(const JsonView& object, std::map<RateKey, FlopsPerSecond>& out) {
  ROOFTILE_TRY(const auto members, object.members());
  for (const auto& [name, member] : members) {
    ROOFTILE_TRY(const RateKey key, rate_key(name, member));
    ROOFTILE_TRY(out[key], positive<FlopsPerSecond>(member));
  }
  return {};
}

Status read_siblings(const JsonView& measured,
                     std::map<std::string, std::string, std::less<>>& out) {
  static constexpr std::array<std::string_view, 2> kKeys{"l2_read", "l1_per_sm"};
  const auto object = measured.find("sibling");
  if (!object) return {};
  ROOFTILE_CHECK(object->expect_keys(kKeys));
  for (const std::string_view key : kKeys) {
    const auto member = object->find(key);
    if (!member) continue;
    if (!measured.find(key))
      return member->error(fmt::format("there is no /measured/{}", key), "leave it out");
    ROOFTILE_TRY(out[std::string(key)], required_string(*object, key));
  }
  return {};
}

Status read_measured(const JsonView& root, MeasuredSpec& measured) {
  static constexpr std::array<std::string_view, 8> kKeys{"dram_read", "dram_write", "dram_copy",
                                                         "l2_read",   "l1_per_sm",  "latency_clock",
                                                         "rate",      "sibling"};
  const auto object = root.find("measured");
  if (!object) return {};
  ROOFTILE_CHECK(object->expect_keys(kKeys));
  ROOFTILE_CHECK(read(*object, "dram_read", measured.dram_read));
  ROOFTILE_CHECK(read(*object, "dram_write", measured.dram_write));
  ROOFTILE_CHECK(read(*object, "dram_copy", measured.dram_copy));
  ROOFTILE_CHECK(read(*object, "l2_read", measured.l2_read));
  ROOFTILE_CHECK(read(*object, "l1_per_sm", measured.l1_per_sm));
  ROOFTILE_CHECK(read(*object, "latency_clock", measured.latency_clock));
  ROOFTILE_CHECK(read_siblings(*object, measured.sibling));
  const auto rate = object->find("rate");
  return rate ? read_rates(*rate, measured.rate) : Status{};
}

Status read_link(const JsonView& links, std::string_view key, std::optional<LinkSpec>& out) {
  static constexpr std::array<std::string_view, 3> kKeys{"name", "per_direction", "gpus"};
  const auto object = links.find(key);
  if (!object) return {};
  ROOFTILE_CHECK(object->expect_keys(kKeys));
  LinkSpec link;
  ROOFTILE_TRY(link.name, required_string(*object, "name"));
  ROOFTILE_TRY(const JsonView rate, object->at("per_direction"));
  ROOFTILE_TRY(link.per_direction, positive<BytesPerSecond>(rate));
  ROOFTILE_CHECK(read_count(*object, "gpus", link.gpus));
  out = std::move(link);
  return {};
}

Status read_links_and_power(const JsonView& root, GpuSpec& gpu) {
  static constexpr std::array<std::string_view, 2> kKeys{"interconnect", "pcie"};
  if (const auto links = root.find("links")) {
    ROOFTILE_CHECK(links->expect_keys(kKeys));
    ROOFTILE_CHECK(read_link(*links, "interconnect", gpu.interconnect));
    ROOFTILE_CHECK(read_link(*links, "pcie", gpu.pcie));
  }
  if (const auto power = root.find("power")) {
    ROOFTILE_TRY(gpu.power_watt, number_with_unit(*power, "W"));
  }
  return {};
}

Result<std::vector<std::string>> read_strings(const JsonView& root, std::string_view key) {
  std::vector<std::string> out;
  if (const auto list = root.find(key)) {
    ROOFTILE_TRY(const auto elements, list->elements());
    for (const JsonView& element : elements) {
      ROOFTILE_TRY(std::string text, element.string());
      if (trim(text).empty()) return element.error("is empty");
      out.push_back(std::move(text));
    }
  }
  return out;
}

Status read_lint(const JsonView& root, std::map<std::string, std::string>& allow) {
  static constexpr std::array<std::string_view, 1> kKeys{"allow"};
  const auto lint = root.find("lint");
  if (!lint) return {};
  ROOFTILE_CHECK(lint->expect_keys(kKeys));
  ROOFTILE_TRY(const JsonView object, lint->at("allow"));
  ROOFTILE_TRY(const auto members, object.members());
  for (const auto& [rule, reason] : members) {
    ROOFTILE_TRY(std::string text, reason.string());
    if (trim(text).empty())
      return reason.error("an allowance needs a reason", "say which document disagrees and why");
    allow.emplace(rule, std::move(text));
  }
  return {};
}

Status read_identity(const JsonView& root, GpuSpec& gpu) {
  ROOFTILE_TRY(const JsonView id, root.at("id"));
  ROOFTILE_TRY(gpu.id, id.string());
  const bool plain = std::all_of(gpu.id.begin(), gpu.id.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
  if (gpu.id.empty() || !plain)
    return id.error(fmt::format("\"{}\" is not a valid id", printable(gpu.id)),
                    "use lower case letters, digits and '-', as in \"h100-sxm\"");
  ROOFTILE_TRY(gpu.name, required_string(root, "name"));
  ROOFTILE_TRY(gpu.aliases, read_strings(root, "aliases"));
  ROOFTILE_TRY(gpu.vendor, read_vendor(root));
  ROOFTILE_TRY(gpu.architecture, required_string(root, "architecture"));
  ROOFTILE_TRY(gpu.chip, required_string(root, "chip"));
  ROOFTILE_TRY(gpu.isa, required_string(root, "isa"));
  if (root.find("process")) {
    ROOFTILE_TRY(gpu.process, required_string(root, "process"));
  }
  if (const auto year = root.find("year")) {
    ROOFTILE_TRY(gpu.year, year->integer(1990, 2100));
  }
  if (const auto devices = root.find("devices")) {
    ROOFTILE_TRY(gpu.devices, devices->integer(1, 64));
  }
  return {};
}

Status attach_architecture(const Catalog& catalog, const JsonView& root, GpuSpec& gpu) {
  auto arch = load_architecture(catalog, gpu.isa);
  if (!arch) {
    if (!arch.error().where.empty()) return tl::unexpected(arch.error());
    ROOFTILE_TRY(const JsonView isa, root.at("isa"));
    return isa.error(arch.error().message, arch.error().hint);
  }
  gpu.arch = *std::move(arch);
  return {};
}

/// An unknown type is not an error here: lint reports it.
Status attach_memory_type(const Catalog& catalog, DramSpec& dram) {
  ROOFTILE_TRY(dram.known, find_memory_type(catalog, dram.type));
  if (dram.known) return {};
  const std::vector<std::string> names = memory_type_names(catalog);
  const std::vector<std::string_view> views(names.begin(), names.end());
  dram.type_hint = did_you_mean(dram.type, views, "known are");
  return {};
}

}  // namespace

Result<GpuSpec> parse_gpu(std::string_view text, std::string file, const Catalog& catalog) {
  static constexpr std::array<std::string_view, 22> kKeys{
      "schema",       "id",     "name",    "aliases", "vendor",
      "architecture", "chip",   "isa",     "process", "year",
      "clock",        "sm",     "memory",  "peak",    "links",
      "measured",     "power",  "sources", "doubts",  "peak_fp16_accumulate",
      "lint",         "devices"};
  static constexpr std::array<std::string_view, 9> kSourced{
      "year",     "clock", "sm",   "memory", "peak", "peak_fp16_accumulate",
      "measured", "links", "power"};
  constexpr JsonLimits kLimits{.max_depth = 8, .max_bytes = 1 << 20};
  ROOFTILE_TRY(const JsonDocument document, JsonDocument::parse(text, file, kLimits));
  const JsonView root = document.root();
  ROOFTILE_CHECK(root.expect_keys(kKeys));
  ROOFTILE_CHECK(expect_schema(root, "docs/format/gpu.md"));
  GpuSpec gpu;
  ROOFTILE_CHECK(read_identity(root, gpu));
  ROOFTILE_CHECK(attach_architecture(catalog, root, gpu));
  ROOFTILE_CHECK(read_clock(root, gpu.clock));
  ROOFTILE_CHECK(read_sm(root, gpu.sm));
  ROOFTILE_CHECK(read_memory(root, gpu));
  ROOFTILE_CHECK(attach_memory_type(catalog, gpu.dram));
  ROOFTILE_TRY(const JsonView peak, root.at("peak"));
  ROOFTILE_CHECK(read_rates(peak, gpu.peak));
  if (!gpu.peak.contains({DType::Fp32, Pipe::Vector}))
    return peak.error("missing key \"fp32\"", "every GPU states its FP32 vector rate");
  if (const auto half = root.find("peak_fp16_accumulate")) {
    ROOFTILE_CHECK(read_rates(*half, gpu.peak_fp16_accumulate));
  }
  ROOFTILE_CHECK(read_measured(root, gpu.measured));
  ROOFTILE_CHECK(read_links_and_power(root, gpu));
  ROOFTILE_TRY(gpu.sources, read_sources(root, kSourced));
  ROOFTILE_TRY(gpu.doubts, read_strings(root, "doubts"));
  ROOFTILE_CHECK(read_lint(root, gpu.lint_allow));
  gpu.file = std::move(file);
  return gpu;
}

}  // namespace rooftile::hardware
