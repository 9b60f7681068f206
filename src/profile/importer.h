// SPDX-License-Identifier: Apache-2.0
//
// Profiler exports -> RawProfile. One importer per format behind one table (importer.cpp); the
// format is recognised from the content, never asked for and never guessed from the file's name.
// To add one: docs/howto/add_an_import_format.md.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/result.h"
#include "profile/raw_profile.h"
#include "profile/text_source.h"

namespace rooftile::profile {

struct Importer {
  std::string_view name;         ///< "ncu"; stable, appears in reports
  std::string_view description;  ///< one line for people
  /// True when the beginning of the file (up to 256 KiB) looks like this format.
  bool (*recognises)(std::string_view head);
  Result<RawProfile> (*import)(TextSource& source);
};

/// All formats, in the order in which they are tried.
std::span<const Importer> importers();

/// True when no importer recognised the file; other errors are about exports that are damaged.
bool is_unknown_format(const Error& error);

/// True for statistics of API calls, copies or annotations: tables that look like those of kernels
/// and that profilers write next to them.
bool is_not_kernels(const Error& error);
tl::unexpected<Error> not_kernels(std::string where, std::string hint);

/// Reads one export; `path` may be "-". Files that no importer recognises are an error that lists
/// the formats.
Result<RawProfile> import_file(const std::string& path, const Progress& progress = {});
Result<RawProfile> import_text(std::string text, std::string name);

// One per format; each lives in the .cpp of its name (ert: machine_table.cpp, databases:
// database_import.cpp, the report of Nsight Systems: nsys.cpp).
bool recognises_ncu(std::string_view head);
Result<RawProfile> import_ncu(TextSource& source);
bool recognises_ncu_report(std::string_view head);
Result<RawProfile> import_ncu_report(TextSource& source);
bool recognises_nsys_report(std::string_view head);
Result<RawProfile> import_nsys_report(TextSource& source);  ///< always an error
bool recognises_database(std::string_view head);
Result<RawProfile> import_database(TextSource& source);
bool recognises_kineto(std::string_view head);
Result<RawProfile> import_kineto(TextSource& source);
bool recognises_nvprof(std::string_view head);
Result<RawProfile> import_nvprof(TextSource& source);
bool recognises_rocprof(std::string_view head);
Result<RawProfile> import_rocprof(TextSource& source);
bool recognises_likwid(std::string_view head);
Result<RawProfile> import_likwid(TextSource& source);
bool recognises_ert(std::string_view head);
Result<RawProfile> import_ert(TextSource& source);
bool recognises_machine_table(std::string_view head);
Result<RawProfile> import_machine_table(TextSource& source);

}  // namespace rooftile::profile
