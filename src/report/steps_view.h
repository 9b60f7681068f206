// SPDX-License-Identifier: Apache-2.0
//
// Whole steps against measurements, and a generation, as text and JSON.
#pragma once

#include <string>

#include "calibration/nodes.h"
#include "calibration/steps.h"
#include "rooftile/generate.h"

namespace rooftile::report {

std::string steps_to_text(const calibration::StepEvaluation& evaluation, int width);
std::string steps_to_json(const calibration::StepEvaluation& evaluation);
std::string steps_to_csv(const calibration::StepEvaluation& evaluation);
std::string steps_to_markdown(const calibration::StepEvaluation& evaluation);

std::string nodes_to_text(const calibration::NodeEvaluation& evaluation, int width);
std::string nodes_to_json(const calibration::NodeEvaluation& evaluation);

std::string generate_to_text(const GenerateReport& report);
std::string generate_to_json(const GenerateReport& report);

}  // namespace rooftile::report
