// SPDX-License-Identifier: Apache-2.0
//
// GPT-2 and the GPT-3 sizes: learned positions, layer norm before each half of a layer, one product
// for queries, keys and values, a causal mask by `where`, tied output embedding.
#include <algorithm>
#include <string>
#include <utility>

#include "graph/import/families.h"
#include "graph/import/transformer.h"

namespace rooftile::graph {

namespace {

struct Gpt2Config {
  std::int64_t width = 0, heads = 0, head_dim = 0, layers = 0, inner = 0, vocab = 0, positions = 0;
  std::string activation;
  bool tied = true, embedding_dropout = true, residual_dropout = true, attention_dropout = true;
};

Result<Gpt2Config> read_gpt2(const HfReader& config) {
  Gpt2Config c;
  ROOFTILE_CHECK(config.refuse_flag("add_cross_attention"));
  ROOFTILE_TRY(c.width, config.size_or("n_embd", 768));
  ROOFTILE_TRY(c.layers, config.layers("n_layer", 12));
  ROOFTILE_TRY(c.heads, config.size_or("n_head", 12));
  ROOFTILE_TRY(c.vocab, config.size_or("vocab_size", 50257));
  ROOFTILE_TRY(c.inner, config.size_or_derived("n_inner", 4 * c.width));
  ROOFTILE_TRY(c.positions, config.size_or("n_positions", 1024));
  ROOFTILE_TRY(c.activation, config.text("activation_function", "gelu_new"));
  ROOFTILE_TRY(c.tied, config.flag("tie_word_embeddings", true));
  ROOFTILE_TRY(c.embedding_dropout, config.dropout("embd_pdrop", 0.1));
  ROOFTILE_TRY(c.residual_dropout, config.dropout("resid_pdrop", 0.1));
  ROOFTILE_TRY(c.attention_dropout, config.dropout("attn_pdrop", 0.1));
  ROOFTILE_TRY(c.head_dim, config.head_size("n_head", c.width, c.heads));
  ROOFTILE_CHECK(check_activation(config.root(), "activation_function", c.activation));
  return c;
}

Block embedding_block(const Gpt2Config& c, const TokenCounts& t) {
  BlockBuilder block("embedding", 1);
  const Shape hidden{t.batch, t.queries, c.width};
  const std::string tokens = block.add(
      "wte", ops::Embedding{.tokens = {t.batch, t.queries}, .entries = c.vocab, .width = c.width},
      {});
  const std::string positions = block.add(
      "wpe", ops::Embedding{.tokens = {1, t.queries}, .entries = c.positions, .width = c.width},
      {});
  const std::string sum = block.add(
      "add", broadcast(ops::Function::Add, hidden, t.queries * c.width, true), {tokens, positions});
  add_dropout(block, t, c.embedding_dropout, hidden, sum, "drop");
  return std::move(block).take();
}

Block layer_block(const Gpt2Config& c, const TokenCounts& t, AttentionKind attention) {
  BlockBuilder block("layer", c.layers);
  const Shape hidden{t.batch, t.queries, c.width};
  const Shape inner{t.batch, t.queries, c.inner};
  const std::string input(kBlockInput);
  std::string x = block.add("ln_1", ops::LayerNorm{.shape = hidden}, {input});
  x = block.add("attn.c_attn", ops::Linear{.rows = t.rows(), .in = c.width, .out = 3 * c.width},
                {x});
  const Shape split{t.batch, c.heads, t.queries, c.head_dim};
  const std::string q = block.add("attn.query", ops::View{.shape = split}, {x});
  const std::string k = block.add("attn.key", ops::View{.shape = split}, {x});
  const std::string v = block.add("attn.value", ops::View{.shape = split}, {x});
  x = add_attention(block, t, attention,
                    {.heads = c.heads,
                     .kv_heads = c.heads,
                     .head_dim = c.head_dim,
                     .causal = true,
                     .scale = ScoreScale::ByTensor,
                     .mask = ScoreMask::Where,
                     .dropout = c.attention_dropout},
                    {.query = q, .key = k, .value = v}, "attn.");
  x = block.add("attn.c_proj", ops::Linear{.rows = t.rows(), .in = c.width, .out = c.width}, {x});
  x = add_dropout(block, t, c.residual_dropout, hidden, x, "attn.resid_dropout");
  const std::string middle =
      block.add("attn.residual", binary(ops::Function::Add, hidden), {x, input});
  x = block.add("ln_2", ops::LayerNorm{.shape = hidden}, {middle});
  x = block.add("mlp.c_fc", ops::Linear{.rows = t.rows(), .in = c.width, .out = c.inner}, {x});
  x = add_activation(block, c.activation, inner, x, "mlp.act.");
  x = block.add("mlp.c_proj", ops::Linear{.rows = t.rows(), .in = c.inner, .out = c.width}, {x});
  x = add_dropout(block, t, c.residual_dropout, hidden, x, "mlp.dropout");
  block.add("mlp.residual", binary(ops::Function::Add, hidden), {middle, x});
  return std::move(block).take();
}

}  // namespace

Result<Graph> import_gpt2(const HfReader& config, const ImportOptions& options) {
  ROOFTILE_TRY(const Gpt2Config c, read_gpt2(config));
  ROOFTILE_TRY(const TokenCounts t, token_counts(options, c.positions, config.root().where()));
  ROOFTILE_CHECK(check_step_sizes(
      t, {.heads = c.heads, .keys = t.keys, .widest = std::max({3 * c.width, c.inner, c.vocab})},
      config.root().where()));
  Graph graph;
  graph.sequence = t.queries;
  graph.context = t.keys - t.queries;
  graph.blocks.push_back(embedding_block(c, t));
  graph.blocks.push_back(layer_block(c, t, options.attention));
  graph.blocks.push_back(language_model_head({.width = c.width,
                                              .vocab = c.vocab,
                                              .tied = c.tied,
                                              .norm = HeadNorm::LayerNorm,
                                              .logits = config.head() == HfHead::Usual},
                                             t, options.loss));
  graph.kv_cache = kv_cache(t, c.layers, c.heads, c.head_dim, 0);
  return graph;
}

}  // namespace rooftile::graph
