// SPDX-License-Identifier: Apache-2.0
#include "graph/import/transformer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/json.h"
#include "core/text.h"

namespace rooftile::graph {

using ops::Function;
using ops::Operands;

namespace {

/// "file:/" -> "file": these errors are about the whole document and the request.
std::string document_of(std::string_view where) {
  if (where.ends_with(":/")) where.remove_suffix(2);
  return std::string(where);
}

}  // namespace

Result<TokenCounts> token_counts(const ImportOptions& options, std::int64_t longest,
                                 std::string_view model) {
  constexpr std::int64_t kDefaultSequence = 1024;
  constexpr std::int64_t kMaxTokens = std::int64_t{1} << 24;
  const std::string where = document_of(model);
  const std::int64_t sequence =
      options.sequence != 0
          ? options.sequence
          : (longest > 0 ? std::min(longest, kDefaultSequence) : kDefaultSequence);
  // A cache that is not asked for leaves a position for the new token.
  const std::int64_t room = longest > 1 ? std::min(sequence, longest - 1) : sequence;
  const std::int64_t context = options.context != 0 ? options.context : room;
  if (options.batch < 1 || options.batch > kMaxTokens) {
    return bad_input(where, fmt::format("a batch of {} is out of range", options.batch),
                     fmt::format("1 to {}", kMaxTokens));
  }
  if (sequence < 1 || sequence > kMaxTokens || context < 1 || context > kMaxTokens) {
    return bad_input(where,
                     fmt::format("a sequence of {} tokens is out of range",
                                 sequence < 1 || sequence > kMaxTokens ? sequence : context),
                     fmt::format("1 to {}", kMaxTokens));
  }
  TokenCounts tokens;
  tokens.batch = options.batch;
  tokens.queries = options.step == Step::Decode ? 1 : sequence;
  tokens.keys = options.step == Step::Decode ? context + 1 : sequence;
  tokens.train = options.step == Step::Train;
  tokens.cached = options.step == Step::Prefill || options.step == Step::Decode;
  if (longest > 0 && tokens.keys > longest) {
    return bad_input(where,
                     fmt::format("a sequence of {} tokens exceeds the model's {} positions",
                                 tokens.keys, longest),
                     "choose a shorter sequence or context");
  }
  return tokens;
}

Status check_step_sizes(const TokenCounts& t, const StepSizes& sizes, std::string_view model) {
  if (checked_product({t.batch, t.queries, sizes.copies, sizes.widest}) &&
      checked_product({t.batch, sizes.keys, sizes.widest}) &&
      checked_product({t.batch, sizes.heads, t.queries, sizes.keys})) {
    return {};
  }
  return bad_input(
      document_of(model),
      fmt::format("the tensors of {} sequences of {} tokens are too large", t.batch, sizes.keys),
      "a tensor may have up to 2^53 elements; choose a smaller batch or sequence");
}

std::string BlockBuilder::add(std::string name, ops::AnyOp op, std::vector<std::string> inputs) {
  block_.nodes.push_back({.name = std::move(name), .op = op, .inputs = std::move(inputs)});
  return block_.nodes.back().name;
}

std::string BlockBuilder::add_constant(std::string name, ops::AnyOp op,
                                       std::vector<std::string> inputs) {
  add(std::move(name), op, std::move(inputs));
  block_.nodes.back().differentiable = false;
  return block_.nodes.back().name;
}

ops::AnyOp unary(Function function, const Shape& shape) {
  return ops::Elementwise{.function = function, .operands = Operands::Unary, .shape = shape};
}

ops::AnyOp scalar(Function function, const Shape& shape) {
  return ops::Elementwise{.function = function, .operands = Operands::Scalar, .shape = shape};
}

ops::AnyOp binary(Function function, const Shape& shape) {
  return ops::Elementwise{.function = function, .operands = Operands::Binary, .shape = shape};
}

ops::AnyOp broadcast(Function function, const Shape& shape, std::int64_t second, bool gradient) {
  return ops::Elementwise{.function = function,
                          .operands = Operands::Binary,
                          .shape = shape,
                          .second = second,
                          .second_gradient = gradient};
}

ops::AttentionShape AttentionSpec::shape(const TokenCounts& t) const {
  return {.batch = t.batch,
          .heads = heads,
          .kv_heads = kv_heads,
          .queries = t.queries,
          .keys = t.keys,
          .head_dim = head_dim,
          .causal = causal,
          .window = window,
          .value_dim = value_dim,
          .latent = latent};
}

namespace {

/// One more column for the softmax, which is dropped behind it.
std::string add_sinks(BlockBuilder& block, const Shape& scores, const std::string& x,
                      const std::string& prefix) {
  const std::string sinks = block.add(prefix + "sinks", ops::Parameter{.shape = {scores[1]}}, {});
  const Shape wider{scores[0], scores[1], scores[2], scores[3] + 1};
  std::string y = block.add(prefix + "with_sinks",
                            ops::Move{.kind = ops::MoveKind::Cat,
                                      .input = scores,
                                      .result = wider,
                                      .others = scores[0] * scores[1] * scores[2]},
                            {x, sinks});
  return block.add(prefix + "softmax", ops::Softmax{.shape = wider}, {y});
}

std::string add_eager_attention(BlockBuilder& block, const TokenCounts& t,
                                const AttentionSpec& spec, const AttentionInputs& in,
                                const std::string& prefix) {
  const std::int64_t products = t.batch * spec.heads;
  const std::int64_t share = spec.heads / spec.kv_heads;
  // The cache is laid out by heads already; keys and values of this pass are permuted views.
  const bool from_cache = t.cached && t.keys > t.queries;
  const std::int64_t values = spec.shape(t).values();
  const std::int64_t cached = from_cache ? t.batch * spec.kv_heads * (t.keys - t.queries) : 0;
  const Shape scores{t.batch, spec.heads, t.queries, t.keys};
  std::string x = block.add(prefix + "scores",
                            ops::BatchedMatmul{.batch = products,
                                               .m = t.queries,
                                               .n = t.keys,
                                               .k = spec.head_dim,
                                               .share = share,
                                               .left_permuted = spec.contiguous,
                                               .right_permuted = !from_cache,
                                               .cached = cached * spec.head_dim},
                            {in.query, in.key});
  switch (spec.scale) {
    case ScoreScale::None: break;
    case ScoreScale::ByScalar:
      x = block.add(prefix + "scale", scalar(Function::Div, scores), {x});
      break;
    case ScoreScale::Multiplied:
      x = block.add(prefix + "scale", scalar(Function::Mul, scores), {x});
      break;
    case ScoreScale::ByTensor:
      x = block.add(prefix + "scale", broadcast(Function::Div, scores, 1, false), {x});
      break;
  }
  switch (spec.mask) {
    case ScoreMask::None: break;
    case ScoreMask::Where:
      x = block.add(prefix + "mask",
                    ops::Move{.kind = ops::MoveKind::Where,
                              .input = scores,
                              .result = {},
                              .others = t.queries * t.keys},
                    {x});
      break;
    case ScoreMask::Add:
      x = block.add(prefix + "mask",
                    broadcast(Function::Add, scores, spec.mask_elements, spec.mask_gradient), {x});
      break;
  }
  if (spec.floor)
    x = block.add(prefix + "floor", broadcast(Function::Maximum, scores, 1, false), {x});
  x = spec.sinks ? add_sinks(block, scores, x, prefix)
                 : block.add(prefix + "softmax", ops::Softmax{.shape = scores}, {x});
  x = add_dropout(block, t, spec.dropout, scores, x, prefix + "probs_dropout");
  x = block.add(prefix + "context",
                ops::BatchedMatmul{.batch = products,
                                   .m = t.queries,
                                   .n = values,
                                   .k = t.keys,
                                   .share = share,
                                   .right_permuted = spec.contiguous && !from_cache,
                                   .output_permuted = !spec.contiguous,
                                   .cached = cached * values},
                {x, in.value});
  const Shape heads_last{t.batch, t.queries, spec.heads, values};
  if (spec.contiguous) {
    return block.add(
        prefix + "merge",
        ops::Move{.kind = ops::MoveKind::Contiguous, .input = heads_last, .result = {}}, {x});
  }
  return block.add(prefix + "merge", ops::View{.shape = heads_last}, {x});
}

}  // namespace

std::string add_attention(BlockBuilder& block, const TokenCounts& tokens, AttentionKind kind,
                          const AttentionSpec& spec, const AttentionInputs& inputs,
                          const std::string& prefix) {
  if (tokens.cached) {  // the new keys and values are written behind the cached ones
    const ops::AttentionShape shape = spec.shape(tokens);
    // Keys and values are two tensors of one width, or one that is both.
    const bool even = !spec.latent && shape.values() == shape.head_dim;
    const std::int64_t tensors = even ? 2 : 1;
    const std::int64_t width = even ? shape.head_dim : shape.cached_width();
    block.add_constant(
        prefix + "cache_write",
        ops::Move{.kind = ops::MoveKind::Write,
                  .input = {tensors * tokens.batch, tokens.queries, spec.kv_heads * width},
                  .result = {},
                  .to_cache = true},
        {inputs.key, inputs.value});
  }
  if (kind == AttentionKind::Eager) {
    return add_eager_attention(block, tokens, spec, inputs, prefix);
  }
  std::vector<std::string> read{inputs.query, inputs.key, inputs.value};
  if (spec.sinks) {
    read.push_back(block.add(prefix + "sinks", ops::Parameter{.shape = {spec.heads}}, {}));
  }
  return block.add(prefix + "attention", ops::FusedAttention{.shape = spec.shape(tokens)},
                   std::move(read));
}

namespace {

constexpr std::array<std::string_view, 13> kActivations{"gelu",
                                                        "gelu_new",
                                                        "gelu_pytorch_tanh",
                                                        "gelu_fast",
                                                        "quick_gelu",
                                                        "relu",
                                                        "silu",
                                                        "swish",
                                                        "tanh",
                                                        "sigmoid",
                                                        "relu2",
                                                        "gelu_python",
                                                        "gelu_python_tanh"};

/// 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) written out, one kernel per operation.
std::string add_gelu_new(BlockBuilder& block, const Shape& shape, const std::string& x,
                         const std::string& prefix) {
  const std::string half = block.add(prefix + "half", scalar(Function::Mul, shape), {x});
  std::string t = block.add(prefix + "cube", scalar(Function::Pow, shape), {x});
  t = block.add(prefix + "coefficient", scalar(Function::Mul, shape), {t});
  t = block.add(prefix + "sum", binary(Function::Add, shape), {x, t});
  t = block.add(prefix + "sqrt_2_pi", scalar(Function::Mul, shape), {t});
  t = block.add(prefix + "tanh", unary(Function::Tanh, shape), {t});
  t = block.add(prefix + "one_plus", scalar(Function::Add, shape), {t});
  return block.add(prefix + "product", binary(Function::Mul, shape), {half, t});
}

}  // namespace

Status check_activation(const JsonView& at, std::string_view name) {
  if (std::find(kActivations.begin(), kActivations.end(), name) != kActivations.end()) return {};
  return at.unsupported(fmt::format("unknown activation \"{}\"", printable(name)),
                        did_you_mean(name, kActivations, "activations:"));
}

std::string add_activation(BlockBuilder& block, std::string_view name, const Shape& shape,
                           const std::string& input, const std::string& prefix) {
  if (name == "gelu_new" || name == "gelu_fast") return add_gelu_new(block, shape, input, prefix);
  if (name == "relu2") {
    const std::string t = block.add(prefix + "relu", unary(Function::Relu, shape), {input});
    return block.add(prefix + "square", scalar(Function::Pow, shape), {t});
  }
  if (name == "quick_gelu") {  // x sigmoid(1.702 x)
    std::string t = block.add(prefix + "scale", scalar(Function::Mul, shape), {input});
    t = block.add(prefix + "sigmoid", unary(Function::Sigmoid, shape), {t});
    return block.add(prefix + "product", binary(Function::Mul, shape), {input, t});
  }
  Function function = Function::Gelu;  // gelu and gelu_pytorch_tanh are one kernel
  if (name == "relu") function = Function::Relu;
  if (name == "silu" || name == "swish") function = Function::Silu;
  if (name == "tanh") function = Function::Tanh;
  if (name == "sigmoid") function = Function::Sigmoid;
  return block.add(prefix + std::string(ops::name_of(function)), unary(function, shape), {input});
}

std::string add_dropout(BlockBuilder& block, const TokenCounts& tokens, bool active,
                        const Shape& shape, const std::string& input, std::string name) {
  if (!tokens.train || !active) return input;
  return block.add(std::move(name), ops::Dropout{.shape = shape}, {input});
}

}  // namespace rooftile::graph
