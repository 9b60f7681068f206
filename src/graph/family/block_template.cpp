// SPDX-License-Identifier: Apache-2.0
#include "graph/family/block_template.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/text.h"

namespace rooftile::graph {

namespace {

constexpr std::size_t kMaxPartDepth = 8;
constexpr std::size_t kMaxBlockNodes = 2000;
constexpr std::array<std::string_view, 12> kNodeKeys{"name",   "op",       "part",  "use",
                                                     "when",   "inputs",   "label", "each",
                                                     "shared", "constant", "idle",  "synchronizes"};

/// A refusal of transformer.h or of an operator, said of the node.
tl::unexpected<Error> at_node(Error error, const std::string& model, const std::string& block,
                              const std::string& node) {
  if (error.where.empty()) error.where = fmt::format("{}:{}/{}", model, block, node);
  return tl::unexpected(std::move(error));
}

}  // namespace

Result<std::string> BlockTemplate::interpolated(const JsonView& view) const {
  ROOFTILE_TRY(const std::string text, view.string());
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t open = text.find('{', at);
    out += text.substr(at, open - at);
    if (open == std::string::npos) break;
    const std::size_t close = text.find('}', open);
    if (close == std::string::npos) return view.error("\"{\" without \"}\"");
    auto value = evaluate(std::string_view(text).substr(open + 1, close - open - 1), scope_);
    if (!value) return view.error(value.error().message, value.error().hint);
    out += value->printed();
    at = close + 1;
  }
  return out;
}

Result<Block> BlockTemplate::build(const JsonView& view, const std::string& name,
                                   std::int64_t repeat, Aside aside) {
  block_.emplace(name, repeat);
  name_ = name;
  repeat_ = repeat;
  aside_ = aside;
  local_.clear();
  Site site;
  const std::optional<Tensor> before = entry_;
  if (aside_ == Aside::Idle && idle_entry_) entry_ = idle_entry_;
  if (entry_) site.x = std::string(kBlockInput);
  if (repeat > 1 && entry_) entry_->gradient = true;  // of all repetitions but the first
  ROOFTILE_TRY(const JsonView list, view.at("nodes"));
  ROOFTILE_CHECK(add_nodes(list, site));
  Block block = std::move(*block_).take();
  const auto made = local_.find(site.x);
  // Blocks that are not run hand their result to each other only.
  if (aside_ == Aside::Idle && made != local_.end()) idle_entry_ = made->second;
  if (aside_ != Aside::No) entry_ = before;
  if (aside_ != Aside::No || block.nodes.empty()) return block;
  if (made != local_.end()) entry_ = made->second;
  for (auto& [node, tensor] : local_) published_.emplace(name + "." + node, tensor);
  return block;
}

Status BlockTemplate::add_nodes(const JsonView& list, Site& site) {
  ROOFTILE_TRY(const auto views, list.elements());
  for (const JsonView& view : views) {
    if (block_->size() > kMaxBlockNodes) return list.error("the block has too many nodes");
    ROOFTILE_CHECK(add_node(view, site));
  }
  return {};
}

Status BlockTemplate::add_node(const JsonView& view, Site& site) {
  if (const auto condition = view.find("when")) {
    ROOFTILE_TRY(const bool applies, scope_.truth(*condition));
    if (!applies) return leave(view, site.x, site);
  }
  if (view.find("op")) return add_op(view, site);
  if (view.find("use")) return use_part(view, site);
  const auto part = view.find("part");
  if (!part) {  // no node: what the next one reads, or a name for it
    constexpr std::array<std::string_view, 3> kKeys{"label", "when", "take"};
    ROOFTILE_CHECK(view.expect_keys(kKeys));
    const auto field = view.find("take");
    if (!field) return leave(view, site.x, site);
    ROOFTILE_TRY(const std::string name, field->string());
    const std::string taken = resolved(name, site);
    ROOFTILE_CHECK(tensor(*field, taken));
    return leave(view, taken, site);
  }
  ROOFTILE_TRY(const std::string name, part->string());
  if (name == "attention") return add_attention_part(view, site);
  if (name == "activation") return add_activation_part(view, site);
  return part->error(fmt::format("unknown part \"{}\"", printable(name)),
                     "attention or activation; the parts of the file are called with \"use\"");
}

/// The node's output becomes what the next node reads, under its label too.
Status BlockTemplate::leave(const JsonView& view, const std::string& output, Site& site) const {
  site.x = output;
  const auto label = view.find("label");
  if (!label) return {};
  ROOFTILE_TRY(std::string name, label->string());
  site.labels.insert_or_assign(std::move(name), output);
  return {};
}

/// A label, "x", a node of the part, or the name as it stands.
std::string BlockTemplate::resolved(std::string_view name, const Site& site) const {
  if (const auto label = site.labels.find(name); label != site.labels.end()) return label->second;
  if (name == "x") return site.x;
  std::string own = site.prefix + std::string(name);
  return local_.contains(own) ? own : std::string(name);
}

Result<std::vector<std::string>> BlockTemplate::inputs(const JsonView& view,
                                                       const Site& site) const {
  std::vector<std::string> names;
  const auto field = view.find("inputs");
  if (!field) {
    if (!site.x.empty()) names.push_back(site.x);
    return names;
  }
  ROOFTILE_TRY(const auto elements, field->elements());
  for (const JsonView& element : elements) {
    ROOFTILE_TRY(const std::string written, element.string());
    std::string name = resolved(written, site);
    ROOFTILE_CHECK(tensor(element, name));
    names.push_back(std::move(name));
  }
  return names;
}

Result<BlockTemplate::Tensor> BlockTemplate::tensor(const JsonView& where,
                                                    const std::string& name) const {
  if (name == kBlockInput && entry_) return *entry_;
  if (const auto here = local_.find(name); here != local_.end()) return here->second;
  if (const auto there = published_.find(name); there != published_.end()) return there->second;
  std::vector<std::string_view> known;
  for (const auto& [other, made] : local_) known.push_back(other);
  return where.error(fmt::format("input \"{}\" does not exist", printable(name)),
                     did_you_mean(name, known, "an input is a label or an earlier node:"));
}

Result<std::string> BlockTemplate::full_name(const JsonView& view, const Site& site) const {
  ROOFTILE_TRY(const JsonView field, view.at("name"));
  ROOFTILE_TRY(const std::string name, interpolated(field));
  return site.prefix + name;
}

Status BlockTemplate::finish_node(const JsonView& view, Node& node) const {
  if (const auto each = view.find("each")) {
    ROOFTILE_TRY(node.count, scope_.integer(*each, 1, kMaxRepeat));
  }
  if (const auto constant = view.find("constant")) {
    ROOFTILE_TRY(const bool is_constant, scope_.truth(*constant));
    node.differentiable = !is_constant;
    node.input_gradient = !is_constant;
  }
  if (const auto waits = view.find("synchronizes")) {
    ROOFTILE_TRY(node.synchronizes, scope_.truth(*waits));
  }
  const auto shared = view.find("shared");
  if (!shared) return {};
  ROOFTILE_TRY(const Value value, scope_.evaluate(*shared));
  const std::int64_t all = ops::parameters_of(node.op);
  if (value.integer() != nullptr) {
    node.shared_parameters = std::clamp<std::int64_t>(*value.integer(), 0, all);
  } else if (value.truth()) {
    node.shared_parameters = all;
  }
  return {};
}

Status BlockTemplate::add_op(const JsonView& view, Site& site) {
  ROOFTILE_TRY(const JsonView field, view.at("op"));
  ROOFTILE_TRY(const std::string kind, field.string());
  const auto table = template_ops();
  const auto op = std::find_if(table.begin(), table.end(),
                               [&](const TemplateOp& known) { return known.name == kind; });
  if (op == table.end()) {
    std::vector<std::string_view> names;
    for (const TemplateOp& known : table) names.push_back(known.name);
    return field.error(fmt::format("unknown operator \"{}\"", printable(kind)),
                       did_you_mean(kind, names, "operators:"));
  }
  std::vector<std::string_view> keys(kNodeKeys.begin(), kNodeKeys.end());
  keys.insert(keys.end(), op->keys.begin(), op->keys.end());
  ROOFTILE_CHECK(view.expect_keys(keys));
  Node node;
  ROOFTILE_TRY(node.name, full_name(view, site));
  ROOFTILE_TRY(node.inputs, inputs(view, site));
  std::vector<Shape> shapes;
  node.input_gradient = false;
  for (const std::string& name : node.inputs) {
    ROOFTILE_TRY(const Tensor read, tensor(view, name));
    shapes.push_back(read.shape);
    node.input_gradient = node.input_gradient || read.gradient;
  }
  const Fields fields(view, scope_);
  auto result = op->make({.fields = fields, .inputs = shapes});
  if (!result) return at_node(std::move(result).error(), model_, name_, node.name);
  if (auto status = ops::check(result->op); !status) {
    return at_node(std::move(status).error(), model_, name_, node.name);
  }
  node.op = std::move(result->op);
  node.differentiable = node.input_gradient || ops::parameters_of(node.op) > 0;
  ROOFTILE_CHECK(finish_node(view, node));
  if (const auto idle = view.find("idle")) {
    ROOFTILE_TRY(const bool counted, scope_.truth(*idle));
    if (counted) {
      if (aside_ == Aside::No) idle_ += ops::parameters_of(node.op) * repeat_ * node.count;
      return {};
    }
  }
  remember_state(node.op);
  const std::string name = node.name;
  if (!local_.emplace(name, Tensor{.shape = result->output, .gradient = node.differentiable})
           .second) {
    return view.error(fmt::format("the node name \"{}\" is taken", printable(name)));
  }
  block_->add(std::move(node));
  return leave(view, name, site);
}

/// A part of the file: its nodes with the given names bound and the part's name before theirs.
Status BlockTemplate::use_part(const JsonView& view, Site& site) {
  ROOFTILE_TRY(const JsonView field, view.at("use"));
  ROOFTILE_TRY(const std::string name, field.string());
  const auto part = scope_.family().part(name);
  if (!part) {
    return field.error(fmt::format("unknown part \"{}\"", printable(name)),
                       "it has to be in \"parts\" of the family or of one that it extends");
  }
  if (++depth_ > kMaxPartDepth) return field.error("parts use each other too deeply");
  Site inner;
  if (view.find("name")) {
    ROOFTILE_TRY(inner.prefix, full_name(view, site));
  } else {
    inner.prefix = site.prefix;
  }
  ROOFTILE_TRY(const auto given, inputs(view, site));
  if (!given.empty()) inner.x = given.front();
  for (std::size_t i = 0; i < given.size(); ++i) {
    inner.labels.emplace(i == 0 ? "in" : fmt::format("in{}", i + 1), given[i]);
  }
  std::vector<std::pair<std::string, Value>> bound;
  ROOFTILE_TRY(const auto members, view.members());
  for (const auto& [key, expression] : members) {
    if (std::find(kNodeKeys.begin(), kNodeKeys.end(), key) != kNodeKeys.end()) continue;
    ROOFTILE_TRY(Value value, scope_.evaluate(expression));
    bound.emplace_back(key, std::move(value));
  }
  scope_.open();
  for (auto& [key, value] : bound) scope_.bind(key, std::move(value));
  const Status status = add_nodes(*part, inner);
  scope_.close();
  --depth_;
  ROOFTILE_CHECK(status);
  return leave(view, inner.x, site);
}

Status BlockTemplate::adopt(std::size_t first) {
  for (std::size_t i = first; i < block_->size(); ++i) {
    const Node& node = block_->node(i);
    if (auto status = ops::check(node.op); !status) {
      return at_node(std::move(status).error(), model_, name_, node.name);
    }
    local_.insert_or_assign(
        node.name, Tensor{.shape = ops::output_of(node.op), .gradient = node.differentiable});
  }
  return {};
}

Status BlockTemplate::add_activation_part(const JsonView& view, Site& site) {
  std::vector<std::string_view> keys(kNodeKeys.begin(), kNodeKeys.end());
  keys.insert(keys.end(), {"kind", "from"});
  ROOFTILE_CHECK(view.expect_keys(keys));
  const Fields fields(view, scope_);
  ROOFTILE_TRY(const std::string kind, fields.text("kind", ""));
  ROOFTILE_TRY(const std::string from, fields.text("from", "activation"));
  ROOFTILE_CHECK(check_activation(scope_.place_of(from), kind));
  ROOFTILE_TRY(const auto read, inputs(view, site));
  if (read.size() != 1) return view.error("an activation has one input");
  ROOFTILE_TRY(const Tensor input, tensor(view, read.front()));
  ROOFTILE_TRY(const std::string prefix, full_name(view, site));
  const std::size_t first = block_->size();
  const std::string output = add_activation(*block_, kind, input.shape, read.front(), prefix);
  for (std::size_t i = first; i < block_->size(); ++i) {
    ROOFTILE_CHECK(finish_node(view, block_->node(i)));
  }
  ROOFTILE_CHECK(adopt(first));
  local_[output].shape = input.shape;
  return leave(view, output, site);
}

}  // namespace rooftile::graph
