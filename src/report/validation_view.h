// SPDX-License-Identifier: Apache-2.0
//
// Tables of a validation, as Markdown (the documents hold them as printed), CSV with the same cells
// (without title and notes) or JSON, where a cell is its number, or the list of its numbers in the
// order in which they are printed.
#pragma once

#include <string>

#include "calibration/validation.h"

namespace rooftile::report {

std::string validation_to_text(const calibration::ValidationTable& table);
std::string validation_to_json(const calibration::ValidationTable& table);
std::string validation_to_csv(const calibration::ValidationTable& table);

}  // namespace rooftile::report
