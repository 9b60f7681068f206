// SPDX-License-Identifier: Apache-2.0
//
// Runs the independent parts of a fit on a few threads. Finished parts are kept in a checkpoint, so
// a fit that was killed continues and ends with the same bytes; results depend on neither the
// number of threads nor the order in which parts finish.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/checkpoint.h"
#include "calibration/dataset.h"
#include "core/result.h"
#include "rooftile/progress.h"

namespace rooftile::calibration {

struct Outcome {
  std::vector<double> x;
  double loss = 0;  ///< shown while the fit runs
};
struct Task {
  std::function<Outcome(const TaskResults& earlier)> run;
  std::size_t size = 0;  ///< numbers of its result
  bool last = false;     ///< begins when all others have ended, and gets their results
};
using Tasks = std::map<std::string, Task>;

struct PoolOptions {
  unsigned threads = 2;
  std::optional<std::string> checkpoint;  ///< file that keeps finished tasks
  std::string key;                        ///< of the checkpoint
  Progress progress;                      ///< may be empty
};

/// Fails on a checkpoint that is not of these tasks.
Result<TaskResults> run_tasks(const Tasks& tasks, const PoolOptions& options);

/// Names everything that results depend on: rows with their GPUs, campaigns and tiles, the GPUs'
/// files, the seed, and what else there is in `format`.
std::string data_key(const Dataset& dataset, std::uint64_t seed, std::string_view format);

/// The task that fits class `name` of `model` ("vendor" or "vendor/isa") without a GPU: leaving out
/// a GPU that has no such rows changes nothing, and such folds share the task of all GPUs.
std::string fold_task(const Dataset& dataset, std::optional<std::uint32_t> left_out,
                      std::string_view model, std::string_view name);

}  // namespace rooftile::calibration
