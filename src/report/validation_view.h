// SPDX-License-Identifier: Apache-2.0
//
// Tables of a validation, as Markdown (the documents hold them as printed), CSV with the same cells
// (without title and notes) or JSON, where a cell is its number, or the list of its numbers in the
// order in which they are printed.
#pragma once

#include <string>
#include <vector>

#include "rooftile/provenance.h"

namespace rooftile::report {

struct ValidationTable {
  std::string title;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> notes;
  ProvenanceReport provenance{};
};

std::string validation_to_text(const ValidationTable& table);
std::string validation_to_json(const ValidationTable& table);
std::string validation_to_csv(const ValidationTable& table);

}  // namespace rooftile::report
