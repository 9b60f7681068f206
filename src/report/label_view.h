// SPDX-License-Identifier: Apache-2.0
//
// `rooftile evaluate labels`: predicted steps beside measured ones, with the published predictions
// of other methods where the file has them.
#pragma once

#include <string>

#include "calibration/labels.h"

namespace rooftile::report {

std::string labels_to_text(const calibration::LabelEvaluation& evaluation, int width);
/// The contract's keys; errors are fractions of the measured time.
std::string labels_to_json(const calibration::LabelEvaluation& evaluation);
/// One line per measured step.
std::string labels_to_csv(const calibration::LabelEvaluation& evaluation);
/// A page for docs/.
std::string labels_to_markdown(const calibration::LabelEvaluation& evaluation);

}  // namespace rooftile::report
