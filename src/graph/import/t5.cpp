// SPDX-License-Identifier: Apache-2.0
//
// T5 and Switch Transformers: an encoder and a decoder with learned relative positions, RMS norms
// written out as the framework runs them (square, mean, epsilon, root, two products), and in
// Switch every second layer's MLP replaced by experts behind a top-1 router. Experts take
// min(capacity, tokens / experts) rows per sequence: the tokens are balanced, what exceeds the
// capacity is dropped. Layers of one kind repeat by count, so the dense and the sparse layers of a
// stack are two blocks.
//
// Steps: train and infer run both stacks over `sequence` tokens; prefill runs the encoder and the
// decoder's first token; decode runs the decoder for one token.
#include <algorithm>
#include <string>
#include <utility>

#include "core/integer.h"
#include "graph/import/families.h"
#include "graph/import/transformer.h"

namespace rooftile::graph {

namespace {

using ops::Function;

struct T5Config {
  std::int64_t width = 0, head_dim = 0, heads = 0, inner = 0, vocab = 0, buckets = 0;
  std::int64_t encoder_layers = 0, decoder_layers = 0;
  std::int64_t encoder_sparse = 0, decoder_sparse = 0, experts = 0, capacity = 0;
  std::string activation;
  bool gated = false, dropout = true, tied = true, router_bias = false, jitter = false;
};

/// Layers i of n with i % step == 1, where step = n / wanted; all of them for a step of 1.
std::int64_t sparse_layers(std::int64_t layers, std::int64_t wanted) {
  if (wanted <= 0 || wanted > layers) return 0;
  const std::int64_t step = layers / wanted;
  if (step == 1) return layers;
  return layers < 2 ? 0 : (layers - 2) / step + 1;
}

Status read_experts(const HfReader& config, T5Config& c) {
  ROOFTILE_TRY(c.experts, config.size_or("num_experts", 8));
  ROOFTILE_TRY(c.capacity, config.size_or("expert_capacity", 64));
  ROOFTILE_TRY(c.router_bias, config.flag("router_bias", false));
  ROOFTILE_TRY(c.jitter, config.dropout("router_jitter_noise", 0.01));
  ROOFTILE_TRY(const std::int64_t encoder, config.count_or("num_sparse_encoder_layers", 3));
  ROOFTILE_TRY(const std::int64_t decoder, config.count_or("num_sparse_decoder_layers", 3));
  c.encoder_sparse = sparse_layers(c.encoder_layers, encoder);
  c.decoder_sparse = sparse_layers(c.decoder_layers, decoder);
  return {};
}

Result<T5Config> read_t5(const HfReader& config) {
  T5Config c;
  ROOFTILE_TRY(const std::string type, config.text("model_type", "t5"));
  const bool sparse = type == "switch_transformers";
  ROOFTILE_CHECK(config.refuse_flag("is_decoder"));
  ROOFTILE_TRY(c.width, config.size_or("d_model", sparse ? 768 : 512));
  ROOFTILE_TRY(c.inner, config.size_or("d_ff", 2048));
  ROOFTILE_TRY(c.heads, config.size_or("num_heads", sparse ? 12 : 8));
  ROOFTILE_TRY(c.head_dim, config.size_or("d_kv", 64));
  ROOFTILE_TRY(c.encoder_layers, config.layers("num_layers", sparse ? 12 : 6));
  // Absent, Switch has 12 and T5 as many as the encoder; null is as many in both.
  const bool switch_default = sparse && !config.has("num_decoder_layers");
  c.decoder_layers = c.encoder_layers;
  if (switch_default || config.find("num_decoder_layers")) {
    ROOFTILE_TRY(c.decoder_layers, config.layers("num_decoder_layers", 12));
  }
  ROOFTILE_TRY(c.vocab, config.size_or("vocab_size", 32128));
  ROOFTILE_TRY(c.buckets, config.size_or_derived("relative_attention_num_buckets", 32));
  ROOFTILE_TRY(c.dropout, config.dropout("dropout_rate", 0.1));
  ROOFTILE_TRY(c.tied, config.flag("tie_word_embeddings", true));
  ROOFTILE_TRY(std::string projection, config.text("feed_forward_proj", "relu"));
  constexpr std::string_view kGated = "gated-";
  if (projection.starts_with(kGated)) {
    c.gated = true;
    projection.erase(0, kGated.size());
  }
  c.activation = projection == "gelu" && c.gated ? "gelu_new" : projection;
  ROOFTILE_CHECK(check_activation(config.root(), "feed_forward_proj", c.activation));
  if (sparse) ROOFTILE_CHECK(read_experts(config, c));
  return c;
}

/// One stack's point of view: its tokens, and the tokens its cross attention sees.
struct Stack {
  std::string prefix;  ///< "encoder" or "decoder"
  TokenCounts tokens;
  std::int64_t cross_keys = 0;     ///< 0 in the encoder
  bool project_cross_keys = true;  ///< false in decode: they are cached
  bool causal = false;
};

/// weight * x / sqrt(mean(x^2) + epsilon), one kernel per operation.
std::string add_norm(BlockBuilder& block, const T5Config& c, const TokenCounts& t,
                     const std::string& input, const std::string& prefix) {
  const Shape hidden{t.batch, t.queries, c.width};
  const Shape column{t.batch, t.queries, 1};
  std::string s = block.add(prefix + "square", scalar(Function::Pow, hidden), {input});
  s = block.add(prefix + "mean",
                ops::Move{.kind = ops::MoveKind::Reduce, .input = hidden, .result = column}, {s});
  s = block.add(prefix + "epsilon", scalar(Function::Add, column), {s});
  s = block.add(prefix + "rsqrt", unary(Function::Rsqrt, column), {s});
  const std::string x =
      block.add(prefix + "scale", broadcast(Function::Mul, hidden, t.rows(), true), {input, s});
  const std::string weight = block.add(prefix + "weight", ops::Parameter{.shape = {c.width}}, {});
  return block.add(prefix + "product", broadcast(Function::Mul, hidden, c.width, true),
                   {x, weight});
}

Block embedding_block(const T5Config& c, const Stack& stack, bool shared) {
  BlockBuilder block(stack.prefix + "_embedding", 1);
  const TokenCounts& t = stack.tokens;
  const Shape hidden{t.batch, t.queries, c.width};
  const std::string x = block.add(
      "embed_tokens",
      ops::Embedding{.tokens = {t.batch, t.queries}, .entries = c.vocab, .width = c.width}, {});
  if (shared) block.last().shared_parameters = c.vocab * c.width;
  if (stack.causal) {
    const Shape square{t.batch, 1, t.queries, t.keys};
    const std::string mask = block.add_constant("causal_mask", binary(Function::Mul, square), {});
    block.add_constant("attention_mask", scalar(Function::Mul, square), {mask});
    block.add_constant("cross_mask", scalar(Function::Mul, {t.batch, 1, 1, stack.cross_keys}), {});
  } else {
    block.add_constant("attention_mask", scalar(Function::Mul, {t.batch, 1, 1, t.keys}), {});
  }
  add_dropout(block, t, c.dropout, hidden, x, "dropout");
  return std::move(block).take();
}

/// Relative positions -> buckets -> learned bias per head, once per stack; the mask is added to it.
Block bias_block(const T5Config& c, const Stack& stack) {
  BlockBuilder block(stack.prefix + "_bias", 1);
  const TokenCounts& t = stack.tokens;
  const Shape grid{t.queries, t.keys};
  const Shape scores{t.batch, c.heads, t.queries, t.keys};
  std::string direction;
  if (!stack.causal) {  // the sign of the distance selects half of the buckets
    direction = block.add_constant("sign", scalar(Function::Mul, grid), {});
    direction = block.add_constant("sign_offset", scalar(Function::Add, grid), {direction});
  }
  std::string x = block.add_constant("log_base", scalar(Function::Div, grid), {});
  x = block.add_constant("log_range", scalar(Function::Div, grid), {x});
  x = block.add_constant("log_scale", scalar(Function::Mul, grid), {x});
  x = block.add_constant("log_offset", scalar(Function::Add, grid), {x});
  x = block.add_constant("near_or_far",
                         ops::Move{.kind = ops::MoveKind::Where,
                                   .input = grid,
                                   .result = {},
                                   .others = 2 * t.queries * t.keys},
                         {x});
  x = stack.causal ? block.add_constant("bucket", scalar(Function::Add, grid), {x})
                   : block.add_constant("bucket", binary(Function::Add, grid), {x, direction});
  x = block.add("relative_attention_bias",
                ops::Embedding{.tokens = grid, .entries = c.buckets, .width = c.heads}, {x});
  const std::int64_t mask = stack.causal ? t.batch * t.queries * t.keys : t.batch * t.keys;
  block.add("position_bias", broadcast(Function::Add, scores, mask, false), {x});
  if (stack.causal) {
    block.add_constant("cross_bias",
                       broadcast(Function::Add, {t.batch, c.heads, t.queries, stack.cross_keys},
                                 t.batch * stack.cross_keys, false),
                       {});
  }
  return std::move(block).take();
}

/// Norm, attention, output projection, dropout, residual. `source` is the encoder's output for
/// cross attention and empty for self attention.
std::string add_attention_part(BlockBuilder& block, const T5Config& c, const Stack& stack,
                               AttentionKind kind, const std::string& input,
                               const std::string& source) {
  const bool cross = !source.empty();
  const std::string prefix = cross ? "cross_attn." : "self_attn.";
  TokenCounts t = stack.tokens;
  if (cross) t.keys = stack.cross_keys;
  if (cross) t.cached = t.cached && stack.project_cross_keys;
  const Shape hidden{t.batch, t.queries, c.width};
  const std::int64_t inner = c.heads * c.head_dim;
  const std::string normed = add_norm(block, c, stack.tokens, input, prefix + "norm.");
  const std::string q = block.add(
      prefix + "q", ops::Linear{.rows = t.rows(), .in = c.width, .out = inner, .bias = false},
      {normed});
  std::string k;
  std::string v;
  if (!cross || stack.project_cross_keys) {
    const std::int64_t rows = cross ? t.batch * stack.cross_keys : t.rows();
    const ops::Linear project{.rows = rows, .in = c.width, .out = inner, .bias = false};
    const std::string& from = cross ? source : normed;
    k = block.add(prefix + "k", project, {from});
    v = block.add(prefix + "v", project, {from});
  } else {
    const Shape cache{t.batch, c.heads, stack.cross_keys, c.head_dim};
    k = block.add_constant(prefix + "cached_k", ops::View{.shape = cache}, {});
    v = block.add_constant(prefix + "cached_v", ops::View{.shape = cache}, {});
  }
  std::string x = add_attention(block, t, kind,
                                {.heads = c.heads,
                                 .kv_heads = c.heads,
                                 .head_dim = c.head_dim,
                                 .causal = stack.causal && !cross,
                                 .scale = ScoreScale::None,
                                 .mask = ScoreMask::Add,
                                 .mask_elements = t.batch * c.heads * t.queries * t.keys,
                                 .mask_gradient = !cross,
                                 .dropout = c.dropout},
                                {.query = q, .key = k, .value = v}, prefix);
  x = block.add(prefix + "o",
                ops::Linear{.rows = t.rows(), .in = inner, .out = c.width, .bias = false}, {x});
  x = add_dropout(block, t, c.dropout, hidden, x, prefix + "dropout");
  return block.add(prefix + "residual", binary(Function::Add, hidden), {input, x});
}

struct Mlp {
  std::int64_t rows = 0;
  Shape inner;              ///< of the activation
  std::int64_t copies = 1;  ///< experts
};

/// wi, activation, dropout, wo; for experts every node runs once per expert.
std::string add_mlp(BlockBuilder& block, const T5Config& c, const TokenCounts& t, const Mlp& mlp,
                    const std::string& input, const std::string& prefix) {
  const ops::Linear up{.rows = mlp.rows, .in = c.width, .out = c.inner, .bias = false};
  const auto repeat = [&](std::string name) {
    block.last().count = mlp.copies;
    return name;
  };
  std::string x = repeat(block.add(prefix + (c.gated ? "wi_0" : "wi"), up, {input}));
  const std::size_t first = block.size();
  x = add_activation(block, c.activation, mlp.inner, x, prefix + "act.");
  for (std::size_t i = first; i < block.size(); ++i) block.node(i).count = mlp.copies;
  if (c.gated) {
    const std::string value = repeat(block.add(prefix + "wi_1", up, {input}));
    x = repeat(block.add(prefix + "product", binary(Function::Mul, mlp.inner), {x, value}));
  }
  if (t.train && c.dropout) {
    x = repeat(block.add(prefix + "dropout", ops::Dropout{.shape = mlp.inner}, {x}));
  }
  return repeat(
      block.add(prefix + "wo",
                ops::Linear{.rows = mlp.rows, .in = c.inner, .out = c.width, .bias = false}, {x}));
}

/// Top-1 routing and the experts, in the loop over experts that the framework runs.
std::string add_experts(BlockBuilder& block, const T5Config& c, const TokenCounts& t,
                        const std::string& input) {
  const Shape hidden{t.batch, t.queries, c.width};
  const Shape scores{t.batch, t.queries, c.experts};
  const std::int64_t share = ceil_div(t.rows(), c.experts);
  const std::int64_t rows = std::min(t.batch * c.capacity, share);
  const Shape expert_rows{rows, c.width};
  std::string x = input;
  if (t.train && c.jitter) {  // times a random tensor
    x = block.add("router.jitter", broadcast(Function::Mul, hidden, t.rows() * c.width, false),
                  {x});
  }
  x = block.add(
      "router.classifier",
      ops::Linear{.rows = t.rows(), .in = c.width, .out = c.experts, .bias = c.router_bias}, {x});
  const std::string probability = block.add("router.softmax", ops::Softmax{.shape = scores}, {x});
  std::string choice = block.add_constant(
      "router.cumsum", ops::Move{.kind = ops::MoveKind::Scan, .input = scores, .result = {}},
      {probability});
  choice = block.add_constant("router.capacity", binary(Function::Mul, scores), {choice});
  const auto each = [&](std::string name) {
    block.last().count = c.experts;
    return name;
  };
  each(block.add_constant(
      "expert.count",
      ops::Move{.kind = ops::MoveKind::Reduce, .input = {t.batch, t.queries}, .result = {1}},
      {choice}));
  std::string y = each(block.add(
      "expert.gather",
      ops::Move{.kind = ops::MoveKind::Slice, .input = hidden, .result = expert_rows}, {input}));
  y = each(block.add("expert.place",
                     ops::Move{.kind = ops::MoveKind::Write, .input = expert_rows, .result = {}},
                     {y}));
  y = add_mlp(block, c, t, {.rows = rows, .inner = {rows, c.inner}, .copies = c.experts}, y,
              "expert.");
  y = each(block.add(
      "expert.scatter",
      ops::Move{.kind = ops::MoveKind::Write, .input = expert_rows, .result = hidden}, {y}));
  return block.add("expert.weight", broadcast(Function::Mul, hidden, t.rows(), true),
                   {y, probability});
}

/// `repeat` layers of a stack, all dense or all sparse.
Block layer_block(const T5Config& c, const Stack& stack, AttentionKind kind, bool sparse,
                  std::int64_t repeat) {
  BlockBuilder block(stack.prefix + (sparse ? "_sparse_layer" : "_layer"), repeat);
  const TokenCounts& t = stack.tokens;
  const Shape hidden{t.batch, t.queries, c.width};
  std::string x = add_attention_part(block, c, stack, kind, std::string(kBlockInput), {});
  if (stack.cross_keys > 0) {
    // In decode the encoder ran earlier: its output is not a node of this graph.
    const std::string source = stack.project_cross_keys ? "encoder_norm.output" : "cache";
    x = add_attention_part(block, c, stack, kind, x, source);
  }
  const std::string normed = add_norm(block, c, t, x, "mlp.norm.");
  std::string y =
      sparse ? add_experts(block, c, t, normed)
             : add_mlp(block, c, t,
                       {.rows = t.rows(), .inner = {t.batch, t.queries, c.inner}, .copies = 1},
                       normed, "mlp.");
  y = add_dropout(block, t, c.dropout, hidden, y, "mlp.residual_dropout");
  block.add("mlp.residual", binary(Function::Add, hidden), {x, y});
  return std::move(block).take();
}

void add_stack(Graph& graph, const T5Config& c, const Stack& stack, AttentionKind kind,
               bool shared_embedding) {
  const bool encoder = stack.cross_keys == 0;
  const std::int64_t layers = encoder ? c.encoder_layers : c.decoder_layers;
  const std::int64_t sparse = encoder ? c.encoder_sparse : c.decoder_sparse;
  graph.blocks.push_back(embedding_block(c, stack, shared_embedding));
  graph.blocks.push_back(bias_block(c, stack));
  if (layers > sparse) {
    graph.blocks.push_back(layer_block(c, stack, kind, false, layers - sparse));
  }
  if (sparse > 0) graph.blocks.push_back(layer_block(c, stack, kind, true, sparse));
  BlockBuilder block(stack.prefix + "_norm", 1);
  const TokenCounts& t = stack.tokens;
  const std::string x = add_norm(block, c, t, std::string(kBlockInput), "");
  const Shape hidden{t.batch, t.queries, c.width};
  if (t.train && c.dropout) {
    block.add("output", ops::Dropout{.shape = hidden}, {x});
  } else {
    block.add("output", ops::View{.shape = hidden}, {x});
  }
  graph.blocks.push_back(std::move(block).take());
}

/// The router's two auxiliary losses over all sparse layers of a stack: the squared log-sum of the
/// scores, and the balance of the experts' loads.
Block router_loss_block(const T5Config& c, const Stack& stack, std::int64_t sparse) {
  BlockBuilder block(stack.prefix + "_router_loss", 1);
  const TokenCounts& t = stack.tokens;
  const Shape scores{t.batch, sparse * t.queries, c.experts};
  const Shape load{t.batch, c.experts};
  const ops::Move mean{.kind = ops::MoveKind::Reduce, .input = scores, .result = load};
  block.add("z_square", scalar(Function::Pow, {t.batch, sparse * t.queries}), {});
  const std::string p = block.add("softmax", ops::Softmax{.shape = scores}, {});
  const std::string a = block.add_constant("mean_load", mean, {});
  const std::string b = block.add("mean_probability", mean, {p});
  const std::string product =
      block.add("balance", broadcast(Function::Mul, load, t.batch * c.experts, false), {b, a});
  block.add("mean", ops::Move{.kind = ops::MoveKind::Reduce, .input = load, .result = {1}},
            {product});
  return std::move(block).take();
}

/// What decode keeps in memory and does not run: the encoder (its embedding is the decoder's) and
/// the projections of its output to the cached keys and values of cross attention.
Result<std::int64_t> idle_parameters(const T5Config& c, const Stack& encoder, AttentionKind kind) {
  Graph graph;
  graph.name = "encoder";
  add_stack(graph, c, encoder, kind, true);
  BlockBuilder block("cross_attention", c.decoder_layers);
  const ops::Linear project{.rows = 1, .in = c.width, .out = c.heads * c.head_dim, .bias = false};
  block.add("k", project, {});
  block.add("v", project, {});
  graph.blocks.push_back(std::move(block).take());
  ROOFTILE_CHECK(validate(graph));
  return graph.parameters;
}

}  // namespace

Result<Graph> import_t5(const HfReader& config, const ImportOptions& options) {
  ROOFTILE_TRY(const T5Config c, read_t5(config));
  ROOFTILE_TRY(const TokenCounts t, token_counts(options, 0, config.root().where()));
  const bool decode = options.step == Step::Decode;
  Stack encoder{.prefix = "encoder", .tokens = t};
  encoder.tokens.cached = false;
  Stack decoder{.prefix = "decoder", .tokens = t, .cross_keys = t.keys};
  decoder.causal = true;
  decoder.project_cross_keys = !decode;
  if (options.step == Step::Prefill) decoder.tokens.queries = decoder.tokens.keys = 1;
  if (decode) decoder.cross_keys = options.sequence > 0 ? options.sequence : t.keys - 1;
  ROOFTILE_CHECK(
      check_step_sizes(t,
                       {.heads = c.heads,
                        .keys = std::max(t.keys, decoder.cross_keys),
                        .widest = std::max({c.width, c.inner, c.vocab, c.heads * c.head_dim})},
                       config.root().where()));
  Graph graph;
  graph.sequence = t.queries;
  graph.context = t.keys - t.queries;
  if (config.head() == HfHead::EncoderOnly) {
    ROOFTILE_CHECK(check_no_cache(config.root(), options.step));
    add_stack(graph, c, encoder, options.attention, false);
    return graph;
  }
  if (decode) {
    ROOFTILE_TRY(graph.idle_parameters, idle_parameters(c, encoder, options.attention));
  } else {
    add_stack(graph, c, encoder, options.attention, false);
  }
  add_stack(graph, c, decoder, options.attention, !decode);
  graph.blocks.push_back(language_model_head({.width = c.width,
                                              .vocab = c.vocab,
                                              .tied = c.tied,
                                              .norm = HeadNorm::None,
                                              .scaled = c.tied,
                                              .logits = config.head() == HfHead::Usual},
                                             decoder.tokens, options.loss));
  if (t.train && options.loss && c.encoder_sparse > 0) {
    graph.blocks.push_back(router_loss_block(c, encoder, c.encoder_sparse));
  }
  if (t.train && options.loss && c.decoder_sparse > 0) {
    graph.blocks.push_back(router_loss_block(c, decoder, c.decoder_sparse));
  }
  // Self attention caches the decoded tokens, cross attention the encoder's.
  graph.kv_cache = kv_cache(decoder.tokens, c.decoder_layers, c.heads, c.head_dim, 0);
  if (graph.kv_cache) graph.kv_cache->tokens += decoder.cross_keys;
  return graph;
}

}  // namespace rooftile::graph
