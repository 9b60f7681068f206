// SPDX-License-Identifier: Apache-2.0
//
// Rows of the two files with measured convolutions, read as they are: DeepBench's conv.csv (FP32
// rows) and NeuSight's conv.csv. A GPU is loaded once, by the file's own name for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/catalog.h"
#include "core/csv.h"
#include "core/result.h"
#include "cost/conv_time.h"
#include "hardware/machine.h"

namespace rooftile::study {

struct CampaignGpu {
  std::string name;
  hardware::Machine machine;
  FlopsPerSecond rate;                ///< FP32
  [[nodiscard]] double peak() const;  ///< FLOP/s of all lanes at boost
  [[nodiscard]] cost::TimeMachine timed(const cost::TimeConstants& constants) const;
};

struct DeepBenchRow {
  std::size_t gpu = 0;
  ops::ConvShape conv;
  std::uint32_t line = 0;                       ///< of the file
  std::string algorithm;                        ///< of the forward pass
  std::optional<double> forward, data, filter;  ///< seconds
  /// Rate of the direct algorithm at this time, FLOP/s.
  [[nodiscard]] double rate(double seconds) const;
};

struct DeepBench {
  std::vector<CampaignGpu> gpus;  ///< by name
  std::vector<DeepBenchRow> rows;
};

struct NeuSightRow {
  std::size_t gpu = 0;
  ops::ConvShape conv;
  std::string algorithm, kernel;
  std::uint32_t line = 0;  ///< of the file
  double measured = 0;     ///< seconds
  std::int64_t index = 0;  ///< of the GPU's rows, in the order of the campaign
  /// Ran scudnn_128x* as implicit GEMM.
  [[nodiscard]] bool implicit() const;
};

struct NeuSight {
  std::vector<CampaignGpu> gpus;  ///< by name
  std::vector<NeuSightRow> rows;
};

/// The rows of one or several files; a file is told by its columns (fwd_ms, c_in).
struct Campaigns {
  DeepBench deepbench;
  NeuSight neusight;
};
/// Forward times that the hardware does not allow, "times: FILE: ..."; nothing for plausible ones.
std::optional<std::string> time_warning(const std::string& file, const DeepBench& data);
std::optional<std::string> time_warning(const std::string& file, const NeuSight& data);

/// From behind the header, where somebody has looked at it already: a pipe is read once.
Status add_campaign(CsvReader& csv, const CsvHeader& header, const Catalog& catalog,
                    Campaigns& campaigns);
Status add_campaign(const std::string& file, const Catalog& catalog, Campaigns& campaigns);

}  // namespace rooftile::study
