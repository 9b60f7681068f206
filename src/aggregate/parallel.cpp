// SPDX-License-Identifier: Apache-2.0
#include "aggregate/parallel.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

namespace rooftile::aggregate {

namespace {

using execution::Phase;

constexpr std::string_view kAllReduce = "all_reduce", kSend = "send", kGradients = "gradients";

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
  Seconds forward, backward, optimizer;           ///< kernels, at the pace of the host
  Seconds forward_reduction, backward_reduction;  ///< all-reduces between them
  Seconds host;               ///< of forward and backward: more than the kernels take
  Seconds host_optimizer;     ///< the same of the update
  std::vector<Seconds> hops;  ///< from each of the equal stages to the next one, one way
  Seconds gradients;          ///< to sum all of them
  Seconds exposed;            ///< of that, still to be done at the end
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

/// The kernels of a stage; `backward_of` gets those of each block, all repetitions.
StageTimes kernel_times(const StageEstimate& stage, Side side,
                        std::map<std::size_t, Seconds>& backward_of) {
  StageTimes t;
  Seconds sum;
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
  t.host = (t.forward + t.backward) * (stretch - 1);
  t.host_optimizer = t.optimizer * (stretch - 1);
  for (Seconds* time : {&t.forward, &t.backward, &t.optimizer}) *time *= stretch;
  for (auto& [block, time] : backward_of) time *= stretch;
  return t;
}

/// `first` is the number of the first of the equal stages.
StageTimes times_of(const StageEstimate& stage, std::size_t first, const Parallelism& parallelism,
                    const Interconnect& links, Side side) {
  std::map<std::size_t, Seconds> backward_of;
  StageTimes t = kernel_times(stage, side, backward_of);
  for (const execution::Reduction& reduction : stage.reductions) {
    const Seconds time = side_of(links.tensor_sum(reduction.bytes, parallelism.tensor), side) *
                         static_cast<double>(reduction.count);
    (reduction.phase == Phase::Forward ? t.forward_reduction : t.backward_reduction) += time;
  }
  const std::size_t end = first + static_cast<std::size_t>(stage.count);
  for (std::size_t border = first; border < std::min(end, links.pipeline.size()); ++border) {
    t.hops.push_back(side_of(
        send(stage.output, parallelism.tensor, links.pipeline[border], links.constants), side));
  }
  if (!links.data) return t;
  // The sums inside layers take turns with these: gradients hide behind kernels alone.
  GradientSchedule schedule;
  for (const execution::GradientBucket& bucket : stage.gradients) {
    const auto repeat = static_cast<double>(bucket.repeat);
    const Seconds transfer =
        side_of(all_reduce(bucket.bytes, parallelism.data, *links.data, links.constants), side);
    schedule.add(bucket.repeat, backward_of[bucket.block] / repeat, transfer);
    t.gradients += transfer * repeat;
  }
  t.exposed = max(schedule.sent() - schedule.made(), Seconds{});
  return t;
}

/// One pass over all stages and micro-batches (GPipe: fill and drain once, then the slowest stage
/// sets the pace): how long it takes, and what of its communication a mean GPU waits for. Sums
/// inside layers are waited for; a stage sends its message while it works on the next
/// micro-batch, which counts as far as the pass would be shorter without.
class Pass {
 public:
  Pass(std::int64_t stages, std::int64_t microbatches)
      : later_(static_cast<double>(microbatches - 1)),
        runs_(static_cast<double>(microbatches) / static_cast<double>(stages)) {}

  void add(Seconds kernels, Seconds reduction, const std::vector<Seconds>& hops, double count) {
    const Seconds stage = kernels + reduction;
    stages_ += stage * count;
    slowest_stage_ = max(slowest_stage_, stage);
    slowest_ = max(slowest_, stage);
    reductions_ += reduction * (count * runs_);
    for (const Seconds hop : hops) {
      hops_ += hop;
      slowest_ = max(slowest_, reduction + hop);
    }
  }
  [[nodiscard]] Seconds total() const { return stages_ + hops_ + slowest_ * later_; }
  [[nodiscard]] Seconds messages() const { return hops_ * runs_; }
  [[nodiscard]] Seconds communication() const { return reductions_ + messages(); }
  [[nodiscard]] Seconds exposed_messages() const {
    return min(messages(), hops_ + (slowest_ - slowest_stage_) * later_);
  }
  [[nodiscard]] Seconds exposed() const { return reductions_ + exposed_messages(); }

 private:
  double later_;  ///< micro-batches behind the first one
  double runs_;   ///< micro-batches / stages: a mean GPU has that part of the sum over the stages
  Seconds stages_, hops_;            ///< one micro-batch through all of them
  Seconds slowest_stage_, slowest_;  ///< without and with messages
  Seconds reductions_;               ///< of a mean GPU
};

/// The step seen from one side.
struct Schedule {
  Pass forward, backward;
  Seconds optimizer = {};
  Seconds gradients = {};          ///< summed over replicas, a mean GPU
  Seconds exposed_gradients = {};  ///< of them, after the end of the backward pass
  Seconds host = {};               ///< a mean GPU waits for it

  [[nodiscard]] Seconds total() const {
    return forward.total() + backward.total() + optimizer + exposed_gradients;
  }
};

Schedule schedule(const std::vector<StageEstimate>& stages, const Parallelism& parallelism,
                  const Interconnect& links, Side side) {
  const std::int64_t m = parallelism.microbatches;
  const auto depth = static_cast<double>(parallelism.pipeline);
  Schedule s{.forward = Pass(parallelism.pipeline, m), .backward = Pass(parallelism.pipeline, m)};
  const bool train = std::any_of(stages.begin(), stages.end(),
                                 [](const StageEstimate& e) { return !e.gradients.empty(); });
  Seconds earlier;
  std::size_t first = 0;
  for (const StageEstimate& stage : stages) {
    const StageTimes t = times_of(stage, first, parallelism, links, side);
    const auto count = static_cast<double>(stage.count);
    s.forward.add(t.forward, t.forward_reduction, t.hops, count);
    s.backward.add(t.backward, t.backward_reduction, train ? t.hops : std::vector<Seconds>{},
                   count);
    s.optimizer = max(s.optimizer, t.optimizer);
    s.host += (t.host * static_cast<double>(m) + t.host_optimizer) * (count / depth);
    s.gradients += t.gradients * (count / depth);
    // Later stages end their backward pass before the earlier ones do.
    s.exposed_gradients = max(s.exposed_gradients, t.exposed - earlier);
    earlier += (t.backward + t.backward_reduction) * count;
    for (const Seconds hop : t.hops) earlier += hop;
    first += static_cast<std::size_t>(stage.count);
  }
  return s;
}

/// Name, phase, kernel and shape, and the numbers of one launch: kernels of one operator may be of
/// one shape and differ in their bytes.
using RowKey = std::tuple<std::string, Phase, std::string, std::array<double, 5>>;

RowKey key_of(const OperatorEstimate& op) {
  const cost::Estimate& e = op.estimate;
  return {
      op.kernel.name,
      op.kernel.phase,
      op.kernel.work.op + " " + ops::shape_text(op.kernel.work.shape),
      {e.time.base(), e.low.base(), e.high.base(), e.bound.base(), op.kernel.work.flops.base()}};
}

/// Operators of all stages; the same operator of several stages is one row.
void merge_operators(StepEstimate& step, std::vector<OperatorEstimate> operators,
                     std::int64_t stages, std::int64_t microbatches,
                     std::map<RowKey, std::size_t>& rows) {
  for (OperatorEstimate& op : operators) {
    op.kernel.count *= stages * (op.kernel.phase == Phase::Optimizer ? 1 : microbatches);
    const auto [row, is_new] = rows.emplace(key_of(op), step.operators.size());
    if (is_new) {
      step.operators.push_back(std::move(op));
    } else {
      step.operators[row->second].kernel.count += op.kernel.count;
    }
  }
}

/// The messages of equal stages that follow each other; those over equal links are one row.
void list_messages(const StageEstimate& stage, std::size_t first, const Parallelism& parallelism,
                   const Interconnect& links, Phase phase, StepEstimate& step) {
  if (stage.output <= Bytes{}) return;
  const std::size_t row = step.transfers.size();
  const std::size_t end = first + static_cast<std::size_t>(stage.count);
  for (std::size_t border = first; border < std::min(end, links.pipeline.size()); ++border) {
    const TransferTime each =
        send(stage.output, parallelism.tensor, links.pipeline[border], links.constants);
    const auto equal = std::find_if(step.transfers.begin() + static_cast<std::ptrdiff_t>(row),
                                    step.transfers.end(), [&](const TransferEstimate& t) {
                                      return t.each.time == each.time && t.each.bound == each.bound;
                                    });
    if (equal != step.transfers.end()) {
      equal->count += parallelism.microbatches;
      continue;
    }
    step.transfers.push_back({.name = "stage output",
                              .op = kSend,
                              .phase = phase,
                              .count = parallelism.microbatches,
                              .gpus = 2,
                              .bytes = stage.output,
                              .each = each});
  }
}

void list_transfers(const StageEstimate& stage, std::size_t first, const Parallelism& parallelism,
                    const Interconnect& links, StepEstimate& step) {
  for (const execution::Reduction& r : stage.reductions) {
    step.transfers.push_back({.name = r.name,
                              .op = kAllReduce,
                              .phase = r.phase,
                              .count = r.count * stage.count * parallelism.microbatches,
                              .gpus = parallelism.tensor,
                              .bytes = r.bytes,
                              .each = links.tensor_sum(r.bytes, parallelism.tensor)});
  }
  list_messages(stage, first, parallelism, links, Phase::Forward, step);
  if (stage.gradients.empty()) return;
  list_messages(stage, first, parallelism, links, Phase::Backward, step);
  if (!links.data) return;
  for (const execution::GradientBucket& bucket : stage.gradients) {
    if (bucket.bytes <= Bytes{}) continue;
    step.transfers.push_back(
        {.name = std::string(kGradients),
         .op = kAllReduce,
         .phase = Phase::Backward,
         .count = bucket.repeat * stage.count,
         .gpus = parallelism.data,
         .bytes = bucket.bytes,
         .each = all_reduce(bucket.bytes, parallelism.data, *links.data, links.constants)});
  }
}

/// What share of each kind of transfer hides behind kernels.
void mark_hidden(const Schedule& times, StepEstimate& step) {
  const auto fraction = [](Seconds all, Seconds exposed) {
    return all > Seconds{} ? 1 - min(exposed, all) / all : 0.0;
  };
  for (TransferEstimate& transfer : step.transfers) {
    if (transfer.op == kSend) {
      const Pass& pass = transfer.phase == Phase::Forward ? times.forward : times.backward;
      transfer.hidden_fraction = fraction(pass.messages(), pass.exposed_messages());
    } else if (transfer.name == kGradients) {
      transfer.hidden_fraction = fraction(times.gradients, times.exposed_gradients);
    }
  }
}

/// Whether the predictor states intervals: those of the links alone would not cover the step.
bool states_intervals(const std::vector<StageEstimate>& stages) {
  return std::any_of(stages.begin(), stages.end(),
                     [](const StageEstimate& stage) { return stage.step.low < stage.step.high; });
}

/// Only bounds: then the links count with theirs as well.
bool only_bounds(const std::vector<StageEstimate>& stages) {
  for (const StageEstimate& stage : stages) {
    for (const OperatorEstimate& op : stage.step.operators) {
      if (op.estimate.provenance != cost::Provenance::Bound) return false;
    }
  }
  return true;
}

/// What a mean GPU does with the time of the step; `step` has its operators.
void set_parts(const Schedule& times, StepEstimate& step) {
  const auto depth = static_cast<double>(step.stages);
  StepParts& parts = step.parts;
  for (const OperatorEstimate& op : step.operators) {
    const Seconds time = op.estimate.time * (static_cast<double>(op.kernel.count) / depth);
    parts.kernels += time;
    step.by_limiter[static_cast<std::size_t>(op.estimate.limiter())] += time;
  }
  const Seconds gradients = min(times.gradients, times.exposed_gradients);
  const Seconds exposed = times.forward.exposed() + times.backward.exposed() + gradients;
  parts.communication =
      times.forward.communication() + times.backward.communication() + times.gradients;
  parts.hidden = max(parts.communication - exposed, Seconds{});
  parts.host = max(times.host, Seconds{});
  if (step.stages > 1) {
    parts.idle = max(step.total - parts.kernels - parts.exposed() - parts.host, Seconds{});
  }
  // What a stage waits for is part of the pass in which it waits.
  step.by_phase[static_cast<std::size_t>(Phase::Forward)] =
      times.forward.total() - times.forward.exposed();
  step.by_phase[static_cast<std::size_t>(Phase::Backward)] =
      times.backward.total() - times.backward.exposed() + (times.exposed_gradients - gradients);
  step.by_phase[static_cast<std::size_t>(Phase::Optimizer)] = times.optimizer;
}

}  // namespace

TransferTime Interconnect::tensor_sum(Bytes bytes, std::int64_t gpus) const {
  return one_shot ? one_shot_all_reduce(bytes, gpus, *tensor, constants, *one_shot)
                  : all_reduce(bytes, gpus, *tensor, constants);
}

StepEstimate parallel_step(std::vector<StageEstimate> stages, const Parallelism& parallelism,
                           const Interconnect& links) {
  if (parallelism.single()) return std::move(stages.front().step);
  StepEstimate step;
  step.stages = parallelism.pipeline;
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

  std::size_t first = 0;
  std::map<RowKey, std::size_t> rows;
  for (StageEstimate& stage : stages) {
    list_transfers(stage, first, parallelism, links, step);
    first += static_cast<std::size_t>(stage.count);
    merge_operators(step, std::move(stage.step.operators), stage.count, parallelism.microbatches,
                    rows);
  }
  const auto copies = static_cast<double>(parallelism.data * parallelism.tensor);
  for (const OperatorEstimate& op : step.operators) {
    step.flops += op.kernel.work.flops * (static_cast<double>(op.kernel.count) * copies);
  }
  for (TransferEstimate& transfer : step.transfers) {
    TransferTime& each = transfer.each;
    if (bounds) each.time = each.low = each.high = each.bound;
  }
  set_parts(times, step);
  mark_hidden(times, step);
  return step;
}

MemoryEstimate fullest(const std::vector<MemoryEstimate>& stages, const Parallelism& parallelism) {
  MemoryEstimate most;
  for (MemoryEstimate stage : stages) {
    const auto waiting = static_cast<double>(parallelism.microbatches - 1);
    // GPipe: when the last micro-batch turns round, all others are still kept.
    if (parallelism.pipeline > 1) stage.activations += stage.kept * waiting;
    stage.kv_cache += stage.kv_cache * waiting;
    if (stage.total() > most.total()) most = stage;
  }
  return most;
}

}  // namespace rooftile::aggregate
