// SPDX-License-Identifier: Apache-2.0
//
// One model on several GPUs that run its layers one after another (pipeline), and what the GPUs of
// a step have to tell each other. A stage is a graph of its own: the same blocks with fewer
// repetitions. Layers are dealt out evenly, the first stages taking one more where they do not
// divide; what comes before the first repeated block belongs to the first stage, what comes after
// the last one to the last. A tied weight whose owner is on another stage is there twice.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/units.h"
#include "execution/launches.h"
#include "graph/graph.h"

namespace rooftile::execution {

struct Stage {
  Graph graph;
  std::int64_t count = 1;  ///< equal stages that follow each other
  Bytes output;            ///< what each hands to the next one; zero for the last stage
};

/// Cuts `graph` into `stages` stages, equal neighbours counted, not copied. Fewer layers than
/// stages are an error.
Result<std::vector<Stage>> split_stages(const Graph& graph, std::int64_t stages);

/// A sum over the GPUs that share a layer (Node::reduced_output, reduced_gradient).
struct Reduction {
  std::string name;  ///< "block/node"
  Phase phase = Phase::Forward;
  std::int64_t count = 1;
  Bytes bytes;  ///< of one
};
std::vector<Reduction> reductions(const Graph& graph, const LaunchOptions& options);

/// The gradients of one block in the order in which the backward pass makes them.
struct GradientBucket {
  std::size_t block = 0;
  std::int64_t repeat = 1;
  Bytes bytes;  ///< of one repetition
};
std::vector<GradientBucket> gradient_buckets(const Graph& graph);

}  // namespace rooftile::execution
