// SPDX-License-Identifier: Apache-2.0
//
// BERT: an encoder with layer norm after each half of a layer. Inference runs the sequence
// classifier on the pooled first token; training runs both pre-training heads (masked tokens, next
// sentence).
#include <algorithm>
#include <string>
#include <utility>

#include "graph/import/families.h"
#include "graph/import/transformer.h"

namespace rooftile::graph {

namespace {

struct BertConfig {
  std::int64_t width = 0, heads = 0, head_dim = 0, layers = 0, inner = 0, vocab = 0;
  std::int64_t positions = 0, types = 0, labels = 2;
  std::string activation;
  bool tied = true, hidden_dropout = true, attention_dropout = true;
};

Result<BertConfig> read_bert(const HfReader& config) {
  BertConfig c;
  ROOFTILE_CHECK(config.refuse_flag("add_cross_attention"));
  ROOFTILE_CHECK(config.refuse_flag("is_decoder"));
  ROOFTILE_CHECK(config.expect_text("position_embedding_type", "absolute"));
  ROOFTILE_TRY(c.width, config.size_or("hidden_size", 768));
  ROOFTILE_TRY(c.layers, config.layers("num_hidden_layers", 12));
  ROOFTILE_TRY(c.heads, config.size_or("num_attention_heads", 12));
  ROOFTILE_TRY(c.inner, config.size_or("intermediate_size", 3072));
  ROOFTILE_TRY(c.vocab, config.size_or("vocab_size", 30522));
  ROOFTILE_TRY(c.positions, config.size_or("max_position_embeddings", 512));
  ROOFTILE_TRY(c.types, config.size_or_derived("type_vocab_size", 2));
  ROOFTILE_TRY(c.labels, label_count(config));
  ROOFTILE_TRY(c.activation, config.text("hidden_act", "gelu"));
  ROOFTILE_TRY(c.tied, config.flag("tie_word_embeddings", true));
  ROOFTILE_TRY(c.hidden_dropout, config.dropout("hidden_dropout_prob", 0.1));
  ROOFTILE_TRY(c.attention_dropout, config.dropout("attention_probs_dropout_prob", 0.1));
  ROOFTILE_TRY(c.head_dim, config.head_size("num_attention_heads", c.width, c.heads));
  ROOFTILE_CHECK(check_activation(config.root(), "hidden_act", c.activation));
  return c;
}

Block embedding_block(const BertConfig& c, const TokenCounts& t) {
  BlockBuilder block("embedding", 1);
  const Shape hidden{t.batch, t.queries, c.width};
  const Shape tokens{t.batch, t.queries};
  block.add_constant("attention_mask", scalar(ops::Function::Mul, {t.batch, 1, 1, t.queries}), {});
  const std::string words =
      block.add("word_embeddings",
                ops::Embedding{.tokens = tokens, .entries = c.vocab, .width = c.width}, {});
  const std::string types =
      block.add("token_type_embeddings",
                ops::Embedding{.tokens = tokens, .entries = c.types, .width = c.width}, {});
  std::string x = block.add("add_type", binary(ops::Function::Add, hidden), {words, types});
  const std::string positions = block.add(
      "position_embeddings",
      ops::Embedding{.tokens = {1, t.queries}, .entries = c.positions, .width = c.width}, {});
  x = block.add("add_position", broadcast(ops::Function::Add, hidden, t.queries * c.width, true),
                {x, positions});
  x = block.add("norm", ops::LayerNorm{.shape = hidden}, {x});
  add_dropout(block, t, c.hidden_dropout, hidden, x, "dropout");
  return std::move(block).take();
}

Block layer_block(const BertConfig& c, const TokenCounts& t, AttentionKind attention) {
  BlockBuilder block("layer", c.layers);
  const Shape hidden{t.batch, t.queries, c.width};
  const std::string input(kBlockInput);
  const ops::Linear square{.rows = t.rows(), .in = c.width, .out = c.width};
  const std::string q = block.add("attention.query", square, {input});
  const std::string k = block.add("attention.key", square, {input});
  const std::string v = block.add("attention.value", square, {input});
  std::string x = add_attention(block, t, attention,
                                {.heads = c.heads,
                                 .kv_heads = c.heads,
                                 .head_dim = c.head_dim,
                                 .causal = false,
                                 .scale = ScoreScale::ByScalar,
                                 .mask = ScoreMask::Add,
                                 .mask_elements = t.batch * t.keys,
                                 .dropout = c.attention_dropout},
                                {.query = q, .key = k, .value = v}, "attention.");
  x = block.add("attention.output", square, {x});
  x = add_dropout(block, t, c.hidden_dropout, hidden, x, "attention.dropout");
  x = block.add("attention.residual", binary(ops::Function::Add, hidden), {x, input});
  const std::string middle = block.add("attention.norm", ops::LayerNorm{.shape = hidden}, {x});
  x = block.add("intermediate", ops::Linear{.rows = t.rows(), .in = c.width, .out = c.inner},
                {middle});
  x = add_activation(block, c.activation, {t.batch, t.queries, c.inner}, x, "act.");
  x = block.add("output", ops::Linear{.rows = t.rows(), .in = c.inner, .out = c.width}, {x});
  x = add_dropout(block, t, c.hidden_dropout, hidden, x, "output.dropout");
  x = block.add("output.residual", binary(ops::Function::Add, hidden), {x, middle});
  block.add("output.norm", ops::LayerNorm{.shape = hidden}, {x});
  return std::move(block).take();
}

Block head_block(const BertConfig& c, const TokenCounts& t, HfHead head, bool loss) {
  BlockBuilder block("head", 1);
  const Shape hidden{t.batch, t.queries, c.width};
  const std::string input(kBlockInput);
  std::string pooled = block.add("first_token", ops::View{.shape = {t.batch, c.width}}, {input});
  pooled =
      block.add("pooler", ops::Linear{.rows = t.batch, .in = c.width, .out = c.width}, {pooled});
  pooled = block.add("pooler.tanh", unary(ops::Function::Tanh, {t.batch, c.width}), {pooled});
  if (head == HfHead::None) return std::move(block).take();
  if (!t.train) {
    block.add("classifier", ops::Linear{.rows = t.batch, .in = c.width, .out = c.labels}, {pooled});
    return std::move(block).take();
  }
  std::string x =
      block.add("transform", ops::Linear{.rows = t.rows(), .in = c.width, .out = c.width}, {input});
  x = add_activation(block, c.activation, hidden, x, "transform.");
  x = block.add("transform.norm", ops::LayerNorm{.shape = hidden}, {x});
  x = block.add("decoder", ops::Linear{.rows = t.rows(), .in = c.width, .out = c.vocab}, {x});
  if (c.tied) block.last().shared_parameters = c.width * c.vocab;
  constexpr std::int64_t kNextSentence = 2;
  const std::string next =
      block.add("seq_relationship",
                ops::Linear{.rows = t.batch, .in = c.width, .out = kNextSentence}, {pooled});
  if (loss) {
    block.add("loss", ops::CrossEntropy{.rows = t.rows(), .classes = c.vocab}, {x});
    block.add("next_sentence_loss", ops::CrossEntropy{.rows = t.batch, .classes = kNextSentence},
              {next});
  }
  return std::move(block).take();
}

}  // namespace

Result<Graph> import_bert(const HfReader& config, const ImportOptions& options) {
  ROOFTILE_TRY(const BertConfig c, read_bert(config));
  ROOFTILE_CHECK(check_no_cache(config.root(), options.step));
  ROOFTILE_TRY(const TokenCounts t, token_counts(options, c.positions, config.root().where()));
  ROOFTILE_CHECK(check_step_sizes(
      t, {.heads = c.heads, .keys = t.keys, .widest = std::max({c.width, c.inner, c.vocab})},
      config.root().where()));
  Graph graph;
  graph.sequence = t.queries;
  graph.blocks.push_back(embedding_block(c, t));
  graph.blocks.push_back(layer_block(c, t, options.attention));
  graph.blocks.push_back(head_block(c, t, config.head(), options.loss));
  return graph;
}

}  // namespace rooftile::graph
