// SPDX-License-Identifier: Apache-2.0
//
// Samples as CSV: the checkpoint of an interrupted run, the data behind the machine file, and what
// plots of bandwidth against working set and of FLOP/s against intensity are drawn from. The first
// record names the format and the plan, the second the columns; see docs/format/samples.md.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "characterize/measurement.h"
#include "core/result.h"

namespace rooftile::characterize {

struct SamplesFile {
  std::string fingerprint;  ///< of the plan the samples belong to
  std::vector<Sample> samples;

  bool operator==(const SamplesFile&) const = default;
};

std::string write_samples(const SamplesFile& file);
/// `name` is what errors call the text.
Result<SamplesFile> read_samples(std::string_view text, const std::string& name);

}  // namespace rooftile::characterize
