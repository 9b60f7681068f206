// SPDX-License-Identifier: Apache-2.0
//
// A table as people see it: which columns and rows, in which order, as text. What terminals,
// Markdown and pages have in common.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/document.h"

namespace rooftile::report {

/// A table of finished cells.
struct Cells {
  std::vector<const Column*> columns;
  std::vector<std::vector<std::string>> rows;
};

/// `bars`: a column of bars is shown too.
Cells cells_of(const Document& document, const Table& table, bool bars);

/// Numbers stand to the right.
bool is_numeric(const Column& column);

}  // namespace rooftile::report
