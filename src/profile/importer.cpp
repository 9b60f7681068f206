// SPDX-License-Identifier: Apache-2.0
#include "profile/importer.h"

#include <fmt/format.h>

#include <array>

#include "core/text.h"

namespace rooftile::profile {

namespace {

constexpr std::size_t kHead = std::size_t{256} << 10;

// Structured formats first; Nsight Compute last, because its logs may begin with anything.
constexpr std::array kImporters{
    Importer{"ncu-rep", "Nsight Compute report (.ncu-rep)", recognises_ncu_report,
             import_ncu_report},
    Importer{"sqlite",
             "databases of Nsight Systems (nsys export --type sqlite), rocprofv3 (rocpd) and "
             "rocprof v1",
             recognises_database, import_database},
    Importer{"nsys-rep", "Nsight Systems report (.nsys-rep): says how to export it",
             recognises_nsys_report, import_nsys_report},
    Importer{"kineto", "Kineto / torch.profiler trace (JSON, also gzip)", recognises_kineto,
             import_kineto},
    Importer{"ert", "Empirical Roofline Toolkit: roofline.json, sum, max, pre, try", recognises_ert,
             import_ert},
    Importer{"nvprof", "nvprof metrics and summaries (CSV or text)", recognises_nvprof,
             import_nvprof},
    Importer{"rocprof", "rocprof v1 / v2, rocprofv3, rocprof-compute (CSV)", recognises_rocprof,
             import_rocprof},
    Importer{"likwid", "likwid-perfctr groups (text or CSV)", recognises_likwid, import_likwid},
    Importer{"machine-table", "tables of measured peaks or of a system (CSV)",
             recognises_machine_table, import_machine_table},
    Importer{"ncu", "Nsight Compute (CSV of every page, summaries, text, logs)", recognises_ncu,
             import_ncu},
};

constexpr std::string_view kNotKernels =
    "these are statistics of API calls, copies or annotations, not of kernels";
constexpr std::string_view kUnknownFormat = "this is not a known profiler export";

tl::unexpected<Error> unknown_format(const std::string& name) {
  std::string list;
  for (const Importer& importer : kImporters) {
    list += fmt::format("\n  {}: {}", importer.name, importer.description);
  }
  return bad_input(name, std::string(kUnknownFormat),
                   "formats, recognised by their content:" + list);
}

Result<RawProfile> import_source(TextSource source) {
  ROOFTILE_TRY(const std::string_view head, source.peek(kHead));
  if (trim(head).empty()) return bad_input(source.name(), "the file is empty");
  for (const Importer& importer : kImporters) {
    if (importer.recognises(head)) return importer.import(source);
  }
  // The table may begin after more program output than was looked at.
  const std::string name = source.name();
  if (head.size() < kHead) return unknown_format(name);
  auto profile = import_ncu(source);
  if (!profile && profile.error().where == name) return unknown_format(name);
  return profile;
}

}  // namespace

bool is_unknown_format(const Error& error) {
  return error.message == kUnknownFormat;
}

bool is_not_kernels(const Error& error) {
  return error.message == kNotKernels;
}

tl::unexpected<Error> not_kernels(std::string where, std::string hint) {
  return bad_input(std::move(where), std::string(kNotKernels), std::move(hint));
}

std::span<const Importer> importers() {
  return kImporters;
}

Result<RawProfile> import_file(const std::string& path, const Progress& progress) {
  ROOFTILE_TRY(TextSource source, TextSource::open(path));
  source.set_progress(progress);
  return import_source(std::move(source));
}

Result<RawProfile> import_text(std::string text, std::string name) {
  ROOFTILE_TRY(TextSource source, TextSource::from_text(std::move(text), std::move(name)));
  return import_source(std::move(source));
}

}  // namespace rooftile::profile
