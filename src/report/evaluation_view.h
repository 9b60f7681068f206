// SPDX-License-Identifier: Apache-2.0
//
// `rooftile evaluate kernels` and `rooftile fit --inspect` as bytes.
#pragma once

#include <string>

#include "calibration/evaluate.h"
#include "calibration/inspect.h"

namespace rooftile::report {

/// Errors in percent per class, GPU and campaign.
std::string evaluation_to_text(const calibration::Evaluation& evaluation);
/// The contract's keys; errors are fractions of the measured time.
std::string evaluation_to_json(const calibration::Evaluation& evaluation,
                               const calibration::Dataset& dataset);
/// One line per measured kernel.
std::string evaluation_to_csv(const calibration::Evaluation& evaluation,
                              const calibration::Dataset& dataset);
/// A page for docs/: the tables that the text shows.
std::string evaluation_to_markdown(const calibration::Evaluation& evaluation);

std::string inspection_to_text(const calibration::Inspection& inspection,
                               const ProvenanceReport& provenance);

}  // namespace rooftile::report
