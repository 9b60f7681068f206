// SPDX-License-Identifier: Apache-2.0
//
// How long jobs tell their caller where they are. Library code never prints; the command line
// passes a Progress that draws a bar on stderr (cli/progress_bar.h), tests pass one that records.
#pragma once

#include <functional>
#include <string>

namespace rooftile {

struct ProgressState {
  double fraction = 0.0;  ///< done, in [0, 1]
  std::string note;       ///< short: what is being done, the loss, ...
};

/// Called now and then from the thread that runs the job. Returning false asks the job to stop; it
/// then saves what is finished and returns an error that says so.
using Progress = std::function<bool(const ProgressState&)>;

}  // namespace rooftile
