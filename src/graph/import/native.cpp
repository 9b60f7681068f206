// SPDX-License-Identifier: Apache-2.0
//
// Native graph JSON, the format for every model that has no importer of its own; it is specified in
// docs/format/graph.md. Shapes are inferred node by node, so nodes state layer parameters only.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/text.h"
#include "graph/import/importer.h"
#include "graph/import/native_fields.h"
#include "graph/import/native_ops.h"
#include "graph/import/transformer.h"

namespace rooftile::graph {

namespace {

constexpr std::int64_t kVersion = 1;
constexpr std::size_t kMaxInputs = 16;
constexpr std::size_t kMaxBlocks = 1000;
constexpr std::size_t kMaxNodes = 10'000;
constexpr std::string_view kInputsBlock = "inputs";

/// A tensor while the graph is being built.
struct Tensor {
  Shape shape;
  bool gradient = false;  ///< a parameter is upstream
};
using Tensors = std::map<std::string, Tensor, std::less<>>;

class NativeImporter {
 public:
  NativeImporter(const JsonView& document, const ImportOptions& options)
      : document_(document), options_(options) {}

  Result<Graph> run() {
    ROOFTILE_CHECK(read_header());
    ROOFTILE_CHECK(read_symbols());
    ROOFTILE_CHECK(read_inputs());
    ROOFTILE_TRY(const JsonView list, document_.at("blocks"));
    ROOFTILE_TRY(const auto blocks, list.elements());
    if (blocks.empty() || blocks.size() > kMaxBlocks) {
      return list.error(fmt::format("{} blocks", blocks.size()),
                        fmt::format("a graph has 1 to {} blocks", kMaxBlocks));
    }
    for (const JsonView& block : blocks) ROOFTILE_CHECK(read_block(block));
    return std::move(graph_);
  }

 private:
  Status read_header();
  Status read_symbols();
  Status read_inputs();
  Status read_block(const JsonView& view);
  Status read_nodes(const JsonView& view, Block& block);
  Status add_node(const JsonView& view, Block& block, Tensors& local);
  Result<std::string> new_name(const JsonView& view, const Tensors& local) const;
  Result<std::vector<std::string>> input_names(const JsonView& view, const Block& block) const;
  Result<Tensor> find_tensor(const JsonView& where, const std::string& name,
                             const Tensors& local) const;
  Status check_repetition(const JsonView& view, const Block& block, const Tensor& output) const;

  const JsonView& document_;
  const ImportOptions& options_;
  Graph graph_;
  Symbols symbols_;
  Tensors published_;               ///< "block.node" of the blocks that are complete
  std::optional<Tensor> entry_;     ///< what "input" means in the current block
  std::vector<std::string> later_;  ///< names of the current block's nodes, for messages
  std::size_t nodes_ = 0;
};

Status NativeImporter::read_header() {
  constexpr std::array<std::string_view, 7> kKeys{"rooftile_graph", "rooftile", "family", "symbols",
                                                  "max_sequence",   "inputs",   "blocks"};
  ROOFTILE_TRY(const JsonView version_field, document_.at("rooftile_graph"));
  ROOFTILE_TRY(const std::int64_t version, version_field.integer(0, kMaxNativeSize));
  if (version != kVersion) {
    return version_field.unsupported(
        fmt::format("version {} of the graph format is not supported", version),
        fmt::format("this program reads version {}", kVersion));
  }
  ROOFTILE_CHECK(document_.expect_keys(kKeys));
  graph_.family = "native";
  if (const auto family = document_.find("family")) {
    ROOFTILE_TRY(graph_.family, native_name(*family));
  }
  if (options_.step == Step::Prefill || options_.step == Step::Decode) {
    return document_.unsupported(
        fmt::format("a native graph has no key/value cache for the phase \"{}\"",
                    name_of(options_.step)),
        "choose the phase infer or train");
  }
  return {};
}

Status NativeImporter::read_symbols() {
  std::int64_t longest = 0;
  const auto max_sequence = document_.find("max_sequence");
  if (max_sequence) {
    ROOFTILE_TRY(longest, max_sequence->integer(1, kMaxNativeSize));
  }
  ImportOptions options = options_;
  if (!max_sequence) options.sequence = 1;  // images: no sequence, whatever was asked for
  ROOFTILE_TRY(const TokenCounts tokens, token_counts(options, longest, document_.where()));
  symbols_["batch"] = tokens.batch;
  if (max_sequence) symbols_["seq"] = tokens.queries;
  graph_.sequence = max_sequence ? tokens.queries : 0;
  const auto own = document_.find("symbols");
  if (!own) return {};
  ROOFTILE_TRY(const auto members, own->members());
  for (const auto& [name, value] : members) {
    if (!is_native_name(name) || parse_int(name)) {
      return value.error(fmt::format("\"{}\" is not a valid name of a symbol", printable(name)),
                         std::string(kNativeNameHint));
    }
    ROOFTILE_TRY(const std::int64_t size, native_size(value, symbols_, {}));
    if (!symbols_.emplace(name, size).second) {
      return value.error(fmt::format("the symbol \"{}\" is taken", printable(name)),
                         "\"batch\" and \"seq\" are set by the request");
    }
  }
  return {};
}

Status NativeImporter::read_inputs() {
  ROOFTILE_TRY(const JsonView field, document_.at("inputs"));
  ROOFTILE_TRY(const auto members, field.members());
  if (members.empty() || members.size() > kMaxInputs) {
    return field.error(fmt::format("{} inputs", members.size()),
                       fmt::format("a graph has 1 to {} inputs", kMaxInputs));
  }
  // The inputs are views of nothing: they cost no kernel, but their bytes are known.
  Block block;
  block.name = kInputsBlock;
  for (const auto& [name, value] : members) {
    ROOFTILE_TRY(const Shape shape, native_shape(value, symbols_));
    block.nodes.push_back({.name = name, .op = ops::View{.shape = shape}, .inputs = {}});
    block.nodes.back().differentiable = false;
    if (!is_native_name(name) || name == kBlockInput) {
      return value.error(fmt::format("\"{}\" is not a valid name of an input", printable(name)),
                         std::string(kNativeNameHint));
    }
    published_.emplace(fmt::format("{}.{}", kInputsBlock, name), Tensor{.shape = shape});
    entry_ = Tensor{.shape = shape};
  }
  if (members.size() > 1) entry_.reset();
  graph_.blocks.push_back(std::move(block));
  return {};
}

Status NativeImporter::read_block(const JsonView& view) {
  constexpr std::array<std::string_view, 3> kKeys{"name", "repeat", "nodes"};
  ROOFTILE_CHECK(view.expect_keys(kKeys));
  Block block;
  ROOFTILE_TRY(const JsonView name, view.at("name"));
  ROOFTILE_TRY(block.name, native_name(name));
  if (block.name.find('.') != std::string::npos) {
    return name.error(fmt::format("\"{}\" is not a valid name of a block", block.name),
                      "a '.' separates block and node in the inputs of later blocks");
  }
  const auto same = [&](const Block& other) { return other.name == block.name; };
  if (std::any_of(graph_.blocks.begin(), graph_.blocks.end(), same)) {
    return name.error(fmt::format("the block name \"{}\" is taken", block.name),
                      block.name == kInputsBlock ? "\"inputs\" are the inputs of the model" : "");
  }
  if (const auto repeat = view.find("repeat")) {
    ROOFTILE_TRY(block.repeat, native_size(*repeat, symbols_, {.low = 1, .high = kMaxRepeat}));
  }
  ROOFTILE_CHECK(read_nodes(view, block));
  graph_.blocks.push_back(std::move(block));
  return {};
}

Status NativeImporter::read_nodes(const JsonView& view, Block& block) {
  ROOFTILE_TRY(const JsonView list, view.at("nodes"));
  ROOFTILE_TRY(const auto nodes, list.elements());
  nodes_ += nodes.size();
  if (nodes.empty()) return list.error("the block has no nodes", "add a node or drop the block");
  if (nodes_ > kMaxNodes) {
    return list.error(fmt::format("more than {} nodes", kMaxNodes),
                      "use \"repeat\" for layers that are alike");
  }
  later_.clear();
  for (const JsonView& node : nodes) {
    const auto name = node.find("name");
    if (!name || !name->is_string()) continue;
    ROOFTILE_TRY(std::string text, name->string());
    later_.push_back(std::move(text));
  }
  // Only a first repetition has nothing that needs a gradient upstream; the others do.
  if (block.repeat > 1 && entry_) entry_->gradient = true;
  Tensors local;
  for (const JsonView& node : nodes) ROOFTILE_CHECK(add_node(node, block, local));
  const Tensor output = local.at(block.nodes.back().name);
  ROOFTILE_CHECK(check_repetition(view, block, output));
  for (auto& [name, tensor] : local) published_.emplace(block.name + "." + name, tensor);
  entry_ = output;
  return {};
}

/// A repetition gets the output of the one before, so both must have one shape.
Status NativeImporter::check_repetition(const JsonView& view, const Block& block,
                                        const Tensor& output) const {
  if (block.repeat == 1) return {};
  const auto reads_input = [](const Node& node) {
    return std::find(node.inputs.begin(), node.inputs.end(), kBlockInput) != node.inputs.end();
  };
  if (std::none_of(block.nodes.begin(), block.nodes.end(), reads_input) || !entry_ ||
      entry_->shape == output.shape) {
    return {};
  }
  ROOFTILE_TRY(const JsonView repeat, view.at("repeat"));
  return repeat.error(fmt::format("block \"{}\" cannot repeat: it makes {} from {}", block.name,
                                  to_string(output.shape), to_string(entry_->shape)),
                      "put the layer that changes the shape into a block of its own");
}

Result<const NativeOp*> find_op(const JsonView& view) {
  ROOFTILE_TRY(const JsonView field, view.at("op"));
  ROOFTILE_TRY(const std::string name, field.string());
  std::vector<std::string_view> names;
  for (const NativeOp& op : native_ops()) {
    if (op.name == name) return &op;
    names.push_back(op.name);
  }
  return field.unsupported(fmt::format("unknown operator \"{}\"", printable(name)),
                           did_you_mean(name, names, "known operators are"));
}

Status check_keys(const JsonView& view, const NativeOp& op) {
  std::vector<std::string_view> keys{"name", "op", "inputs", "shared_weights", "synchronizes"};
  keys.insert(keys.end(), op.keys.begin(), op.keys.end());
  return view.expect_keys(keys);
}

Result<std::string> NativeImporter::new_name(const JsonView& view, const Tensors& local) const {
  ROOFTILE_TRY(const JsonView field, view.at("name"));
  ROOFTILE_TRY(std::string name, native_name(field));
  if (name == kBlockInput) {
    return field.error("a node cannot be called \"input\"",
                       "\"input\" is the output of the previous block");
  }
  if (local.contains(name) || published_.contains(name)) {
    return field.error(fmt::format("the node name \"{}\" is taken", name),
                       "names are unique within a block");
  }
  return name;
}

/// The stated inputs; without any, the node before or the block's input.
Result<std::vector<std::string>> NativeImporter::input_names(const JsonView& view,
                                                             const Block& block) const {
  std::vector<std::string> names;
  const auto field = view.find("inputs");
  if (!field) {
    names.push_back(block.nodes.empty() ? std::string(kBlockInput) : block.nodes.back().name);
    return names;
  }
  ROOFTILE_TRY(const auto elements, field->elements());
  for (const JsonView& element : elements) {
    ROOFTILE_TRY(std::string name, element.string());
    names.push_back(std::move(name));
  }
  return names;
}

Result<Tensor> NativeImporter::find_tensor(const JsonView& where, const std::string& name,
                                           const Tensors& local) const {
  if (name == kBlockInput) {
    if (entry_) return *entry_;
    return where.error("the model has several inputs, \"input\" could be any of them",
                       "name one, as in \"inputs.image\"");
  }
  if (const auto here = local.find(name); here != local.end()) return here->second;
  if (const auto there = published_.find(name); there != published_.end()) return there->second;
  if (std::find(later_.begin(), later_.end(), name) != later_.end()) {
    return where.error(fmt::format("input \"{}\" is read before it is made", printable(name)),
                       "a node reads earlier nodes only: a graph has no cycles");
  }
  std::vector<std::string_view> names{kBlockInput};
  for (const auto& [known, tensor] : local) names.push_back(known);
  for (const auto& [known, tensor] : published_) names.push_back(known);
  const auto near = nearest(name, names);
  return where.error(fmt::format("input \"{}\" does not exist", printable(name)),
                     near
                         ? fmt::format("did you mean \"{}\"?", *near)
                         : "an input is an earlier node of the block, \"input\" or \"block.node\"");
}

Status NativeImporter::add_node(const JsonView& view, Block& block, Tensors& local) {
  ROOFTILE_TRY(const NativeOp* op, find_op(view));
  ROOFTILE_CHECK(check_keys(view, *op));
  Node node;
  ROOFTILE_TRY(node.name, new_name(view, local));
  ROOFTILE_TRY(node.inputs, input_names(view, block));
  const JsonView inputs_at = view.find("inputs").value_or(view);
  if (node.inputs.size() < op->min_inputs || node.inputs.size() > op->max_inputs) {
    return inputs_at.error(fmt::format("\"{}\" has {} inputs", op->name, node.inputs.size()),
                           op->min_inputs == op->max_inputs
                               ? fmt::format("it takes {}", op->min_inputs)
                               : fmt::format("it takes {} to {}", op->min_inputs, op->max_inputs));
  }
  std::vector<Shape> shapes;
  node.input_gradient = false;
  for (const std::string& name : node.inputs) {
    ROOFTILE_TRY(const Tensor tensor, find_tensor(inputs_at, name, local));
    shapes.push_back(tensor.shape);
    node.input_gradient = node.input_gradient || tensor.gradient;
  }
  const NativeFields fields(view, symbols_);
  const bool train = options_.step == Step::Train;
  ROOFTILE_TRY(InferredOp inferred, op->infer({.op = *op,
                                               .fields = fields,
                                               .inputs = shapes,
                                               .train = train,
                                               .loss = train && options_.loss}));
  if (auto status = ops::check(inferred.op); !status) {
    return view.error(status.error().message, status.error().hint);
  }
  ROOFTILE_TRY(const bool shared, fields.flag("shared_weights", false));
  ROOFTILE_TRY(node.synchronizes, fields.flag("synchronizes", false));
  const Shape output = inferred.output.value_or(ops::output_of(inferred.op));
  if (!checked_product(output.sizes())) {
    return view.error(fmt::format("a tensor of {} is too large", to_string(output)),
                      "a tensor may have up to 2^53 elements");
  }
  node.op = inferred.op;
  if (shared) node.shared_parameters = ops::parameters_of(node.op);
  node.differentiable = node.input_gradient || ops::parameters_of(node.op) > 0;
  local.emplace(node.name, Tensor{.shape = output, .gradient = node.differentiable});
  block.nodes.push_back(std::move(node));
  return {};
}

}  // namespace

bool is_native_graph(const JsonView& document) {
  return document.find("rooftile_graph").has_value();
}

Result<Graph> import_native_graph(const ModelSource& source, const ImportOptions& options) {
  return NativeImporter(source.document, options).run();
}

}  // namespace rooftile::graph
