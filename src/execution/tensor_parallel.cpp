// SPDX-License-Identifier: Apache-2.0
#include "execution/tensor_parallel.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/integer.h"
#include "execution/expert_parallel.h"
#include "execution/partial_sums.h"

namespace rooftile::execution {

namespace {

/// How a tensor lies on the GPUs of the group.
enum class Layout : std::uint8_t {
  Whole,    ///< the same on every GPU
  Columns,  ///< each GPU has a part of the innermost size (or of the heads before it)
  Heads,    ///< each GPU has a part of the heads: batch x heads x rows x columns
};

struct Placement {
  Layout layout = Layout::Whole;
  std::set<std::size_t> splits;  ///< the nodes whose outputs were split to get here
  [[nodiscard]] bool whole() const { return layout == Layout::Whole; }
};

constexpr std::size_t kHeadsAxis = 1;      // batch x heads x queries x keys
constexpr std::size_t kHeadsLastAxis = 2;  // batch x tokens x heads x head size

/// One block, split; run() again with more nodes repeated until nothing conflicts.
class BlockSplit {
 public:
  BlockSplit(const Graph& graph, std::size_t block, std::int64_t ways, std::int64_t expert_ways,
             const std::set<std::string>& published, std::int64_t vocabulary)
      : source_(graph.blocks[block]),
        where_(fmt::format("{}:{}", graph.name, graph.blocks[block].name)),
        last_block_(block + 1 == graph.blocks.size()),
        ways_(ways),
        published_(published),
        vocabulary_(vocabulary) {
    for (std::size_t i = 0; i < source_.nodes.size(); ++i)
      index_of_.emplace(source_.nodes[i].name, i);
    for (const Node& node : source_.nodes) {
      if (const auto* attention = std::get_if<ops::FusedAttention>(&node.op))
        find_copies(node, attention->shape);
    }
    if (expert_ways == 1) return;
    for (const std::size_t i : expert_nodes(source_)) copies_.emplace(i, expert_ways);
  }

  Result<Block> run() {
    std::size_t before = 0;
    do {
      before = repeated_.size();
      attempt();
    } while (repeated_.size() != before);
    if (problem_) return tl::unexpected(*problem_);
    return block_;
  }
  [[nodiscard]] bool found_pair() const { return found_pair_; }

 private:
  void attempt() {
    block_ = source_;
    problem_.reset();
    problem_is_heads_ = false;
    found_pair_ = false;
    placements_.clear();
    reduced_inputs_.clear();
    for (index_ = 0; index_ < block_.nodes.size(); ++index_) {
      Node& node = block_.nodes[index_];
      gather(node);
      const std::int64_t parameters = ops::parameters_of(node.op);
      Placement placed = std::visit([&](auto& op) { return place(node, op); }, node.op);
      // A tied weight is split as its owner is.
      if (node.shared_parameters > 0 && parameters > 0) {
        const std::int64_t now = ops::parameters_of(node.op);
        node.shared_parameters =
            node.shared_parameters == parameters ? now : std::min(node.shared_parameters, now);
      }
      const bool last = index_ + 1 == block_.nodes.size();
      if (!placed.whole() &&
          ((last && !last_block_) || published_.contains(block_.name + "." + node.name))) {
        repeat(placed);
      }
      placements_.emplace(node.name, std::move(placed));
    }
  }

  /// The placements of the node's inputs, and all of them taken together.
  void gather(const Node& node) {
    inputs_.clear();
    joint_ = {};
    for (const std::string& name : node.inputs) {
      const auto it = placements_.find(name);
      inputs_.push_back(it == placements_.end() ? Placement{} : it->second);
      if (inputs_.back().whole()) continue;
      joint_.layout = inputs_.back().layout;
      joint_.splits.insert(inputs_.back().splits.begin(), inputs_.back().splits.end());
    }
  }

  /// What was split to make these tensors is repeated on every GPU in the next attempt.
  void repeat(const Placement& placed) {
    repeated_.insert(placed.splits.begin(), placed.splits.end());
  }

  /// The node needs whole inputs.
  Placement whole() {
    repeat(joint_);
    return {};
  }

  /// Fewer key/value heads than GPUs: each head, and what makes it, is on several of them.
  void find_copies(const Node& node, const ops::AttentionShape& shape) {
    if (shape.latent || node.inputs.size() < 3) return;
    if (shape.kv_heads >= ways_ || ways_ % shape.kv_heads != 0) return;
    const std::int64_t copies = ways_ / shape.kv_heads;
    for (const std::size_t input : {std::size_t{1}, std::size_t{2}}) {
      std::optional<std::size_t> at = find(node.inputs[input]);
      while (at) {
        const Node& source = source_.nodes[*at];
        if (!copies_.emplace(*at, copies).second) break;
        if (std::holds_alternative<ops::Linear>(source.op) || source.inputs.empty()) break;
        at = find(source.inputs.front());
      }
    }
    // One product for queries, keys and values: its queries are dealt out as ever.
    std::optional<std::size_t> at = find(node.inputs.front());
    while (at && !std::holds_alternative<ops::Linear>(source_.nodes[*at].op)) {
      if (source_.nodes[*at].inputs.empty()) return;
      at = find(source_.nodes[*at].inputs.front());
    }
    if (at && copies_.erase(*at) > 0)
      copied_outputs_[*at] = shape.kv_heads * (shape.head_dim + shape.values()) * (copies - 1);
  }
  [[nodiscard]] std::optional<std::size_t> find(const std::string& name) const {
    const auto it = index_of_.find(name);
    return it == index_of_.end() ? std::nullopt : std::optional(it->second);
  }

  /// Parts that the sizes of the current node are cut into.
  [[nodiscard]] std::int64_t ways_here() const {
    const auto it = copies_.find(index_);
    return it == copies_.end() ? ways_ : ways_ / it->second;
  }

  /// `size` / ways; a remainder is an error once nothing conflicts any more.
  std::int64_t part(std::int64_t size, std::string_view what) {
    const std::int64_t ways = ways_here();
    // Heads are what a user can act on: their error wins over those that follow from it.
    const bool better = !problem_ || (what.ends_with("heads") && !problem_is_heads_);
    if (size % ways != 0 && better) {
      problem_is_heads_ = what.ends_with("heads");
      const Node& node = block_.nodes[index_];
      problem_ =
          Error{.code = ErrorCode::BadInput,
                .where = fmt::format("{}/{}", where_, node.name),
                .message = fmt::format("{} {} are not divisible by --tp {}", size, what, ways_),
                .hint = fmt::format("choose a divisor of {}", size)};
    }
    return ceil_div(size, ways);
  }

  Shape part(const Shape& shape, std::size_t axis) {
    std::vector<std::int64_t> sizes(shape.sizes().begin(), shape.sizes().end());
    if (sizes.empty()) return shape;
    const bool heads = sizes.size() == 4 && axis + 1 < sizes.size();
    const std::size_t at = heads ? axis : sizes.size() - 1;
    // Logits are padded, whatever is done with them.
    sizes[at] = !heads && sizes[at] == vocabulary_ ? ceil_div(sizes[at], ways_)
                                                   : part(sizes[at], heads ? "heads" : "columns");
    return Shape(std::span<const std::int64_t>(sizes));
  }

  [[nodiscard]] std::size_t axis() const {
    return joint_.layout == Layout::Heads ? kHeadsAxis : kHeadsLastAxis;
  }

  /// Linear layers: by inputs when these are split, else by outputs.
  template <typename Op>
  Placement place_linear(Node& node, Op& op, std::int64_t rows) {
    if (!joint_.whole()) {
      op.in = part(op.in, "inputs");
      node.reduced_output = rows * op.out;
      found_pair_ = true;
      return {};
    }
    if (repeated_.contains(index_)) return {};
    // Logits are padded; everything else has to come out even.
    const auto copied = copied_outputs_.find(index_);
    if (copied != copied_outputs_.end()) op.out += copied->second;
    op.out = op.out == vocabulary_ ? ceil_div(op.out, ways_) : part(op.out, "outputs");
    const std::string input = node.inputs.empty() ? std::string{} : node.inputs.front();
    if (node.input_gradient && node.differentiable && reduced_inputs_.insert(input).second) {
      node.reduced_gradient = rows * op.in;
    }
    return {.layout = Layout::Columns, .splits = {index_}};
  }

  Placement place(Node& node, ops::Linear& op) { return place_linear(node, op, op.rows); }
  Placement place(Node& node, ops::ExpertLinear& op) { return place_linear(node, op, op.slots); }

  /// One product per head: the heads are dealt out.
  Placement place(Node&, ops::HeadLinear& op) {
    if (joint_.whole()) return {};
    op.heads = part(op.heads, "heads");
    return {.layout = Layout::Columns, .splits = joint_.splits};
  }

  Placement place(Node&, ops::ShortConv& op) {
    if (!joint_.whole()) op.channels = part(op.channels, "channels");
    return joint_;
  }
  Placement place(Node&, ops::ChunkedScan& op) {
    if (joint_.whole()) return {};
    op.heads = part(op.heads, "state-space heads");
    op.groups = op.groups % ways_ == 0 ? op.groups / ways_ : op.groups;
    if (op.heads % op.groups != 0) op.groups = 1;  // GPUs that share a group keep a copy of it
    return {.layout = Layout::Columns, .splits = joint_.splits};
  }
  Placement place(Node&, ops::StateUpdate& op) {
    if (joint_.whole()) return {};
    op.heads = part(op.heads, "state-space heads");
    return {.layout = Layout::Columns, .splits = joint_.splits};
  }

  Placement place(Node&, ops::BatchedMatmul& op) {
    if (joint_.whole()) return {};
    if (!all_split()) return whole();
    op.batch = part(op.batch, "products of attention");
    return {.layout = Layout::Heads, .splits = joint_.splits};
  }

  Placement place(Node&, ops::FusedAttention& op) {
    if (joint_.whole()) return {};
    if (op.shape.latent && !inputs_.empty() && !inputs_.front().whole()) {
      op.shape.heads = part(op.shape.heads, "heads");  // all of them read the one latent
      return {.layout = Layout::Columns, .splits = joint_.splits};
    }
    constexpr std::size_t kQueryKeyValue = 3;  // a sink per head may follow, which costs nothing
    if (inputs_.size() > kQueryKeyValue) inputs_.resize(kQueryKeyValue);
    if (!all_split()) return whole();
    op.shape.heads = part(op.shape.heads, "heads");
    const bool copied = ways_ % op.shape.kv_heads == 0;
    op.shape.kv_heads = copied ? 1 : part(op.shape.kv_heads, "key/value heads");
    return {.layout = Layout::Columns, .splits = joint_.splits};
  }

  Placement place(Node&, ops::Rotary& op) {
    if (joint_.whole()) return {};
    op.heads = part(op.heads, "heads");
    return joint_;
  }

  Placement place(Node&, ops::Elementwise& op) {
    if (joint_.whole()) return {};
    // A smaller second operand (mask, bias) may be whole; one of the same size may not.
    const bool second_is_small = op.operands != ops::Operands::Binary || op.second > 0;
    if (!second_is_small && !all_split()) return whole();
    const std::int64_t per_sequence =
        op.shape.rank() == 4 ? op.shape[1] * op.shape[2] * op.shape[3] : 0;
    // A bias per head is split as the heads are; a mask that all heads share is not.
    if (per_sequence > 0 && op.second >= per_sequence) {
      op.second = ceil_div(op.second, ways_);
    }
    op.shape = part(op.shape, axis());
    return joint_;
  }

  Placement place(Node&, ops::Softmax& op) {
    if (joint_.whole()) return {};
    if (joint_.layout != Layout::Heads || op.shape.rank() != 4) return whole();
    op.shape = part(op.shape, kHeadsAxis);
    return joint_;
  }

  Placement place(Node& node, ops::RmsNorm& op) {
    if (joint_.whole()) return {};
    if (op.shape.rank() != 4) return whole();
    const std::int64_t groups = op.shape[axis()];
    const std::int64_t shared_by = groups < ways_ && ways_ % groups == 0 ? ways_ / groups : 1;
    if (shared_by > 1 && op.shape[3] % shared_by == 0 && copies_.count(index_) == 0) {
      // Fewer groups than GPUs: those that share one add up their sums of squares.
      const std::int64_t rows = op.shape[0] * op.shape[1] * op.shape[2] / groups;
      op.shape = Shape{op.shape[0], axis() == kHeadsAxis ? 1 : op.shape[1],
                       axis() == kHeadsAxis ? op.shape[2] : 1, op.shape[3] / shared_by};
      node.reduced_output = rows;
      return joint_;
    }
    op.shape = part(op.shape, axis());  // per head
    return joint_;
  }

  Placement place(Node&, ops::Dropout& op) {
    if (!joint_.whole()) op.shape = part(op.shape, axis());
    return joint_;
  }

  Placement place(Node&, ops::View&) { return joint_; }

  Placement place(Node&, ops::Move& op) {
    if (joint_.whole()) return {};
    const bool same_order = op.kind == ops::MoveKind::Where || op.kind == ops::MoveKind::Cast;
    // A copy turns the heads over: to the front where they were behind the tokens, else back.
    const bool to_front = op.kind == ops::MoveKind::Contiguous && op.input.rank() == 4 &&
                          joint_.layout == Layout::Columns;
    const std::size_t at = to_front ? kHeadsAxis : same_order ? axis() : kHeadsLastAxis;
    op.input = part(op.input, at);
    if (op.result.rank() != 0) op.result = part(op.result, at);
    if (to_front) return {.layout = Layout::Heads, .splits = joint_.splits};
    return {.layout = same_order ? joint_.layout : Layout::Columns, .splits = joint_.splits};
  }

  // As an overload it must be as good a match as the others, const or not.
  // NOLINTNEXTLINE(readability-make-member-function-const)
  Placement place(Node& node, ops::Embedding& op) {
    if (op.entries != vocabulary_) return {};
    op.entries = ceil_div(op.entries, ways_);
    node.reduced_output = op.output().elements();  // GPUs without the entry add zeros
    return {};
  }

  Placement place(Node& node, ops::CrossEntropy& op) {
    if (joint_.whole()) return {};
    op.classes = ceil_div(op.classes, ways_);
    node.reduced_output = 3 * op.rows;  // maximum, sum and the logit of the target
    return {};
  }

  /// Everything else works on whole tensors.
  template <typename Op>
  Placement place(Node&, Op&) {
    return whole();
  }

  [[nodiscard]] bool all_split() const {
    return std::none_of(inputs_.begin(), inputs_.end(),
                        [](const Placement& p) { return p.whole(); });
  }

  const Block& source_;
  std::string where_;
  bool last_block_;
  std::int64_t ways_;
  const std::set<std::string>& published_;
  std::int64_t vocabulary_;

  std::map<std::string, std::size_t, std::less<>> index_of_;
  std::map<std::size_t, std::int64_t> copies_;          ///< GPUs that do not share a node's width:
                                                        ///< same key/value head, other experts
  std::map<std::size_t, std::int64_t> copied_outputs_;  ///< keys and values made once more
  std::set<std::size_t> repeated_;                      ///< linear layers that every GPU runs whole
  Block block_;
  std::optional<Error> problem_;
  bool problem_is_heads_ = false;
  bool found_pair_ = false;
  std::size_t index_ = 0;
  std::map<std::string, Placement> placements_;
  std::set<std::string> reduced_inputs_;  ///< whole tensors whose gradient is already summed
  std::vector<Placement> inputs_;
  Placement joint_;
};

/// Entries of the largest embedding; positions and segments are smaller.
std::int64_t vocabulary_of(const Graph& graph) {
  std::int64_t most = 0;
  for (const Block& block : graph.blocks) {
    for (const Node& node : block.nodes) {
      if (const auto* e = std::get_if<ops::Embedding>(&node.op)) most = std::max(most, e->entries);
    }
  }
  return most;
}

/// Heads and states are dealt out; a latent that all heads share is kept by every GPU.
Status split_cache(graph::KvCache& cache, const std::string& model, std::int64_t ways) {
  for (graph::KvCache::Part& part : cache.parts) {
    if (part.shared) continue;
    if (ways % part.kv_heads == 0) {
      part.kv_heads = 1;  // several GPUs keep the same head
      continue;
    }
    if (part.kv_heads % ways != 0) {
      return bad_input(
          model,
          fmt::format("{} key/value heads are not divisible by --tp {}", part.kv_heads, ways),
          fmt::format("choose a divisor of {}", part.kv_heads));
    }
    part.kv_heads /= ways;
  }
  for (graph::KvCache::State& state : cache.states) {
    state.bytes = state.bytes / static_cast<double>(ways);
  }
  return {};
}

}  // namespace

Result<Graph> split_tensors(const Graph& whole, std::int64_t ways, std::int64_t expert_ways) {
  if (ways == 1) return whole;
  ROOFTILE_TRY(const Graph graph, split_experts(whole, expert_ways));
  std::set<std::string> published;
  for (const Block& block : graph.blocks) {
    for (const Node& node : block.nodes) published.insert(node.inputs.begin(), node.inputs.end());
  }
  const std::int64_t vocabulary = vocabulary_of(graph);
  Graph result = graph;
  bool found_pair = false;
  for (std::size_t i = 0; i < graph.blocks.size(); ++i) {
    BlockSplit split(graph, i, ways, expert_ways, published, vocabulary);
    ROOFTILE_TRY(result.blocks[i], split.run());
    defer_sums(published, result.blocks[i]);
    found_pair = found_pair || split.found_pair();
  }
  if (!found_pair) {
    return unsupported(graph.name, "has no pair of linear layers that --tp could split",
                       "use --dp or --pp");
  }
  if (result.kv_cache) ROOFTILE_CHECK(split_cache(*result.kv_cache, graph.name, ways));
  ROOFTILE_CHECK(validate(result));
  return result;
}

}  // namespace rooftile::execution
