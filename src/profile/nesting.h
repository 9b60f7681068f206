// SPDX-License-Identifier: Apache-2.0
//
// Spans of time on threads (operators, annotations), and the innermost one that contains a moment.
// Spans of one thread are taken as nested, as calls are; where they are not, the one that began
// last wins. Times are nanoseconds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace rooftile::profile {

struct Span {
  std::int64_t begin = 0, end = 0;
};
/// Process and thread.
using Thread = std::pair<std::int64_t, std::int64_t>;

class Nesting {
 public:
  /// `id` is the caller's.
  void add(const Thread& thread, const Span& span, std::uint32_t id);
  /// After the last add() and before the first question.
  void seal();
  /// The ids of the spans of the thread that contain `moment`, innermost first.
  [[nodiscard]] std::vector<std::uint32_t> around(const Thread& thread, std::int64_t moment) const;
  /// The same for the one other thread of the process that is inside a span; of several, none.
  [[nodiscard]] std::vector<std::uint32_t> around_elsewhere(const Thread& thread,
                                                            std::int64_t moment) const;
  /// At most `count` ids of spans of the thread that begin at `moment` or later, in that order.
  [[nodiscard]] std::vector<std::uint32_t> from(const Thread& thread, std::int64_t moment,
                                                std::size_t count) const;
  [[nodiscard]] bool empty() const { return threads_.empty(); }

 private:
  struct Node {
    Span span;
    std::uint32_t id = 0;
    std::optional<std::size_t> parent;
  };
  std::map<Thread, std::vector<Node>> threads_;
};

}  // namespace rooftile::profile
