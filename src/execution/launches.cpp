// SPDX-License-Identifier: Apache-2.0
#include "execution/launches.h"

#include <array>
#include <ranges>
#include <utility>

#include "execution/eager.h"

namespace rooftile::execution {

std::string_view name_of(Phase phase) {
  switch (phase) {
    case Phase::Forward: return "forward";
    case Phase::Backward: return "backward";
    case Phase::Accumulate: return "accumulate";
    case Phase::Optimizer: return "optimizer";
  }
  return "?";
}

namespace {

class Lowering {
 public:
  Lowering(const Graph& graph, const LaunchOptions& options)
      : graph_(graph), options_(options), precision_(graph::precision_of(graph)) {}

  void forward() {
    for (const Block& block : graph_.blocks) {
      forward(block, Phase::Forward);
    }
  }

  void backward(bool accumulate, bool recompute) {
    for (const Block& block : graph_.blocks | std::views::reverse) {
      if (recompute) forward(block, Phase::Backward);
      for (const Node& node : block.nodes | std::views::reverse) {
        if (!node.differentiable) continue;
        ops::backward(node.op, context(node), scratch_);
        take(block, node, Phase::Backward);
        if (!accumulate) continue;
        ops::accumulate(node.op, context(node), scratch_);
        take(block, node, Phase::Accumulate);
      }
    }
  }

  void update(ops::Optimizer optimizer) {
    if (graph_.parameters == 0) return;
    const ops::OptimizerUpdate op{.optimizer = optimizer, .elements = graph_.parameters};
    op.forward({.precision = precision_, .input_gradient = true}, scratch_);
    for (ops::KernelWork& work : scratch_) {
      kernels_.push_back({.name = "optimizer", .phase = Phase::Optimizer, .work = std::move(work)});
    }
    scratch_.clear();
  }

  std::vector<Launch> finish() && {
    std::array<Bytes, 4> cold{};  // indexed by Phase
    const auto of_phase = [&cold](const Launch& kernel) -> Bytes& {
      return cold[static_cast<std::size_t>(kernel.phase)];
    };
    for (const Launch& kernel : kernels_) {
      of_phase(kernel) += kernel.work.cold * static_cast<double>(kernel.count);
    }
    for (Launch& kernel : kernels_) kernel.work.cold_pass = of_phase(kernel);
    return std::move(kernels_);
  }

 private:
  void forward(const Block& block, Phase phase) {
    for (const Node& node : block.nodes) {
      ops::forward(node.op, context(node), scratch_);
      take(block, node, phase);
    }
  }

  [[nodiscard]] ops::LowerContext context(const Node& node) const {
    return {.precision = node.weights ? graph::precision_of(graph_, node) : precision_,
            .input_gradient = node.input_gradient};
  }

  void take(const Block& block, const Node& node, Phase phase) {
    if (options_.execution != Execution::Textbook) {
      scratch_ = executed(node.op, phase, options_, context(node), std::move(scratch_));
    }
    for (ops::KernelWork& work : scratch_) {
      // A compiled or captured step knows its shapes: only eager kernels are waited for.
      const bool waits = node.synchronizes && phase == Phase::Forward &&
                         options_.execution == Execution::Eager && &work == &scratch_.back();
      kernels_.push_back({.name = block.name + "/" + node.name,
                          .phase = phase,
                          .block = static_cast<std::size_t>(&block - graph_.blocks.data()),
                          .count = block.repeat * node.count,
                          .repeat = block.repeat,
                          .waits = waits,
                          .work = std::move(work)});
    }
    scratch_.clear();
  }

  const Graph& graph_;
  const LaunchOptions& options_;
  ops::Precision precision_;
  ops::KernelList scratch_;
  std::vector<Launch> kernels_;
};

}  // namespace

std::vector<Launch> launches(const Graph& graph, const LaunchOptions& options) {
  Lowering lowering(graph, options);
  lowering.forward();
  if (options.mode == Mode::Train) {
    lowering.backward(options.accumulate, options.recompute);
    if (options.optimizer) lowering.update(*options.optimizer);
  }
  return std::move(lowering).finish();
}

LaunchOptions default_launch_options(const Graph& graph) {
  LaunchOptions options;
  options.mode = graph.step == graph::Step::Train ? Mode::Train : Mode::Infer;
  return options;
}

}  // namespace rooftile::execution
