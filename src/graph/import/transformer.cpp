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

namespace {

std::string add_eager_attention(BlockBuilder& block, const TokenCounts& t,
                                const AttentionSpec& spec, const AttentionInputs& in,
                                const std::string& prefix) {
  const std::int64_t products = t.batch * spec.heads;
  const std::int64_t share = spec.heads / spec.kv_heads;
  // The cache is laid out by heads already; keys and values of this pass are permuted views.
  const bool from_cache = t.cached && t.keys > t.queries;
  const std::int64_t cached =
      from_cache ? t.batch * spec.kv_heads * spec.head_dim * (t.keys - t.queries) : 0;
  const Shape scores{t.batch, spec.heads, t.queries, t.keys};
  std::string x = block.add(prefix + "scores",
                            ops::BatchedMatmul{.batch = products,
                                               .m = t.queries,
                                               .n = t.keys,
                                               .k = spec.head_dim,
                                               .share = share,
                                               .left_permuted = spec.contiguous,
                                               .right_permuted = !from_cache,
                                               .cached = cached},
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
  x = block.add(prefix + "softmax", ops::Softmax{.shape = scores}, {x});
  x = add_dropout(block, t, spec.dropout, scores, x, prefix + "probs_dropout");
  x = block.add(prefix + "context",
                ops::BatchedMatmul{.batch = products,
                                   .m = t.queries,
                                   .n = spec.head_dim,
                                   .k = t.keys,
                                   .share = share,
                                   .right_permuted = spec.contiguous && !from_cache,
                                   .output_permuted = !spec.contiguous,
                                   .cached = cached},
                {x, in.value});
  const Shape heads_last{t.batch, t.queries, spec.heads, spec.head_dim};
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
    block.add_constant(
        prefix + "cache_write",
        ops::Move{.kind = ops::MoveKind::Write,
                  .input = {2 * tokens.batch, tokens.queries, spec.kv_heads * spec.head_dim},
                  .result = {}},
        {inputs.key, inputs.value});
  }
  if (kind == AttentionKind::Eager) {
    return add_eager_attention(block, tokens, spec, inputs, prefix);
  }
  return block.add(prefix + "attention",
                   ops::FusedAttention{.shape = {.batch = tokens.batch,
                                                 .heads = spec.heads,
                                                 .kv_heads = spec.kv_heads,
                                                 .queries = tokens.queries,
                                                 .keys = tokens.keys,
                                                 .head_dim = spec.head_dim,
                                                 .causal = spec.causal,
                                                 .window = spec.window}},
                   {inputs.query, inputs.key, inputs.value});
}

namespace {

constexpr std::array<std::string_view, 10> kActivations{
    "gelu", "gelu_new", "gelu_pytorch_tanh", "gelu_fast", "quick_gelu", "relu", "silu", "swish",
    "tanh", "sigmoid"};

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

Status check_activation(const JsonView& root, std::string_view key, std::string_view name) {
  if (std::find(kActivations.begin(), kActivations.end(), name) != kActivations.end()) return {};
  const auto field = root.find(key);
  const std::string message = fmt::format("unknown activation \"{}\"", printable(name));
  const std::string hint = did_you_mean(name, kActivations, "activations:");
  return field ? field->unsupported(message, hint) : root.unsupported(message, hint);
}

std::string add_activation(BlockBuilder& block, std::string_view name, const Shape& shape,
                           const std::string& input, const std::string& prefix) {
  if (name == "gelu_new" || name == "gelu_fast") return add_gelu_new(block, shape, input, prefix);
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

Block language_model_head(const HeadSpec& spec, const TokenCounts& t, bool loss) {
  BlockBuilder block("head", 1);
  const Shape hidden{t.batch, t.queries, spec.width};
  std::string x(kBlockInput);
  switch (spec.norm) {
    case HeadNorm::None: break;
    case HeadNorm::LayerNorm: x = block.add("norm", ops::LayerNorm{.shape = hidden}, {x}); break;
    case HeadNorm::RmsNorm: x = block.add("norm", ops::RmsNorm{.shape = hidden}, {x}); break;
  }
  if (!spec.logits) {
    block.add("hidden", ops::View{.shape = hidden}, {x});
    return std::move(block).take();
  }
  const std::int64_t tokens = t.cached ? 1 : t.queries;  // serving samples from the last token
  const std::int64_t rows = t.batch * tokens;
  if (spec.scaled) {
    x = block.add("scale", scalar(Function::Mul, {t.batch, tokens, spec.width}), {x});
  }
  x = block.add("lm_head",
                ops::Linear{.rows = rows, .in = spec.width, .out = spec.vocab, .bias = spec.bias},
                {x});
  if (spec.tied) block.last().shared_parameters = spec.width * spec.vocab;
  if (spec.contiguous) {
    x = block.add("logits",
                  ops::Move{.kind = ops::MoveKind::Contiguous,
                            .input = {t.batch, tokens, spec.vocab},
                            .result = {}},
                  {x});
  }
  if (t.train && loss) {
    block.add("loss", ops::CrossEntropy{.rows = rows, .classes = spec.vocab}, {x});
  }
  return std::move(block).take();
}

std::optional<KvCache> kv_cache(const TokenCounts& tokens, std::int64_t layers,
                                std::int64_t kv_heads, std::int64_t head_dim, std::int64_t window) {
  if (!tokens.cached) return std::nullopt;
  return KvCache{.layers = layers,
                 .kv_heads = kv_heads,
                 .head_dim = head_dim,
                 .tokens = window > 0 ? std::min(window, tokens.keys) : tokens.keys,
                 .batch = tokens.batch};
}

}  // namespace rooftile::graph
