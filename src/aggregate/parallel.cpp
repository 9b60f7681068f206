// SPDX-License-Identifier: Apache-2.0
#include "aggregate/parallel.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

namespace rooftile::aggregate {

namespace {

using graph::Phase;

/// The four numbers that every estimate has; the schedule is worked out for each of them.
enum class Side : std::uint8_t { Time, Low, High, Bound };

template <typename Estimate>
Seconds side_of(const Estimate& estimate, Side side) {
  switch (side) {
    case Side::Time: return estimate.time;
    case Side::Low: return estimate.low;
    case Side::High: return estimate.high;
    case Side::Bound: break;
  }
  return estimate.bound;
}

Seconds total_of(const StepEstimate& step, Side side) {
  switch (side) {
    case Side::Time: return step.total;
    case Side::Low: return step.low;
    case Side::High: return step.high;
    case Side::Bound: break;
  }
  return step.bound;
}

/// One stage and one micro-batch, seen from one side.
struct StageTimes {
  Seconds forward, backward, optimizer;           ///< kernels
  Seconds forward_reduction, backward_reduction;  ///< all-reduces between them
  Seconds hop;                                    ///< to the next stage, one way
  Seconds exposed;                                ///< gradients still to be summed at the end
};

/// When the last of the gradients is summed, counted from the start of the backward pass. A bucket
/// can be sent when its backward pass is done and the link is free. In `repeat` equal ones the
/// last end is linear in the repetition that is waited for, so the first or the last one decides.
class GradientSchedule {
 public:
  void add(std::int64_t repeat, Seconds backward, Seconds transfer) {
    const auto n = static_cast<double>(repeat);
    sent_ = max(max(sent_ + transfer * n, made_ + backward + transfer * n),
                made_ + backward * n + transfer);
    made_ += backward * n;
  }
  [[nodiscard]] Seconds made() const { return made_; }
  [[nodiscard]] Seconds sent() const { return sent_; }

 private:
  Seconds made_, sent_;
};

bool is_backward(Phase phase) {
  return phase == Phase::Backward || phase == Phase::Accumulate;
}

StageTimes times_of(const StageEstimate& stage, const Parallelism& parallelism,
                    const Interconnect& links, Side side) {
  StageTimes t;
  Seconds sum;
  std::map<std::size_t, Seconds> backward_of;  // block -> all repetitions
  for (const OperatorEstimate& op : stage.step.operators) {
    const Seconds time = side_of(op.estimate, side) * static_cast<double>(op.kernel.count);
    sum += time;
    if (op.kernel.phase == Phase::Forward) t.forward += time;
    if (op.kernel.phase == Phase::Optimizer) t.optimizer += time;
    if (!is_backward(op.kernel.phase)) continue;
    t.backward += time;
    backward_of[op.kernel.block] += time;
  }
  // The step knows more than the sum of its kernels: the host, correlated errors.
  const double stretch = sum > Seconds{} ? total_of(stage.step, side) / sum : 1.0;
  for (Seconds* time : {&t.forward, &t.backward, &t.optimizer}) *time *= stretch;
  for (const graph::Reduction& reduction : stage.reductions) {
    const Seconds time =
        side_of(all_reduce(reduction.bytes, parallelism.tensor, *links.tensor), side) *
        static_cast<double>(reduction.count);
    (reduction.phase == Phase::Forward ? t.forward_reduction : t.backward_reduction) += time;
  }
  if (links.pipeline) t.hop = side_of(send(stage.output, *links.pipeline), side);
  if (!links.data) return t;
  // Reductions inside of the layers delay the gradients as evenly as the kernels do.
  const double delay = t.backward > Seconds{} ? 1 + t.backward_reduction / t.backward : 1.0;
  GradientSchedule schedule;
  for (const graph::GradientBucket& bucket : stage.gradients) {
    schedule.add(bucket.repeat,
                 backward_of[bucket.block] * (stretch * delay / static_cast<double>(bucket.repeat)),
                 side_of(all_reduce(bucket.bytes, parallelism.data, *links.data), side));
  }
  t.exposed = max(schedule.sent() - schedule.made(), Seconds{});
  return t;
}

/// The step seen from one side: kernels of the three phases, and what communication adds.
struct Schedule {
  Seconds forward, backward, optimizer, communication;
  [[nodiscard]] Seconds total() const { return forward + backward + optimizer + communication; }
};

/// GPipe: fill and drain once, then the slowest stage sets the pace.
class Pace {
 public:
  void add(Seconds time, double count) {
    sum_ += time * count;
    slowest_ = max(slowest_, time);
  }
  [[nodiscard]] Seconds total(std::int64_t microbatches) const {
    return sum_ + slowest_ * static_cast<double>(microbatches - 1);
  }

 private:
  Seconds sum_, slowest_;
};

Schedule schedule(const std::vector<StageEstimate>& stages, const Parallelism& parallelism,
                  const Interconnect& links, Side side) {
  Schedule s;
  Pace forward, backward, forward_all, backward_all;
  Seconds hops, exposed, earlier;
  const bool train = std::any_of(stages.begin(), stages.end(),
                                 [](const StageEstimate& e) { return !e.gradients.empty(); });
  for (const StageEstimate& stage : stages) {
    const StageTimes t = times_of(stage, parallelism, links, side);
    const auto count = static_cast<double>(stage.count);
    forward.add(t.forward, count);
    backward.add(t.backward, count);
    forward_all.add(t.forward + t.forward_reduction, count);
    backward_all.add(t.backward + t.backward_reduction, count);
    hops += t.hop * count;
    s.optimizer = max(s.optimizer, t.optimizer);
    // Later stages end their backward pass before the earlier ones do.
    exposed = max(exposed, t.exposed - earlier);
    earlier += (t.backward + t.backward_reduction + t.hop) * count;
  }
  const std::int64_t m = parallelism.microbatches;
  s.forward = forward.total(m);
  s.backward = backward.total(m);
  s.communication = (forward_all.total(m) - s.forward) + (backward_all.total(m) - s.backward) +
                    hops * (train ? 2.0 : 1.0) + max(exposed, Seconds{});
  return s;
}

/// Operators of all stages; the same operator of several stages is one row.
void merge_operators(StepEstimate& step, std::vector<OperatorEstimate> operators,
                     std::int64_t stages, std::int64_t microbatches,
                     std::map<std::tuple<std::string, Phase, std::string>, std::size_t>& rows) {
  for (OperatorEstimate& op : operators) {
    op.kernel.count *= stages * (op.kernel.phase == Phase::Optimizer ? 1 : microbatches);
    std::string kind = op.kernel.work.op + " " + ops::shape_text(op.kernel.work.shape);
    const auto [row, is_new] = rows.emplace(
        std::tuple(op.kernel.name, op.kernel.phase, std::move(kind)), step.operators.size());
    if (is_new) {
      step.operators.push_back(std::move(op));
    } else {
      step.operators[row->second].kernel.count += op.kernel.count;
    }
  }
}

void list_transfers(const StageEstimate& stage, const Parallelism& parallelism,
                    const Interconnect& links, StepEstimate& step) {
  const std::int64_t m = parallelism.microbatches;
  for (const graph::Reduction& r : stage.reductions) {
    step.transfers.push_back({.name = r.name,
                              .op = "all_reduce",
                              .phase = r.phase,
                              .count = r.count * stage.count * m,
                              .gpus = parallelism.tensor,
                              .bytes = r.bytes,
                              .each = all_reduce(r.bytes, parallelism.tensor, *links.tensor)});
  }
  if (links.pipeline && stage.output > Bytes{}) {
    for (const Phase phase : {Phase::Forward, Phase::Backward}) {
      if (phase == Phase::Backward && stage.gradients.empty()) continue;
      step.transfers.push_back({.name = "stage output",
                                .op = "send",
                                .phase = phase,
                                .count = stage.count * m,
                                .gpus = 2,
                                .bytes = stage.output,
                                .each = send(stage.output, *links.pipeline)});
    }
  }
  if (!links.data) return;
  for (const graph::GradientBucket& bucket : stage.gradients) {
    if (bucket.bytes <= Bytes{}) continue;
    step.transfers.push_back({.name = "gradients",
                              .op = "all_reduce",
                              .phase = Phase::Backward,
                              .count = bucket.repeat * stage.count,
                              .gpus = parallelism.data,
                              .bytes = bucket.bytes,
                              .each = all_reduce(bucket.bytes, parallelism.data, *links.data)});
  }
}

/// The predictor states intervals: those of the links alone are none of the step.
bool states_intervals(const std::vector<StageEstimate>& stages) {
  return std::any_of(stages.begin(), stages.end(),
                     [](const StageEstimate& stage) { return stage.step.low < stage.step.high; });
}

/// Only bounds: then the links count with theirs, too.
bool only_bounds(const std::vector<StageEstimate>& stages) {
  for (const StageEstimate& stage : stages) {
    for (const OperatorEstimate& op : stage.step.operators) {
      if (op.estimate.provenance != latency::Provenance::Bound) return false;
    }
  }
  return true;
}

}  // namespace

StepEstimate parallel_step(std::vector<StageEstimate> stages, const Parallelism& parallelism,
                           const Interconnect& links) {
  if (parallelism.single()) return std::move(stages.front().step);
  StepEstimate step;
  const bool bounds = only_bounds(stages);
  const auto seen_from = [&](Side side) {
    return schedule(stages, parallelism, links, bounds ? Side::Bound : side);
  };
  const Schedule times = seen_from(Side::Time);
  step.total = times.total();
  const bool stated = states_intervals(stages);
  step.low = stated ? seen_from(Side::Low).total() : step.total;
  step.high = stated ? seen_from(Side::High).total() : step.total;
  step.bound = seen_from(Side::Bound).total();
  step.communication = times.communication;
  step.by_phase[static_cast<std::size_t>(Phase::Forward)] = times.forward;
  step.by_phase[static_cast<std::size_t>(Phase::Backward)] = times.backward;
  step.by_phase[static_cast<std::size_t>(Phase::Optimizer)] = times.optimizer;

  const auto m = static_cast<double>(parallelism.microbatches);
  const auto depth = static_cast<double>(parallelism.pipeline);
  const auto copies = static_cast<double>(parallelism.data * parallelism.tensor);
  Seconds busy = times.communication;
  std::map<std::tuple<std::string, Phase, std::string>, std::size_t> rows;
  for (StageEstimate& stage : stages) {
    list_transfers(stage, parallelism, links, step);
    const double runs = static_cast<double>(stage.count) * m;
    step.flops += stage.step.flops * (runs * copies);
    step.host = max(step.host, stage.step.host * m);
    for (const OperatorEstimate& op : stage.step.operators) {  // one update for all micro-batches
      if (op.kernel.phase != Phase::Optimizer) continue;
      stage.step.by_limiter[static_cast<std::size_t>(op.estimate.limiter)] -=
          op.estimate.time * (static_cast<double>(op.kernel.count) * (1 - 1 / m));
    }
    for (std::size_t i = 0; i < step.by_limiter.size(); ++i) {  // of a mean GPU
      step.by_limiter[i] += stage.step.by_limiter[i] * (runs / depth);
      busy += stage.step.by_limiter[i] * (runs / depth);
    }
    merge_operators(step, std::move(stage.step.operators), stage.count, parallelism.microbatches,
                    rows);
  }
  for (TransferEstimate& transfer : step.transfers) {
    TransferTime& each = transfer.each;
    if (bounds) each.time = each.low = each.high = each.bound;
  }
  step.idle = max(step.total - busy, Seconds{});
  return step;
}

MemoryEstimate fullest(const std::vector<MemoryEstimate>& stages, const Parallelism& parallelism) {
  MemoryEstimate most;
  for (MemoryEstimate stage : stages) {
    if (parallelism.pipeline > 1)
      stage.activations *= static_cast<double>(parallelism.microbatches);
    if (stage.total() > most.total()) most = stage;
  }
  return most;
}

}  // namespace rooftile::aggregate
