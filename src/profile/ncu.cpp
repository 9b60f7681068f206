// SPDX-License-Identifier: Apache-2.0
//
// Nsight Compute: everything `ncu` and `nv-nsight-cu-cli` print (docs/format/profiles.md). One pass
// over the lines; whatever is neither a table nor a text-mode section (banners, the program's
// output) is skipped. Tables are told apart by their columns:
//   long        Metric Name, Metric Unit, Metric Value: one row per launch and metric; rows of the
//               details page are ragged and rules have rows of their own
//   summary     Metric Name, Invocations, Average (--print-summary per-kernel or per-gpu)
//   wide        one column per counter, a row of units, one row per launch (--page raw)
//   aggregated  as wide with a Count column: per-kernel sums, as post-processing scripts write them
// Files glued together (>>) simply show another header; their tables are joined as files are.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "core/number_of.h"
#include "core/text.h"
#include "profile/delimited.h"
#include "profile/dimension.h"
#include "profile/importer.h"
#include "profile/ncu_columns.h"
#include "profile/ncu_labels.h"
#include "profile/number_text.h"

namespace rooftile::profile {

namespace {

enum class TableKind : std::uint8_t { None, Long, Summary, Wide, Aggregated };

/// What a printed metric means; looked up once per spelling.
struct MetricUse {
  std::string section, metric;
  std::string counter;   ///< empty when no formula uses it
  std::size_t slot = 0;  ///< of the counter, shared by all its spellings
  std::string unit_text;
  CounterUnit unit;
};

struct WideColumn {
  std::size_t index;
  std::string counter;
  CounterUnit unit;
};

using Index = NcuColumns::Index;

class NcuImport {
 public:
  explicit NcuImport(TextSource& source) : source_(source) {
    tables_.emplace_back("ncu", source.name());
  }
  Result<RawProfile> run();

 private:
  bool start_table(std::string_view line);
  Status table_line(std::string_view line);
  Status long_row();
  Status wide_row();
  Status units_row();
  void assume_base_units();
  bool text_line(std::string_view line);
  Status text_row(std::string_view line);
  void launch_line(std::string_view line);
  MetricUse& use_of(std::string_view section, std::string_view metric);
  Status add_value(std::size_t kernel, MetricUse& use, std::string_view unit,
                   std::string_view value, double weight);
  Status store(std::size_t kernel, const std::string& counter, const CounterUnit& unit,
               std::string_view value, double weight);
  void note_launch(std::size_t kernel, double launches);
  [[nodiscard]] std::optional<Dim3> dimensions(const Index& whole,
                                               const std::array<Index, 3>& parts) const;
  [[nodiscard]] std::string_view field(const Index& index) const {
    return index && *index < fields_.size() ? fields_[*index] : std::string_view();
  }

  ProfileBuilder& builder() { return tables_.back(); }
  void next_table();
  Result<RawProfile> join_tables();

  TextSource& source_;
  /// One per table of the file: the tables may be passes over the same launches (merge()).
  std::vector<ProfileBuilder> tables_;
  NumberFormat numbers_;
  LineFields fields_;
  TableKind kind_ = TableKind::None;
  char delimiter_ = ',';
  NcuColumns at_;
  std::size_t width_ = 0;
  bool units_seen_ = false;  ///< of a wide table
  std::vector<WideColumn> wide_;
  std::vector<MetricUse> uses_;
  std::size_t next_use_ = 0;
  std::string last_id_, last_process_;
  std::vector<std::int64_t> slot_launch_;  ///< launch that gave each counter its last value
  std::unordered_map<std::string, std::size_t> slots_;
  std::int64_t launch_ = 0;
  bool found_ = false;
  // text mode
  Index text_kernel_;
  std::string text_section_;
  std::size_t unit_column_ = 0, unit_end_ = 0, value_column_ = 0;
  double text_weight_ = 1.0;
  std::string complaint_;  ///< what the tool said went wrong
};

/// A header line starts a table; false when the line is something else.
bool NcuImport::start_table(std::string_view line) {
  auto delimiter = header_delimiter(line, "Kernel Name");
  if (!delimiter) delimiter = header_delimiter(line, "Invocations");  // a summary per GPU
  if (!delimiter || !fields_.split(line, *delimiter)) return false;
  NcuColumns at = find_ncu_columns(fields_);
  TableKind kind = TableKind::None;
  std::vector<WideColumn> wide;
  std::int64_t counters = 0, ignored = 0;
  if (at.metric && at.value && at.kernel) {
    kind = TableKind::Long;
  } else if (at.metric && at.average && at.invocations) {
    kind = TableKind::Summary;
    at.value = at.average;
  } else if (!at.metric && at.kernel) {
    kind = at.count && !at.id ? TableKind::Aggregated : TableKind::Wide;
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      const std::string_view name = trim(fields_[i]);
      if (!looks_like_counter(name)) continue;
      if (name.ends_with(".sum")) counters += 1;
      if (is_used_metric(name)) {
        wide.push_back({i, std::string(name), CounterUnit{}});
      } else {
        ignored += 1;
      }
    }
    if (wide.empty() && ignored == 0) return false;
  } else {
    return false;
  }
  next_table();
  builder().profile().counters += counters;
  builder().profile().ignored_metrics += ignored;
  wide_ = std::move(wide);
  kind_ = kind;
  delimiter_ = *delimiter;
  at_ = at;
  width_ = fields_.size();
  last_id_.clear();
  units_seen_ = false;
  found_ = true;
  return true;
}

/// Tables beyond a sane number go on in the last one.
void NcuImport::next_table() {
  constexpr std::size_t kMostTables = 256;
  if (!builder().profile().kernels.empty() && tables_.size() < kMostTables) {
    tables_.emplace_back("ncu", source_.name());
  }
}

Result<RawProfile> NcuImport::join_tables() {
  ROOFTILE_CHECK(check_decided(numbers_, source_.name()));
  RawProfile joined = tables_.front().finish(numbers_.decimal_comma());
  for (std::size_t i = 1; i < tables_.size(); ++i) {
    joined = merge(std::move(joined), tables_[i].finish(numbers_.decimal_comma()));
  }
  joined.files.resize(1);
  return joined;
}

MetricUse& NcuImport::use_of(std::string_view section, std::string_view metric) {
  // Metrics repeat in the same order for every launch: the next one is nearly always right.
  for (std::size_t tried = 0; tried < uses_.size(); ++tried) {
    if (next_use_ >= uses_.size()) next_use_ = 0;
    MetricUse& use = uses_[next_use_++];
    if (use.metric == metric && use.section == section) return use;
  }
  MetricUse use{.section = std::string(section),
                .metric = std::string(metric),
                .counter = {},
                .slot = 0,
                .unit_text = {},
                .unit = {}};
  const auto counter = ncu_counter(section, metric);
  if (counter && is_used_metric(*counter)) {
    use.counter = *counter;
    use.slot = slots_.try_emplace(use.counter, slots_.size()).first->second;
    slot_launch_.resize(slots_.size(), -1);
  } else {
    builder().profile().ignored_metrics += 1;
  }
  if (counter && counter->ends_with(".sum")) builder().profile().counters += 1;
  uses_.push_back(std::move(use));
  next_use_ = uses_.size();
  return uses_.back();
}

Status NcuImport::store(std::size_t kernel, const std::string& counter, const CounterUnit& unit,
                        std::string_view value, double weight) {
  const NumberFormat::Reading reading = numbers_.read(value);
  switch (reading.kind) {
    case NumberFormat::Kind::Missing:
      builder().add_missing(kernel, counter, static_cast<std::int64_t>(weight));
      return {};
    case NumberFormat::Kind::Text:
      return bad_input(source_.where(),
                       fmt::format("\"{}\" is not a number for {}", printable(value), counter));
    case NumberFormat::Kind::Number: break;
  }
  if (numbers_.contradictory()) {
    return bad_input(source_.where(),
                     fmt::format("\"{}\" contradicts the decimal mark of the values before it",
                                 printable(value)),
                     "export again with LC_ALL=C, or do not join files of different locales");
  }
  if (reading.value < 0.0) {
    return negative_value(
        value,
        {.counter = counter, .shown = counter, .column = at_.metric ? "Metric Value" : counter},
        source_);
  }
  if (reading.other) {
    builder().add_ambiguous(kernel, counter, reading.value * unit.factor,
                            *reading.other * unit.factor, weight);
  } else {
    builder().add(kernel, counter, reading.value * unit.factor, weight);
  }
  return {};
}

Status NcuImport::add_value(std::size_t kernel, MetricUse& use, std::string_view unit,
                            std::string_view value, double weight) {
  if (use.counter.empty()) {
    // What nobody uses may tell the decimal mark of the rest; versions are not numbers.
    if (!numbers_.decided() && !use.metric.starts_with("device__")) (void)numbers_.read(value);
    return {};
  }
  // A label may mean something else here: "Memory Throughput" is a rate or a share.
  if (unit == "%" && !looks_like_counter(use.metric) &&
      dimension_of(use.counter) != Dimension::Share) {
    return {};
  }
  if (use.unit_text != unit) {
    ROOFTILE_TRY(
        use.unit,
        read_unit(unit, {.counter = use.counter, .shown = use.metric, .column = "Metric Unit"},
                  source_));
    use.unit_text = unit;
  }
  if (unit.empty() && dimension_of(use.counter) == Dimension::Time &&
      numbers_.read(value).kind == NumberFormat::Kind::Number) {
    return bad_input(source_.where(), fmt::format("{} has no unit", use.metric),
                     "export with --print-units base");
  }
  // A section repeats what --metrics printed ("Duration"): the first one of a launch counts.
  if (std::exchange(slot_launch_[use.slot], launch_) == launch_) return {};
  return store(kernel, use.counter, use.unit, value, weight);
}

/// "(8, 16, 1)" of the column "Grid Size", or the three columns of a raw page.
std::optional<Dim3> NcuImport::dimensions(const Index& whole,
                                          const std::array<Index, 3>& parts) const {
  if (whole) return parse_dim3(field(whole));
  return parse_dim3({field(parts[0]), field(parts[1]), field(parts[2])});
}

void NcuImport::note_launch(std::size_t kernel, double launches) {
  launch_ += 1;
  builder().series(kernel).rows += static_cast<std::int64_t>(std::min(launches, 9e15));
  const auto grid = dimensions(at_.grid, at_.grid_dim);
  const auto block = dimensions(at_.block, at_.block_dim);
  if (kind_ == TableKind::Long || kind_ == TableKind::Wide) {
    builder().add_launch(kernel, {.grid = grid, .block = block});
  } else {
    KernelSeries& series = builder().series(kernel);
    if (!series.grid) series.grid = grid;
    if (!series.block) series.block = block;
  }
  DeviceFacts& device = builder().profile().device;
  const std::string_view cc = trim(field(at_.cc));
  if (!cc.empty() && device.isa.empty()) device.isa = cc;
  if (!cc.empty() && device.isa != cc && builder().profile().notes.empty()) {
    builder().profile().notes.push_back(
        fmt::format("{} mixes devices of compute capability {} and {}; roofs are those of the "
                    "first",
                    source_.name(), device.isa, cc));
  }
}

Status NcuImport::long_row() {
  const std::string_view metric = field(at_.metric);
  if (metric.empty()) return {};  // a rule, or a section without metrics
  const std::size_t kernel =
      builder().kernel(at_.kernel ? trim(field(at_.kernel)) : std::string_view("all kernels"));
  double weight = 1.0;
  if (kind_ == TableKind::Summary) {
    const auto invocations = numbers_.read(field(at_.invocations));
    if (invocations.kind != NumberFormat::Kind::Number || !(invocations.value >= 0.0)) {
      return bad_input(source_.where(), fmt::format("\"{}\" is not a number of invocations",
                                                    printable(field(at_.invocations))));
    }
    weight = invocations.value;
  }
  const std::string_view id = field(at_.id);
  if (id.empty() || id != last_id_ || field(at_.process) != last_process_) {
    last_id_ = id;
    last_process_ = field(at_.process);
    note_launch(kernel, weight);
  }
  return add_value(kernel, use_of(field(at_.section), metric), field(at_.unit), field(at_.value),
                   weight);
}

/// The second line of a raw page: units below the names.
Status NcuImport::units_row() {
  units_seen_ = true;
  for (WideColumn& column : wide_) {
    ROOFTILE_TRY(
        column.unit,
        read_unit(trim(field(column.index)),
                  {.counter = column.counter, .shown = column.counter, .column = column.counter},
                  source_));
  }
  return {};
}

/// Scripts that filter a raw page drop the row of units.
void NcuImport::assume_base_units() {
  for (WideColumn& column : wide_) {
    if (dimension_of(column.counter) == Dimension::Time) column.unit.factor = 1e-9;
  }
  builder().profile().notes.push_back(
      source_.name() + " has no row of units; base units are assumed (byte, ns, hz)");
}

Status NcuImport::wide_row() {
  const std::size_t kernel = builder().kernel(trim(field(at_.kernel)));
  double weight = 1.0;
  if (kind_ == TableKind::Aggregated) weight = parse_double(trim(field(at_.count))).value_or(0.0);
  note_launch(kernel, weight);
  if (kind_ == TableKind::Wide && !std::exchange(units_seen_, true)) assume_base_units();
  DeviceFacts& device = builder().profile().device;
  if (device.name.empty()) device.name = trim(field(at_.device_name));
  if (device.isa.empty() && all_digits(field(at_.cc_major)) && all_digits(field(at_.cc_minor))) {
    device.isa = fmt::format("{}.{}", field(at_.cc_major), field(at_.cc_minor));
  }
  if (!device.sm_count) device.sm_count = parse_int(field(at_.sm_count));
  for (const WideColumn& column : wide_) {
    CounterUnit unit = column.unit;
    if (kind_ == TableKind::Aggregated) unit.factor /= weight;  // a sum over `Count` launches
    ROOFTILE_CHECK(store(kernel, column.counter, unit, field(column.index), weight));
  }
  return {};
}

Status NcuImport::table_line(std::string_view line) {
  const bool closed = fields_.split(line, delimiter_);
  const std::string_view key = at_.id        ? field(at_.id)
                               : at_.process ? field(at_.process)
                                             : trim(field(at_.count));
  const bool keyed = at_.id || at_.process || at_.count;
  if (keyed && !all_digits(key)) {
    const bool units =
        kind_ == TableKind::Wide && key.empty() && closed && fields_.size() == width_;
    if (units) return units_row();
    return {};  // the program's output between the rows
  }
  if (!closed) {
    return bad_input(source_.where(), "a quoted field is never closed",
                     "the export was cut; run it again");
  }
  const bool wide = kind_ == TableKind::Wide || kind_ == TableKind::Aggregated;
  const std::size_t needed = wide ? width_ : std::max(*at_.value, at_.kernel.value_or(0)) + 1;
  if (fields_.size() < needed) {
    if (!keyed || fields_.size() < 3) return {};  // a number the program printed
    return bad_input(source_.where(),
                     fmt::format("the row ends after {}, the header has {}",
                                 number_of(fields_.size(), "field"), width_),
                     "the export was cut; run it again");
  }
  if (kind_ == TableKind::Aggregated && key == "0") return {};
  return wide ? wide_row() : long_row();
}

/// "  kernel(int) (4, 1, 1)x(32, 1, 1), Context 1, Stream 7, Device 0, CC 8.6", or in a summary
/// "  kernel(int) (4, 1, 1)x(32, 1, 1), Device 0, CC 9.0, Invocations 10"
void NcuImport::launch_line(std::string_view line) {
  const std::size_t invocations = line.rfind(", Invocations ");
  const bool summary = invocations != std::string_view::npos;
  text_weight_ = 1.0;
  if (summary) text_weight_ = parse_double(trim(line.substr(invocations + 14))).value_or(1.0);
  std::string_view name = trim(line.substr(0, line.find(summary ? ", Device " : ", Context ")));
  std::optional<Dim3> grid, block;
  if (const std::size_t cross = name.rfind(")x("); cross != std::string_view::npos) {
    const std::size_t open = name.rfind('(', cross);
    if (open != std::string_view::npos && name.ends_with(')')) {
      grid = parse_dim3(name.substr(open, cross + 1 - open));
      block = parse_dim3(name.substr(cross + 2));
      name = trim(name.substr(0, open));
    }
  } else if (const std::size_t comma = name.rfind(", 20"); comma != std::string_view::npos) {
    name = name.substr(0, comma);  // older versions print the time of the launch
  }
  const std::size_t kernel = builder().kernel(name);
  text_kernel_ = kernel;
  KernelSeries& series = builder().series(kernel);
  series.rows += static_cast<std::int64_t>(std::clamp(text_weight_, 1.0, 9e15));
  launch_ += 1;
  if (!summary) builder().add_launch(kernel, {.grid = grid, .block = block});
  const std::size_t cc = line.find(", CC ");
  if (cc != std::string_view::npos && builder().profile().device.isa.empty()) {
    const std::string_view rest = line.substr(cc + 5);
    builder().profile().device.isa = trim(rest.substr(0, rest.find(',')));
  }
  value_column_ = 0;
  found_ = true;
}

/// A row of a text-mode section: name, unit and value in the columns the dashes mark.
Status NcuImport::text_row(std::string_view line) {
  if (line.size() <= value_column_) return {};
  const std::string_view metric = trim(line.substr(0, unit_column_));
  const std::string_view unit = trim(line.substr(unit_column_, unit_end_ - unit_column_));
  if (metric.empty() || metric == "Metric Name") return {};
  return add_value(*text_kernel_, use_of(text_section_, metric), unit,
                   trim(line.substr(value_column_)), text_weight_);
}

/// Text mode; false when the line has nothing to do with it.
bool NcuImport::text_line(std::string_view line) {
  if (!line.starts_with("  ")) return false;
  const std::string_view text = trim(line);
  if (is_launch_line(text)) {
    launch_line(line);
    return true;
  }
  if (!text_kernel_) return false;
  if (text.starts_with("Section: ")) {
    text_section_ = text.substr(9);
    value_column_ = 0;
    return true;
  }
  if (text.starts_with("---") && text.find_first_not_of("- ") == std::string_view::npos) {
    // Name, unit and value; a summary has minimum, maximum and average.
    const std::size_t first = line.find('-');
    unit_column_ = line.find(" -", first);
    unit_end_ =
        unit_column_ == std::string_view::npos ? unit_column_ : line.find(" -", unit_column_ + 1);
    value_column_ = unit_end_ == std::string_view::npos ? 0 : line.rfind(" -");
    return true;
  }
  return value_column_ != 0;
}

Result<RawProfile> NcuImport::run() {
  std::string_view line;
  while (true) {
    ROOFTILE_TRY(const bool more, source_.next_line(line));
    if (!more) break;
    if (kind_ != TableKind::None && line.starts_with('"') && line.size() > 1 && line[1] >= '0' &&
        line[1] <= '9') {
      ROOFTILE_CHECK(table_line(line));
    } else if ((line.find("Kernel Name") != std::string_view::npos ||
                line.find("Invocations") != std::string_view::npos) &&
               start_table(line)) {
      text_kernel_.reset();
    } else if (kind_ != TableKind::None) {
      ROOFTILE_CHECK(table_line(line));
    } else if (line.starts_with("==ERROR==")) {
      complaint_ = trim(line.substr(9));
    } else if (line.find("Nsight Compute Command Line Profiler") != std::string_view::npos) {
      found_ = true;  // the banner of `ncu --version`, kept next to exports
    } else if (text_line(line) && value_column_ != 0 && !trim(line).starts_with("---")) {
      ROOFTILE_CHECK(text_row(line));
    }
  }
  if (!found_ && !complaint_.empty()) {
    const bool permission = complaint_.find("ERR_NVGPUCTRPERM") != std::string::npos;
    return bad_input(source_.name(), "the profiler measured nothing: " + printable(complaint_),
                     permission ? "run ncu as root, or load the driver with "
                                  "NVreg_RestrictProfilingToAdminUsers=0"
                                : "run it again");
  }
  if (!found_) {
    return bad_input(source_.name(), "there is no table of kernels in this file",
                     "export with: ncu --csv --page raw --print-units base -i FILE.ncu-rep");
  }
  return join_tables();
}

}  // namespace

Result<RawProfile> import_ncu(TextSource& source) {
  return NcuImport(source).run();
}

}  // namespace rooftile::profile
