// SPDX-License-Identifier: Apache-2.0
//
// How long studies tell their caller where they are, and how the caller stops them. The library
// never prints; the command line passes a Progress that draws a bar (cli/command.h), tests pass one
// that records.
#pragma once

#include <functional>
#include <string>

namespace rooftile {

struct ProgressState {
  double fraction = 0.0;  ///< done, in [0, 1]
  std::string note;       ///< short: what is being done, the loss, ...
  /// Said once, for people: what the run is going to do, a doubt about its data. A finished result
  /// repeats the doubts among its warnings.
  std::string notice = {};
};

/// Called now and then from the thread that runs the study. Returning false asks it to stop; it
/// then saves what is finished and its answer is an error that says so.
using Progress = std::function<bool(const ProgressState&)>;

}  // namespace rooftile
