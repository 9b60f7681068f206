// SPDX-License-Identifier: Apache-2.0
//
// Nsight Systems: the SQLite file of `nsys export --type sqlite`. Kernels, the calls that launched
// them (joined by correlation within a process), NVTX ranges around those calls, copies and the
// GPU. The report itself (.nsys-rep) is not readable; it is refused with the command to type.
#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "core/number_of.h"
#include "core/text.h"
#include "profile/database_layouts.h"
#include "profile/importer.h"
#include "profile/timed_launches.h"

namespace rooftile::profile {

namespace {

using Strings = std::unordered_map<std::int64_t, std::string>;

constexpr std::string_view kReportMagic = "NVIDIA Tegra Profiler Report";
constexpr std::string_view kKernels = "CUPTI_ACTIVITY_KIND_KERNEL";
constexpr std::string_view kGraphs = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";
constexpr std::size_t kMostStrings = std::size_t{1} << 20;
constexpr std::size_t kMostStringBytes = std::size_t{256} << 20;

/// A word that a shell takes as it is, or in quotes.
std::string shell_word(const std::string& text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./@+=:,";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

/// The lower bits of a global thread number are the thread, the rest is the process.
std::int64_t process_of(std::int64_t global_thread) {
  constexpr std::int64_t kThreadBits = 24;
  return global_thread >> kThreadBits << kThreadBits;
}

class NsysImport {
 public:
  NsysImport(Database& database, const TextSource& source)
      : database_(database), name_(source.name()), builder_("nsys", name_), launches_(builder_) {}

  Result<RawProfile> run() {
    ROOFTILE_CHECK(wanted_strings());
    ROOFTILE_CHECK(strings());
    ROOFTILE_CHECK(kernels());
    if (builder_.profile().kernels.empty()) return nothing();
    ROOFTILE_CHECK(calls());
    ROOFTILE_CHECK(ranges());
    ROOFTILE_CHECK(copies());
    ROOFTILE_CHECK(graphs());
    ROOFTILE_CHECK(gpu());
    if (untimed_ > 0) {
      builder_.profile().notes.push_back(
          fmt::format("{} without a start or an end are left out", number_of(untimed_, "kernel")));
    }
    launches_.finish();
    return builder_.finish(false);
  }

 private:
  Status wanted_strings();
  Status strings();
  Status kernels();
  Status calls();
  Status ranges();
  Status copies();
  Status graphs();
  Status gpu();
  void want(std::optional<std::int64_t> id) {
    if (id && strings_.size() < kMostStrings) strings_.try_emplace(*id);
  }
  [[nodiscard]] std::string string(std::optional<std::int64_t> id) const {
    const auto found = id ? strings_.find(*id) : strings_.end();
    return found == strings_.end() ? std::string() : found->second;
  }
  /// The column holds numbers of StringIds; some tools write the names themselves.
  [[nodiscard]] std::string name_in(const DatabaseRow& row, int column) const {
    const std::string_view text = row.text(column);
    return text.empty() ? string(row.integer(column)) : std::string(text);
  }
  [[nodiscard]] tl::unexpected<Error> nothing() const {
    if (untimed_ > 0) {
      return bad_input(name_,
                       fmt::format("start or end of {} in {} is missing",
                                   number_of(untimed_, "kernel"), kKernels),
                       "export the report again: nsys export --type sqlite -o report.sqlite "
                       "report.nsys-rep");
    }
    if (database_.has(std::string(kGraphs))) {
      return bad_input(name_, "CUDA graphs were recorded as a whole, without the kernels in them",
                       "record them: nsys profile --trace=cuda,nvtx --cuda-graph-trace=node -o "
                       "report ./app, then nsys export --type sqlite -o report.sqlite "
                       "report.nsys-rep");
    }
    return bad_input(name_,
                     "nothing ran on a GPU in this export: it has no kernels (no rows of " +
                         std::string(kKernels) + ")",
                     "record GPU work: nsys profile --trace=cuda,nvtx -o report ./app, then nsys "
                     "export --type sqlite -o report.sqlite report.nsys-rep");
  }

  Database& database_;
  const std::string& name_;
  ProfileBuilder builder_;
  TimedLaunches launches_;
  Strings strings_;
  std::size_t string_bytes_ = 0;
  std::int64_t untimed_ = 0;                      ///< kernels without a start or an end
  std::map<std::int64_t, std::int64_t> devices_;  ///< launches of each
};

constexpr std::array<std::string_view, 14> kKernelColumns{
    "start",       "end",   "deviceId", "correlationId", "globalPid", "demangledName", "shortName",
    "mangledName", "gridX", "gridY",    "gridZ",         "blockX",    "blockY",        "blockZ"};
constexpr std::array<std::string_view, 6> kRangeColumns{"start", "end",    "eventType",
                                                        "text",  "textId", "globalTid"};

Status NsysImport::wanted_strings() {
  ROOFTILE_CHECK(
      database_.each(std::string(kKernels), kKernelColumns, [&](const DatabaseRow& row) -> Status {
        for (const int column : {5, 6, 7}) want(row.integer(column));
        return {};
      }));
  return database_.each("NVTX_EVENTS", kRangeColumns, [&](const DatabaseRow& row) -> Status {
    if (row.integer(1)) want(row.integer(4));
    return {};
  });
}

Status NsysImport::strings() {
  constexpr std::array<std::string_view, 2> kColumns{"id", "value"};
  return database_.each("StringIds", kColumns, [&](const DatabaseRow& row) -> Status {
    const auto id = row.integer(0);
    if (const auto found = id ? strings_.find(*id) : strings_.end(); found != strings_.end()) {
      string_bytes_ += row.text(1).size();
      if (string_bytes_ < kMostStringBytes) found->second = row.text(1);
    }
    return {};
  });
}

Status NsysImport::kernels() {
  return database_.each(
      std::string(kKernels), kKernelColumns, [&](const DatabaseRow& row) -> Status {
        const auto begin = row.integer(0), end = row.integer(1);
        untimed_ += begin && end ? 0 : 1;
        if (!begin || !end) return {};
        std::string name = name_in(row, 5);
        if (name.empty()) name = name_in(row, 6);
        if (name.empty()) name = name_in(row, 7);
        if (name.empty()) name = "(unnamed)";
        if (*end < *begin) {
          return bad_input(name_, fmt::format("{} ends before it starts", printable(name)),
                           "the database is damaged; export it again");
        }
        TimedLaunch launch{.kernel = builder_.kernel(name), .begin = *begin, .end = *end};
        launch.device = row.integer(2).value_or(0);
        launch.correlation = row.integer(3).value_or(-1);
        launch.process = row.integer(4).value_or(0);
        const auto dims = [&row](int first) -> std::optional<Dim3> {
          const auto x = row.integer(first), y = row.integer(first + 1), z = row.integer(first + 2);
          if (!x || !y || !z || *x < 0 || *y < 0 || *z < 0) return std::nullopt;
          return Dim3{*x, *y, *z};
        };
        launch.grid = dims(8);
        launch.block = dims(11);
        devices_[launch.device] +=
            devices_.size() < 1024 || devices_.contains(launch.device) ? 1 : 0;
        launches_.add(std::move(launch));
        return {};
      });
}

Status NsysImport::calls() {
  constexpr std::array<std::string_view, 3> kColumns{"start", "globalTid", "correlationId"};
  return database_.each(
      "CUPTI_ACTIVITY_KIND_RUNTIME", kColumns, [&](const DatabaseRow& row) -> Status {
        const auto begin = row.integer(0), thread = row.integer(1), correlation = row.integer(2);
        if (begin && thread && correlation) {
          launches_.call(*correlation, {process_of(*thread), *thread}, *begin);
        }
        return {};
      });
}

Status NsysImport::ranges() {
  return database_.each("NVTX_EVENTS", kRangeColumns, [&](const DatabaseRow& row) -> Status {
    const auto begin = row.integer(0), end = row.integer(1), thread = row.integer(5);
    std::string name(row.text(3));
    if (name.empty()) name = string(row.integer(4));
    if (begin && end && thread && !name.empty()) {
      launches_.annotate({process_of(*thread), *thread}, {.begin = *begin, .end = *end},
                         std::move(name));
    }
    return {};
  });
}

Status NsysImport::copies() {
  constexpr std::array<std::string_view, 3> kColumns{"start", "end", "deviceId"};
  for (const char* table : {"CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET"}) {
    ROOFTILE_CHECK(database_.each(table, kColumns, [&](const DatabaseRow& row) -> Status {
      const auto begin = row.integer(0), end = row.integer(1);
      if (begin && end) launches_.copy(*begin, *end, row.integer(2).value_or(0));
      return {};
    }));
  }
  return {};
}

/// By default graphs are recorded as a whole: their kernels are not in the export.
Status NsysImport::graphs() {
  constexpr std::array<std::string_view, 3> kColumns{"start", "end", "deviceId"};
  std::int64_t launches = 0;
  double time_ns = 0.0;
  ROOFTILE_CHECK(
      database_.each(std::string(kGraphs), kColumns, [&](const DatabaseRow& row) -> Status {
        const auto begin = row.integer(0), end = row.integer(1);
        if (!begin || !end || *end < *begin) return {};
        launches_.busy(*begin, *end, row.integer(2).value_or(0));
        launches += 1;
        time_ns += static_cast<double>(*end) - static_cast<double>(*begin);
        return {};
      }));
  if (launches == 0) return {};
  builder_.profile().notes.push_back(
      fmt::format("left out: {} of CUDA graphs ({:.3f} ms), recorded as a whole; nsys "
                  "profile --cuda-graph-trace=node shows their kernels",
                  number_of(launches, "launch"), 1e-6 * time_ns));
  return {};
}

/// Kernels name a device by its CUDA number, which is `cuDevice` and not `id`.
Status NsysImport::gpu() {
  constexpr std::array<std::string_view, 6> kColumns{"name",    "id",           "cuDevice",
                                                     "smCount", "computeMajor", "computeMinor"};
  const std::int64_t most =
      std::max_element(devices_.begin(), devices_.end(), [](const auto& a, const auto& b) {
        return a.second < b.second;
      })->first;
  RawProfile& profile = builder_.profile();
  if (devices_.size() > 1) {
    profile.notes.push_back(fmt::format(
        "kernels ran on {} devices; their times are added up, roofs are those of device {}",
        devices_.size(), most));
  }
  return database_.each("TARGET_INFO_GPU", kColumns, [&](const DatabaseRow& row) -> Status {
    const auto number = row.integer(2) ? row.integer(2) : row.integer(1);
    if (number != most) return {};
    profile.device.name = row.text(0);
    profile.device.sm_count = row.integer(3);
    const auto major = row.integer(4), minor = row.integer(5);
    if (major && minor) profile.device.isa = fmt::format("{}.{}", *major, *minor);
    return {};
  });
}

}  // namespace

bool is_nsys_database(const Database& database) {
  return database.has("TARGET_INFO_GPU") || database.has("StringIds") ||
         !database.tables("CUPTI_ACTIVITY_KIND_").empty();
}

Result<RawProfile> import_nsys_database(Database& database, const TextSource& source) {
  return NsysImport(database, source).run();
}

bool recognises_nsys_report(std::string_view head) {
  return head.starts_with(kReportMagic);
}

Result<RawProfile> import_nsys_report(TextSource& source) {
  std::filesystem::path database = source.name();
  database.replace_extension(".sqlite");
  return unsupported(source.name(),
                     "this is a report of Nsight Systems, which only its own tools can read",
                     fmt::format("export it with: nsys export --type sqlite -o {} {}",
                                 shell_word(database.string()), shell_word(source.name())));
}

}  // namespace rooftile::profile
