// SPDX-License-Identifier: Apache-2.0
//
// The Llama line of decoders: llama, mistral, mixtral, qwen2, qwen3, gemma. RMS norms (as one
// kernel each), rotary positions, grouped-query attention, a gated MLP or a mixture of experts.
// What differs is configuration: biases, norms of queries and keys, sliding windows, tied and
// scaled embeddings.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "core/text.h"
#include "graph/import/families.h"
#include "graph/import/transformer.h"

namespace rooftile::graph {

namespace {

struct LlamaConfig {
  std::int64_t width = 0, heads = 0, kv_heads = 0, head_dim = 0, layers = 0, inner = 0, vocab = 0;
  std::int64_t positions = 0, experts = 0, top_k = 0;
  std::int64_t window = 0, window_layers = 0;  ///< of `layers`, behind those without a window
  std::string activation;
  bool qkv_bias = false, output_bias = false, mlp_bias = false, tied = false;
  bool qk_norm = false, scaled_embedding = false, attention_dropout = false;
};

/// What the model types of this line do when a key is absent (transformers' configuration classes).
struct TypeDefaults {
  std::string_view type;
  std::int64_t width = 4096, layers = 32, heads = 32;
  std::int64_t kv_heads = 0, head_dim = 0;  ///< 0: as many as heads; width / heads
  std::int64_t inner = 11008, vocab = 32000, positions = 2048;
  std::string_view activation_key = "hidden_act";
  std::string_view activation = "silu";
  bool qkv_bias = false;  ///< fixed by the architecture, not by a key
  bool tied = false;
  bool qk_norm = false;
  bool scaled_embedding = false;
  bool window_needs_flag = false;  ///< sliding_window counts only with use_sliding_window
};

constexpr std::array kTypes{
    TypeDefaults{.type = "llama"},
    TypeDefaults{.type = "mistral", .kv_heads = 8, .inner = 14336, .positions = 131072},
    TypeDefaults{.type = "mixtral", .kv_heads = 8, .inner = 14336, .positions = 131072},
    TypeDefaults{.type = "qwen2",
                 .kv_heads = 32,
                 .inner = 22016,
                 .vocab = 151936,
                 .positions = 32768,
                 .qkv_bias = true,
                 .window_needs_flag = true},
    TypeDefaults{.type = "qwen3",
                 .kv_heads = 32,
                 .head_dim = 128,
                 .inner = 22016,
                 .vocab = 151936,
                 .positions = 32768,
                 .qk_norm = true,
                 .window_needs_flag = true},
    TypeDefaults{.type = "gemma",
                 .width = 3072,
                 .layers = 28,
                 .heads = 16,
                 .kv_heads = 16,
                 .head_dim = 256,
                 .inner = 24576,
                 .vocab = 256000,
                 .positions = 8192,
                 .activation = "gelu_pytorch_tanh",
                 .tied = true,
                 .scaled_embedding = true},
};

Result<std::int64_t> read_window(const HfReader& config, const TypeDefaults& type) {
  bool used = !type.window_needs_flag;
  if (type.window_needs_flag) {
    ROOFTILE_TRY(used, config.flag("use_sliding_window", false));
  }
  // The class default is 4096; files write the number or null.
  const bool absent_key_means_window =
      (type.type == "mistral" || type.window_needs_flag) && !config.has("sliding_window");
  constexpr std::int64_t kClassWindow = 4096;
  if (used && absent_key_means_window) return config.size_or("sliding_window", kClassWindow);
  ROOFTILE_TRY(const std::int64_t window, config.size_or_derived("sliding_window", 0));
  return used ? window : 0;
}

/// Which layers slide: as `layer_types` lists them, else those from max_window_layers on where the
/// type has that key, else all.
Status read_window_layers(const HfReader& config, const TypeDefaults& type, LlamaConfig& c) {
  constexpr std::int64_t kMaxWindowLayers = 28;  // the class default of qwen2 and qwen3
  std::int64_t full = 0;
  if (type.window_needs_flag && c.window > 0) {
    ROOFTILE_TRY(full, config.count_or("max_window_layers", kMaxWindowLayers));
  }
  c.window_layers = c.window > 0 ? c.layers - std::min(full, c.layers) : 0;
  const auto field = config.find("layer_types");
  if (!field) return {};
  ROOFTILE_TRY(const auto kinds, field->elements());
  if (static_cast<std::int64_t>(kinds.size()) != c.layers) {
    return field->error(fmt::format("{} entries for {} layers", kinds.size(), c.layers),
                        "one entry per layer");
  }
  c.window_layers = 0;
  for (const JsonView& kind : kinds) {
    ROOFTILE_TRY(const std::string name, kind.string());
    if (name != "full_attention" && name != "sliding_attention") {
      return kind.unsupported(fmt::format("unsupported layer type \"{}\"", printable(name)),
                              "supported: full_attention, sliding_attention");
    }
    if (name == "sliding_attention") ++c.window_layers;
  }
  if (c.window_layers > 0 && c.window == 0) {
    return field->error("layers have sliding attention, but there is no window",
                        "set \"sliding_window\" (and \"use_sliding_window\": true for qwen)");
  }
  return {};
}

Status read_attention(const HfReader& config, const TypeDefaults& type, LlamaConfig& c) {
  // An absent key is the class default; null is what the class derives.
  const bool class_kv = type.kv_heads > 0 && !config.has("num_key_value_heads");
  ROOFTILE_TRY(c.kv_heads,
               config.size_or("num_key_value_heads", class_kv ? type.kv_heads : c.heads));
  if (c.heads % c.kv_heads != 0) {
    const std::string hint =
        class_kv ? fmt::format("without num_key_value_heads {} has {}", type.type, type.kv_heads)
                 : "each key/value head serves the same number of query heads";
    return config.find("num_key_value_heads")
        .value_or(config.root())
        .error("num_attention_heads is not a multiple of num_key_value_heads", hint);
  }
  if (config.find("head_dim") || (type.head_dim > 0 && !config.has("head_dim"))) {
    ROOFTILE_TRY(c.head_dim, config.size_or("head_dim", type.head_dim));
  } else {
    ROOFTILE_TRY(c.head_dim, config.head_size("num_attention_heads", c.width, c.heads));
  }
  ROOFTILE_TRY(const bool bias, config.flag("attention_bias", false));
  c.qkv_bias = bias || type.qkv_bias;
  c.output_bias = bias;
  c.qk_norm = type.qk_norm;
  ROOFTILE_TRY(c.window, read_window(config, type));
  ROOFTILE_CHECK(read_window_layers(config, type, c));
  ROOFTILE_TRY(c.attention_dropout, config.dropout("attention_dropout", 0.0));
  return {};
}

Result<LlamaConfig> read_llama(const HfReader& config, const TypeDefaults& type) {
  LlamaConfig c;
  ROOFTILE_TRY(c.width, config.size_or("hidden_size", type.width));
  ROOFTILE_TRY(c.layers, config.layers("num_hidden_layers", type.layers));
  ROOFTILE_TRY(c.heads, config.size_or("num_attention_heads", type.heads));
  ROOFTILE_TRY(c.inner, config.size_or("intermediate_size", type.inner));
  ROOFTILE_TRY(c.vocab, config.size_or("vocab_size", type.vocab));
  ROOFTILE_TRY(c.positions, config.size_or("max_position_embeddings", type.positions));
  ROOFTILE_CHECK(read_attention(config, type, c));
  ROOFTILE_TRY(c.mlp_bias, config.flag("mlp_bias", false));
  ROOFTILE_TRY(c.tied, config.flag("tie_word_embeddings", type.tied));
  c.scaled_embedding = type.scaled_embedding;
  ROOFTILE_TRY(c.activation, config.text(type.activation_key, type.activation));
  ROOFTILE_CHECK(check_activation(config.root(), type.activation_key, c.activation));
  if (type.type == "mixtral") {
    ROOFTILE_TRY(c.experts, config.size_or("num_local_experts", 8));
    ROOFTILE_TRY(c.top_k, config.size_or("num_experts_per_tok", 2));
    if (c.top_k > c.experts) {
      return config.find("num_experts_per_tok")
          .value_or(config.root())
          .error("num_experts_per_tok exceeds num_local_experts",
                 "a token goes to at most all experts");
    }
  }
  return c;
}

Block embedding_block(const LlamaConfig& c, const TokenCounts& t) {
  BlockBuilder block("embedding", 1);
  const std::string x = block.add(
      "embed_tokens",
      ops::Embedding{.tokens = {t.batch, t.queries}, .entries = c.vocab, .width = c.width}, {});
  if (c.scaled_embedding) {
    block.add("scale", scalar(ops::Function::Mul, {t.batch, t.queries, c.width}), {x});
  }
  return std::move(block).take();
}

/// Projection, norm where the model has one, rotation.
std::string add_rotated(BlockBuilder& block, const LlamaConfig& c, const TokenCounts& t,
                        const std::string& input, const std::string& prefix, std::int64_t heads) {
  std::string x = block.add(
      prefix + "_proj",
      ops::Linear{.rows = t.rows(), .in = c.width, .out = heads * c.head_dim, .bias = c.qkv_bias},
      {input});
  if (c.qk_norm) {
    x = block.add(prefix + "_norm", ops::RmsNorm{.shape = {t.batch, t.queries, heads, c.head_dim}},
                  {x});
  }
  return block.add(
      prefix + "_rotary",
      ops::Rotary{.batch = t.batch, .tokens = t.queries, .heads = heads, .head_dim = c.head_dim},
      {x});
}

std::string add_self_attention(BlockBuilder& block, const LlamaConfig& c, TokenCounts t,
                               AttentionKind attention, std::int64_t window,
                               const std::string& input) {
  // A cached token leaves the window for good: decode never sees more keys than it.
  if (window > 0 && t.cached && t.queries == 1) t.keys = std::min(t.keys, window);
  const std::string q = add_rotated(block, c, t, input, "self_attn.q", c.heads);
  const std::string k = add_rotated(block, c, t, input, "self_attn.k", c.kv_heads);
  const std::string v = block.add(
      "self_attn.v_proj",
      ops::Linear{
          .rows = t.rows(), .in = c.width, .out = c.kv_heads * c.head_dim, .bias = c.qkv_bias},
      {input});
  const std::string x = add_attention(block, t, attention,
                                      {.heads = c.heads,
                                       .kv_heads = c.kv_heads,
                                       .head_dim = c.head_dim,
                                       .causal = true,
                                       .window = window,
                                       .scale = ScoreScale::Multiplied,
                                       .mask = ScoreMask::Add,
                                       .mask_elements = t.queries * t.keys,
                                       .dropout = c.attention_dropout},
                                      {.query = q, .key = k, .value = v}, "self_attn.");
  return block.add(
      "self_attn.o_proj",
      ops::Linear{
          .rows = t.rows(), .in = c.heads * c.head_dim, .out = c.width, .bias = c.output_bias},
      {x});
}

std::string add_mlp(BlockBuilder& block, const LlamaConfig& c, const TokenCounts& t,
                    const std::string& input) {
  const Shape inner{t.batch, t.queries, c.inner};
  const ops::Linear up{.rows = t.rows(), .in = c.width, .out = c.inner, .bias = c.mlp_bias};
  std::string gate = block.add("mlp.gate_proj", up, {input});
  const std::string value = block.add("mlp.up_proj", up, {input});
  gate = add_activation(block, c.activation, inner, gate, "mlp.act.");
  const std::string x = block.add("mlp.product", binary(ops::Function::Mul, inner), {gate, value});
  return block.add("mlp.down_proj",
                   ops::Linear{.rows = t.rows(), .in = c.inner, .out = c.width, .bias = c.mlp_bias},
                   {x});
}

std::string add_experts(BlockBuilder& block, const LlamaConfig& c, const TokenCounts& t,
                        const std::string& input) {
  const std::int64_t slots = t.rows() * c.top_k;
  ops::MoeRouting routing{
      .tokens = t.rows(), .experts = c.experts, .top_k = c.top_k, .width = c.width};
  const ops::ExpertLinear up{
      .slots = slots, .experts = c.experts, .in = c.width, .out = c.inner, .bias = false};
  const std::string scores = block.add(
      "moe.gate", ops::Linear{.rows = t.rows(), .in = c.width, .out = c.experts, .bias = false},
      {input});
  routing.step = ops::RoutingStep::Select;
  const std::string choice = block.add("moe.select", routing, {scores});
  routing.step = ops::RoutingStep::Dispatch;
  const std::string tokens = block.add("moe.dispatch", routing, {input, choice});
  std::string gate = block.add("moe.w1", up, {tokens});
  const std::string value = block.add("moe.w3", up, {tokens});
  gate = add_activation(block, c.activation, {slots, c.inner}, gate, "moe.act.");
  std::string x =
      block.add("moe.product", binary(ops::Function::Mul, {slots, c.inner}), {gate, value});
  x = block.add(
      "moe.w2",
      ops::ExpertLinear{
          .slots = slots, .experts = c.experts, .in = c.inner, .out = c.width, .bias = false},
      {x});
  routing.step = ops::RoutingStep::Combine;
  return block.add("moe.combine", routing, {x, choice});
}

struct LlamaLayers {
  std::string name;
  std::int64_t repeat = 1;
  std::int64_t window = 0;  ///< 0 = full attention
};

Block layer_block(const LlamaConfig& c, const TokenCounts& t, AttentionKind attention,
                  const LlamaLayers& layers) {
  BlockBuilder block(layers.name, layers.repeat);
  const Shape hidden{t.batch, t.queries, c.width};
  const std::string input(kBlockInput);
  std::string x = block.add("input_layernorm", ops::RmsNorm{.shape = hidden}, {input});
  x = add_self_attention(block, c, t, attention, layers.window, x);
  const std::string middle =
      block.add("self_attn.residual", binary(ops::Function::Add, hidden), {x, input});
  x = block.add("post_attention_layernorm", ops::RmsNorm{.shape = hidden}, {middle});
  x = c.experts > 0 ? add_experts(block, c, t, x) : add_mlp(block, c, t, x);
  block.add("mlp.residual", binary(ops::Function::Add, hidden), {x, middle});
  return std::move(block).take();
}

}  // namespace

Result<Graph> import_llama(const HfReader& config, const ImportOptions& options) {
  ROOFTILE_TRY(const std::string model_type, config.text("model_type", "llama"));
  const auto* type = std::find_if(kTypes.begin(), kTypes.end(),
                                  [&](const TypeDefaults& d) { return d.type == model_type; });
  if (type == kTypes.end()) return config.root().unsupported("unsupported model_type");
  ROOFTILE_TRY(const LlamaConfig c, read_llama(config, *type));
  ROOFTILE_TRY(const TokenCounts t, token_counts(options, c.positions, config.root().where()));
  ROOFTILE_CHECK(
      check_step_sizes(t,
                       {.heads = c.heads,
                        .keys = t.keys,
                        .widest = std::max({c.width, c.inner, c.vocab, c.heads * c.head_dim}),
                        .copies = std::max<std::int64_t>(c.top_k, 1)},
                       config.root().where()));
  Graph graph;
  graph.sequence = t.queries;
  graph.context = t.keys - t.queries;
  graph.blocks.push_back(embedding_block(c, t));
  const std::int64_t full = c.layers - c.window_layers;
  if (full > 0) {
    graph.blocks.push_back(
        layer_block(c, t, options.attention, {.name = "layer", .repeat = full, .window = 0}));
  }
  if (c.window_layers > 0) {
    graph.blocks.push_back(layer_block(c, t, options.attention,
                                       {.name = full > 0 ? "window_layer" : "layer",
                                        .repeat = c.window_layers,
                                        .window = c.window}));
  }
  graph.blocks.push_back(language_model_head({.width = c.width,
                                              .vocab = c.vocab,
                                              .tied = c.tied,
                                              .norm = HeadNorm::RmsNorm,
                                              .logits = config.head() == HfHead::Usual},
                                             t, options.loss));
  graph.kv_cache = kv_cache(t, c.layers, c.kv_heads, c.head_dim, full > 0 ? 0 : c.window);
  if (graph.kv_cache && full > 0 && c.window_layers > 0) {
    graph.kv_cache->window_layers = c.window_layers;
    graph.kv_cache->window_tokens = std::min(c.window, t.keys);
  }
  return graph;
}

}  // namespace rooftile::graph
