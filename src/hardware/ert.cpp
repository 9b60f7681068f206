// SPDX-License-Identifier: Apache-2.0
#include "hardware/ert.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <vector>

#include "core/json.h"
#include "core/text.h"
#include "core/utf8.h"
#include "hardware/ert_rule.h"

namespace rooftile::hardware {

namespace {

MeasuredRoof memory_roof(std::string_view label, double gbytes, const std::string& file,
                         std::string where) {
  return {.label = std::string(label),
          .level = parse_ert_level(label),
          .rate = {},
          .value = gbytes * 1e9,
          .memory = true,
          .source = file + " (ERT)",
          .where = std::move(where)};
}

MeasuredRoof compute_roof(std::string_view label, double gflops, const std::string& file,
                          std::string where) {
  return {.label = std::string(label),
          .level = {},
          .rate = parse_ert_rate(label),
          .value = gflops * 1e9,
          .memory = false,
          .source = file + " (ERT)",
          .where = std::move(where)};
}

/// One [name, value] pair of a "data" list.
struct Entry {
  std::string name;
  double value;
  std::string where;
};

Result<std::vector<Entry>> read_entries(const JsonView& section) {
  std::vector<Entry> out;
  ROOFTILE_TRY(const JsonView list, section.at("data"));
  ROOFTILE_TRY(const auto pairs, list.elements());
  for (const JsonView& pair : pairs) {
    ROOFTILE_TRY(const auto parts, pair.elements());
    if (parts.size() != 2) return pair.error("expected [name, value]");
    ROOFTILE_TRY(std::string name, parts[0].string());
    ROOFTILE_TRY(const double value, parts[1].number());
    out.push_back({.name = std::move(name), .value = value, .where = parts[0].where()});
  }
  return out;
}

Status read_empirical(const JsonView& empirical, const std::string& file, RoofFile& out) {
  ROOFTILE_TRY(const JsonView gbytes, empirical.at("gbytes"));
  ROOFTILE_TRY(const std::vector<Entry> bandwidths, read_entries(gbytes));
  for (const Entry& e : bandwidths)
    out.roofs.push_back(memory_roof(e.name, e.value, file, e.where));
  ROOFTILE_TRY(const JsonView gflops, empirical.at("gflops"));
  ROOFTILE_TRY(const std::vector<Entry> rates, read_entries(gflops));
  for (const Entry& e : rates) out.roofs.push_back(compute_roof(e.name, e.value, file, e.where));
  if (out.roofs.empty()) return empirical.error("no rates and no bandwidths");
  return {};
}

/// Host, date and the number of processes and threads, where ERT recorded them.
void read_metadata(const JsonView& metadata, RoofFile& out) {
  if (const auto host = metadata.find("HOSTNAME")) {
    if (const auto parts = host->elements(); parts && !parts->empty()) {
      if (const auto name = parts->front().string()) out.host = printable(*name);
    } else if (const auto name = host->string()) {
      out.host = printable(*name);
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
void read_date(const JsonView& empirical, RoofFile& out) {
  const auto gflops = empirical.find("gflops");
  const auto metadata = gflops ? gflops->find("metadata") : std::nullopt;
  const auto stamp = metadata ? metadata->find("TIMESTAMP_DB") : std::nullopt;
  if (!stamp) return;
  const auto seconds = stamp->number();
  if (!seconds || !(*seconds > 0) || *seconds > 4e9) return;
  const std::chrono::sys_seconds moment(std::chrono::seconds(static_cast<std::int64_t>(*seconds)));
  const std::chrono::year_month_day day(std::chrono::floor<std::chrono::days>(moment));
  out.date = fmt::format("{:04d}-{:02d}-{:02d}", static_cast<int>(day.year()),
                         static_cast<unsigned>(day.month()), static_cast<unsigned>(day.day()));
}

Status read_spec(const JsonView& spec, RoofFile& out) {
  for (const char* kind : {"gflops", "gbytes"}) {
    const auto part = spec.find(kind);
    if (!part || !part->find("data")) continue;
    ROOFTILE_TRY(const std::vector<Entry> entries, read_entries(*part));
    for (const Entry& e : entries) {
      out.notes.push_back(fmt::format("specification: {} {} {}", printable(e.name), e.value,
                                      kind == std::string_view("gbytes") ? "GB/s" : "GFLOP/s"));
    }
  }
  return {};
}

Result<RoofFile> read_json(std::string_view text, const std::string& name) {
  ROOFTILE_TRY(const JsonDocument document,
               JsonDocument::parse(text, name, {.max_depth = 64, .max_bytes = 64 << 20}));
  const JsonView root = document.root();
  ROOFTILE_TRY(const JsonView empirical, root.at("empirical"));
  RoofFile out;
  out.tool = "ERT";
  ROOFTILE_CHECK(read_empirical(empirical, name, out));
  if (const auto metadata = empirical.find("metadata")) read_metadata(*metadata, out);
  read_date(empirical, out);
  if (const auto spec = root.find("spec")) ROOFTILE_CHECK(read_spec(*spec, out));
  return out;
}

std::vector<std::string_view> words(std::string_view line) {
  std::vector<std::string_view> out;
  for (const std::string_view word : split(trim(line), ' ')) {
    if (!trim(word).empty()) out.push_back(trim(word));
  }
  return out;
}

/// One line of numbers: 5 columns are a try file, 11 a pre or max file.
Status sweep_line(const std::vector<std::string_view>& row, const std::string& where, DType dtype,
                  RoofFile& file) {
  std::vector<double> v;
  for (const std::string_view word : row) {
    const auto value = parse_double(word);
    if (!value || !(*value >= 0.0)) {
      return bad_input(where, fmt::format("\"{}\" is not a positive number", printable(word)));
    }
    v.push_back(*value);
  }
  if (v.size() != 5 && v.size() != 11) {
    return bad_input(where,
                     fmt::format("an ERT line has 5 or 11 numbers, this one has {}", v.size()));
  }
  const bool trial = v.size() == 5;  // working set, trials, microseconds, bytes, FLOPs
  if (!(v[0] > 0.0 && v[1] > 0.0 && (!trial || (v[2] > 0.0 && v[3] > 0.0)))) {
    return bad_input(where,
                     "not a measurement: working set, trials, time and bytes are above zero");
  }
  file.sweep.push_back({.working_set = v[0],
                        .trials = static_cast<std::int64_t>(std::min(v[1], 9e15)),
                        .bandwidth = trial ? v[3] / v[2] * 1e6 : v[6] * 1e9,
                        .rate = trial ? v[4] / v[2] * 1e6 : v[9] * 1e9,
                        .dtype = dtype});
  return {};
}

/// "7068.86 FP64 GFLOPs", "4742.1 GFLOPs", "991.11 L1" of a sum file.
void sum_line(const std::vector<std::string_view>& row, double value, const std::string& name,
              const std::string& where, RoofFile& file) {
  if (row.back() == "GFLOPs") {
    const std::string label =
        row.size() == 3 ? fmt::format("{} GFLOPs", row[1]) : std::string("GFLOPs");
    file.roofs.push_back(compute_roof(label, value, name, where));
  } else if (row.size() == 2 && row.back() != "Weight") {
    file.roofs.push_back(memory_roof(row.back(), value, name, where));
  }
}

Result<RoofFile> read_lines(std::string_view text, const std::string& name) {
  RoofFile file;
  file.tool = "ERT";
  DType dtype = DType::Fp64;
  std::int64_t number = 0;
  for (const std::string_view line : split(text, '\n')) {
    const std::string where = fmt::format("{}:{}", name, ++number);
    if (trim(line) == "META_DATA") break;
    const auto row = words(line);
    if (row.empty()) continue;
    const auto first = parse_double(row.front());
    if (!first) {  // "fp32" starts the points of a precision
      const auto named = parse_dtype(to_lower(row.front()));
      if (!named || row.size() > 1) {
        return bad_input(where, fmt::format("\"{}\" is not a line of an ERT file", printable(line)),
                         "expected numbers, or a precision as in \"fp32\"");
      }
      dtype = *named;
    } else if (row.size() <= 3 && !(*first > 0.0)) {
      return bad_input(where,
                       fmt::format("\"{}\" is not a positive number", printable(row.front())));
    } else if (row.size() <= 3) {
      sum_line(row, *first, name, where, file);
    } else {
      ROOFTILE_CHECK(sweep_line(row, where, dtype, file));
    }
  }
  if (file.roofs.empty() && file.sweep.empty()) {
    return bad_input(name, "this ERT file has no roofs and no points");
  }
  return file;
}

bool numbers_only(std::string_view line, std::size_t count) {
  const auto row = words(line);
  return row.size() == count && std::all_of(row.begin(), row.end(), [](std::string_view word) {
           return parse_double(word).has_value();
         });
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

bool recognises_ert(std::string_view head) {
  const std::string_view text = trim(head);
  if (text.starts_with('{')) {
    return text.find("\"empirical\"") != std::string_view::npos &&
           text.find("\"gbytes\"") != std::string_view::npos;
  }
  for (std::string_view line : split(text, '\n')) {
    line = trim(line);
    if (line.empty() || line == "fp16" || line == "fp32" || line == "fp64") continue;
    return line.ends_with(" GFLOPs") || numbers_only(line, 5) || numbers_only(line, 11);
  }
  return false;
}

Result<RoofFile> read_ert(std::string_view text, const std::string& name) {
  return trim(text).starts_with('{') ? read_json(text, name) : read_lines(text, name);
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

}  // namespace rooftile::hardware
