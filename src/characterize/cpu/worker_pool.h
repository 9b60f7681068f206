// SPDX-License-Identifier: Apache-2.0
//
// Threads pinned to one hardware thread each, that start a job together and are timed together.
// The calling thread is worker 0, so that nothing else runs on the measured cores. Between jobs
// the others wait without using the processor.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "characterize/cpu/topology.h"
#include "core/units.h"

namespace rooftile::characterize::cpu {

class WorkerPool {
 public:
  /// Pins the calling thread to the first of `processors` for the life of the pool.
  explicit WorkerPool(const std::vector<Processor>& processors);
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;
  ~WorkerPool();

  [[nodiscard]] std::size_t size() const;
  /// False when at least one thread could not be pinned.
  [[nodiscard]] bool pinned() const;
  /// Runs job(worker) on all workers at once; the time from the first start to the last end.
  Seconds run(const std::function<void(std::size_t)>& job);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rooftile::characterize::cpu
