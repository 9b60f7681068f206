// SPDX-License-Identifier: Apache-2.0
//
// Predictions against measurements: kernels and collectives, whole steps, bytes that were counted
// or simulated, tiles that were launched. One block of error figures for all of them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rooftile/provenance.h"

namespace rooftile {

/// How a campaign's files are read is recognised from their columns (docs/howto/refit.md).
struct EvaluateRequest {
  std::string subject = "kernels";      ///< kernels | labels | traffic | tiles
  std::vector<std::string> files = {};  ///< one of labels and traffic; "random" of traffic
  std::string predictor = {};           ///< name, or folder that a fit wrote; empty: the default
  std::string campaign = {};            ///< kernels: only rows of this campaign; empty: all
  std::string models = {};              ///< labels: folder with the models' config files
  /// Each GPU by weights (traffic: constants) that have seen nothing measured on it: refits.
  bool leave_one_gpu_out = false;
  /// With leave_one_gpu_out. labels: measured kernels to refit on, by default those next to the
  /// file; traffic: more files to fit the constants on.
  std::vector<std::string> fit_with = {};
  std::int64_t count = 300;  ///< traffic: random layers
  std::uint64_t seed = 1;    ///< of refits and random layers
  unsigned threads = 2;      ///< that refit at the same time
};

/// How far predictions are from measurements, as fractions of what was measured.
struct ErrorStatistics {
  std::int64_t cases = 0;
  double mean_error = 0;       ///< mean of |error|
  double median_error = 0;     ///< half of |error| are at most this
  double geometric_error = 0;  ///< exp(mean |ln(predicted / measured)|) - 1
  double p90_error = 0;        ///< 90 % of |error| are at most this
  double worst_error = 0;      ///< largest |error|
  double bias = 0;             ///< mean of the signed error
  /// Fraction of the measurements inside their interval; nothing where none is stated.
  std::optional<double> coverage;
};

/// A baseline on the rows of a group that have it.
struct BaselineError {
  double mean_error = 0;
  std::int64_t cases = 0;
};

/// A group of rows: "linear/l4/train", "device/V100", "all".
struct ErrorSummary : ErrorStatistics {
  std::string group;
  /// "bound", "roofline", "trivial", "neusight", and "published NAME" of files that have it.
  std::map<std::string, BaselineError> baselines;
  /// The mean error of a baseline; nothing where no row has it.
  [[nodiscard]] std::optional<double> baseline(const std::string& name) const {
    const auto it = baselines.find(name);
    if (it == baselines.end()) return std::nullopt;
    return it->second.mean_error;
  }
};

/// A measured kernel, collective, fused layer or step; error is predicted / measured - 1.
struct EvaluatedTime {
  std::string device, name;  ///< the GPU as the file calls it, "linear 512x768x768"
  std::string kind;          ///< class of kernels, "all_reduce", model of a step
  std::string campaign;      ///< of a step its mode and option
  double measured_ms = 0, predicted_ms = 0;
  double low_ms = 0, high_ms = 0;  ///< 80 % interval; equal where none is stated
  double bound_ms = 0;
  double error = 0;
  bool extrapolated = false;
};

/// The bytes of one kernel at one memory level.
struct EvaluatedBytes {
  std::string device = {}, name = {};
  std::string model = {};  ///< whose bytes: "predicted", "exact", "closed", "paper"
  std::string group = {};  ///< of rows: framework, phase, pass
  std::string level = {};  ///< l1 | l2 | dram
  double measured_bytes = 0, predicted_bytes = 0;
  double error = 0;
};

/// Chosen tiles of matrix products against the launched ones.
struct TileErrors {
  double exact = 0;       ///< part of the rows with the launched tile
  double same_area = 0;   ///< part of the rows with a tile of the launched one's area
  double time_shift = 0;  ///< mean |time with the choice / time with the launched tile - 1|
  double mean_error = 0;  ///< mean |time with the choice / measured time - 1|
};
struct EvaluatedTiles {
  std::string group;  ///< "linear", "linear/t4"
  std::int64_t rows = 0;
  TileErrors ours, nearest;   ///< nearest: the tile of the nearest measured shape
  double launched_error = 0;  ///< with the launched tile
};

struct EvaluateReport {
  std::string predictor;
  bool leave_one_gpu_out = false;
  std::vector<EvaluatedTime> times;   ///< kernels and labels, in the order of the files
  std::vector<EvaluatedBytes> bytes;  ///< traffic
  std::vector<EvaluatedTiles> tiles;  ///< tiles
  std::vector<ErrorSummary> summary;  ///< of times and bytes
  std::int64_t skipped = 0;           ///< rows whose dtype, collective or option is not modelled
  ProvenanceReport provenance{};
  std::vector<std::string> warnings;
};

}  // namespace rooftile
