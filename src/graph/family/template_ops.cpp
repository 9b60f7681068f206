// SPDX-License-Identifier: Apache-2.0
#include "graph/family/template_ops.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "core/text.h"

namespace rooftile::graph {

namespace {

constexpr std::int64_t kMaxField = Shape::kMaxElements;

/// A value out of range is the configuration's fault and not the template's.
tl::unexpected<Error> out_of_range(const JsonView& view, std::string_view key,
                                   const std::string& value) {
  return view.error(fmt::format("\"{}\" is {} here, which is not a size", key, value),
                    "the sizes of the configuration do not fit together");
}

}  // namespace

Result<std::int64_t> Fields::count_or(std::string_view key, std::int64_t fallback) const {
  const auto view = node_.find(key);
  if (!view) return fallback;
  ROOFTILE_TRY(const Value value, scope_.evaluate(*view));
  const std::int64_t* whole = value.integer();
  if (whole == nullptr || *whole < 0 || *whole > kMaxField) {
    return out_of_range(*view, key, value.printed());
  }
  return *whole;
}

Result<std::int64_t> Fields::size_or(std::string_view key, std::int64_t fallback) const {
  ROOFTILE_TRY(const std::int64_t size, count_or(key, fallback));
  if (size == 0 && has(key)) return out_of_range(*node_.find(key), key, "0");
  return size;
}

Result<std::int64_t> Fields::size(std::string_view key) const {
  ROOFTILE_CHECK(node_.at(key));
  return size_or(key, 0);
}

Result<bool> Fields::flag(std::string_view key, bool fallback) const {
  const auto view = node_.find(key);
  return view ? scope_.truth(*view) : Result<bool>(fallback);
}

Result<std::string> Fields::text(std::string_view key, std::string_view fallback) const {
  const auto view = node_.find(key);
  if (!view) return std::string(fallback);
  ROOFTILE_TRY(const Value value, scope_.evaluate(*view));
  if (const std::string* words = value.text()) return *words;
  return view->error(fmt::format("expected a string, found {}", value.printed()),
                     "a string in an expression is written between ' and '");
}

Result<Shape> Fields::shape(std::string_view key, const Shape& fallback) const {
  const auto view = node_.find(key);
  if (!view) return fallback;
  ROOFTILE_TRY(const Value value, scope_.evaluate(*view));
  std::vector<std::int64_t> sizes;
  if (const List* list = value.list()) {
    for (const Value& item : *list) {
      if (item.integer() == nullptr || *item.integer() < 1) {
        return out_of_range(*view, key, value.printed());
      }
      sizes.push_back(*item.integer());
    }
  }
  if (sizes.empty() || sizes.size() > Shape::kMaxRank || !checked_product(sizes)) {
    return out_of_range(*view, key, value.printed());
  }
  return Shape(std::span<const std::int64_t>(sizes));
}

Result<std::int64_t> Fields::named(std::string_view name) const {
  ROOFTILE_TRY(const Value value, scope_.value_of(name));
  if (value.integer() != nullptr && *value.integer() > 0) return *value.integer();
  return node_.error(fmt::format("\"{}\" is {} here, which is not a size", name, value.printed()));
}

Result<Shape> TemplateCall::shape() const {
  if (!inputs.empty() || fields.has("shape")) {
    return fields.shape("shape", inputs.empty() ? Shape{} : inputs.front());
  }
  return fields.node().error("this node has no input and no shape", "add \"shape\"");
}

namespace {

using Keys = std::string_view;

Shape with_last(const Shape& shape, std::int64_t columns) {
  std::vector<std::int64_t> sizes(shape.sizes().begin(), shape.sizes().end());
  if (sizes.empty()) return {columns};
  sizes.back() = columns;
  return Shape(std::span<const std::int64_t>(sizes));
}

template <typename Op>
Result<MadeOp> made(Op op) {
  const Shape output = op.output();
  return MadeOp{.op = std::move(op), .output = output};
}

constexpr std::array<Keys, 3> kLinearFields{"out", "bias", "rows"};
Result<MadeOp> make_linear(const TemplateCall& call) {
  ROOFTILE_TRY(const Shape input, call.shape());
  ops::Linear op{.rows = input.rows(), .in = input.columns()};
  ROOFTILE_TRY(op.out, call.fields.size("out"));
  ROOFTILE_TRY(op.bias, call.fields.flag("bias", false));
  ROOFTILE_TRY(op.rows, call.fields.size_or("rows", op.rows));
  const bool cut = op.rows != input.rows();
  return MadeOp{.op = op, .output = cut ? Shape{op.rows, op.out} : with_last(input, op.out)};
}

constexpr std::array<Keys, 4> kExpertFields{"experts", "top_k", "out", "bias"};
Result<MadeOp> make_expert_linear(const TemplateCall& call) {
  ROOFTILE_TRY(const Shape input, call.shape());
  ops::ExpertLinear op{.slots = input.rows(), .in = input.columns()};
  ROOFTILE_TRY(op.experts, call.fields.size("experts"));
  ROOFTILE_TRY(op.top_k, call.fields.count_or("top_k", 0));
  ROOFTILE_TRY(op.out, call.fields.size("out"));
  ROOFTILE_TRY(op.bias, call.fields.flag("bias", false));
  return made(op);
}

constexpr std::array<Keys, 2> kHeadFields{"heads", "out"};
/// The input is rows x (heads * in).
Result<MadeOp> make_head_linear(const TemplateCall& call) {
  ROOFTILE_TRY(const Shape input, call.shape());
  ops::HeadLinear op;
  ROOFTILE_TRY(op.heads, call.fields.size("heads"));
  ROOFTILE_TRY(op.out, call.fields.size("out"));
  if (input.columns() % op.heads != 0) {
    return call.fields.node().error(
        fmt::format("{} heads do not divide a width of {}", op.heads, input.columns()));
  }
  op.rows = input.rows();
  op.in = input.columns() / op.heads;
  ROOFTILE_CHECK(op.check());
  return MadeOp{.op = op, .output = with_last(input, op.heads * op.out)};
}

constexpr std::array<Keys, 5> kMatmulFields{"batch", "m", "n", "k", "cached"};
Result<MadeOp> make_matmul(const TemplateCall& call) {
  ops::BatchedMatmul op;
  ROOFTILE_TRY(op.batch, call.fields.size("batch"));
  ROOFTILE_TRY(op.m, call.fields.size("m"));
  ROOFTILE_TRY(op.n, call.fields.size("n"));
  ROOFTILE_TRY(op.k, call.fields.size("k"));
  ROOFTILE_TRY(op.cached, call.fields.count_or("cached", 0));
  return made(op);
}

constexpr std::array<Keys, 3> kRouteFields{"experts", "top_k", "width"};
template <ops::RoutingStep kStep>
Result<MadeOp> make_route(const TemplateCall& call) {
  ops::MoeRouting op{.step = kStep};
  ROOFTILE_TRY(const std::int64_t batch, call.fields.named("batch"));
  ROOFTILE_TRY(const std::int64_t queries, call.fields.named("queries"));
  op.tokens = batch * queries;
  ROOFTILE_TRY(op.experts, call.fields.size("experts"));
  ROOFTILE_TRY(op.top_k, call.fields.size("top_k"));
  ROOFTILE_TRY(op.width, call.fields.size("width"));
  const Shape output =
      kStep == ops::RoutingStep::Combine ? Shape{batch, queries, op.width} : op.output();
  return MadeOp{.op = op, .output = output};
}

constexpr std::array<Keys, 3> kEmbeddingFields{"entries", "width", "tokens"};
Result<MadeOp> make_embedding(const TemplateCall& call) {
  ops::Embedding op;
  ROOFTILE_TRY(op.tokens, call.fields.shape("tokens", {}));
  if (op.tokens.rank() == 0) {
    ROOFTILE_TRY(const std::int64_t batch, call.fields.named("batch"));
    ROOFTILE_TRY(const std::int64_t queries, call.fields.named("queries"));
    op.tokens = {batch, queries};
  }
  ROOFTILE_TRY(op.entries, call.fields.size("entries"));
  ROOFTILE_TRY(op.width, call.fields.size("width"));
  ROOFTILE_CHECK(op.check());
  return made(op);
}

constexpr std::array<Keys, 2> kNormFields{"kind", "shape"};
/// kind: 'layer', 'layer_no_bias' or 'rms'.
Result<MadeOp> make_norm(const TemplateCall& call) {
  ROOFTILE_TRY(const Shape shape, call.shape());
  ROOFTILE_TRY(const std::string kind, call.fields.text("kind", "rms"));
  if (kind == "rms") return made(ops::RmsNorm{.shape = shape});
  if (kind == "layer") return made(ops::LayerNorm{.shape = shape});
  if (kind == "layer_no_bias") return made(ops::LayerNorm{.shape = shape, .bias = false});
  return call.fields.node().error(fmt::format("unknown norm \"{}\"", printable(kind)),
                                  "rms, layer or layer_no_bias");
}

constexpr std::array<Keys, 5> kElementFields{"function", "with", "second", "gradient", "shape"};
/// with: 'scalar', 'tensor' or nothing; without it the number of inputs decides.
Result<MadeOp> make_elementwise(const TemplateCall& call) {
  ops::Elementwise op;
  ROOFTILE_TRY(op.shape, call.shape());
  ROOFTILE_TRY(const std::string function, call.fields.text("function", ""));
  const auto parsed = ops::parse_function(function);
  if (!parsed) return call.fields.node().error(parsed.error().message, parsed.error().hint);
  op.function = *parsed;
  ROOFTILE_TRY(const std::string with,
               call.fields.text("with", call.inputs.size() > 1 ? "tensor" : "nothing"));
  if (with != "scalar" && with != "tensor" && with != "nothing") {
    return call.fields.node().error(fmt::format("unknown operand \"{}\"", printable(with)),
                                    "scalar, tensor or nothing");
  }
  op.operands = with == "scalar"   ? ops::Operands::Scalar
                : with == "tensor" ? ops::Operands::Binary
                                   : ops::Operands::Unary;
  ROOFTILE_TRY(op.second, call.fields.count_or("second", 0));
  ROOFTILE_TRY(op.second_gradient, call.fields.flag("gradient", op.second_gradient));
  return made(op);
}

constexpr std::array<Keys, 4> kMoveFields{"kind", "shape", "result", "others"};
Result<MadeOp> make_move(const TemplateCall& call) {
  ops::Move op;
  ROOFTILE_TRY(op.input, call.shape());
  ROOFTILE_TRY(op.result, call.fields.shape("result", {}));
  ROOFTILE_TRY(op.others, call.fields.count_or("others", 0));
  ROOFTILE_TRY(const std::string kind, call.fields.text("kind", ""));
  constexpr std::array kKinds{ops::MoveKind::Contiguous, ops::MoveKind::Cat,   ops::MoveKind::Where,
                              ops::MoveKind::Cast,       ops::MoveKind::Slice, ops::MoveKind::Write,
                              ops::MoveKind::Scan,       ops::MoveKind::Reduce};
  std::array<std::string_view, kKinds.size()> names;
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    names[i] = name_of(kKinds[i]);
    if (names[i] != kind) continue;
    op.kind = kKinds[i];
    return made(op);
  }
  return call.fields.node().error(fmt::format("unknown kind of move \"{}\"", printable(kind)),
                                  did_you_mean(kind, names, "kinds:"));
}

constexpr std::array<Keys, 1> kShapeFields{"shape"};
Result<MadeOp> make_view(const TemplateCall& call) {
  ROOFTILE_TRY(const Shape shape, call.shape());
  return made(ops::View{.shape = shape});
}
Result<MadeOp> make_parameter(const TemplateCall& call) {
  ROOFTILE_TRY(const Shape shape, call.fields.shape("shape", {}));
  return made(ops::Parameter{.shape = shape});
}
Result<MadeOp> make_softmax(const TemplateCall& call) {
  ROOFTILE_TRY(const Shape shape, call.shape());
  return made(ops::Softmax{.shape = shape});
}
Result<MadeOp> make_dropout(const TemplateCall& call) {
  ROOFTILE_TRY(const Shape shape, call.shape());
  return made(ops::Dropout{.shape = shape});
}
Result<MadeOp> make_cross_entropy(const TemplateCall& call) {
  ROOFTILE_TRY(const Shape shape, call.shape());
  return made(ops::CrossEntropy{.rows = shape.rows(), .classes = shape.columns()});
}

constexpr std::array<Keys, 3> kRotaryFields{"heads", "head_dim", "shape"};
Result<MadeOp> make_rotary(const TemplateCall& call) {
  ops::Rotary op;
  ROOFTILE_TRY(op.batch, call.fields.named("batch"));
  ROOFTILE_TRY(op.tokens, call.fields.named("queries"));
  ROOFTILE_TRY(op.heads, call.fields.size("heads"));
  ROOFTILE_TRY(op.head_dim, call.fields.size("head_dim"));
  ROOFTILE_TRY(const Shape shape, call.shape());
  return MadeOp{.op = op, .output = shape};
}

constexpr std::array<Keys, 7> kConvFields{"channels", "kernel", "stride", "padding",
                                          "groups",   "bias",   "shape"};
/// Two sides from a number or a list [height, width].
Result<std::pair<std::int64_t, std::int64_t>> sides(const Fields& fields, std::string_view key,
                                                    std::int64_t fallback) {
  const auto view = fields.node().find(key);
  if (!view) return std::pair(fallback, fallback);
  ROOFTILE_TRY(const Value value, fields.scope().evaluate(*view));
  const List both = value.list() != nullptr ? *value.list() : List{value, value};
  if (both.size() != 2 || both[0].integer() == nullptr || both[1].integer() == nullptr ||
      *both[0].integer() < 0 || *both[1].integer() < 0) {
    return out_of_range(*view, key, value.printed());
  }
  return std::pair(*both[0].integer(), *both[1].integer());
}

/// The input is n x c x h x w.
Result<MadeOp> make_conv(const TemplateCall& call) {
  ROOFTILE_TRY(const Shape input, call.shape());
  if (input.rank() != 4) return call.fields.node().error("a convolution needs an image");
  ops::Conv2d op;
  op.conv = {.n = input[0], .c = input[1], .h = input[2], .w = input[3]};
  ROOFTILE_TRY(op.conv.k, call.fields.size("channels"));
  ROOFTILE_TRY(const auto kernel, sides(call.fields, "kernel", 1));
  ROOFTILE_TRY(const auto stride, sides(call.fields, "stride", 1));
  ROOFTILE_TRY(const auto padding, sides(call.fields, "padding", 0));
  std::tie(op.conv.r, op.conv.s) = kernel;
  std::tie(op.conv.stride_h, op.conv.stride_w) = stride;
  std::tie(op.conv.pad_h, op.conv.pad_w) = padding;
  ROOFTILE_TRY(op.conv.groups, call.fields.size_or("groups", 1));
  ROOFTILE_TRY(op.bias, call.fields.flag("bias", true));
  ROOFTILE_CHECK(op.check());
  return made(op);
}

constexpr std::array<Keys, 3> kShortConvFields{"kernel", "bias", "from_state"};
Result<MadeOp> make_short_conv(const TemplateCall& call) {
  ROOFTILE_TRY(const Shape input, call.shape());
  ops::ShortConv op{.channels = input.columns()};
  ROOFTILE_TRY(op.batch, call.fields.named("batch"));
  ROOFTILE_TRY(op.tokens, call.fields.named("queries"));
  ROOFTILE_TRY(op.kernel, call.fields.size("kernel"));
  ROOFTILE_TRY(op.bias, call.fields.flag("bias", false));
  ROOFTILE_TRY(op.from_state, call.fields.flag("from_state", false));
  return made(op);
}

constexpr std::array<Keys, 6> kScanFields{"rule", "heads", "head_dim", "state", "groups", "chunk"};
Result<ops::StateRule> rule_of(const TemplateCall& call) {
  ROOFTILE_TRY(const std::string text, call.fields.text("rule", "decay"));
  auto rule = ops::parse_state_rule(text);
  if (!rule) return call.fields.node().error(rule.error().message, rule.error().hint);
  return rule;
}
Result<MadeOp> make_scan(const TemplateCall& call) {
  ops::ChunkedScan op;
  ROOFTILE_TRY(op.rule, rule_of(call));
  ROOFTILE_TRY(op.batch, call.fields.named("batch"));
  ROOFTILE_TRY(op.tokens, call.fields.named("queries"));
  ROOFTILE_TRY(op.heads, call.fields.size("heads"));
  ROOFTILE_TRY(op.head_dim, call.fields.size("head_dim"));
  ROOFTILE_TRY(op.state, call.fields.size("state"));
  ROOFTILE_TRY(op.groups, call.fields.size_or("groups", op.heads));
  ROOFTILE_TRY(op.chunk, call.fields.size_or("chunk", op.chunk));
  ROOFTILE_CHECK(op.check());
  return made(op);
}
Result<MadeOp> make_state_update(const TemplateCall& call) {
  ops::StateUpdate op;
  ROOFTILE_TRY(op.rule, rule_of(call));
  ROOFTILE_TRY(op.batch, call.fields.named("batch"));
  ROOFTILE_TRY(op.heads, call.fields.size("heads"));
  ROOFTILE_TRY(op.head_dim, call.fields.size("head_dim"));
  ROOFTILE_TRY(op.state, call.fields.size("state"));
  ROOFTILE_CHECK(op.check());
  return made(op);
}

constexpr std::array kTemplateOps{
    TemplateOp{"linear", kLinearFields, make_linear},
    TemplateOp{"expert_linear", kExpertFields, make_expert_linear},
    TemplateOp{"head_linear", kHeadFields, make_head_linear},
    TemplateOp{"matmul", kMatmulFields, make_matmul},
    TemplateOp{"moe_select", kRouteFields, make_route<ops::RoutingStep::Select>},
    TemplateOp{"moe_dispatch", kRouteFields, make_route<ops::RoutingStep::Dispatch>},
    TemplateOp{"moe_combine", kRouteFields, make_route<ops::RoutingStep::Combine>},
    TemplateOp{"embedding", kEmbeddingFields, make_embedding},
    TemplateOp{"norm", kNormFields, make_norm},
    TemplateOp{"elementwise", kElementFields, make_elementwise},
    TemplateOp{"move", kMoveFields, make_move},
    TemplateOp{"view", kShapeFields, make_view},
    TemplateOp{"parameter", kShapeFields, make_parameter},
    TemplateOp{"softmax", kShapeFields, make_softmax},
    TemplateOp{"dropout", kShapeFields, make_dropout},
    TemplateOp{"cross_entropy", kShapeFields, make_cross_entropy},
    TemplateOp{"rotary", kRotaryFields, make_rotary},
    TemplateOp{"conv", kConvFields, make_conv},
    TemplateOp{"short_conv", kShortConvFields, make_short_conv},
    TemplateOp{"chunked_scan", kScanFields, make_scan},
    TemplateOp{"state_update", kScanFields, make_state_update},
};

}  // namespace

std::span<const TemplateOp> template_ops() {
  return kTemplateOps;
}

}  // namespace rooftile::graph
