// SPDX-License-Identifier: Apache-2.0
//
// GPUs from files. parse_gpu() turns one JSON text (docs/format/gpu.md) into a GpuSpec, with the
// architecture of its instruction set from the catalogue, and refuses what it cannot vouch for:
// unknown keys, numbers without a unit or a source, an instruction set without an architecture.
// load_gpu() finds a GPU by id or alias in the catalogue, or reads the file it is given. To find a
// name it scans the heads of the files for "id", "name" and "aliases" and parses the one that
// matches, so a lookup costs well under a millisecond and there is no index to maintain.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/catalog.h"
#include "core/result.h"
#include "hardware/gpu_spec.h"

namespace rooftile::hardware {

/// `file` is what errors call the text, usually the path as the user wrote it.
Result<GpuSpec> parse_gpu(std::string_view text, std::string file, const Catalog& catalog);

/// A catalogue id ("h100-sxm"), another name of it in any case and spacing ("NVIDIA H100 80GB
/// HBM3"), or a path (ends in ".json", or contains '/' and exists).
Result<GpuSpec> load_gpu(const Catalog& catalog, std::string_view name_or_path);

/// The names under which a file of the catalogue can be asked for.
struct GpuEntry {
  std::string file;  ///< relative to the catalogue, "gpus/nvidia_l4.json"
  std::string id;
  std::string name;
  std::vector<std::string> aliases;
  int layer = 0;              ///< of the catalogue
  std::string replaces = {};  ///< the file of an earlier layer that is hidden by this one
};

/// All files below gpus/, by name only; a file whose head cannot be read has its stem as id. A
/// user's file hides the built-in one of the same id, whatever the files are called.
std::vector<GpuEntry> gpu_entries(const Catalog& catalog);

/// The GPU of one of them.
Result<GpuSpec> load_gpu(const Catalog& catalog, const GpuEntry& entry);

/// All GPUs of the catalogue, by vendor, then year, then id; the first bad file is the error.
Result<std::vector<GpuSpec>> list_gpus(const Catalog& catalog);

/// The form in which names are compared: lower case letters and digits only, without the leading
/// words that people write or not (NVIDIA, AMD, Intel, Tesla, GeForce, Instinct, ...).
std::string normalized_gpu_name(std::string_view name);

/// "NVIDIA H100 SXM5 80GB" -> "nvidia_h100_sxm5_80gb": the name of the file without ".json".
std::string gpu_file_stem(std::string_view name);

}  // namespace rooftile::hardware
