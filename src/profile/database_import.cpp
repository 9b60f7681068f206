// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "profile/database_layouts.h"
#include "profile/importer.h"

namespace rooftile::profile {

namespace {

struct DatabaseLayout {
  bool (*is)(const Database&);
  Result<RawProfile> (*import)(Database&, const TextSource&);
};

constexpr std::array kDatabaseLayouts{
    DatabaseLayout{is_rocpd_database, import_rocpd_database},
    DatabaseLayout{is_rocprof_database, import_rocprof_database},
    DatabaseLayout{is_nsys_database, import_nsys_database},
};

}  // namespace

bool recognises_database(std::string_view head) {
  return head.starts_with(std::string_view("SQLite format 3\0", 16));
}

Result<RawProfile> import_database(TextSource& source) {
  ROOFTILE_TRY(Database database, Database::open(source));
  for (const DatabaseLayout& layout : kDatabaseLayouts) {
    if (!layout.is(database)) continue;
    ROOFTILE_TRY(RawProfile profile, layout.import(database, source));
    if (database.has_journal()) {
      profile.notes.push_back(source.name() +
                              "-wal holds changes that are not in the database "
                              "and were not read; close the program that writes it");
    }
    return profile;
  }
  return bad_input(source.name(), "the tables of this database are not those of a known profiler",
                   "known: nsys export --type sqlite, rocprofv3 (rocpd), rocprof v1 (results.db)");
}

}  // namespace rooftile::profile
