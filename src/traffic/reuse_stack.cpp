// SPDX-License-Identifier: Apache-2.0
#include "traffic/reuse_stack.h"

#include <algorithm>
#include <cmath>

namespace rooftile::traffic {

namespace {

constexpr double kTableEnd = 4;  // capacities; at 16 ways all but 1e-13 is gone there
constexpr double kPerCapacity = 64;

/// P(Gamma(ways) <= x): 1 - exp(-x) sum of x^i / i! below `ways`.
double gamma_below(std::int64_t ways, double x) {
  double term = 1;
  double sum = 0;
  for (std::int64_t i = 0; i < ways; ++i) {
    sum += term;
    term *= x / static_cast<double>(i + 1);
  }
  return std::clamp(1 - std::exp(-x) * sum, 0.0, 1.0);
}

std::uint64_t mixed(std::uint64_t key) {
  key ^= key >> 31U;
  key *= 0x9e3779b97f4a7c15U;
  return key ^ (key >> 29U);
}

}  // namespace

double absent_after(double distance, double capacity, std::int64_t ways) {
  if (distance >= kTableEnd * capacity) return 1;
  return gamma_below(ways, distance / capacity * static_cast<double>(ways));
}

ReuseStack::ReuseStack(double capacity, std::int64_t ways, std::int64_t steps)
    : capacity_(capacity), tree_(static_cast<std::size_t>(steps + 1)), slots_(1U << 12U) {
  for (double d = 0; d <= kTableEnd; d += 1 / kPerCapacity) {
    absent_.push_back(gamma_below(ways, d * static_cast<double>(ways)));
  }
}

void ReuseStack::add(std::int64_t step, double bytes) {
  for (std::int64_t i = step; i < std::ssize(tree_); i += i & -i) {
    tree_[static_cast<std::size_t>(i)] += bytes;
  }
}

double ReuseStack::sum_to(std::int64_t step) const {
  double sum = 0;
  for (std::int64_t i = step; i > 0; i -= i & -i) sum += tree_[static_cast<std::size_t>(i)];
  return sum;
}

double ReuseStack::absent(double distance) const {
  const double at = distance / capacity_ * kPerCapacity;
  const auto below = static_cast<std::size_t>(at);
  if (below + 1 >= absent_.size()) return 1;
  const double part = at - static_cast<double>(below);
  return absent_[below] * (1 - part) + absent_[below + 1] * part;
}

ReuseStack::Slot& ReuseStack::find(std::uint64_t key) {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = mixed(key) & mask;
  while (slots_[at].key != 0 && slots_[at].key != key + 1) at = (at + 1) & mask;
  return slots_[at];
}

void ReuseStack::grow() {
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  for (const Slot& slot : old) {
    if (slot.key != 0) find(slot.key - 1) = slot;
  }
}

double ReuseStack::touch(std::uint64_t key, double bytes) {
  ++touches_;
  if (2 * (used_ + 1) > std::ssize(slots_)) grow();
  Slot& slot = find(key);
  if (slot.key == 0) {
    slot = {.key = key + 1, .step = now_};
    ++used_;
    total_ += bytes;
    add(now_, bytes);
    return 1;
  }
  if (slot.step == now_) return 0;
  // Of the step of the last touch, half came later than the block.
  const double distance = total_ - (sum_to(slot.step) + sum_to(slot.step - 1)) / 2;
  add(slot.step, -bytes);
  add(now_, bytes);
  slot.step = now_;
  return absent(distance);
}

}  // namespace rooftile::traffic
