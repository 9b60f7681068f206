// SPDX-License-Identifier: Apache-2.0
//
// Finished tasks of a fit: a name and a vector of numbers each, in one JSON file that is replaced
// as a whole. The key names data, seed and forms; results of another key are not used.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "core/result.h"

namespace rooftile::calibration {

using TaskResults = std::map<std::string, std::vector<double>>;

/// Empty when there is no file, or one of another key. `sizes` says how many numbers the result of
/// each task has: other names, other sizes and numbers that no fit ends at are errors.
Result<TaskResults> read_checkpoint(const std::string& path, const std::string& key,
                                    const std::map<std::string, std::size_t>& sizes);
Status write_checkpoint(const std::string& path, const std::string& key,
                        const TaskResults& results);

}  // namespace rooftile::calibration
