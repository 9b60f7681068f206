// SPDX-License-Identifier: Apache-2.0
//
// What this machine really reaches: micro-kernels per memory level and number format.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rooftile {

struct CharacterizeRequest {
  std::string backend = "cpu";                 ///< cpu | opencl | cuda | hip
  std::int64_t device = 0;                     ///< which one, of opencl, cuda and hip
  std::optional<std::int64_t> threads = {};    ///< cpu: default one per physical core
  std::string isa = {};                        ///< cpu: empty means the best one
  std::string effort = "standard";             ///< quick | standard | thorough
  std::string levels = "topology";             ///< topology | ert | ert-2019
  std::vector<std::string> dtypes = {};        ///< only these; empty: all
  std::vector<std::string> patterns = {};      ///< only these; empty: all
  std::string max_working_set = {};            ///< "1 GiB"; empty: by the machine
  std::optional<std::string> checkpoint = {};  ///< file of finished measurements
};

/// A ceiling with the interval that its samples span.
struct MeasuredCeiling {
  std::string name;  ///< "l1", "dram", "fp32_vector"
  bool compute = false;
  double per_second = 0;  ///< bytes of a memory level, FLOP of a rate
  std::optional<double> low_per_second, high_per_second;
};

/// One measurement: a pattern over a working set.
struct MeasuredSample {
  std::string pattern, dtype;
  double working_set_bytes = 0;
  std::int64_t flops_per_element = 0;
  double seconds_per_pass = 0;  ///< of the fast runs, as ceilings are
  double bytes_per_pass = 0, flops_per_pass = 0;
  bool converged = false;
};

struct CharacterizeReport {
  std::string device;              ///< as the driver names it
  std::optional<std::string> gpu;  ///< in the catalogue, where it is a known one
  std::vector<MeasuredCeiling> ceilings;
  std::optional<double> launch_us;
  std::vector<MeasuredSample> samples;
  std::int64_t resumed = 0;  ///< measurements that a checkpoint had
  std::string machine;       ///< JSON text of the machine file that requests name as `machine`
  std::vector<std::string> warnings;
};

}  // namespace rooftile
