// SPDX-License-Identifier: Apache-2.0
//
// OPT: a decoder with learned positions (counted from the attention mask), separate projections of
// queries, keys and values, copies of each into head order, an added causal mask, and logits that
// are copied once more. The 350M size projects its narrower embeddings and norms after each half.
#include <algorithm>
#include <string>
#include <utility>

#include "graph/import/families.h"
#include "graph/import/transformer.h"

namespace rooftile::graph {

namespace {

struct OptConfig {
  std::int64_t width = 0, heads = 0, head_dim = 0, layers = 0, inner = 0, vocab = 0;
  std::int64_t embedding = 0, positions = 0;
  std::string activation;
  bool norm_before = true, final_norm = true, bias = true, tied = true;
  bool dropout = true, attention_dropout = false;
};

Result<OptConfig> read_opt(const HfReader& config) {
  OptConfig c;
  ROOFTILE_TRY(c.width, config.size_or("hidden_size", 768));
  ROOFTILE_TRY(c.layers, config.layers("num_hidden_layers", 12));
  ROOFTILE_TRY(c.heads, config.size_or("num_attention_heads", 12));
  ROOFTILE_TRY(c.inner, config.size_or("ffn_dim", 3072));
  ROOFTILE_TRY(c.vocab, config.size_or("vocab_size", 50272));
  ROOFTILE_TRY(c.embedding, config.size_or_derived("word_embed_proj_dim", c.width));
  ROOFTILE_TRY(c.positions, config.size_or("max_position_embeddings", 2048));
  ROOFTILE_TRY(c.activation, config.text("activation_function", "relu"));
  ROOFTILE_TRY(c.norm_before, config.flag("do_layer_norm_before", true));
  ROOFTILE_TRY(const bool remove, config.flag("_remove_final_layer_norm", false));
  c.final_norm = c.norm_before && !remove;
  ROOFTILE_TRY(const bool affine, config.flag("layer_norm_elementwise_affine", true));
  if (!affine) {
    return config.find("layer_norm_elementwise_affine")
        ->unsupported("norms without weights are not supported",
                      "set it to true, or describe the model as a native graph");
  }
  ROOFTILE_TRY(c.bias, config.flag("enable_bias", true));
  ROOFTILE_TRY(c.tied, config.flag("tie_word_embeddings", true));
  ROOFTILE_TRY(c.dropout, config.dropout("dropout", 0.1));
  ROOFTILE_TRY(c.attention_dropout, config.dropout("attention_dropout", 0.0));
  ROOFTILE_TRY(c.head_dim, config.head_size("num_attention_heads", c.width, c.heads));
  ROOFTILE_CHECK(check_activation(config.root(), "activation_function", c.activation));
  return c;
}

Block embedding_block(const OptConfig& c, const TokenCounts& t) {
  constexpr std::int64_t kPositionOffset = 2;  // the table starts two entries early
  BlockBuilder block("embedding", 1);
  const Shape hidden{t.batch, t.queries, c.width};
  const Shape tokens{t.batch, t.queries};
  std::string x =
      block.add("embed_tokens",
                ops::Embedding{.tokens = tokens, .entries = c.vocab, .width = c.embedding}, {});
  block.add_constant("causal_mask", scalar(ops::Function::Add, {t.keys}), {});
  // Positions are the running sum of the attention mask, kept where it is set.
  std::string p = block.add_constant(
      "position.cumsum",
      ops::Move{.kind = ops::MoveKind::Scan, .input = {t.batch, t.keys}, .result = {}}, {});
  p = block.add_constant("position.mask", binary(ops::Function::Mul, {t.batch, t.keys}), {p});
  p = block.add_constant("position.offset", scalar(ops::Function::Add, tokens), {p});
  p = block.add(
      "embed_positions",
      ops::Embedding{.tokens = tokens, .entries = c.positions + kPositionOffset, .width = c.width},
      {p});
  if (c.embedding != c.width) {
    x = block.add("project_in",
                  ops::Linear{.rows = t.rows(), .in = c.embedding, .out = c.width, .bias = false},
                  {x});
  }
  block.add("add", binary(ops::Function::Add, hidden), {x, p});
  return std::move(block).take();
}

std::string add_self_attention(BlockBuilder& block, const OptConfig& c, const TokenCounts& t,
                               AttentionKind attention, const std::string& input) {
  const Shape hidden{t.batch, t.queries, c.width};
  const Shape split{t.batch, c.heads, t.queries, c.head_dim};
  const ops::Linear square{.rows = t.rows(), .in = c.width, .out = c.width, .bias = c.bias};
  const ops::Move to_heads{.kind = ops::MoveKind::Contiguous, .input = split, .result = {}};
  std::string q = block.add("self_attn.q_proj", square, {input});
  q = block.add("self_attn.q_scale", scalar(ops::Function::Mul, hidden), {q});
  std::string k = block.add("self_attn.k_proj", square, {input});
  k = block.add("self_attn.k_heads", to_heads, {k});
  std::string v = block.add("self_attn.v_proj", square, {input});
  v = block.add("self_attn.v_heads", to_heads, {v});
  q = block.add("self_attn.q_heads", to_heads, {q});
  std::string x = add_attention(block, t, attention,
                                {.heads = c.heads,
                                 .kv_heads = c.heads,
                                 .head_dim = c.head_dim,
                                 .causal = true,
                                 .scale = ScoreScale::None,
                                 .mask = ScoreMask::Add,
                                 .mask_elements = t.batch * t.queries * t.keys,
                                 .dropout = c.attention_dropout,
                                 .contiguous = false},
                                {.query = q, .key = k, .value = v}, "self_attn.");
  x = block.add("self_attn.out_proj", square, {x});
  return add_dropout(block, t, c.dropout, hidden, x, "self_attn.dropout");
}

Block layer_block(const OptConfig& c, const TokenCounts& t, AttentionKind attention) {
  BlockBuilder block("layer", c.layers);
  const Shape hidden{t.batch, t.queries, c.width};
  const ops::LayerNorm norm{.shape = hidden};
  const std::string input(kBlockInput);
  std::string x = input;
  if (c.norm_before) x = block.add("self_attn_layer_norm", norm, {x});
  x = add_self_attention(block, c, t, attention, x);
  std::string middle =
      block.add("self_attn.residual", binary(ops::Function::Add, hidden), {input, x});
  if (!c.norm_before) middle = block.add("self_attn_layer_norm", norm, {middle});
  x = middle;
  if (c.norm_before) x = block.add("final_layer_norm", norm, {x});
  x = block.add("fc1", ops::Linear{.rows = t.rows(), .in = c.width, .out = c.inner, .bias = c.bias},
                {x});
  x = add_activation(block, c.activation, {t.rows(), c.inner}, x, "act.");
  x = block.add("fc2", ops::Linear{.rows = t.rows(), .in = c.inner, .out = c.width, .bias = c.bias},
                {x});
  x = add_dropout(block, t, c.dropout, {t.rows(), c.width}, x, "dropout");
  x = block.add("residual", binary(ops::Function::Add, {t.rows(), c.width}), {middle, x});
  if (!c.norm_before) block.add("final_layer_norm", norm, {x});
  return std::move(block).take();
}

}  // namespace

Result<Graph> import_opt(const HfReader& config, const ImportOptions& options) {
  ROOFTILE_TRY(const OptConfig c, read_opt(config));
  ROOFTILE_TRY(const TokenCounts t, token_counts(options, c.positions, config.root().where()));
  ROOFTILE_CHECK(check_step_sizes(t,
                                  {.heads = c.heads,
                                   .keys = t.keys,
                                   .widest = std::max({c.width, c.inner, c.vocab, c.embedding})},
                                  config.root().where()));
  Graph graph;
  graph.sequence = t.queries;
  graph.context = t.keys - t.queries;
  graph.blocks.push_back(embedding_block(c, t));
  graph.blocks.push_back(layer_block(c, t, options.attention));
  if (c.embedding != c.width) {
    BlockBuilder block("project_out", 1);
    block.add("project_out",
              ops::Linear{.rows = t.rows(), .in = c.width, .out = c.embedding, .bias = false},
              {std::string(kBlockInput)});
    graph.blocks.push_back(std::move(block).take());
  }
  graph.blocks.push_back(
      language_model_head({.width = c.embedding,
                           .vocab = c.vocab,
                           .tied = c.tied,
                           .norm = c.final_norm ? HeadNorm::LayerNorm : HeadNorm::None,
                           .contiguous = true,
                           .logits = config.head() == HfHead::Usual},
                          t, options.loss));
  graph.kv_cache = kv_cache(t, c.layers, c.heads, c.head_dim, 0);
  return graph;
}

}  // namespace rooftile::graph
