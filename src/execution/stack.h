// SPDX-License-Identifier: Apache-2.0
//
// A software stack: what turns a model's operators into launched kernels. A stack is one JSON file
// (data/stacks, docs/format/stack.md): which operators it runs as one kernel, which attention it
// calls, in which phases it replays captured launches, and which all-reduce it uses. What its host
// costs is measured, not stated: cost/stack_costs.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/catalog.h"
#include "core/result.h"
#include "execution/launches.h"
#include "graph/graph.h"
#include "graph/import_model.h"
#include "rooftile/provenance.h"

namespace rooftile::execution {

/// What a stack runs as one kernel beyond single operators.
struct Fusions {
  bool vector = false;  ///< chains of vector operators (execution/fuse.h): residual + norm, SwiGLU
  bool linear = false;  ///< products of one input that meet again: q, k, v; gate and up (merge.h)
  bool rotary = false;  ///< the rotations of queries and keys, with the write into the cache
  bool norm = false;    ///< a layer's first norm with the residual sum of the layer before
  bool operator==(const Fusions&) const = default;
};

/// How the GPUs of a tensor-parallel group add up.
enum class AllReduce : std::uint8_t {
  Library,  ///< rings and trees of the vendor's library
  OneShot,  ///< short messages: every GPU reads the others' parts directly
};

struct Stack {
  std::string id;    ///< what people type: "serving"
  std::string name;  ///< "serving engine (vLLM, SGLang, TensorRT-LLM)"
  std::vector<std::string> aliases;
  Execution execution = Execution::Eager;
  Fusions fusions;
  graph::AttentionKind attention = graph::AttentionKind::Eager;
  std::vector<std::pair<graph::Step, graph::AttentionKind>>
      attention_by_phase;             ///< where it differs
  std::vector<graph::Step> captured;  ///< phases whose launches are replayed as one graph
  AllReduce all_reduce = AllReduce::Library;
  std::vector<std::string> sources;
  Input input;  ///< the record of the file

  [[nodiscard]] bool captures(graph::Step step) const;
  [[nodiscard]] graph::AttentionKind attention_of(graph::Step step) const;
};

/// `file` is what errors call the text. Unknown keys and words are errors.
Result<Stack> parse_stack(std::string_view text, const std::string& file);

/// An id or alias of the catalogue ("serving", "vllm"), or a path (contains '/' or ends in
/// ".json").
Result<Stack> load_stack(const Catalog& catalog, std::string_view name_or_path);

/// All stacks of the catalogue, by id; the first bad file is the error.
Result<std::vector<Stack>> list_stacks(const Catalog& catalog);

/// The graph with the fusions of the stack: the same parameters, fewer kernels.
graph::Graph fused_by(const Stack& stack, const graph::Graph& graph);

}  // namespace rooftile::execution
