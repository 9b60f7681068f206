// SPDX-License-Identifier: Apache-2.0
#include "characterize/cpu/worker_pool.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

namespace rooftile::characterize::cpu {

namespace {

using Clock = std::chrono::steady_clock;

bool pin_to(std::int64_t processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (processor < 0 || processor >= CPU_SETSIZE) return false;
  CPU_SET(static_cast<std::size_t>(processor), &set);
  return pthread_setaffinity_np(pthread_self(), sizeof(set), &set) == 0;
}

/// A short pause inside a spinning loop; gives the processor away when it takes long, because the
/// one we wait for may be waiting for this very processor.
void relax(int& spins) {
  if (++spins > 2000) {
    std::this_thread::yield();
    return;
  }
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

struct WorkerPool::State {
  struct alignas(128) Interval {
    Clock::time_point begin, end;
  };

  std::vector<Processor> processors;
  std::vector<Interval> intervals;
  std::vector<std::jthread> threads;
  cpu_set_t earlier_affinity{};
  std::atomic<bool> all_pinned{true};
  const std::function<void(std::size_t)>* job = nullptr;
  std::atomic<std::uint32_t> epoch{0};               ///< rises by one per job
  std::atomic<std::uint64_t> ready{0}, finished{0};  ///< never reset
  std::atomic<bool> stopping{false};

  void perform(std::size_t worker, std::uint32_t round) {
    const auto everyone = std::uint64_t{processors.size()} * round;
    ready.fetch_add(1, std::memory_order_acq_rel);
    int spins = 0;
    while (ready.load(std::memory_order_acquire) < everyone) relax(spins);
    intervals[worker].begin = Clock::now();
    (*job)(worker);
    intervals[worker].end = Clock::now();
    finished.fetch_add(1, std::memory_order_acq_rel);
  }

  void work(std::size_t worker) {
    if (!pin_to(processors[worker].index)) all_pinned = false;
    std::uint32_t round = 0;
    while (true) {
      epoch.wait(round, std::memory_order_acquire);
      if (stopping) return;
      ++round;
      perform(worker, round);
    }
  }
};

WorkerPool::WorkerPool(const std::vector<Processor>& processors)
    : state_(std::make_unique<State>()) {
  state_->processors = processors;
  state_->intervals.resize(processors.size());
  CPU_ZERO(&state_->earlier_affinity);
  pthread_getaffinity_np(pthread_self(), sizeof(cpu_set_t), &state_->earlier_affinity);
  if (!processors.empty() && !pin_to(processors[0].index)) state_->all_pinned = false;
  State* state = state_.get();
  for (std::size_t worker = 1; worker < processors.size(); ++worker) {
    state_->threads.emplace_back([state, worker] { state->work(worker); });
  }
}

WorkerPool::~WorkerPool() {
  state_->stopping = true;
  ++state_->epoch;
  state_->epoch.notify_all();
  state_->threads.clear();  // joins
  pthread_setaffinity_np(pthread_self(), sizeof(cpu_set_t), &state_->earlier_affinity);
}

std::size_t WorkerPool::size() const {
  return state_->processors.size();
}

bool WorkerPool::pinned() const {
  return state_->all_pinned;
}

Seconds WorkerPool::run(const std::function<void(std::size_t)>& job) {
  State& s = *state_;
  s.job = &job;
  const std::uint32_t round = s.epoch.load() + 1;
  s.epoch.store(round, std::memory_order_release);
  s.epoch.notify_all();
  s.perform(0, round);
  int spins = 0;
  const auto everyone = std::uint64_t{s.processors.size()} * round;
  while (s.finished.load(std::memory_order_acquire) < everyone) relax(spins);
  Clock::time_point begin = s.intervals[0].begin, end = s.intervals[0].end;
  for (const State::Interval& i : s.intervals) {
    begin = std::min(begin, i.begin);
    end = std::max(end, i.end);
  }
  return Seconds::from_base(std::chrono::duration<double>(end - begin).count());
}

}  // namespace rooftile::characterize::cpu
