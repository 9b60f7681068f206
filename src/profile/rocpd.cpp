// SPDX-License-Identifier: Apache-2.0
//
// AMD's databases.
//   rocpd        rocprofv3, the default of ROCm 7. Real tables carry the number of the run as a
//                suffix; the views that hide it are not used (they can be dropped, and a view can
//                be anything). A dispatch names its kernel symbol and its agent, its event has the
//                counters (pmc_event), and regions of the category MARKER are annotations.
//   results.db   rocprof v1: table OPS holds the kernels, HIP the API calls, COPY the copies.
// Grids are in work-items there, and in groups here as everywhere.
#include <fmt/format.h>

#include <array>
#include <unordered_map>

#include "core/number_of.h"
#include "core/text.h"
#include "profile/database_layouts.h"
#include "profile/importer.h"
#include "profile/timed_launches.h"

namespace rooftile::profile {

namespace {

constexpr std::string_view kDispatches = "rocpd_kernel_dispatch";
constexpr std::size_t kMostEntries = std::size_t{1} << 20;

Status check_order(const std::string& file, std::string_view kernel, const Span& span) {
  if (span.begin <= span.end) return {};
  return bad_input(file, fmt::format("{} ends before it starts", printable(kernel)),
                   "the database is damaged; profile again");
}

template <typename Value>
const Value* find_in(const std::unordered_map<std::int64_t, Value>& map,
                     const std::optional<std::int64_t>& key) {
  const auto it = key ? map.find(*key) : map.end();
  return it == map.end() ? nullptr : &it->second;
}

/// One run of a rocpd database; its tables end in `suffix`.
class RocpdRun {
 public:
  RocpdRun(Database& database, const std::string& file, std::string suffix, ProfileBuilder& builder,
           TimedLaunches& launches)
      : database_(database),
        file_(file),
        suffix_(std::move(suffix)),
        builder_(builder),
        launches_(launches) {}

  Status run() {
    ROOFTILE_CHECK(symbols());
    ROOFTILE_CHECK(counters());
    ROOFTILE_CHECK(dispatches());
    ROOFTILE_CHECK(copies());
    ROOFTILE_CHECK(regions());
    return agents();
  }

 private:
  [[nodiscard]] std::string table(std::string_view name) const {
    return "rocpd_" + std::string(name) + suffix_;
  }
  Status symbols();
  Status counters();
  Status dispatches();
  Status copies();
  Status regions();
  Status agents();

  Database& database_;
  const std::string& file_;
  std::string suffix_;
  ProfileBuilder& builder_;
  TimedLaunches& launches_;
  std::unordered_map<std::int64_t, std::string> symbols_;
  std::unordered_map<std::int64_t, std::vector<std::pair<std::string, double>>> counters_;
  std::unordered_map<std::int64_t, std::int64_t> agents_;  ///< launches of each
};

Status RocpdRun::symbols() {
  constexpr std::array<std::string_view, 3> kColumns{"id", "display_name", "kernel_name"};
  return database_.each(table("info_kernel_symbol"), kColumns,
                        [&](const DatabaseRow& row) -> Status {
                          const auto id = row.integer(0);
                          if (!id || symbols_.size() == kMostEntries) return {};
                          std::string_view name = row.text(1).empty() ? row.text(2) : row.text(1);
                          if (name.ends_with(".kd")) name.remove_suffix(3);
                          symbols_.try_emplace(*id, name);
                          return {};
                        });
}

/// Values of one event and counter add up: they are of several instances of a unit.
Status RocpdRun::counters() {
  constexpr std::array<std::string_view, 2> kNames{"id", "name"};
  constexpr std::array<std::string_view, 3> kValues{"event_id", "pmc_id", "value"};
  std::unordered_map<std::int64_t, std::string> names;
  ROOFTILE_CHECK(database_.each(table("info_pmc"), kNames, [&](const DatabaseRow& row) -> Status {
    const auto id = row.integer(0);
    if (id && names.size() < kMostEntries) names.try_emplace(*id, row.text(1));
    return {};
  }));
  return database_.each(table("pmc_event"), kValues, [&](const DatabaseRow& row) -> Status {
    const auto event = row.integer(0);
    const auto value = row.number(2);
    const std::string* name = find_in(names, row.integer(1));
    if (!event || !value || name == nullptr || name->empty()) return {};
    builder_.profile().counters += 1;
    if (*value < 0.0) {
      return bad_input(file_,
                       fmt::format("{} is {}: it cannot be negative", printable(*name), *value));
    }
    if (!is_used_metric(*name) || (counters_.size() == kMostEntries && !counters_.contains(*event)))
      return {};
    auto& list = counters_[*event];
    for (auto& [metric, sum] : list) {
      if (metric != *name) continue;
      sum += *value;
      return {};
    }
    list.emplace_back(*name, *value);
    return {};
  });
}

Status RocpdRun::dispatches() {
  constexpr std::array<std::string_view, 11> kColumns{
      "start",           "end",         "kernel_id",   "agent_id",         "event_id",
      "grid_size_x",     "grid_size_y", "grid_size_z", "workgroup_size_x", "workgroup_size_y",
      "workgroup_size_z"};
  return database_.each(table("kernel_dispatch"), kColumns, [&](const DatabaseRow& row) -> Status {
    const auto begin = row.integer(0), end = row.integer(1);
    if (!begin || !end) return {};
    const std::string* symbol = find_in(symbols_, row.integer(2));
    const std::string_view name =
        symbol == nullptr || symbol->empty() ? std::string_view("(unnamed)") : *symbol;
    ROOFTILE_CHECK(check_order(file_, name, {.begin = *begin, .end = *end}));
    TimedLaunch launch{.kernel = builder_.kernel(name), .begin = *begin, .end = *end};
    launch.device = row.integer(3).value_or(0);
    launch.correlation = row.integer(4).value_or(-1);
    Dim3 grid{}, block{};
    bool known = true;
    for (std::size_t i = 0; i < 3; ++i) {
      const std::int64_t items = row.integer(5 + static_cast<int>(i)).value_or(-1);
      block[i] = row.integer(8 + static_cast<int>(i)).value_or(-1);
      known = known && items >= 0 && block[i] > 0;
      if (known) grid[i] = items / block[i] + (items % block[i] == 0 ? 0 : 1);
    }
    if (known) {
      launch.grid = grid;
      launch.block = block;
    }
    if (const auto* values = find_in(counters_, row.integer(4))) launch.counters = *values;
    if (agents_.size() < 1024 || agents_.contains(launch.device)) agents_[launch.device] += 1;
    launches_.add(std::move(launch));
    return {};
  });
}

Status RocpdRun::copies() {
  constexpr std::array<std::string_view, 3> kColumns{"start", "end", "dst_agent_id"};
  return database_.each(table("memory_copy"), kColumns, [&](const DatabaseRow& row) -> Status {
    const auto begin = row.integer(0), end = row.integer(1);
    if (begin && end) launches_.copy(*begin, *end, row.integer(2).value_or(0));
    return {};
  });
}

/// The call of a dispatch has the same place on the stack of events.
Status RocpdRun::regions() {
  constexpr std::array<std::string_view, 3> kEvents{"id", "stack_id", "category_id"};
  constexpr std::array<std::string_view, 6> kRegions{"event_id", "pid",   "tid",
                                                     "name_id",  "start", "end"};
  constexpr std::array<std::string_view, 2> kStrings{"id", "string"};
  struct Event {
    std::int64_t stack = 0, category = 0;
  };
  std::unordered_map<std::int64_t, Event> events;
  ROOFTILE_CHECK(database_.each(table("event"), kEvents, [&](const DatabaseRow& row) -> Status {
    const auto id = row.integer(0);
    if (id && events.size() < kMostEntries) {
      events[*id] = {.stack = row.integer(1).value_or(-1), .category = row.integer(2).value_or(-1)};
    }
    return {};
  }));
  std::unordered_map<std::int64_t, std::string> strings;
  ROOFTILE_CHECK(database_.each(table("string"), kStrings, [&](const DatabaseRow& row) -> Status {
    const auto id = row.integer(0);
    if (id && strings.size() < kMostEntries) strings.try_emplace(*id, row.text(1));
    return {};
  }));
  std::unordered_map<std::int64_t, std::vector<std::int64_t>> dispatched;  ///< events by stack
  for (const TimedLaunch& launch : launches_.launches()) {
    const Event* event = find_in(events, std::optional(launch.correlation));
    if (event != nullptr && event->stack >= 0)
      dispatched[event->stack].push_back(launch.correlation);
  }
  return database_.each(table("region"), kRegions, [&](const DatabaseRow& row) -> Status {
    const auto begin = row.integer(4), end = row.integer(5);
    const Event* event = find_in(events, row.integer(0));
    if (!begin || !end || event == nullptr) return {};
    const Thread thread{0, row.integer(2).value_or(0)};
    const std::string* category = find_in(strings, std::optional(event->category));
    const std::string* name = find_in(strings, row.integer(3));
    if (category != nullptr && category->find("MARKER") != std::string::npos) {
      if (name != nullptr) launches_.annotate(thread, {.begin = *begin, .end = *end}, *name);
    } else if (const auto* calls = find_in(dispatched, std::optional(event->stack))) {
      for (const std::int64_t one : *calls) launches_.call(one, thread, *begin);
      dispatched.erase(event->stack);
    }
    return {};
  });
}

/// A node lists all its agents: those that kernels ran on count.
Status RocpdRun::agents() {
  constexpr std::array<std::string_view, 4> kColumns{"id", "type", "name", "product_name"};
  std::int64_t most = -1, launches = 0;
  for (const auto& [agent, count] : agents_) {
    if (count > launches || (count == launches && agent < most)) most = agent;
    launches = std::max(launches, count);
  }
  RawProfile& profile = builder_.profile();
  if (agents_.size() > 1) {
    profile.notes.push_back(
        fmt::format("kernels ran on {} devices; their times are added up", agents_.size()));
  }
  return database_.each(table("info_agent"), kColumns, [&](const DatabaseRow& row) -> Status {
    if (row.integer(0) != most || row.text(1) != "GPU" || !profile.device.isa.empty()) {
      return {};
    }
    profile.device.isa = row.text(2);
    profile.device.name = row.text(3);
    return {};
  });
}

/// Fills and copies that the runtime makes as kernels take real time on the device.
void name_runtime_kernels(RawProfile& profile) {
  std::int64_t launches = 0;
  for (const KernelSeries& kernel : profile.kernels) {
    if (kernel.name.starts_with("__amd_rocclr_")) launches += kernel.rows;
  }
  if (launches == 0) return;
  profile.notes.push_back(
      fmt::format("{} of fills and copies that the runtime makes as kernels (__amd_rocclr_*)",
                  number_of(launches, "launch")));
}

tl::unexpected<Error> no_dispatches(const std::string& file) {
  return bad_input(file, "nothing ran on a GPU in this database: it has no kernels",
                   "record them: rocprofv3 --kernel-trace -- ./app");
}

}  // namespace

bool is_rocpd_database(const Database& database) {
  return !database.tables(kDispatches).empty();
}

Result<RawProfile> import_rocpd_database(Database& database, const TextSource& source) {
  ProfileBuilder builder("rocpd", source.name());
  TimedLaunches launches(builder);
  for (const std::string& table : database.tables(kDispatches)) {
    ROOFTILE_CHECK(
        RocpdRun(database, source.name(), table.substr(kDispatches.size()), builder, launches)
            .run());
  }
  if (builder.profile().kernels.empty()) return no_dispatches(source.name());
  launches.finish();
  name_runtime_kernels(builder.profile());
  return builder.finish(false);
}

bool is_rocprof_database(const Database& database) {
  return database.has("OPS") && (database.has("HIP") || database.has("COPY"));
}

Result<RawProfile> import_rocprof_database(Database& database, const TextSource& source) {
  ProfileBuilder builder("rocprof", source.name());
  TimedLaunches launches(builder);
  constexpr std::array<std::string_view, 4> kColumns{"BeginNs", "EndNs", "Name", "dev-id"};
  const Status read = database.each("OPS", kColumns, [&](const DatabaseRow& row) -> Status {
    const auto begin = row.integer(0), end = row.integer(1);
    if (!begin || !end) return {};
    const std::string_view name = row.text(2).empty() ? std::string_view("(unnamed)") : row.text(2);
    ROOFTILE_CHECK(check_order(source.name(), name, {.begin = *begin, .end = *end}));
    TimedLaunch launch{.kernel = builder.kernel(name), .begin = *begin, .end = *end};
    launch.device = row.integer(3).value_or(0);
    launches.add(std::move(launch));
    return {};
  });
  ROOFTILE_CHECK(read);
  ROOFTILE_CHECK(database.each("COPY", kColumns, [&](const DatabaseRow& row) -> Status {
    const auto begin = row.integer(0), end = row.integer(1);
    if (begin && end) launches.copy(*begin, *end, row.integer(3).value_or(0));
    return {};
  }));
  if (builder.profile().kernels.empty()) return no_dispatches(source.name());
  launches.finish();
  builder.profile().device.isa = "gfx";
  return builder.finish(false);
}

}  // namespace rooftile::profile
