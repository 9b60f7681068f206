// SPDX-License-Identifier: Apache-2.0
//
// Runs a function in a child process and hands back its text, so that a driver that aborts, crashes
// or hangs while it looks for devices cannot take the program with it.
#pragma once

#include <functional>
#include <string>

#include "core/result.h"

namespace rooftile::characterize {

/// `name` is what errors call the driver. The child is given 30 seconds.
Result<std::string> run_in_child(const std::function<Result<std::string>()>& function,
                                 const std::string& name);

}  // namespace rooftile::characterize
