// SPDX-License-Identifier: Apache-2.0
//
// A model as a sequence of blocks of operators. A block repeats by count, never by copying: a model
// with 96 layers costs no more to lower than one with a single layer. Every node is validated when
// it is imported (validate()), so lowering cannot fail. A graph is made for one batch size, one
// sequence length and one step (training, inference, prefill, decode): sizes are numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"
#include "core/result.h"
#include "ops/any_op.h"
#include "rooftile/provenance.h"

namespace rooftile::graph {

/// The name that stands for the output of the previous block (or of the previous repetition).
inline constexpr std::string_view kBlockInput = "input";

struct Node {
  std::string name;  ///< unique within its block
  ops::AnyOp op;
  /// Producers: names of earlier nodes of the same block, or kBlockInput, or "block.node" of an
  /// earlier block (an encoder's output). Empty for constants and model inputs.
  std::vector<std::string> inputs;
  std::int64_t count = 1;              ///< identical executions within one repetition (experts)
  std::int64_t shared_parameters = 0;  ///< of another node (tied embeddings): not counted again
  bool differentiable = true;          ///< false for masks and positions: no backward
  bool input_gradient = true;  ///< false for the first layer: nothing upstream needs a gradient
  /// Tensor parallel (execution/tensor_parallel.h): elements that the GPUs of a group add up behind
  /// this node's forward kernels (its output) and its backward kernels (the input's gradient).
  std::int64_t reduced_output = 0, reduced_gradient = 0;
  /// An eager framework waits for the result before it can launch what follows: its shape depends
  /// on values (boolean indexing).
  bool synchronizes = false;
  bool operator==(const Node&) const = default;
};

/// Largest count of a node or a block: no real model is near; 10^9 is a mistake.
inline constexpr std::int64_t kMaxRepeat = 1'000'000;

struct Block {
  std::string name;  ///< "embedding", "layer", "head", ...
  std::int64_t repeat = 1;
  std::vector<Node> nodes;
  bool operator==(const Block&) const = default;
};

/// What the step does; decides sequence lengths, dropout and whether there is a backward pass.
enum class Step : std::uint8_t { Infer, Train, Prefill, Decode };
/// infer train prefill decode
std::string_view name_of(Step step);
Result<Step> parse_step(std::string_view text);

/// The key/value cache of the attention layers, for memory accounting.
struct KvCache {
  std::int64_t layers = 0, kv_heads = 0, head_dim = 0;
  std::int64_t tokens = 0;  ///< per sequence, bounded by a sliding window
  std::int64_t batch = 0;
  std::int64_t window_layers = 0;  ///< of `layers`: those that keep `window_tokens` only
  std::int64_t window_tokens = 0;
  bool operator==(const KvCache&) const = default;
};

struct Graph {
  std::string name;
  std::string family;  ///< "gpt2", "llama", "cnn", ...
  Step step = Step::Infer;
  DType dtype = DType::Fp32;
  std::int64_t batch = 1;
  std::int64_t sequence = 0;    ///< tokens per sequence that this step processes; 0 for images
  std::int64_t context = 0;     ///< decode: tokens in the cache before the step
  std::int64_t parameters = 0;  ///< trainable parameters, tied ones once
  /// In memory besides `parameters`, but not read by this step (T5's encoder in decode).
  std::int64_t idle_parameters = 0;
  std::vector<Block> blocks;
  std::optional<KvCache> kv_cache;  ///< for decoders in prefill and decode
  std::vector<std::string> notes;   ///< what the file says and the graph does not follow
  Input input;                      ///< the record of the file it was imported from
  bool operator==(const Graph&) const = default;
};

/// Checks every operator, unique names, known inputs and the totals, and sets `parameters`. Errors
/// say `model:block/node`. The only way a graph may reach lower().
Status validate(Graph& graph);

}  // namespace rooftile::graph
