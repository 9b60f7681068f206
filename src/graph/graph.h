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
  std::optional<ops::WeightFormat> weights = {};  ///< of a product's weights, where quantized
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

/// What the sequences keep between steps, for memory accounting.
struct KvCache {
  /// Keys and values of the layers of one block.
  struct Part {
    std::string block;  ///< whose repetitions are the layers
    std::int64_t layers = 0;
    std::int64_t kv_heads = 0;
    std::int64_t width = 0;   ///< elements per token and head: a key and a value, or their latent
    std::int64_t tokens = 0;  ///< per sequence, bounded by a sliding window
    bool shared = false;      ///< one latent for all heads: every tensor-parallel GPU keeps it
    bool operator==(const Part&) const = default;
  };
  std::int64_t batch = 0;
  std::vector<Part> parts;
  /// States of recurrent layers, per sequence and layer: they do not grow with the tokens.
  struct State {
    std::string block;
    std::int64_t layers = 0;
    Bytes bytes;  ///< per sequence and layer
    bool operator==(const State&) const = default;
  };
  std::vector<State> states;
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
  std::optional<DType> kv_dtype;    ///< of the cache; nothing: as activations are stored
  std::vector<std::string> notes;   ///< what the file says and the graph does not follow
  std::vector<Input> inputs;        ///< the files it was imported from
  bool operator==(const Graph&) const = default;
};

/// The number formats in which a node runs: those of the graph's dtype, of its cache, and of the
/// node's own weights. Training keeps its weights in the dtype.
ops::Precision precision_of(const Graph& graph);
ops::Precision precision_of(const Graph& graph, const Node& node);
/// Memory of the node's own parameters, once; in training all are stored as activations are.
Bytes parameter_bytes(const Graph& graph, const Node& node);
/// Memory of the cache and of all states.
Bytes cache_bytes(const Graph& graph);

/// Checks every operator, unique names, known inputs and the totals, and sets `parameters`. Errors
/// say `model:block/node`. The only way a graph may reach lower().
Status validate(Graph& graph);

}  // namespace rooftile::graph
