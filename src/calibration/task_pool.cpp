// SPDX-License-Identifier: Apache-2.0
#include "calibration/task_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "core/hash.h"
#include "cost/learned/classes.h"

namespace rooftile::calibration {

namespace {

using Open = std::vector<const Tasks::value_type*>;

/// Adds the results of the open tasks.
Status run_open(const Open& open, std::size_t tasks, const PoolOptions& options,
                TaskResults& results) {
  const TaskResults earlier = results;
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> stop = false;
  std::mutex mutex;
  std::condition_variable finished;
  std::string note;
  Status status;
  unsigned running = std::clamp(options.threads, 1U, 64U);
  const auto work = [&] {
    for (std::size_t i = next++; i < open.size() && !stop; i = next++) {
      Outcome outcome = open[i]->second.run(earlier);
      const std::lock_guard lock(mutex);
      note = fmt::format("{} loss {:.4f}", open[i]->first, outcome.loss);
      results[open[i]->first] = std::move(outcome.x);
      if (options.checkpoint && status)
        status = write_checkpoint(*options.checkpoint, options.key, results);
      finished.notify_one();
    }
    const std::lock_guard lock(mutex);
    --running;
    finished.notify_one();
  };
  std::vector<std::jthread> pool;
  for (unsigned i = running; i > 0; --i) pool.emplace_back(work);
  std::unique_lock lock(mutex);
  while (running > 0) {
    finished.wait_for(lock, std::chrono::milliseconds(200));
    const double done = static_cast<double>(results.size()) / static_cast<double>(tasks);
    if (options.progress && !options.progress({.fraction = done, .note = note})) stop = true;
  }
  lock.unlock();
  ROOFTILE_CHECK(status);
  if (stop)
    return bad_input("fit", "stopped before the end",
                     "run the same command again to continue where it stopped");
  return {};
}

}  // namespace

Result<TaskResults> run_tasks(const Tasks& tasks, const PoolOptions& options) {
  TaskResults results;
  if (options.checkpoint) {
    std::map<std::string, std::size_t> sizes;
    for (const auto& [name, task] : tasks) sizes[name] = task.size;
    ROOFTILE_TRY(results, read_checkpoint(*options.checkpoint, options.key, sizes));
  }
  for (const bool last : {false, true}) {
    Open open;
    for (const auto& task : tasks) {
      if (task.second.last == last && !results.contains(task.first)) open.push_back(&task);
    }
    if (!open.empty()) ROOFTILE_CHECK(run_open(open, tasks.size(), options, results));
  }
  return results;
}

std::string data_key(const Dataset& dataset, std::uint64_t seed, std::string_view format) {
  Fnv1a hash;
  hash.add(seed);
  for (const hardware::Machine& machine : dataset.machines) {
    hash.add(machine.gpu.id);
    hash.add(machine.gpu.input.sha256);
  }
  for (const Sample& s : dataset.samples) {
    hash.add(s.measured);
    hash.add(s.work.op);
    hash.add(name_of(s.work.dtype));
    hash.add(name_of(s.work.compute));
    hash.add(shape_text(s.work.shape));
    hash.add(s.work.flops.base());
    hash.add(s.work.bytes().base());
    hash.add(s.gpu);
    hash.add(dataset.campaigns[s.campaign]);
    hash.add(s.line);  // decides with the time which rows are taken (selection.h)
    hash.add(s.tile ? s.tile->along_n : 0);
    hash.add(s.tile ? s.tile->along_m : 0);
    hash.add(s.blocks.value_or(0));
    hash.add(s.host.value_or(0));
    hash.add(dataset.algorithms[s.algorithm]);
  }
  return fmt::format("{}-{:016x}-{}", format, hash.value(), dataset.samples.size());
}

std::string fold_task(const Dataset& dataset, std::optional<std::uint32_t> left_out,
                      std::string_view model, std::string_view name) {
  if (!left_out) return fmt::format("all/{}/{}", model, name);
  const hardware::GpuSpec& gpu = dataset.machines[*left_out].gpu;
  const std::string_view vendor = name_of(gpu.vendor);
  const bool touched = model == vendor || model == fmt::format("{}/{}", vendor, gpu.isa);
  const bool measured =
      touched && std::any_of(dataset.samples.begin(), dataset.samples.end(), [&](const Sample& s) {
        return s.gpu == *left_out && cost::learned::class_of(s.work) == name;
      });
  return fmt::format("{}/{}/{}", measured ? gpu.id : "all", model, name);
}

}  // namespace rooftile::calibration
