// SPDX-License-Identifier: Apache-2.0
//
// Miss probabilities of a set-associative LRU cache from reuse distances, without simulating it
// [Mattson et al. 1970]. A block that `d` distinct bytes have followed since its last touch is gone
// with
//
//   P(Poisson(w d / C) >= w) = P(Gamma(w) <= w d / C)      w ways, capacity C
//
// because hashed sets fill like a Poisson variable. Time advances in steps; the order of touches
// within a step is the caller's, so a step should touch a small part of the capacity.
#pragma once

#include <cstdint>
#include <vector>

namespace rooftile::traffic {

/// That probability.
double absent_after(double distance, double capacity, std::int64_t ways);

class ReuseStack {
 public:
  ReuseStack(double capacity, std::int64_t ways, std::int64_t steps);
  /// At most `steps` times, first before the first touch.
  void begin_step() { ++now_; }
  /// Probability that a block of `bytes` is absent, 1 at its first touch. A second touch within a
  /// step costs nothing.
  double touch(std::uint64_t key, double bytes);
  [[nodiscard]] std::int64_t touches() const { return touches_; }
  /// Probability that a block is absent which `distance` bytes have followed.
  [[nodiscard]] double absent(double distance) const;
  /// Distinct ones.
  [[nodiscard]] std::int64_t blocks() const { return used_; }

 private:
  struct Slot {
    std::uint64_t key = 0;  ///< plus one; 0 is empty
    std::int64_t step = 0;  ///< of the last touch
  };
  Slot& find(std::uint64_t key);
  void grow();
  void add(std::int64_t step, double bytes);
  [[nodiscard]] double sum_to(std::int64_t step) const;

  double capacity_;
  std::int64_t now_ = 0, touches_ = 0, used_ = 0;
  double total_ = 0;
  std::vector<double> tree_;  ///< Fenwick tree: bytes of the blocks last touched in each step
  std::vector<double> absent_;
  std::vector<Slot> slots_;
};

}  // namespace rooftile::traffic
