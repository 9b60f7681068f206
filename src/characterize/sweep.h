// SPDX-License-Identifier: Apache-2.0
//
// Runs a plan on a device: for each case prepare, warm up, find the number of passes that makes a
// run long enough for the timer, then repeat until the confidence interval is narrow or the budget
// is spent. Finished samples are saved to a checkpoint, so that an interrupted sweep continues
// where it stopped. With several ranks (MPI) all of them run every pass at the same time.
//
// A sample that cannot be true (plausibility.h) is measured once more, with the clock observed
// before and after; if it still cannot, the case is left out of everything, on all ranks.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "characterize/device.h"
#include "characterize/plan.h"
#include "characterize/plausibility.h"
#include "characterize/samples_file.h"
#include "core/result.h"
#include "rooftile/progress.h"

namespace rooftile::characterize {

/// Keeps the ranks of a parallel run in step. One process alone: the default does nothing.
class Coordinator {
 public:
  Coordinator() = default;
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;
  virtual ~Coordinator() = default;
  /// All ranks wait for the last one.
  void barrier() { do_barrier(); }
  /// The largest of the ranks' values.
  double largest(double value) { return do_largest(value); }
  /// The time from the first begin to the last end of a run on all ranks: ranks that take turns on
  /// a core must not look as if they had run side by side. `own` is what this rank measured.
  Seconds simultaneous(Seconds own, Seconds begin, Seconds end) {
    return do_simultaneous(own, begin, end);
  }

 private:
  virtual void do_barrier() {}
  virtual double do_largest(double value) { return value; }
  virtual Seconds do_simultaneous(Seconds own, Seconds /*begin*/, Seconds /*end*/) { return own; }
};

struct SweepOptions {
  std::string checkpoint;              ///< file of finished samples; empty: none
  Progress progress;                   ///< may be empty
  Coordinator* coordinator = nullptr;  ///< not owned; null: one process alone
};

struct SweepResult {
  std::vector<Sample> samples;       ///< of this process, in the order of the plan
  std::vector<Omission> omissions;   ///< what was planned and is not in `samples`
  std::vector<Hertz> clocks;         ///< observed before, now and then, and after
  std::vector<Sample> simultaneous;  ///< times of the slowest rank; only with a coordinator
  std::int64_t resumed = 0;          ///< how many came from the checkpoint
};

Result<SweepResult> run_sweep(Device& device, const Plan& plan, const SweepOptions& options);

/// The text of the error that run_sweep returns when the progress callback asked it to stop.
inline constexpr const char* kInterrupted = "interrupted";

}  // namespace rooftile::characterize
