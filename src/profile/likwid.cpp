// SPDX-License-Identifier: Apache-2.0
//
// likwid-perfctr: derived metrics of a group per region and hardware thread, as the printed tables
// or as CSV (-O, -o x.csv). A region (or the whole run) becomes one kernel. Rates and volumes of
// the threads add up, the run time is that of the slowest thread:
//   FLOP = sum over threads of "DP [MFLOP/s]" * "Runtime (RDTSC) [s]"
// Uncore volumes (memory) are printed for one thread per socket and are zero for the others.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/text.h"
#include "profile/delimited.h"
#include "profile/importer.h"

namespace rooftile::profile {

namespace {

struct Volume {
  std::string_view label, metric;
};
constexpr std::array<Volume, 6> kVolumes{
    {{"Memory data volume [GBytes]", "Memory data volume"},
     {"Memory data volume (total) [GBytes]", "Memory data volume"},
     {"MCDRAM data volume [GBytes]", "Memory data volume"},
     {"HBM data volume [GBytes]", "Memory data volume"},
     {"L2 data volume [GBytes]", "L2 data volume"},
     {"L1 data volume [GBytes]", "L1 data volume"}}};
constexpr std::string_view kRuntime = "Runtime (RDTSC) [s]";
constexpr std::string_view kOldRuntime = "RDTSC Runtime [s]";
constexpr std::array<Volume, 4> kRates{{{"DP [MFLOP/s]", "DP MFLOP/s * Runtime"},
                                        {"DP MFLOP/s", "DP MFLOP/s * Runtime"},
                                        {"SP [MFLOP/s]", "SP MFLOP/s * Runtime"},
                                        {"SP MFLOP/s", "SP MFLOP/s * Runtime"}}};

class LikwidImport {
 public:
  explicit LikwidImport(TextSource& source) : source_(source), builder_("likwid", source.name()) {}
  Result<RawProfile> run();

 private:
  std::vector<std::string_view> cells(std::string_view line);
  void heading(std::string_view line);
  Status metric(const std::vector<std::string_view>& row);
  [[nodiscard]] Status other_unit(std::string_view label) const;
  void flush();

  TextSource& source_;
  ProfileBuilder builder_;
  LineFields fields_;
  std::string region_ = "whole run";
  bool in_metrics_ = false, found_ = false;
  std::vector<double> runtime_;
  std::vector<std::pair<std::string, std::vector<double>>> rates_;
  std::vector<std::pair<std::string, double>> volumes_;
  std::set<std::string> timed_;  ///< regions whose time is known; later groups repeat it
};

/// Cells of a printed ("| a | b |") or comma-separated row.
std::vector<std::string_view> LikwidImport::cells(std::string_view line) {
  std::vector<std::string_view> out;
  const bool printed = line.starts_with('|');
  fields_.split(line, printed ? '|' : ',');
  for (std::size_t i = printed ? 1 : 0; i < fields_.size(); ++i) out.push_back(trim(fields_[i]));
  while (!out.empty() && out.back().empty()) out.pop_back();
  return out;
}

/// "Region triad, Group 1: MEM_DP" / "TABLE,Region triad,Group 1 Metric,MEM_DP,..." name the
/// region.
void LikwidImport::heading(std::string_view line) {
  const bool table = line.starts_with("TABLE,");
  if (!table && !line.starts_with("Region ") && !line.starts_with("Region:") &&
      !line.starts_with("Group ")) {
    return;
  }
  flush();
  in_metrics_ = false;
  region_ = "whole run";
  const std::size_t at = line.find("Region");
  if (at == std::string_view::npos) return;
  std::string_view rest = line.substr(at + 6);
  if (rest.starts_with(':')) rest.remove_prefix(1);
  region_ = trim(rest.substr(0, rest.find(',')));
}

/// Moves the collected group into the profile.
void LikwidImport::flush() {
  if (runtime_.empty() && volumes_.empty()) return;
  const std::size_t kernel = builder_.kernel(region_);
  if (!runtime_.empty() && timed_.insert(region_).second) {
    builder_.add(kernel, "duration", *std::max_element(runtime_.begin(), runtime_.end()), 1.0);
  }
  for (const auto& [name, rates] : rates_) {
    double flops = 0.0;
    for (std::size_t i = 0; i < std::min(rates.size(), runtime_.size()); ++i) {
      flops += rates[i] * 1e6 * runtime_[i];
    }
    if (builder_.series(kernel).find(name) == nullptr) builder_.add(kernel, name, flops, 1.0);
  }
  for (const auto& [name, bytes] : volumes_) {
    if (builder_.series(kernel).find(name) == nullptr) builder_.add(kernel, name, bytes, 1.0);
  }
  runtime_.clear();
  rates_.clear();
  volumes_.clear();
}

/// "Runtime (RDTSC) [ms]": a metric that is read, in a unit that it never has.
Status LikwidImport::other_unit(std::string_view label) const {
  const auto check = [&](std::string_view known) -> Status {
    const std::size_t open = known.find('[');
    if (open == std::string_view::npos || !label.starts_with(known.substr(0, open + 1))) return {};
    return bad_input(source_.where(),
                     fmt::format("\"{}\" has another unit than \"{}\"", printable(label), known),
                     "convert the values, or export again");
  };
  for (const std::string_view known : {kRuntime, kOldRuntime}) ROOFTILE_CHECK(check(known));
  for (const Volume& rate : kRates) ROOFTILE_CHECK(check(rate.label));
  for (const Volume& volume : kVolumes) ROOFTILE_CHECK(check(volume.label));
  return {};
}

Status LikwidImport::metric(const std::vector<std::string_view>& row) {
  const std::string_view label = row.front();
  const bool runtime = label == kRuntime || label == kOldRuntime;
  const auto rate = std::find_if(kRates.begin(), kRates.end(),
                                 [label](const Volume& v) { return v.label == label; });
  const auto volume = std::find_if(kVolumes.begin(), kVolumes.end(),
                                   [label](const Volume& v) { return v.label == label; });
  if (!runtime && rate == kRates.end() && volume == kVolumes.end()) return other_unit(label);
  std::vector<double> values;
  for (std::size_t i = 1; i < row.size(); ++i) {
    if (row[i] == "-" || row[i] == "nan" || row[i].empty()) return {};  // not counted
    const auto value = parse_double(row[i]);
    if (!value) {
      return bad_input(source_.where(),
                       fmt::format("\"{}\" is not a number for {}", printable(row[i]), label));
    }
    if (*value < 0.0) {
      return bad_input(source_.where(), fmt::format("{} cannot be negative, but \"{}\" is", label,
                                                    printable(row[i])));
    }
    values.push_back(*value);
  }
  builder_.profile().counters += 1;
  if (runtime) {
    runtime_ = std::move(values);
  } else if (rate != kRates.end()) {
    rates_.emplace_back(rate->metric, std::move(values));
  } else {
    double sum = 0.0;
    for (const double value : values) sum += value;
    volumes_.emplace_back(volume->metric, sum * 1e9);
  }
  return {};
}

Result<RawProfile> LikwidImport::run() {
  std::string_view line;
  while (true) {
    ROOFTILE_TRY(const bool more, source_.next_line(line));
    if (!more) break;
    const std::string_view text = trim(line);
    if (text.starts_with("CPU name:")) {
      const std::string_view rest = text.substr(9);
      builder_.profile().device.name =
          trim(rest.substr(rest.find_first_not_of(", \t") == std::string_view::npos
                               ? rest.size()
                               : rest.find_first_not_of(", \t")));
      std::string& name = builder_.profile().device.name;
      name.erase(std::min(name.find(','), name.size()));
      continue;
    }
    heading(text);
    if (!text.starts_with('|') && text.find(',') == std::string_view::npos) continue;
    const auto row = cells(text);
    if (row.size() < 2) continue;
    if (row.front() == "Metric" || row.front() == "Event" || row.front().starts_with("Region")) {
      in_metrics_ = row.front() == "Metric" && row[1] != "Sum";
      found_ = found_ || in_metrics_;
    } else if (in_metrics_ && row.front().find(" STAT") == std::string_view::npos) {
      ROOFTILE_CHECK(metric(row));
    }
  }
  flush();
  if (!found_) {
    return bad_input(source_.name(), "there is no table of metrics in this LIKWID output",
                     "run likwid-perfctr with -g MEM_DP or another group");
  }
  return builder_.finish(false);
}

}  // namespace

bool recognises_likwid(std::string_view head) {
  const auto has = [head](std::string_view text) {
    return head.find(text) != std::string_view::npos;
  };
  const bool threads = has("HWThread ") || has("Core ") || has("core ");
  return threads && (has("Runtime (RDTSC) [s]") || has("TABLE,") || has("RDTSC Runtime [s]"));
}

Result<RawProfile> import_likwid(TextSource& source) {
  return LikwidImport(source).run();
}

}  // namespace rooftile::profile
