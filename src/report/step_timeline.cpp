// SPDX-License-Identifier: Apache-2.0
#include "report/step_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "report/predict_json.h"

namespace rooftile::report {

namespace {

/// Operators that follow one another in one block and phase: they run layer by layer.
struct Run {
  std::vector<const OperatorReport*> operators;
  std::string block;
  std::int64_t layers = 1;
};

std::string block_of(const OperatorReport& op) {
  return op.name.substr(0, op.name.find('/'));
}

bool is_transfer(const OperatorReport& op) {
  return op.limiter == "link";
}

/// Puts the collectives that nothing hides behind the last kernel of their node.
void insert_waited(std::vector<const OperatorReport*>& kernels,
                   std::vector<const OperatorReport*>& transfers) {
  std::erase_if(transfers, [&](const OperatorReport* transfer) {
    const auto last = std::find_if(kernels.rbegin(), kernels.rend(), [&](const OperatorReport* op) {
      return op->name == transfer->name;
    });
    if (transfer->hidden_ms > 0 || last == kernels.rend()) return false;
    kernels.insert(last.base(), transfer);
    return true;
  });
}

/// A collective belongs to the kernel before it.
std::vector<Run> runs_of(std::span<const OperatorReport* const> operators) {
  std::vector<Run> runs;
  for (const OperatorReport* op : operators) {
    const std::string block = block_of(*op);
    const bool follows = !runs.empty() && is_transfer(*op);
    if (!follows &&
        (runs.empty() || runs.back().block != block || runs.back().layers != op->layers))
      runs.push_back({.operators = {}, .block = block, .layers = op->layers});
    runs.back().operators.push_back(op);
  }
  return runs;
}

/// Adds slices; `now` moves on with the kernels.
class Builder {
 public:
  explicit Builder(const Report& report)
      : stages_(report.parallel ? report.parallel->pp : 1),
        microbatches_(report.parallel ? report.parallel->microbatches : 1) {
    double launches = 0;
    for (const OperatorReport& op : report.operators) launches += static_cast<double>(op.count);
    single_ = launches <= kMostLaunches;
    timeline_.tracks = {"phase",
                        "layer",
                        single_ ? "stream 0: kernels" : "stream 0: kernels, summed",
                        "stream 1: communication",
                        "stream 2: communication behind kernels",
                        "waiting"};
  }

  void add_phase(const std::string& name, std::vector<const OperatorReport*> kernels,
                 std::vector<const OperatorReport*> transfers) {
    const double start = now_;
    insert_waited(kernels, transfers);
    const std::vector<Run> runs = runs_of(kernels);
    for (std::int64_t batch = 0; batch < microbatches_; ++batch) {
      for (const Run& run : runs) add_run(run, batch, name == "backward");
    }
    add_transfers(std::move(transfers));
    slice(Track::Phase, name, "phase", start, now_ - start);
  }

  void add_waiting(const PartReport& part) {
    if (part.latency_ms <= 0) return;  // hidden communication has its track
    slice(Track::Waiting, part.name, "waiting", now_, part.latency_ms);
    now_ += part.latency_ms;
  }

  Timeline finish() { return std::move(timeline_); }

 private:
  Slice& slice(Track track, std::string name, std::string category, double start, double duration) {
    return timeline_.slices.emplace_back(Slice{.track = static_cast<std::size_t>(track),
                                               .name = std::move(name),
                                               .category = std::move(category),
                                               .start_ms = start,
                                               .duration_ms = duration});
  }

  /// Launches of a mean GPU.
  [[nodiscard]] std::int64_t launches(const OperatorReport& op) const {
    return single_ ? std::max<std::int64_t>(1, op.count / stages_) : 1;
  }

  void add_run(const Run& run, std::int64_t batch, bool backwards) {
    const std::int64_t layers =
        single_ && run.layers % stages_ == 0 ? run.layers / stages_ : run.layers;
    for (std::int64_t i = 0; i < (single_ ? layers : 1); ++i) {
      const double start = now_;
      for (const OperatorReport* op : run.operators) add_launches(*op, batch, i, layers);
      if (now_ <= start) continue;
      std::string name = run.block;
      if (layers > 1 && single_) name += fmt::format(" {}", backwards ? layers - 1 - i : i);
      if (microbatches_ > 1) name += fmt::format(", micro-batch {}", batch);
      slice(Track::Layer, std::move(name), "layer", start, now_ - start);
    }
  }

  /// The launches of one layer in one micro-batch; all of them in the first one where they do not
  /// divide.
  void add_launches(const OperatorReport& op, std::int64_t batch, std::int64_t layer,
                    std::int64_t layers) {
    const std::int64_t all = launches(op), places = microbatches_ * layers;
    const bool divides = all % places == 0;
    if (!divides && (batch > 0 || layer > 0)) return;
    const std::int64_t here = divides ? all / places : all;
    const double each = op.latency_ms / static_cast<double>(all);
    for (std::int64_t i = 0; i < here; ++i) {
      const Track track = is_transfer(op) ? Track::Communication : Track::Kernels;
      describe_launch(op, slice(track, op.name, op.phase, now_, each));
      now_ += each;
    }
  }

  /// Hidden parts end with the kernels of the phase, the others follow them.
  void add_transfers(std::vector<const OperatorReport*> transfers) {
    std::stable_partition(transfers.begin(), transfers.end(),
                          [](const OperatorReport* op) { return op->hidden_ms > 0; });
    double hidden = 0, all = 0;
    for (const OperatorReport* op : transfers) {
      hidden += op->hidden_ms;
      all += op->latency_ms;
    }
    double at = std::max(talked_until_, now_ - hidden);
    for (const OperatorReport* op : transfers) {
      const std::int64_t count = launches(*op);
      const double each = op->latency_ms / static_cast<double>(count);
      const Track track = op->hidden_ms > 0 ? Track::Hidden : Track::Communication;
      for (std::int64_t i = 0; i < count; ++i) {
        describe_launch(*op, slice(track, op->name, op->phase, at, each));
        at += each;
      }
    }
    talked_until_ = at;
    now_ += all - hidden;
  }

  void describe_launch(const OperatorReport& op, Slice& slice) const {
    slice.details = {{"op", op.op},
                     {"shape", op.shape},
                     {"dtype", op.dtype},
                     {"limiter", op.limiter},
                     {"phase", op.phase},
                     {"provenance", op.provenance},
                     {"launches in the step", fmt::to_string(op.count)}};
    if (!single_) slice.details.emplace_back("summed", "all launches");
  }

  std::int64_t stages_, microbatches_;
  bool single_ = true;  ///< a slice per launch
  double now_ = 0, talked_until_ = 0;
  Timeline timeline_;
};

}  // namespace

Timeline step_timeline(const Report& report) {
  Builder builder(report);
  for (const std::string_view phase : {"forward", "backward", "accumulate", "optimizer"}) {
    std::vector<const OperatorReport*> kernels, transfers;
    for (const OperatorReport& op : report.operators) {
      if (op.phase == phase) (is_transfer(op) ? transfers : kernels).push_back(&op);
    }
    if (!kernels.empty() || !transfers.empty())
      builder.add_phase(std::string(phase), std::move(kernels), std::move(transfers));
  }
  for (const PartReport* part : waiting_parts(report)) builder.add_waiting(*part);
  return builder.finish();
}

}  // namespace rooftile::report
