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

struct Extent {
  std::int64_t h = 1, w = 1;
};

/// One number for both axes, or [height, width].
Result<Extent> read_extent(const HfReader& config, std::string_view key, std::int64_t fallback) {
  const auto field = config.find(key);
  if (!field) config.assume(key, fallback);
  if (!field) return Extent{.h = fallback, .w = fallback};
  Extent extent;
  if (!field->is_array()) {
    ROOFTILE_TRY(extent.h, field->integer(1, HfReader::kMaxSize));
    extent.w = extent.h;
    return extent;
  }
  ROOFTILE_TRY(const auto sides, field->elements());
  if (sides.size() != 2) return field->error("two sides are needed", "write [height, width]");
  ROOFTILE_TRY(extent.h, sides[0].integer(1, HfReader::kMaxSize));
  ROOFTILE_TRY(extent.w, sides[1].integer(1, HfReader::kMaxSize));
  return extent;
}

struct VitConfig {
  std::int64_t width = 0, heads = 0, head_dim = 0, layers = 0, inner = 0;
  Extent image, patch;
  std::int64_t channels = 0, labels = 0;
  std::string activation;
  bool qkv_bias = true, hidden_dropout = false, attention_dropout = false;
  [[nodiscard]] std::int64_t patches() const { return (image.h / patch.h) * (image.w / patch.w); }
};

Result<VitConfig> read_vit(const HfReader& config) {
  VitConfig c;
  ROOFTILE_TRY(c.width, config.size_or("hidden_size", 768));
  ROOFTILE_TRY(c.layers, config.layers("num_hidden_layers", 12));
  ROOFTILE_TRY(c.heads, config.size_or("num_attention_heads", 12));
  ROOFTILE_TRY(c.inner, config.size_or("intermediate_size", 3072));
  ROOFTILE_TRY(c.image, read_extent(config, "image_size", 224));
  ROOFTILE_TRY(c.patch, read_extent(config, "patch_size", 16));
  ROOFTILE_TRY(c.channels, config.size_or("num_channels", 3));
  ROOFTILE_TRY(c.labels, label_count(config));
  ROOFTILE_TRY(c.activation, config.text("hidden_act", "gelu"));
  ROOFTILE_TRY(c.qkv_bias, config.flag("qkv_bias", true));
  ROOFTILE_TRY(c.hidden_dropout, config.dropout("hidden_dropout_prob", 0.0));
  ROOFTILE_TRY(c.attention_dropout, config.dropout("attention_probs_dropout_prob", 0.0));
  ROOFTILE_TRY(c.head_dim, config.head_size("num_attention_heads", c.width, c.heads));
  ROOFTILE_CHECK(check_activation(config.root(), "hidden_act", c.activation));
  if (c.patch.h > c.image.h || c.patch.w > c.image.w) {
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
                                                 .h = c.image.h,
                                                 .w = c.image.w,
                                                 .k = c.width,
                                                 .r = c.patch.h,
                                                 .s = c.patch.w,
                                                 .stride_h = c.patch.h,
                                                 .stride_w = c.patch.w},
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

Block head_block(const VitConfig& c, const TokenCounts& t, HfHead head, bool loss) {
  BlockBuilder block("head", 1);
  std::string x = block.add("norm", ops::LayerNorm{.shape = {t.batch, t.queries, c.width}},
                            {std::string(kBlockInput)});
  x = block.add("class_token", ops::View{.shape = {t.batch, c.width}}, {x});
  if (head == HfHead::None) {
    x = block.add("pooler", ops::Linear{.rows = t.batch, .in = c.width, .out = c.width}, {x});
    block.add("pooler.tanh", unary(ops::Function::Tanh, {t.batch, c.width}), {x});
    return std::move(block).take();
  }
  x = block.add("classifier", ops::Linear{.rows = t.batch, .in = c.width, .out = c.labels}, {x});
  if (t.train && loss) {
    block.add("loss", ops::CrossEntropy{.rows = t.batch, .classes = c.labels}, {x});
  }
  return std::move(block).take();
}

}  // namespace

Result<Graph> import_vit(const HfReader& config, const ImportOptions& options) {
  ROOFTILE_TRY(const VitConfig c, read_vit(config));
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
  graph.blocks.push_back(head_block(c, t, config.head(), options.loss));
  return graph;
}

}  // namespace rooftile::graph
