// SPDX-License-Identifier: Apache-2.0
//
// Vision transformer: an image is cut into patches by a strided convolution, a class token and
// learned positions are added, an encoder with layer norm before each half follows, and a linear
// classifier reads the class token.
#include <algorithm>
#include <string>
#include <utility>

#include "graph/import/families.h"
#include "graph/import/transformer.h"

namespace rooftile::graph {

namespace {

struct VitConfig {
  std::int64_t width = 0, heads = 0, head_dim = 0, layers = 0, inner = 0;
  std::int64_t image = 0, patch = 0, channels = 0, labels = 0;
  std::string activation;
  bool qkv_bias = true, hidden_dropout = false, attention_dropout = false;
  [[nodiscard]] std::int64_t patches() const { return (image / patch) * (image / patch); }
};

Result<VitConfig> read_config(const HfReader& config) {
  VitConfig c;
  ROOFTILE_TRY(c.width, config.size("hidden_size"));
  ROOFTILE_TRY(c.layers, config.layers("num_hidden_layers"));
  ROOFTILE_TRY(c.heads, config.size("num_attention_heads"));
  ROOFTILE_TRY(c.inner, config.size("intermediate_size"));
  ROOFTILE_TRY(c.image, config.size_or("image_size", 224));
  ROOFTILE_TRY(c.patch, config.size_or("patch_size", 16));
  ROOFTILE_TRY(c.channels, config.size_or("num_channels", 3));
  ROOFTILE_TRY(c.labels, label_count(config));
  ROOFTILE_TRY(c.activation, config.text("hidden_act", "gelu"));
  ROOFTILE_TRY(c.qkv_bias, config.flag("qkv_bias", true));
  ROOFTILE_TRY(c.hidden_dropout, config.dropout("hidden_dropout_prob", 0.0));
  ROOFTILE_TRY(c.attention_dropout, config.dropout("attention_probs_dropout_prob", 0.0));
  ROOFTILE_TRY(c.head_dim, config.head_size("num_attention_heads", c.width, c.heads));
  ROOFTILE_CHECK(check_activation(config.root(), "hidden_act", c.activation));
  if (c.patch > c.image) {
    return config.root().error("the patches are larger than the image",
                               "patch_size is at most image_size");
  }
  return c;
}

Block embedding_block(const VitConfig& c, const TokenCounts& t) {
  BlockBuilder block("embedding", 1);
  const Shape hidden{t.batch, t.queries, c.width};
  const Shape patches{t.batch, c.patches(), c.width};
  std::string x = block.add("patch_embeddings",
                            ops::Conv2d{.conv = {.n = t.batch,
                                                 .c = c.channels,
                                                 .h = c.image,
                                                 .w = c.image,
                                                 .k = c.width,
                                                 .r = c.patch,
                                                 .s = c.patch,
                                                 .stride_h = c.patch,
                                                 .stride_w = c.patch},
                                        .bias = true},
                            {});
  block.last().input_gradient = false;  // the image needs none
  x = block.add("flatten", ops::View{.shape = patches}, {x});
  const std::string token = block.add("cls_token", ops::Parameter{.shape = {1, 1, c.width}}, {});
  x = block.add(
      "concatenate",
      ops::Move{.kind = ops::MoveKind::Cat, .input = patches, .result = hidden, .others = c.width},
      {x, token});
  const std::string positions =
      block.add("position_embeddings", ops::Parameter{.shape = {1, t.queries, c.width}}, {});
  x = block.add("add_position", broadcast(ops::Function::Add, hidden, t.queries * c.width, true),
                {x, positions});
  add_dropout(block, t, c.hidden_dropout, hidden, x, "dropout");
  return std::move(block).take();
}

Block layer_block(const VitConfig& c, const TokenCounts& t, AttentionKind attention) {
  BlockBuilder block("layer", c.layers);
  const Shape hidden{t.batch, t.queries, c.width};
  const std::string input(kBlockInput);
  const ops::Linear project{.rows = t.rows(), .in = c.width, .out = c.width, .bias = c.qkv_bias};
  std::string x = block.add("layernorm_before", ops::LayerNorm{.shape = hidden}, {input});
  const std::string q = block.add("attention.query", project, {x});
  const std::string k = block.add("attention.key", project, {x});
  const std::string v = block.add("attention.value", project, {x});
  x = add_attention(block, t, attention,
                    {.heads = c.heads,
                     .kv_heads = c.heads,
                     .head_dim = c.head_dim,
                     .causal = false,
                     .scale = ScoreScale::ByScalar,
                     .mask = ScoreMask::None,
                     .dropout = c.attention_dropout},
                    {.query = q, .key = k, .value = v}, "attention.");
  x = block.add("attention.output", ops::Linear{.rows = t.rows(), .in = c.width, .out = c.width},
                {x});
  x = add_dropout(block, t, c.hidden_dropout, hidden, x, "attention.dropout");
  const std::string middle =
      block.add("attention.residual", binary(ops::Function::Add, hidden), {x, input});
  x = block.add("layernorm_after", ops::LayerNorm{.shape = hidden}, {middle});
  x = block.add("intermediate", ops::Linear{.rows = t.rows(), .in = c.width, .out = c.inner}, {x});
  x = add_activation(block, c.activation, {t.batch, t.queries, c.inner}, x, "act.");
  x = block.add("output", ops::Linear{.rows = t.rows(), .in = c.inner, .out = c.width}, {x});
  x = add_dropout(block, t, c.hidden_dropout, hidden, x, "output.dropout");
  block.add("output.residual", binary(ops::Function::Add, hidden), {x, middle});
  return std::move(block).take();
}

Block head_block(const VitConfig& c, const TokenCounts& t, bool loss) {
  BlockBuilder block("head", 1);
  std::string x = block.add("norm", ops::LayerNorm{.shape = {t.batch, t.queries, c.width}},
                            {std::string(kBlockInput)});
  x = block.add("class_token", ops::View{.shape = {t.batch, c.width}}, {x});
  x = block.add("classifier", ops::Linear{.rows = t.batch, .in = c.width, .out = c.labels}, {x});
  if (t.train && loss) {
    block.add("loss", ops::CrossEntropy{.rows = t.batch, .classes = c.labels}, {x});
  }
  return std::move(block).take();
}

}  // namespace

Result<Graph> import_vit(const HfReader& config, const ImportOptions& options) {
  ROOFTILE_TRY(const VitConfig c, read_config(config));
  ROOFTILE_CHECK(check_no_cache(config.root(), options.step));
  ImportOptions image = options;
  image.sequence = c.patches() + 1;  // the image decides: its patches and the class token
  ROOFTILE_TRY(const TokenCounts t, token_counts(image, 0, config.root().where()));
  ROOFTILE_CHECK(
      check_step_sizes(t, {.heads = c.heads, .keys = t.keys, .widest = std::max(c.width, c.inner)},
                       config.root().where()));
  Graph graph;
  graph.sequence = t.queries;
  graph.blocks.push_back(embedding_block(c, t));
  graph.blocks.push_back(layer_block(c, t, options.attention));
  graph.blocks.push_back(head_block(c, t, options.loss));
  return graph;
}

}  // namespace rooftile::graph
