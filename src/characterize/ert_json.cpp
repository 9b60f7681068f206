// SPDX-License-Identifier: Apache-2.0
#include "characterize/ert_json.h"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <cmath>
#include <vector>

#include "core/json.h"
#include "core/text.h"
#include "core/utf8.h"

namespace rooftile::characterize {

namespace {

using hardware::Ceilings;
using hardware::Measured;
using hardware::MemoryLevel;
using hardware::Pipe;
using hardware::RateKey;

/// One [name, value] pair of a "data" list.
struct Entry {
  std::string name;
  double value;
  JsonView where;
};

Result<std::vector<Entry>> read_entries(const JsonView& list) {
  std::vector<Entry> out;
  ROOFTILE_TRY(const auto pairs, list.elements());
  for (const JsonView& pair : pairs) {
    ROOFTILE_TRY(const auto parts, pair.elements());
    if (parts.size() != 2) return pair.error("expected [name, value]");
    ROOFTILE_TRY(std::string name, parts[0].string());
    ROOFTILE_TRY(const double value, parts[1].number());
    constexpr double kMost = 1e10;  // GB/s or GFLOP/s
    if (!(value > 0) || value > kMost) return parts[1].error("is not the rate of a machine");
    out.push_back({.name = std::move(name), .value = value, .where = parts[0]});
  }
  return out;
}

Result<RateKey> parse_rate_name(const Entry& entry) {
  if (const auto key = hardware::parse_ert_rate(entry.name)) return *key;
  return entry.where.error("unknown rate \"" + printable(entry.name) + "\"",
                           "ERT writes \"GFLOPs\", \"FP64 GFLOPs\", \"FP32 GFLOPs\" or "
                           "\"FP16 GFLOPs\"");
}

Status set_bandwidth(const Entry& entry, Ceilings& out) {
  const Measured<BytesPerSecond> value{.value = BytesPerSecond::from_base(entry.value * 1e9),
                                       .low = std::nullopt,
                                       .high = std::nullopt,
                                       .samples = std::nullopt};
  if (entry.name == "L1") {
    out.bandwidth[MemoryLevel::L1] = value;
  } else if (entry.name == "L2") {
    out.bandwidth[MemoryLevel::L2] = value;
  } else if (entry.name == "DRAM") {
    out.bandwidth[MemoryLevel::Dram] = value;
  } else if (entry.name.size() == 2 && entry.name[0] == 'L' &&
             std::isdigit(static_cast<unsigned char>(entry.name[1])) != 0) {
    // Levels beyond the second share one place; the one nearest to memory keeps it.
    if (out.last_level) {
      out.notes.push_back(fmt::format("another cache level at {:.2f} GB/s is not in the ceilings",
                                      out.last_level->value.base() * 1e-9));
    }
    out.last_level = value;
  } else {
    return entry.where.error("unknown memory level \"" + printable(entry.name) + "\"",
                             "one of L1, L2, L3, DRAM");
  }
  return {};
}

Status read_empirical(const JsonView& empirical, Ceilings& out) {
  ROOFTILE_TRY(const JsonView gbytes, empirical.at("gbytes"));
  ROOFTILE_TRY(const JsonView gbytes_data, gbytes.at("data"));
  ROOFTILE_TRY(const std::vector<Entry> bandwidths, read_entries(gbytes_data));
  for (const Entry& entry : bandwidths) ROOFTILE_CHECK(set_bandwidth(entry, out));
  ROOFTILE_TRY(const JsonView gflops, empirical.at("gflops"));
  ROOFTILE_TRY(const JsonView gflops_data, gflops.at("data"));
  ROOFTILE_TRY(const std::vector<Entry> rates, read_entries(gflops_data));
  for (const Entry& entry : rates) {
    ROOFTILE_TRY(const RateKey key, parse_rate_name(entry));
    out.rate[key] = {.value = FlopsPerSecond::from_base(entry.value * 1e9),
                     .low = std::nullopt,
                     .high = std::nullopt,
                     .samples = std::nullopt};
  }
  if (rates.empty() && bandwidths.empty()) return empirical.error("no rates and no bandwidths");
  return {};
}

/// Host, date and the number of processes and threads, where ERT recorded them.
void read_metadata(const JsonView& metadata, Ceilings& out) {
  if (const auto host = metadata.find("HOSTNAME")) {
    if (const auto parts = host->elements(); parts && !parts->empty()) {
      if (const auto name = parts->front().string()) out.device = printable(*name);
    } else if (const auto name = host->string()) {
      out.device = printable(*name);
    }
  }
  if (const auto version = metadata.find("ERT_VERSION")) {
    if (const auto text = version->string()) out.tool = "ERT " + printable(*text);
  }
  if (const auto date = metadata.find("DATE")) {  // ours; ERT has a timestamp elsewhere
    if (const auto text = date->string()) out.date = printable(*text);
  }
  for (const char* key : {"MPI_PROCS", "OPENMP_THREADS", "GPU_BLOCKS", "GPU_THREADS"}) {
    if (const auto value = metadata.find(key)) {
      if (const auto number = value->number()) {
        out.environment.emplace_back(to_lower(key), fmt::format("{}", *number));
      }
    }
  }
}

/// The data of a run is as old as its timestamp; ERT writes seconds since 1970.
void read_date(const JsonView& empirical, Ceilings& out) {
  const auto gflops = empirical.find("gflops");
  const auto metadata = gflops ? gflops->find("metadata") : std::nullopt;
  const auto stamp = metadata ? metadata->find("TIMESTAMP_DB") : std::nullopt;
  if (!stamp) return;
  const auto seconds = stamp->number();
  if (!seconds || !(*seconds > 0) || *seconds > 4e9) return;
  // Civil date from days since 1970 (Hinnant, chrono-compatible low-level date algorithms).
  const auto days = static_cast<std::int64_t>(*seconds / 86400.0) + 719468;
  const std::int64_t era = days / 146097;
  const std::int64_t day_of_era = days - era * 146097;
  const std::int64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const std::int64_t day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::int64_t shifted = (5 * day_of_year + 2) / 153;
  const std::int64_t day = day_of_year - (153 * shifted + 2) / 5 + 1;
  const std::int64_t month = shifted < 10 ? shifted + 3 : shifted - 9;
  out.date = fmt::format("{:04d}-{:02d}-{:02d}", year_of_era + era * 400 + (month <= 2 ? 1 : 0),
                         month, day);
}

Status read_spec(const JsonView& spec, Ceilings& out) {
  for (const char* kind : {"gflops", "gbytes"}) {
    const auto part = spec.find(kind);
    const auto data = part ? part->find("data") : std::nullopt;
    if (!data) continue;
    ROOFTILE_TRY(const std::vector<Entry> entries, read_entries(*data));
    for (const Entry& e : entries) {
      out.notes.push_back(fmt::format("specification: {} {} {}", printable(e.name), e.value,
                                      kind == std::string_view("gbytes") ? "GB/s" : "GFLOP/s"));
    }
  }
  return {};
}

std::string data_list(const std::vector<std::pair<std::string, double>>& entries) {
  std::string out;
  for (const auto& [name, value] : entries) {
    // Two decimals as ERT, but never a rate of zero.
    const std::string rate =
        value >= 1e7 ? fmt::format("{:.2f}", value * 1e-9) : fmt::format("{:.6g}", value * 1e-9);
    out += fmt::format("{}            [{}, {}]", out.empty() ? "" : ",\n", json_string(name), rate);
  }
  return out.empty() ? "[]" : "[\n" + out + "\n         ]";
}

}  // namespace

Result<Ceilings> read_ert_json(std::string_view text, const std::string& name) {
  ROOFTILE_TRY(const JsonDocument document,
               JsonDocument::parse(text, name, {.max_depth = 64, .max_bytes = 64 << 20}));
  const JsonView root = document.root();
  ROOFTILE_TRY(const JsonView empirical, root.at("empirical"));
  Ceilings out;
  out.device = "unknown machine";
  out.tool = "ERT";
  out.date = "unknown";
  out.file = name;
  ROOFTILE_CHECK(read_empirical(empirical, out));
  if (const auto metadata = empirical.find("metadata")) read_metadata(*metadata, out);
  read_date(empirical, out);
  if (const auto spec = root.find("spec")) ROOFTILE_CHECK(read_spec(*spec, out));
  return out;
}

std::string write_ert_json(const Ceilings& ceilings) {
  std::vector<std::pair<std::string, double>> rates, bandwidths;
  for (const auto& [key, rate] : ceilings.rate) {
    std::string dtype(name_of(key.dtype));
    for (char& c : dtype) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    rates.emplace_back(dtype + (key.pipe == Pipe::Tensor ? " TC GFLOPs" : " GFLOPs"),
                       rate.value.base());
  }
  const auto add = [&](const char* level, const auto& found) {
    bandwidths.emplace_back(level, found.value.base());
  };
  for (const auto& [level, measured] : ceilings.bandwidth) {
    if (level == MemoryLevel::L1) add("L1", measured);
    if (level == MemoryLevel::L2) add("L2", measured);
  }
  if (ceilings.last_level) add("L3", *ceilings.last_level);
  if (const auto dram = ceilings.bandwidth.find(MemoryLevel::Dram);
      dram != ceilings.bandwidth.end()) {
    add("DRAM", dram->second);
  }
  return fmt::format(
      R"({{
   "empirical": {{
      "gbytes": {{
         "data": {},
         "metadata": {{}}
      }},
      "gflops": {{
         "data": {},
         "metadata": {{}}
      }},
      "metadata": {{
         "DATE": {},
         "ERT_VERSION": {},
         "HOSTNAME": [{}, [], []]
      }}
   }},
   "spec": {{
      "gbytes": {{"data": []}},
      "gflops": {{"data": []}}
   }}
}}
)",
      data_list(bandwidths), data_list(rates), json_string(ceilings.date),
      json_string(ceilings.tool), json_string(ceilings.device));
}

}  // namespace rooftile::characterize
