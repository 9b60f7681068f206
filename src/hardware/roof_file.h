// SPDX-License-Identifier: Apache-2.0
//
// Roofs that another tool measured: the Empirical Roofline Toolkit (roofline.json, sum, max, pre,
// try) and tables of peaks (roofline.csv of rocm-amdgpu-bench, as rocprof-compute brings it, or
// label,peak_flops,peak_bandwidth). One reader per format behind one table; the format is
// recognised from the content. `--machine` of every command reads them through load_ceilings()
// (hardware/ceilings.h), `roofline` also takes them with the exports.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"
#include "hardware/ceilings.h"
#include "hardware/rate_key.h"

namespace rooftile::hardware {

/// One roof as the tool wrote it.
struct MeasuredRoof {
  std::string label;                 ///< "HBM", "FP64 GFLOPs", "L1", ... as written
  std::optional<MemoryLevel> level;  ///< memory roofs of known level
  std::optional<RateKey> rate;       ///< compute roofs of known precision
  double value = 0.0;                ///< byte/s or FLOP/s
  bool memory = false;               ///< byte/s, not FLOP/s
  std::string source;                ///< "x.csv (ERT)"
  std::string where;                 ///< place in the file, for errors
};

/// One point of an ERT sweep (try, pre or max file).
struct SweepSample {
  double working_set = 0.0;  ///< bytes
  std::int64_t trials = 0;
  double bandwidth = 0.0;     ///< byte/s
  double rate = 0.0;          ///< FLOP/s
  DType dtype = DType::Fp64;  ///< ERT measures several since 2019, FP64 alone before
};

struct RoofFile {
  std::string tool;                       ///< "ERT 1.1.0"
  std::optional<std::string> host, date;  ///< where the file says them
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<MeasuredRoof> roofs;
  std::vector<SweepSample> sweep;
  std::vector<std::string> notes;
};

struct RoofReader {
  std::string_view name;         ///< "ert"; stable, appears in reports
  std::string_view description;  ///< one line for people
  /// True when the beginning of the file looks like this format.
  bool (*recognises)(std::string_view head);
  /// `name` is what errors call the text.
  Result<RoofFile> (*read)(std::string_view text, const std::string& name);
};

/// All formats, in the order in which they are tried.
std::span<const RoofReader> roof_readers();

/// The roofs of a sweep: levels by the rule of ERT 1.1.0 (hardware/ert_rule.h), rates per
/// precision.
std::vector<MeasuredRoof> reduce_sweep(std::span<const SweepSample> sweep);

/// The roofs as ceilings; one with an unknown name is an error. The first of two with one name
/// counts.
Result<Ceilings> ceilings_of(const RoofFile& file, const std::string& name);

// One per format; each lives in a .cpp of its own.
bool recognises_ert(std::string_view head);
Result<RoofFile> read_ert(std::string_view text, const std::string& name);
bool recognises_peak_table(std::string_view head);
Result<RoofFile> read_peak_table(std::string_view text, const std::string& name);

}  // namespace rooftile::hardware
