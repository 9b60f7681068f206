// SPDX-License-Identifier: Apache-2.0
//
// nvprof (and the kernel sums of nsys stats, which look alike): metrics per kernel with their
// average over invocations, as CSV or as indented text, and summaries and traces as time source.
//   "Device","Kernel","Invocations","Metric Name","Metric Description","Min","Max","Avg"
//   "Type","Time(%)","Time","Calls","Avg","Min","Max","Name"            (units in the next row)
//   "Start","Duration","Grid X",...,"Name"            (one row per launch, units in the next row)
//   "Device","Context","Stream","Kernel","flop_count_sp",...            (the same, with metrics)
//   Time (%),Total Time (ns),Instances,...,Name
//   Type  Time(%)  Time  Calls  Avg  Min  Max  Name     (the summary that nvprof prints by default)
#include <fmt/format.h>

#include <array>

#include "core/text.h"
#include "profile/delimited.h"
#include "profile/dimension.h"
#include "profile/importer.h"
#include "profile/number_text.h"

namespace rooftile::profile {

namespace {

using Index = std::optional<std::size_t>;

enum class Kind : std::uint8_t { None, Metrics, Summary, Trace, TraceMetrics, Text, TextSummary };

/// "512.34GB/s" -> number and unit; nvprof glues them together.
std::pair<std::string_view, std::string_view> split_unit(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size()) {
    const char c = text[end];
    const bool exponent =
        (c == 'e' || c == 'E') && end + 1 < text.size() &&
        std::string_view("+-0123456789").find(text[end + 1]) != std::string_view::npos;
    if (!exponent && std::string_view("+-0123456789.,").find(c) == std::string_view::npos) break;
    ++end;
  }
  return {text.substr(0, end), trim(text.substr(end))};
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (const std::string_view word : split(text, ' ')) {
    if (!word.empty()) words.push_back(word);
  }
  return words;
}

class NvprofImport {
 public:
  explicit NvprofImport(TextSource& source) : source_(source), builder_("nvprof", source.name()) {}
  Result<RawProfile> run();

 private:
  bool start_table(std::string_view line);
  Status row(std::string_view line);
  Status metric_row();
  Status time_row();
  Status trace_metrics_row();
  bool start_trace_metrics(std::string_view line);
  bool start_times(std::string_view line);
  void name_device();
  [[nodiscard]] std::optional<Dim3> dimensions(const std::array<Index, 3>& parts) const;
  Status text_row(std::string_view line);
  Status text_summary_row(std::string_view line);
  Status add(std::size_t kernel, std::string_view metric, std::string_view text, double weight);
  Status add_time(std::size_t kernel, double seconds, double calls, std::string_view text);
  [[nodiscard]] std::string_view field(const Index& index) const {
    return index && *index < fields_.size() ? trim(fields_[*index]) : std::string_view();
  }

  TextSource& source_;
  ProfileBuilder builder_;
  NumberFormat numbers_;
  LineFields fields_;
  Kind kind_ = Kind::None;
  char delimiter_ = ',';
  Index kernel_, invocations_, metric_, average_, time_, type_, device_;
  std::array<Index, 3> grid_, block_;
  std::vector<std::pair<std::size_t, std::string>> metrics_;  ///< columns of launches
  double time_factor_ = 1.0, average_factor_ = 1.0;
  bool units_pending_ = false;
  std::size_t width_ = 0;
  Index text_kernel_;
  bool found_ = false;
  bool gpu_activities_ = true;  ///< of a printed summary: not the API calls below them
  bool others_ = false;         ///< API calls, copies: not kernels
};

/// "gemm(int) [123]" of a trace: the number counts calls of the host.
std::string_view without_number(std::string_view name) {
  const std::size_t open = name.rfind(" [");
  if (open == std::string_view::npos || !name.ends_with(']')) return name;
  return all_digits(name.substr(open + 2, name.size() - open - 3)) ? name.substr(0, open) : name;
}

/// One row per launch with the metrics in columns.
bool NvprofImport::start_trace_metrics(std::string_view line) {
  const auto delimiter = header_delimiter(line, "Kernel");
  if (!delimiter || !fields_.split(line, *delimiter) || !fields_.find("Stream")) return false;
  metrics_.clear();
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    const std::string_view name = trim(fields_[i]);
    if (is_used_metric(name)) metrics_.emplace_back(i, name);
  }
  if (metrics_.empty()) return false;
  kind_ = Kind::TraceMetrics;
  device_ = fields_.find("Device");
  kernel_ = fields_.find("Kernel");
  delimiter_ = *delimiter;
  return true;
}

bool NvprofImport::start_times(std::string_view line) {
  // nsys sums API calls, copies and annotations in tables that differ in these columns only.
  for (const std::string_view column : {"Num Calls", "Operation", "Range"}) {
    if (header_delimiter(line, "Total Time (ns)") && header_delimiter(line, column)) others_ = true;
  }
  const auto delimiter = header_delimiter(line, "Name");
  if (!delimiter || !fields_.split(line, *delimiter)) return false;
  kernel_ = fields_.find("Name");
  type_ = fields_.find("Type");
  device_ = fields_.find("Device");
  time_ = fields_.find("Total Time (ns)");
  invocations_ = time_ ? fields_.find("Instances") : fields_.find("Calls");
  average_ = time_ ? fields_.find("Avg (ns)") : fields_.find("Avg");
  if (time_ && !average_) average_ = fields_.find("Average (ns)");
  time_factor_ = average_factor_ = 1e-9;
  units_pending_ = false;
  if (!time_ && invocations_) {
    time_ = fields_.find("Time");
    units_pending_ = time_.has_value();
  }
  const bool trace = !time_ && fields_.find("Duration") && fields_.find("Grid X");
  if (trace) {
    time_ = fields_.find("Duration");
    units_pending_ = true;
    invocations_.reset();
    for (std::size_t i = 0; i < 3; ++i) {
      grid_[i] = fields_.find(fmt::format("Grid {:c}", "XYZ"[i]));
      block_[i] = fields_.find(fmt::format("Block {:c}", "XYZ"[i]));
    }
  }
  if (!time_ || (!invocations_ && !units_pending_)) return false;
  kind_ = invocations_ ? Kind::Summary : Kind::Trace;
  delimiter_ = *delimiter;
  return true;
}

bool NvprofImport::start_table(std::string_view line) {
  const auto delimiter = header_delimiter(line, "Metric Name");
  if (delimiter && fields_.split(line, *delimiter) && fields_.find("Kernel") &&
      fields_.find("Avg")) {
    kind_ = Kind::Metrics;
    device_ = fields_.find("Device");
    kernel_ = fields_.find("Kernel");
    invocations_ = fields_.find("Invocations");
    metric_ = fields_.find("Metric Name");
    average_ = fields_.find("Avg");
    delimiter_ = *delimiter;
  } else if (!start_times(line) && !start_trace_metrics(line)) {
    return false;
  }
  width_ = fields_.size();
  found_ = true;
  return true;
}

void NvprofImport::name_device() {
  if (!builder_.profile().device.name.empty()) return;
  const std::string_view device = field(device_);
  builder_.profile().device.name = trim(device.substr(0, device.rfind(" (")));
}

Status NvprofImport::add(std::size_t kernel, std::string_view metric, std::string_view text,
                         double weight) {
  const auto [digits, unit_text] = split_unit(trim(text));
  builder_.profile().counters += 1;
  if (!is_used_metric(metric)) {
    builder_.profile().ignored_metrics += 1;
    return {};
  }
  if (trim(text).starts_with('<')) {  // "<OVERFLOW>", "<ERROR>"
    builder_.add_missing(kernel, metric, static_cast<std::int64_t>(weight));
    return {};
  }
  const auto unit = parse_unit(unit_text);
  const NumberFormat::Reading reading = numbers_.read(digits);
  if (!unit || reading.kind == NumberFormat::Kind::Text) {
    return bad_input(source_.where(),
                     fmt::format("\"{}\" is not a number for {}", printable(text), metric));
  }
  const CounterCell cell{.counter = metric,
                         .shown = metric,
                         .column = kind_ == Kind::TraceMetrics ? metric : std::string_view("Avg")};
  ROOFTILE_CHECK(read_unit(unit_text, cell, source_));
  if (reading.kind == NumberFormat::Kind::Missing) {
    builder_.add_missing(kernel, metric, static_cast<std::int64_t>(weight));
    return {};
  }
  if (reading.value < 0.0) return negative_value(text, cell, source_);
  builder_.add(kernel, metric, reading.value * unit->factor, weight);
  return {};
}

Status NvprofImport::add_time(std::size_t kernel, double seconds, double calls,
                              std::string_view text) {
  if (seconds < 0.0)
    return negative_value(text,
                          {.counter = "duration",
                           .shown = "the time",
                           .column = kind_ == Kind::Trace ? "Duration" : "Time"},
                          source_);
  builder_.add(kernel, "duration", seconds / calls, calls);
  return {};
}

Status NvprofImport::metric_row() {
  const auto invocations = parse_double(field(invocations_));
  if (!invocations || !(*invocations >= 0.0)) {
    return bad_input(source_.where(), fmt::format("\"{}\" is not a number of invocations",
                                                  printable(field(invocations_))));
  }
  name_device();
  return add(builder_.kernel(field(kernel_)), field(metric_), field(average_), *invocations);
}

Status NvprofImport::time_row() {
  const std::string_view name = without_number(field(kernel_));
  const bool other = (type_ && field(type_) != "GPU activities") || name.starts_with("[CUDA mem");
  others_ = others_ || other;
  if (other || name.empty()) return {};
  const auto time = numbers_.read(field(time_));
  const double calls = invocations_ ? parse_double(field(invocations_)).value_or(0.0) : 1.0;
  if (time.kind != NumberFormat::Kind::Number || !(calls >= 1.0)) {
    return bad_input(source_.where(), fmt::format("\"{}\" is not a time", printable(field(time_))));
  }
  const auto average = numbers_.read(field(average_));
  if (kind_ == Kind::Summary && average.kind == NumberFormat::Kind::Number) {
    ROOFTILE_CHECK(check_average({.total = time.value * time_factor_,
                                  .calls = calls,
                                  .average = average.value * average_factor_},
                                 source_));
  }
  const std::size_t kernel = builder_.kernel(name);
  ROOFTILE_CHECK(add_time(kernel, time.value * time_factor_, calls, field(time_)));
  if (kind_ == Kind::Trace) {
    name_device();
    builder_.add_launch(kernel, {.grid = dimensions(grid_), .block = dimensions(block_)});
  }
  return {};
}

std::optional<Dim3> NvprofImport::dimensions(const std::array<Index, 3>& parts) const {
  return parse_dim3({field(parts[0]), field(parts[1]), field(parts[2])});
}

Status NvprofImport::trace_metrics_row() {
  const std::string_view name = without_number(field(kernel_));
  if (name.empty()) return {};  // the row of units; the counters in question have none
  name_device();
  const std::size_t kernel = builder_.kernel(name);
  builder_.add_launch(kernel, {});
  for (const auto& [column, metric] : metrics_) {
    ROOFTILE_CHECK(add(kernel, metric, field(column), 1.0));
  }
  return {};
}

/// "          1    flop_count_dp   Floating Point Operations(Double)   10   10   10"
Status NvprofImport::text_row(std::string_view line) {
  const std::string_view text = trim(line);
  if (text.starts_with("Kernel: ")) {
    text_kernel_ = builder_.kernel(trim(text.substr(8)));
    return {};
  }
  if (text.starts_with("Device \"") && builder_.profile().device.name.empty()) {
    builder_.profile().device.name = text.substr(8, text.rfind(" (") - 8);
    return {};
  }
  const auto words = words_of(text);
  if (!text_kernel_ || words.size() < 5 || !all_digits(words[0])) return {};
  return add(*text_kernel_, words[1], words.back(), parse_double(words[0]).value_or(1.0));
}

/// " GPU activities:   60.00%  12.000ms   4  3.0000ms  2.9000ms  3.1000ms  saxpy(int, float*)"
Status NvprofImport::text_summary_row(std::string_view line) {
  std::string_view text = trim(line);
  if (text.starts_with("GPU activities:")) {
    gpu_activities_ = true;
    text = trim(text.substr(15));
  } else if (text.starts_with("API calls:")) {
    gpu_activities_ = false;
  }
  const auto words = words_of(text);
  constexpr std::size_t kNumbers = 6;  // before the name: share, time, calls, avg, min, max
  if (!gpu_activities_ || words.size() <= kNumbers || !words[0].ends_with('%')) return {};
  const auto [digits, unit_text] = split_unit(words[1]);
  const auto unit = parse_unit(unit_text);
  const auto time = numbers_.read(digits);
  const auto calls = parse_double(words[2]);
  if (!unit || unit->kind != UnitKind::Second || time.kind != NumberFormat::Kind::Number ||
      !calls || !(*calls >= 1.0)) {
    return bad_input(source_.where(), fmt::format("\"{}\" is not a time", printable(words[1])));
  }
  const std::string_view name =
      text.substr(static_cast<std::size_t>(words[kNumbers].data() - text.data()));
  others_ = others_ || name.starts_with("[CUDA mem");
  if (name.starts_with("[CUDA mem")) return {};
  return add_time(builder_.kernel(name), time.value * unit->factor, *calls, words[1]);
}

Status NvprofImport::row(std::string_view line) {
  if (line.starts_with("==") || trim(line).empty()) return {};
  if (kind_ == Kind::Text) return text_row(line);
  if (kind_ == Kind::TextSummary) return text_summary_row(line);
  if (!fields_.split(line, delimiter_)) {
    return bad_input(source_.where(), "a quoted field is never closed",
                     "the export was cut; run it again");
  }
  if (units_pending_) {
    units_pending_ = false;
    const auto unit = parse_unit(field(time_));
    if (unit && unit->kind != UnitKind::Count) {
      const std::string_view column = kind_ == Kind::Trace ? "Duration" : "Time";
      ROOFTILE_CHECK(read_unit(
          field(time_), {.counter = "duration", .shown = column, .column = column}, source_));
      time_factor_ = unit->factor;
      const auto average = parse_unit(field(average_));
      if (!average || average->kind != unit->kind) average_.reset();
      if (average_) average_factor_ = average->factor;
      return {};
    }
    return bad_input(source_.where(), "the row of units is missing below the column names");
  }
  if (fields_.size() != width_) return {};  // the program's output between the tables
  if (kind_ == Kind::TraceMetrics) return trace_metrics_row();
  return kind_ == Kind::Metrics ? metric_row() : time_row();
}

Result<RawProfile> NvprofImport::run() {
  std::string_view line;
  while (true) {
    ROOFTILE_TRY(const bool more, source_.next_line(line));
    if (!more) break;
    if (start_table(line)) continue;
    if (trim(line).starts_with("Invocations") &&
        line.find("Metric Name") != std::string_view::npos) {
      kind_ = Kind::Text;
      found_ = true;
    } else if (line.find("Time(%)") != std::string_view::npos &&
               line.find("Calls") != std::string_view::npos && line.find(',') == line.npos) {
      kind_ = Kind::TextSummary;
      gpu_activities_ = true;
      found_ = true;
    } else if (kind_ != Kind::None) {
      ROOFTILE_CHECK(row(line));
    }
  }
  if (others_ && builder_.profile().kernels.empty()) {
    return not_kernels(source_.name(),
                       "kernel times are in: nvprof --csv --print-gpu-summary, nsys stats --report "
                       "cuda_gpu_kern_sum");
  }
  if (!found_ || builder_.profile().kernels.empty()) {
    return bad_input(source_.name(), "there is no table of kernels in this nvprof output",
                     "run nvprof with --csv --metrics flop_count_sp,... --log-file out.csv");
  }
  return builder_.finish(numbers_.decimal_comma());
}

}  // namespace

bool recognises_nvprof(std::string_view head) {
  const auto has = [head](std::string_view text) {
    return head.find(text) != std::string_view::npos;
  };
  return has("NVPROF is profiling") || has("== Profiling result:") ||
         has("\"Start\",\"Duration\",\"Grid X\"") || has("Time(%),Time,Calls,") ||
         has("\"Device\",\"Kernel\",\"Invocations\"") || has("Total Time (ns)") ||
         has("\"Type\",\"Time(%)\",\"Time\",\"Calls\"") ||
         (has("Metric result:") && has("Invocations"));
}

Result<RawProfile> import_nvprof(TextSource& source) {
  return NvprofImport(source).run();
}

}  // namespace rooftile::profile
