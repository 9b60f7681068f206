// SPDX-License-Identifier: Apache-2.0
//
// The databases that profilers write; each layout is told by its tables and read by one file.
#pragma once

#include "core/result.h"
#include "profile/database.h"
#include "profile/raw_profile.h"

namespace rooftile::profile {

bool is_nsys_database(const Database& database);
Result<RawProfile> import_nsys_database(Database& database, const TextSource& source);
bool is_rocpd_database(const Database& database);
Result<RawProfile> import_rocpd_database(Database& database, const TextSource& source);
bool is_rocprof_database(const Database& database);
Result<RawProfile> import_rocprof_database(Database& database, const TextSource& source);

}  // namespace rooftile::profile
