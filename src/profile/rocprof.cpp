// SPDX-License-Identifier: Apache-2.0
//
// AMD: rocprof v1/v2 (results.csv, pmc_perf.csv: one row per dispatch, one column per counter),
// rocprofv3 counter_collection (one row per dispatch and counter), kernel traces and statistics.
// Columns are recognised by name, so merged and trimmed tables work too; counters of several
// channels (X[0], X[1], ...) are added up to X_sum.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_set>

#include "core/number_of.h"
#include "core/text.h"
#include "profile/delimited.h"
#include "profile/dimension.h"
#include "profile/importer.h"

namespace rooftile::profile {

namespace {

using Index = std::optional<std::size_t>;

/// hip_stats, hsa_stats, copy_stats and the like have the columns of kernel statistics; the names
/// in them are functions ("hipMemcpy"), copies ("CopyHostToDevice") or domains ("HIP_API").
bool names_a_kernel(std::string_view name) {
  constexpr std::array<std::string_view, 7> kPrefixes{
      "hsa_", "__hip", "roctx", "CopyHostTo", "CopyDeviceTo", "MEMORY_", "SCRATCH_MEMORY"};
  const bool prefixed =
      std::any_of(kPrefixes.begin(), kPrefixes.end(),
                  [name](std::string_view prefix) { return name.starts_with(prefix); });
  const bool plain = name.find_first_of("(<. ") == std::string_view::npos;
  const bool hip = name.size() > 3 && name.starts_with("hip") && name[3] >= 'A' && name[3] <= 'Z';
  // Calls of RCCL; its kernels are "ncclDevKernel_..." and "ncclKernel_...".
  const bool rccl = name.size() > 4 && name.starts_with("nccl") && name[4] >= 'A' &&
                    name[4] <= 'Z' && name.find("Kernel") == std::string_view::npos;
  const bool domain = name == "KERNEL_DISPATCH" || name.ends_with("_API");
  return !plain || (!prefixed && !hip && !rccl && !domain);
}

/// Annotations have names of the user's own, and interfaces come with every release: the file's
/// name tells them.
bool file_of_calls(std::string_view file) {
  constexpr std::array<std::string_view, 3> kEndings{"_api_stats.csv", "marker_stats.csv",
                                                     "roctx_stats.csv"};
  return std::any_of(kEndings.begin(), kEndings.end(),
                     [file](std::string_view ending) { return file.ends_with(ending); });
}

struct CounterColumn {
  std::size_t index;
  std::string metric;
};

class RocprofImport {
 public:
  explicit RocprofImport(TextSource& source)
      : source_(source), builder_("rocprof", source.name()) {}
  Result<RawProfile> run();

 private:
  bool start_table(std::string_view line);
  void counter_columns();
  Status row();
  Status long_row(std::size_t kernel);
  Status wide_row(std::size_t kernel);
  Status add_time(std::size_t kernel);
  Result<std::optional<double>> number(const Index& index, std::string_view what);
  void guess_isa();
  [[nodiscard]] std::string_view field(const Index& index) const {
    return index && *index < fields_.size() ? trim(fields_[*index]) : std::string_view();
  }
  Index any_of(std::initializer_list<std::string_view> names) const {
    for (const std::string_view name : names) {
      if (const auto index = fields_.find(name)) return index;
    }
    return std::nullopt;
  }

  TextSource& source_;
  ProfileBuilder builder_;
  LineFields fields_;
  char delimiter_ = ',';
  std::size_t width_ = 0;
  Index kernel_, dispatch_, start_, end_, duration_, counter_, value_, calls_, total_, average_;
  Index grid_, block_;
  std::vector<std::string> columns_;  ///< names of the header
  std::vector<CounterColumn> counters_;
  std::unordered_set<std::string> seen_;  ///< dispatches
  bool found_ = false;
};

/// "TCC_HIT[3]" -> "TCC_HIT_sum"
std::string counter_name(std::string_view column) {
  const std::size_t bracket = column.find('[');
  if (bracket == std::string_view::npos) return std::string(column);
  return std::string(column.substr(0, bracket)) + "_sum";
}

bool RocprofImport::start_table(std::string_view line) {
  std::optional<char> delimiter;
  for (const std::string_view wanted : {"Kernel_Name", "KernelName", "TotalDurationNs"}) {
    if (!delimiter) delimiter = header_delimiter(line, wanted);
  }
  if (!delimiter || !fields_.split(line, *delimiter)) return false;
  kernel_ = any_of({"Kernel_Name", "KernelName", "Name"});
  if (!kernel_) return false;
  delimiter_ = *delimiter;
  width_ = fields_.size();
  columns_.clear();
  for (std::size_t i = 0; i < width_; ++i) columns_.emplace_back(trim(fields_[i]));
  dispatch_ = any_of({"Dispatch_ID", "Dispatch_Id", "Index"});
  start_ = any_of({"Start_Timestamp", "BeginNs", "Start_Ns"});
  end_ = any_of({"End_Timestamp", "EndNs", "End_Ns"});
  duration_ = any_of({"DurationNs", "Duration_Ns"});
  counter_ = any_of({"Counter_Name"});
  value_ = any_of({"Counter_Value"});
  calls_ = any_of({"Calls"});
  total_ = any_of({"TotalDurationNs"});
  average_ = any_of({"AverageNs"});
  grid_ = any_of({"Grid_Size", "grd"});
  block_ = any_of({"Workgroup_Size", "wgr"});
  counter_columns();
  found_ = true;
  return true;
}

void RocprofImport::counter_columns() {
  counters_.clear();
  if (counter_) return;
  std::unordered_set<std::string> totals;
  for (std::size_t i = 0; i < fields_.size(); ++i) totals.emplace(trim(fields_[i]));
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    const std::string_view column = trim(fields_[i]);
    const std::string metric = counter_name(column);
    if (metric != column && totals.contains(metric)) continue;  // the total is there as well
    const bool counter = column.find("SQ_") == 0 || column.find("TC") == 0;
    builder_.profile().counters += counter ? 1 : 0;
    if (is_used_metric(metric)) {
      counters_.push_back({i, metric});
    } else if (counter) {
      builder_.profile().ignored_metrics += 1;
    }
  }
}

/// The field as a number; nothing when it is empty or n/a.
Result<std::optional<double>> RocprofImport::number(const Index& index, std::string_view what) {
  const std::string_view text = field(index);
  if (text.empty() || text == "nan" || text == "N/A" || text == "n/a") return std::nullopt;
  const auto value = parse_double(text);
  if (value && *value < 0.0) {
    const std::string_view column = columns_[*index];
    const bool time = index == total_ || index == duration_ || index == start_ || index == end_;
    return negative_value(
        text, {.counter = time ? "duration" : column, .shown = what, .column = column}, source_);
  }
  if (value) return value;
  return bad_input(source_.where(), fmt::format("\"{}\" is not a number", printable(text)));
}

Status RocprofImport::add_time(std::size_t kernel) {
  if (total_) {
    ROOFTILE_TRY(const auto total, number(total_, "the time"));
    ROOFTILE_TRY(const auto calls, number(calls_, "the number of calls"));
    ROOFTILE_TRY(const auto average, number(average_, "the average"));
    if (total && calls && *calls > 0.0) {
      ROOFTILE_CHECK(check_average(
          {.total = *total * 1e-9, .calls = *calls, .average = average.value_or(0.0) * 1e-9},
          source_));
      builder_.add(kernel, "duration", *total * 1e-9 / *calls, *calls);
    }
    return {};
  }
  ROOFTILE_TRY(auto duration, number(duration_, "the time"));
  if (start_ && end_) {
    ROOFTILE_TRY(const auto start, number(start_, "the start"));
    ROOFTILE_TRY(const auto end, number(end_, "the end"));
    // Timestamps exceed 2^53 ns never, but their difference needs whole numbers.
    const auto first = parse_int(field(start_)), last = parse_int(field(end_));
    if (first && last) {
      duration = static_cast<double>(*last) - static_cast<double>(*first);
    } else if (start && end) {
      duration = *end - *start;
    }
    if (duration && *duration < 0.0) {
      return bad_input(source_.where(), "the kernel ends before it starts");
    }
  }
  if (duration) builder_.add(kernel, "duration", *duration * 1e-9, 1.0);
  return {};
}

Status RocprofImport::long_row(std::size_t kernel) {
  const std::string_view name = field(counter_);
  builder_.profile().counters += 1;
  if (!is_used_metric(name)) return {};
  ROOFTILE_TRY(const auto value, number(value_, name));
  if (value) {
    builder_.add(kernel, name, *value, 1.0);
  } else {
    builder_.add_missing(kernel, name, 1);
  }
  return {};
}

Status RocprofImport::wide_row(std::size_t kernel) {
  for (std::size_t i = 0; i < counters_.size();) {
    double sum = 0.0;
    bool missing = false;
    const std::string& metric = counters_[i].metric;
    for (; i < counters_.size() && counters_[i].metric == metric; ++i) {  // channels lie together
      ROOFTILE_TRY(const auto value, number(counters_[i].index, metric));
      missing = missing || !value;
      sum += value.value_or(0.0);
    }
    if (missing) {
      builder_.add_missing(kernel, metric, 1);
    } else {
      builder_.add(kernel, metric, sum, 1.0);
    }
  }
  return {};
}

Status RocprofImport::row() {
  std::string_view name = field(kernel_);
  for (const std::string_view suffix : {" [clone .kd]", ".kd"}) {
    if (name.ends_with(suffix)) name.remove_suffix(suffix.size());
  }
  if (name.empty()) return bad_input(source_.where(), "the row has no kernel name");
  if (total_ && (!names_a_kernel(field(kernel_)) || file_of_calls(source_.name()))) {
    return not_kernels(source_.where(),
                       "kernels are in the results.stats.csv next to it, or are collected with: "
                       "rocprofv3 --kernel-trace --stats --output-format csv -- ./app "
                       "(*_kernel_stats.csv)");
  }
  const std::size_t kernel = builder_.kernel(name);
  KernelSeries& series = builder_.series(kernel);
  // rocprofv3 has a row per dispatch and counter
  const bool fresh = !counter_ || !dispatch_ || seen_.emplace(field(dispatch_)).second;
  if (fresh) {
    series.rows += 1;
    builder_.add_launch(kernel,
                        {.grid = parse_dim3(field(grid_)), .block = parse_dim3(field(block_))});
    ROOFTILE_CHECK(add_time(kernel));
  }
  return counter_ ? long_row(kernel) : wide_row(kernel);
}

/// The table does not name the GPU; the memory counters of MI300 have names of their own, and so
/// have those of the generations before it. Without them only the family is known.
void RocprofImport::guess_isa() {
  RawProfile& profile = builder_.profile();
  const bool mi300 =
      profile.has_metric("TCC_BUBBLE_sum") || profile.has_metric("TCC_EA0_RDREQ_sum");
  const bool earlier = profile.has_metric("TCC_EA_RDREQ_sum");
  profile.device.isa = mi300 ? "gfx942" : earlier ? "gfx90" : "gfx9";
}

Result<RawProfile> RocprofImport::run() {
  std::string_view line;
  while (true) {
    ROOFTILE_TRY(const bool more, source_.next_line(line));
    if (!more) break;
    if (trim(line).empty()) continue;
    if (!found_ || line.find("Kernel") != std::string_view::npos) {
      if (start_table(line)) continue;
    }
    if (!found_) continue;
    const bool closed = fields_.split(line, delimiter_);
    if (!closed || fields_.size() < width_) {
      return bad_input(source_.where(),
                       closed ? fmt::format("the row has {}, the header has {}",
                                            number_of(fields_.size(), "field"), width_)
                              : std::string("a quoted field is never closed"),
                       "the export was cut; run it again");
    }
    ROOFTILE_CHECK(row());
  }
  if (!found_) return bad_input(source_.name(), "there is no table of kernels in this file");
  guess_isa();
  return builder_.finish(false);
}

}  // namespace

bool recognises_rocprof(std::string_view head) {
  for (std::string_view line : split(head, '\n')) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    for (const std::string_view wanted : {"Kernel_Name", "KernelName", "TotalDurationNs"}) {
      if (header_delimiter(line, wanted)) return true;
    }
  }
  return false;
}

Result<RawProfile> import_rocprof(TextSource& source) {
  return RocprofImport(source).run();
}

}  // namespace rooftile::profile
