// SPDX-License-Identifier: Apache-2.0
//
// What a minute of measurements says about one machine beyond its ceilings: the section
// "calibration" of a machine file, docs/format/machine.md. It holds the measured kernels as points
// (where a kernel lies, what its time is made of, how far the predictor was off) and how strongly
// each of them speaks; cost/learned/calibrated.h turns them into corrections.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "core/result.h"

namespace rooftile::hardware {

/// The parts of a kernel's time that a whole machine may be slower or faster at.
enum class Part : std::uint8_t { Compute, L2, Dram, Launch, Host };
inline constexpr std::array kAllParts{Part::Compute, Part::L2, Part::Dram, Part::Launch,
                                      Part::Host};
inline constexpr std::size_t kParts = kAllParts.size();
using OfParts = std::array<double, kParts>;
/// compute l2 dram launch host
std::string_view name_of(Part part);

/// One measured kernel.
struct CalibrationRow {
  std::string family;      ///< class of kernels: "linear_16bit"
  std::vector<double> at;  ///< its coordinates among the kernels of the family
  OfParts shares{};        ///< d log time / d log part
  double residual = 0;     ///< log(measured / predicted without calibration)
  double doubt = 1;        ///< its variance over that of the family's other rows
  bool operator==(const CalibrationRow&) const = default;
};

/// How the kernels of a family differ from what their machine explains.
struct CalibrationFamily {
  double length = 1;     ///< octaves over which neighbours resemble each other
  double amplitude = 0;  ///< of the logarithm of their times
  double noise = 0;      ///< of a single measurement, as a logarithm
  bool operator==(const CalibrationFamily&) const = default;
};

/// Factors of the times of a step's kernels and of its host.
struct StepFactors {
  double compute = 1, memory = 1, host = 1;
  std::int64_t rows = 0;
  double noise = 0;  ///< of a step, as a logarithm
  bool operator==(const StepFactors&) const = default;
};

/// Factors of what the predictor expects of links.
struct LinkFactors {
  double bandwidth = 1, start = 1;
  std::int64_t rows = 0;
  bool operator==(const LinkFactors&) const = default;
};

struct Calibration {
  std::string predictor;  ///< whose errors these are
  std::string weights;    ///< SHA-256 of its weights
  OfParts prior{};        ///< how far a part is expected to be off: standard deviations of logs
  double level = 0;       ///< the same of a family as a whole
  std::map<std::string, CalibrationFamily, std::less<>> families;
  std::vector<CalibrationRow> rows;
  std::optional<StepFactors> steps;
  std::optional<LinkFactors> links;
  bool operator==(const Calibration&) const = default;
};

/// More rows than this say nothing new, and a file with more is refused.
inline constexpr std::size_t kMostCalibrationRows = 512;

Result<Calibration> read_calibration(const JsonView& object);
/// The object, indented for a member of a machine file.
std::string to_json(const Calibration& calibration);

}  // namespace rooftile::hardware
