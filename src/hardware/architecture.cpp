// SPDX-License-Identifier: Apache-2.0
#include "hardware/architecture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "core/json.h"
#include "core/provenance.h"
#include "core/text.h"
#include "hardware/catalog_files.h"
#include "hardware/file_fields.h"

namespace rooftile::hardware {

namespace {

constexpr std::string_view kArchitectureFolder = "architectures/";

std::string file_of(std::string_view isa) {
  return fmt::format("{}{}{}", kArchitectureFolder, isa, kExtension);
}

Status read_sm(const JsonView& root, ArchitectureSm& sm) {
  static constexpr std::array<std::string_view, 7> kKeys{
      "warp_size", "schedulers",     "max_threads",           "max_blocks",
      "registers", "flop_per_clock", "exponentials_per_clock"};
  constexpr std::int64_t kMostLanes = 1 << 12;
  constexpr std::int64_t kMostSchedulers = 64;
  ROOFTILE_TRY(const JsonView object, root.at("sm"));
  ROOFTILE_CHECK(object.expect_keys(kKeys));
  ROOFTILE_TRY(const JsonView warp, object.at("warp_size"));
  ROOFTILE_TRY(sm.warp_size, warp.integer(1, kMostLanes));
  ROOFTILE_TRY(const JsonView schedulers, object.at("schedulers"));
  ROOFTILE_TRY(sm.schedulers, schedulers.integer(1, kMostSchedulers));
  ROOFTILE_CHECK(read_count(object, "max_threads", sm.max_threads));
  ROOFTILE_CHECK(read_count(object, "max_blocks", sm.max_blocks));
  ROOFTILE_CHECK(read_count(object, "registers", sm.registers));
  if (const auto exponentials = object.find("exponentials_per_clock")) {
    constexpr std::int64_t kMostExponentials = 1 << 12;
    ROOFTILE_TRY(const auto count, exponentials->integer(1, kMostExponentials));
    sm.exponentials_per_clock = static_cast<double>(count);
  }
  ROOFTILE_TRY(const JsonView rates, object.at("flop_per_clock"));
  ROOFTILE_CHECK(read_flop_per_clock(object, sm.flop_per_clock));
  if (!sm.flop_per_clock.contains({DType::Fp32, Pipe::Vector}))
    return rates.error("missing key \"fp32\"", "every architecture states its FP32 vector rate");
  return {};
}

/// Whole bytes, a power of two.
Result<Bytes> read_width(const JsonView& memory, std::string_view key) {
  constexpr double kMost = 1 << 12;
  ROOFTILE_TRY(const JsonView member, memory.at(key));
  ROOFTILE_TRY(const Bytes width, positive<Bytes>(member));
  const bool fits = width.base() >= 1.0 && width.base() <= kMost;
  const auto whole = fits ? static_cast<std::uint64_t>(width.base()) : 0;
  if (!std::has_single_bit(whole) || static_cast<double>(whole) != width.base())
    return member.error(fmt::format("{:g} B is not a power of two", width.base()),
                        "write for example \"128 B\"");
  return width;
}

Status read_memory(const JsonView& root, ArchitectureMemory& memory) {
  static constexpr std::array<std::string_view, 4> kKeys{"sector", "line", "l1", "l2"};
  static constexpr std::array<std::string_view, 2> kRangeKeys{"least", "most"};
  ROOFTILE_TRY(const JsonView object, root.at("memory"));
  ROOFTILE_CHECK(object.expect_keys(kKeys));
  ROOFTILE_TRY(memory.sector, read_width(object, "sector"));
  ROOFTILE_TRY(memory.line, read_width(object, "line"));
  if (memory.sector > memory.line)
    return object.error(fmt::format("a sector of {:g} B is larger than a line of {:g} B",
                                    memory.sector.base(), memory.line.base()));
  ROOFTILE_CHECK(read(object, "l1", memory.l1));
  const auto l2 = object.find("l2");
  if (!l2) return {};
  ROOFTILE_CHECK(l2->expect_keys(kRangeKeys));
  ArchitectureMemory::Range range;
  ROOFTILE_TRY(const JsonView least, l2->at("least"));
  ROOFTILE_TRY(range.least, positive<Bytes>(least));
  ROOFTILE_TRY(const JsonView most, l2->at("most"));
  ROOFTILE_TRY(range.most, positive<Bytes>(most));
  if (range.least > range.most) return l2->error("the minimum is greater than the maximum");
  memory.l2 = range;
  return {};
}

Status read_flag(const JsonView& object, std::string_view key, bool& flag) {
  if (const auto member = object.find(key)) {
    ROOFTILE_TRY(flag, member->boolean());
  }
  return {};
}

Result<AttentionKernels> read_attention(const JsonView& object) {
  static constexpr std::array<std::string_view, 6> kKeys{
      "family", "rows", "granule", "packs_groups", "split_numbers", "splits_windows"};
  constexpr std::int64_t kMostRows = 1 << 12;
  ROOFTILE_CHECK(object.expect_keys(kKeys));
  AttentionKernels kernels;
  ROOFTILE_TRY(kernels.family, required_string(object, "family"));
  ROOFTILE_TRY(const JsonView rows, object.at("rows"));
  ROOFTILE_TRY(kernels.rows, rows.integer(1, kMostRows));
  ROOFTILE_TRY(const JsonView granule, object.at("granule"));
  ROOFTILE_TRY(kernels.granule, granule.integer(1, kernels.rows));
  ROOFTILE_CHECK(read_flag(object, "packs_groups", kernels.packs_groups));
  ROOFTILE_CHECK(read_flag(object, "splits_windows", kernels.splits_windows));
  if (const auto numbers = object.find("split_numbers")) {
    constexpr std::int64_t kMostNumbers = 1 << 20;
    ROOFTILE_TRY(kernels.split_numbers, numbers->integer(1, kMostNumbers));
  }
  return kernels;
}

Status read_library(const JsonView& root, LibraryFacts& library) {
  static constexpr std::array<std::string_view, 6> kKeys{
      "kernel_family", "one_winograd_shape", "winograd_filter_gradient", "tensor_family",
      "cluster",       "attention"};
  const auto object = root.find("library");
  if (!object) return {};
  ROOFTILE_CHECK(object->expect_keys(kKeys));
  if (object->find("kernel_family")) {
    ROOFTILE_TRY(library.kernel_family, required_string(*object, "kernel_family"));
  }
  if (object->find("tensor_family")) {
    ROOFTILE_TRY(library.tensor_family, required_string(*object, "tensor_family"));
  }
  ROOFTILE_CHECK(read_flag(*object, "one_winograd_shape", library.one_winograd_shape));
  if (const auto cluster = object->find("cluster")) {
    constexpr std::int64_t kMostBlocks = 16;
    ROOFTILE_TRY(library.cluster, cluster->integer(1, kMostBlocks));
  }
  if (const auto attention = object->find("attention")) {
    ROOFTILE_TRY(library.attention, read_attention(*attention));
  }
  return read_flag(*object, "winograd_filter_gradient", library.winograd_filter_gradient);
}

Result<Profiler> read_tool(const JsonView& counters) {
  ROOFTILE_TRY(const JsonView member, counters.at("tool"));
  ROOFTILE_TRY(const std::string text, member.string());
  std::vector<std::string_view> known;
  for (const Profiler tool : {Profiler::Nvprof, Profiler::NsightCompute, Profiler::Rocprof}) {
    if (text == name_of(tool)) return tool;
    known.push_back(name_of(tool));
  }
  return member.error(fmt::format("unknown tool \"{}\"", printable(text)),
                      did_you_mean(text, known, "tools are"));
}

Status read_counters(const JsonView& root, std::optional<CounterFacts>& out) {
  static constexpr std::array<std::string_view, 3> kKeys{"tool", "tensor_instruction_flop",
                                                         "request"};
  constexpr std::int64_t kMostFlop = 1 << 20;
  const auto object = root.find("counters");
  if (!object) return {};
  ROOFTILE_CHECK(object->expect_keys(kKeys));
  CounterFacts facts;
  ROOFTILE_TRY(facts.tool, read_tool(*object));
  if (const auto flop = object->find("tensor_instruction_flop")) {
    ROOFTILE_TRY(const std::int64_t value, flop->integer(1, kMostFlop));
    facts.tensor_instruction_flop = static_cast<double>(value);
  }
  ROOFTILE_CHECK(read(*object, "request", facts.request));
  if (facts.request && facts.tool != Profiler::Rocprof)
    return object->error("\"request\" is a property of AMD's counters");
  if (facts.tool == Profiler::Rocprof) {
    ROOFTILE_TRY(const JsonView request, object->at("request"));
    if (*facts.request != 64_B && *facts.request != 128_B)
      return request.error(
          fmt::format("requests of {:g} B are not supported", facts.request->base()),
          "the counters count requests of \"64 B\" or \"128 B\"");
  }
  out = facts;
  return {};
}

/// "10.3" -> {10, 3}.
std::optional<std::pair<std::int64_t, std::int64_t>> capability(std::string_view isa) {
  const std::size_t dot = isa.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const auto major = parse_int(isa.substr(0, dot));
  const auto minor = parse_int(isa.substr(dot + 1));
  if (!major || !minor) return std::nullopt;
  return std::pair(*major, *minor);
}

/// The newest capability that is not newer than `isa`, else the oldest.
std::optional<std::string> earlier_capability(std::string_view isa,
                                              const std::vector<std::string>& known) {
  std::optional<std::string> best, oldest;
  for (const std::string& other : known) {
    const auto theirs = capability(other);
    if (!theirs) continue;
    if (!oldest || *theirs < *capability(*oldest)) oldest = other;
    if (*theirs <= *capability(isa) && (!best || *theirs > *capability(*best))) best = other;
  }
  return best ? best : oldest;
}

/// The first of AMD's names with the longest common beginning.
std::optional<std::string> nearest_gfx(std::string_view isa,
                                       const std::vector<std::string>& known) {
  std::optional<std::string> best;
  std::ptrdiff_t longest = 0;
  for (const std::string& other : known) {
    if (vendor_of_isa(other) != Vendor::Amd) continue;
    const auto common =
        std::mismatch(isa.begin(), isa.end(), other.begin(), other.end()).first - isa.begin();
    if (common > longest) longest = common, best = other;
  }
  return best;
}

}  // namespace

std::string_view name_of(Profiler tool) {
  switch (tool) {
    case Profiler::Nvprof: return "nvprof";
    case Profiler::NsightCompute: return "ncu";
    case Profiler::Rocprof: return "rocprofv3";
  }
  return "?";
}

std::optional<Vendor> vendor_of_isa(std::string_view isa) {
  if (isa.starts_with("gfx")) return Vendor::Amd;
  if (capability(isa)) return Vendor::Nvidia;
  return std::nullopt;
}

Result<Architecture> parse_architecture(std::string_view text, std::string file) {
  static constexpr std::array<std::string_view, 9> kKeys{
      "schema", "isa", "name", "vendor", "sm", "memory", "library", "counters", "sources"};
  static constexpr std::array<std::string_view, 4> kSourced{"sm", "memory", "library", "counters"};
  constexpr JsonLimits kLimits{.max_depth = 8, .max_bytes = 1 << 20};
  ROOFTILE_TRY(const JsonDocument document, JsonDocument::parse(text, file, kLimits));
  const JsonView root = document.root();
  ROOFTILE_CHECK(root.expect_keys(kKeys));
  ROOFTILE_CHECK(expect_schema(root, "docs/format/architecture.md"));
  Architecture arch;
  ROOFTILE_TRY(arch.isa, required_string(root, "isa"));
  ROOFTILE_TRY(arch.name, required_string(root, "name"));
  ROOFTILE_TRY(arch.vendor, read_vendor(root));
  ROOFTILE_CHECK(read_sm(root, arch.sm));
  ROOFTILE_CHECK(read_memory(root, arch.memory));
  arch.library.kernel_family = arch.isa;
  ROOFTILE_CHECK(read_library(root, arch.library));
  ROOFTILE_CHECK(read_counters(root, arch.counters));
  ROOFTILE_TRY([[maybe_unused]] const Sources sources, read_sources(root, kSourced));
  arch.file = std::move(file);
  return arch;
}

std::vector<std::string> architecture_names(const Catalog& catalog) {
  std::vector<std::string> isas;
  for (const std::string& file : catalog.list(kArchitectureFolder)) {
    if (!file.ends_with(kExtension)) continue;
    isas.push_back(file.substr(kArchitectureFolder.size(),
                               file.size() - kArchitectureFolder.size() - kExtension.size()));
  }
  return isas;
}

Result<Architecture> load_architecture(const Catalog& catalog, std::string_view isa) {
  if (!catalog.contains(file_of(isa))) {
    const std::vector<std::string> known = architecture_names(catalog);
    const std::vector<std::string_view> names(known.begin(), known.end());
    const std::string near = did_you_mean(isa, names, "known are");
    return bad_input(
        {}, fmt::format("no architecture file for \"{}\"", printable(isa)),
        fmt::format("{}{} A new architecture is a file architectures/{}.json in a --catalog folder "
                    "(docs/howto/add_an_architecture.md)",
                    near, near.ends_with('?') ? "" : ".", printable(isa)));
  }
  ROOFTILE_TRY(const Catalog::File file, catalog.read(file_of(isa)));
  ROOFTILE_TRY(Architecture arch, parse_architecture(file.content, file.name));
  if (arch.isa != isa)
    return bad_input(
        file.name + ":/isa",
        fmt::format("\"{}\" does not match the file name {}", printable(arch.isa), isa),
        "the file is named after the instruction set");
  arch.input = make_input("architecture", arch.isa, file);
  return arch;
}

Result<std::vector<Architecture>> list_architectures(const Catalog& catalog) {
  std::vector<Architecture> list;
  for (const std::string& isa : architecture_names(catalog)) {
    ROOFTILE_TRY(Architecture arch, load_architecture(catalog, isa));
    list.push_back(std::move(arch));
  }
  return list;
}

Result<std::optional<Architecture>> nearest_architecture(const Catalog& catalog,
                                                         std::string_view isa) {
  std::optional<std::string> found;
  if (catalog.contains(file_of(isa))) {
    found = isa;
  } else if (const auto vendor = vendor_of_isa(isa)) {
    const std::vector<std::string> known = architecture_names(catalog);
    found = vendor == Vendor::Amd ? nearest_gfx(isa, known) : earlier_capability(isa, known);
  }
  if (!found) return std::nullopt;
  ROOFTILE_TRY(Architecture arch, load_architecture(catalog, *found));
  return std::optional(std::move(arch));
}

std::optional<double> flop_per_clock(const std::vector<Architecture>& architectures,
                                     std::string_view isa, RateKey key) {
  for (const Architecture& arch : architectures) {
    const auto rate = arch.sm.flop_per_clock.find(key);
    if (arch.isa == isa && rate != arch.sm.flop_per_clock.end()) return rate->second;
  }
  return std::nullopt;
}

double widest_flop_per_clock(const std::vector<Architecture>& architectures, RateKey key) {
  double same = 0;
  double any = 0;
  for (const Architecture& arch : architectures) {
    for (const auto& [rate, flop] : arch.sm.flop_per_clock) {
      if (rate.pipe == key.pipe) any = std::max(any, flop);
      if (rate == key) same = std::max(same, flop);
    }
  }
  return same > 0 ? same : any;
}

}  // namespace rooftile::hardware
