// SPDX-License-Identifier: Apache-2.0
//
// The step of several GPUs (docs/theory/distributed.md) from the steps of the stages that one
// replica consists of, each estimated for one micro-batch:
//
//   tensor parallel    all-reduces between the kernels, not overlapped with anything
//   pipeline           GPipe [Hua19]: all micro-batches forward, then all backward; a stage sends
//                      while it works on the next micro-batch; each way takes
//                      sum of the stages and messages + (micro-batches - 1) x the slowest of them
//   data parallel      the gradients of a layer are summed while the layers before it run their
//                      backward pass of the last micro-batch; what is not done when the backward
//                      pass ends is exposed
//
// A GPU runs one collective at a time, alongside kernels. That costs nothing in this model; on real
// GPUs the collective takes SMs and bandwidth from the kernels. All replicas are assumed equally
// fast. The same arithmetic applied to the bounds of kernels and links gives the bound of the step;
// to the ends of the intervals, its interval.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "aggregate/communication.h"
#include "aggregate/memory.h"
#include "aggregate/step.h"
#include "execution/stages.h"

namespace rooftile::aggregate {

/// How many GPUs, and what each of them does.
struct Parallelism {
  std::int64_t data = 1;      ///< replicas
  std::int64_t tensor = 1;    ///< GPUs that share every layer
  std::int64_t pipeline = 1;  ///< stages
  std::int64_t microbatches = 1;
  std::int64_t experts = 1;  ///< of the tensor-parallel GPUs: those that have different experts

  [[nodiscard]] std::int64_t gpus() const { return data * tensor * pipeline; }
  /// One GPU, the batch in one piece.
  [[nodiscard]] bool single() const { return gpus() == 1 && microbatches == 1; }
};

/// The links of the three kinds of groups; present where the group has more than one GPU.
struct Interconnect {
  std::optional<hardware::GroupLink> data, tensor;
  std::vector<hardware::GroupLink> pipeline;       ///< from each stage but the last to the next one
  cost::LinkConstants constants = {};              ///< what collectives reach of them
  std::optional<cost::OneShotForm> one_shot = {};  ///< of stacks that bring their own all-reduce

  /// The sum inside a layer.
  [[nodiscard]] TransferTime tensor_sum(Bytes bytes, std::int64_t gpus) const;
};

/// One stage, `count` equal ones of which follow each other.
struct StageEstimate {
  StepEstimate step;  ///< one micro-batch and one update of the parameters
  std::vector<execution::Reduction> reductions;
  std::vector<execution::GradientBucket> gradients;  ///< empty for inference
  Bytes output;                                      ///< to the next stage; zero for the last one
  std::int64_t count = 1;
};

StepEstimate parallel_step(std::vector<StageEstimate> stages, const Parallelism& parallelism,
                           const Interconnect& links);

/// Memory of the fullest GPU, from that of one micro-batch on each stage: a pipeline keeps what all
/// micro-batches need for their backward passes; the caches of all of them are there in any case.
MemoryEstimate fullest(const std::vector<MemoryEstimate>& stages, const Parallelism& parallelism);

}  // namespace rooftile::aggregate
