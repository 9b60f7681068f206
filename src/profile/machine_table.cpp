// SPDX-License-Identifier: Apache-2.0
//
// Files that come with exports and describe the machine, not kernels: measured roofs (ERT, tables
// of peaks), which the one reader of them in hardware/roof_file.h reads, and small tables of a
// system:
//   sysinfo.csv of rocprof-compute (gpu_model, gpu_arch, cu_per_gpu, ...)
//   agent_info.csv of rocprofv3 (Agent_Type, Name "gfx942", Product_Name, Cu_Count, ...)
#include <fmt/format.h>

#include "core/number_of.h"
#include "core/text.h"
#include "profile/delimited.h"
#include "profile/importer.h"

namespace rooftile::profile {

namespace {

/// The whole text: these files are small.
Result<std::string> rest_of(TextSource& source) {
  constexpr std::size_t kMost = std::size_t{64} << 20;
  std::string text;
  std::string_view line;
  while (true) {
    ROOFTILE_TRY(const bool more, source.next_line(line));
    if (!more) return text;
    text.append(line).push_back('\n');
    if (text.size() > kMost) return bad_input(source.name(), "this file is larger than 64 MiB");
  }
}

using ReadRoofs = Result<hardware::RoofFile> (*)(std::string_view text, const std::string& name);

Result<RawProfile> import_roofs(TextSource& source, RawProfile profile, ReadRoofs read) {
  ROOFTILE_TRY(const std::string text, rest_of(source));
  ROOFTILE_TRY(hardware::RoofFile file, read(text, source.name()));
  profile.roofs = std::move(file.roofs);
  profile.sweep = std::move(file.sweep);
  return profile;
}

RawProfile empty_profile(const TextSource& source, std::string_view format) {
  RawProfile profile;
  profile.format = format;
  profile.files.push_back(source.name());
  return profile;
}

void sysinfo_row(const LineFields& header, const LineFields& row, RawProfile& profile) {
  const auto text = [&](std::string_view column) {
    const auto index = header.find(column);
    return index ? trim(row[*index]) : std::string_view();
  };
  profile.device.name = text("gpu_model").empty() ? text("gpu_soc") : text("gpu_model");
  profile.device.isa = text("gpu_arch").empty() ? text("gpu_soc") : text("gpu_arch");
  profile.device.sm_count = parse_int(text("cu_per_gpu"));
}

/// The first GPU of the list stands for all.
void agent_row(const LineFields& header, const LineFields& row, RawProfile& profile) {
  const auto text = [&](std::string_view column) {
    const auto index = header.find(column);
    return index ? trim(row[*index]) : std::string_view();
  };
  if (text("Agent_Type") != "GPU" || !profile.device.isa.empty()) return;
  profile.device.name = text("Product_Name");
  profile.device.isa = text("Name");
  profile.device.sm_count = parse_int(text("Cu_Count"));
}

enum class MachineTable : std::uint8_t { None, Sysinfo, Agents };

struct Recognised {
  MachineTable table = MachineTable::None;
  char delimiter = ',';
};

/// The columns that tell a table must be there with one delimiter.
Recognised table_of(std::string_view line) {
  const auto has = [line](std::string_view first, std::string_view second) {
    const auto delimiter = header_delimiter(line, first);
    return delimiter && delimiter == header_delimiter(line, second) ? delimiter : std::nullopt;
  };
  if (const auto delimiter = has("workload_name", "rocm_version")) {
    return {MachineTable::Sysinfo, *delimiter};
  }
  if (const auto delimiter = has("Agent_Type", "Product_Name")) {
    return {MachineTable::Agents, *delimiter};
  }
  return {};
}

Result<RawProfile> import_system(TextSource& source, RawProfile profile) {
  std::string_view line;
  ROOFTILE_TRY(const bool any, source.next_line(line));
  const std::string header_line(any ? line : std::string_view());
  const auto [table, delimiter] = table_of(header_line);
  LineFields header, row;
  header.split(header_line, delimiter);
  bool done = false;
  while (true) {
    ROOFTILE_TRY(const bool more, source.next_line(line));
    if (!more) break;
    if (trim(line).empty() || done) continue;
    if (!row.split(line, delimiter) || row.size() < header.size()) {
      return bad_input(source.where(), fmt::format("the row has {}, the header has {}",
                                                   number_of(row.size(), "field"), header.size()));
    }
    switch (table) {
      case MachineTable::Sysinfo: sysinfo_row(header, row, profile); break;
      case MachineTable::Agents: agent_row(header, row, profile); break;
      case MachineTable::None: return bad_input(source.name(), "the table has no known columns");
    }
    done = table == MachineTable::Sysinfo;  // the first device stands for all
  }
  return profile;
}

}  // namespace

bool recognises_ert(std::string_view head) {
  return hardware::recognises_ert(head);
}

Result<RawProfile> import_ert(TextSource& source) {
  return import_roofs(source, empty_profile(source, "ert"), hardware::read_ert);
}

bool recognises_machine_table(std::string_view head) {
  std::string_view line = head.substr(0, head.find('\n'));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return hardware::recognises_peak_table(head) || table_of(line).table != MachineTable::None;
}

Result<RawProfile> import_machine_table(TextSource& source) {
  constexpr std::size_t kHead = 1 << 16;
  RawProfile profile = empty_profile(source, "machine-table");
  ROOFTILE_TRY(const std::string_view head, source.peek(kHead));
  if (!hardware::recognises_peak_table(head)) return import_system(source, std::move(profile));
  return import_roofs(source, std::move(profile), hardware::read_peak_table);
}

}  // namespace rooftile::profile
