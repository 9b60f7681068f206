// SPDX-License-Identifier: Apache-2.0
//
// Hugging Face config.json: the key "model_type" selects the family. Keys that a family does not
// read are ignored, as in the library itself, unless one looks like a misspelling; the keys it
// reads are checked. "architectures", the dtype and a quantization that the graph does not follow
// become notes of the graph.
#include <fmt/format.h>

#include <array>
#include <string>
#include <vector>

#include "core/text.h"
#include "graph/import/families.h"
#include "graph/import/importer.h"

namespace rooftile::graph {

namespace {

using Key = std::string_view;

// All keys that a family reads; HfReader asserts that it is asked for no other.
constexpr std::array<Key, 13> kGpt2Keys{
    "model_type",          "n_embd",     "n_layer",     "n_head",
    "vocab_size",          "n_inner",    "n_positions", "activation_function",
    "tie_word_embeddings", "embd_pdrop", "resid_pdrop", "attn_pdrop",
    "add_cross_attention"};
constexpr std::array<Key, 17> kBertKeys{"model_type",
                                        "hidden_size",
                                        "num_hidden_layers",
                                        "num_attention_heads",
                                        "intermediate_size",
                                        "vocab_size",
                                        "max_position_embeddings",
                                        "type_vocab_size",
                                        "num_labels",
                                        "id2label",
                                        "hidden_act",
                                        "tie_word_embeddings",
                                        "hidden_dropout_prob",
                                        "attention_probs_dropout_prob",
                                        "position_embedding_type",
                                        "add_cross_attention",
                                        "is_decoder"};
constexpr std::array<Key, 16> kOptKeys{"model_type",
                                       "hidden_size",
                                       "num_hidden_layers",
                                       "num_attention_heads",
                                       "ffn_dim",
                                       "vocab_size",
                                       "word_embed_proj_dim",
                                       "max_position_embeddings",
                                       "activation_function",
                                       "do_layer_norm_before",
                                       "_remove_final_layer_norm",
                                       "enable_bias",
                                       "tie_word_embeddings",
                                       "dropout",
                                       "attention_dropout",
                                       "layer_norm_elementwise_affine"};
constexpr std::array<Key, 20> kLlamaKeys{"model_type",
                                         "hidden_size",
                                         "num_hidden_layers",
                                         "num_attention_heads",
                                         "num_key_value_heads",
                                         "head_dim",
                                         "intermediate_size",
                                         "vocab_size",
                                         "max_position_embeddings",
                                         "attention_bias",
                                         "mlp_bias",
                                         "tie_word_embeddings",
                                         "hidden_act",
                                         "attention_dropout",
                                         "sliding_window",
                                         "use_sliding_window",
                                         "max_window_layers",
                                         "layer_types",
                                         "num_local_experts",
                                         "num_experts_per_tok"};
constexpr std::array<Key, 19> kT5Keys{"model_type",
                                      "d_model",
                                      "d_ff",
                                      "num_heads",
                                      "d_kv",
                                      "num_layers",
                                      "num_decoder_layers",
                                      "vocab_size",
                                      "relative_attention_num_buckets",
                                      "dropout_rate",
                                      "tie_word_embeddings",
                                      "feed_forward_proj",
                                      "is_decoder",
                                      "num_experts",
                                      "expert_capacity",
                                      "router_bias",
                                      "router_jitter_noise",
                                      "num_sparse_encoder_layers",
                                      "num_sparse_decoder_layers"};
constexpr std::array<Key, 14> kVitKeys{"model_type",          "hidden_size",
                                       "num_hidden_layers",   "num_attention_heads",
                                       "intermediate_size",   "image_size",
                                       "patch_size",          "num_channels",
                                       "num_labels",          "id2label",
                                       "hidden_act",          "qkv_bias",
                                       "hidden_dropout_prob", "attention_probs_dropout_prob"};

// The library's attribute_map of each family that has one.
constexpr std::array kGpt2Aliases{
    HfAlias{.alias = "hidden_size", .key = "n_embd"},
    HfAlias{.alias = "num_hidden_layers", .key = "n_layer"},
    HfAlias{.alias = "num_attention_heads", .key = "n_head"},
    HfAlias{.alias = "max_position_embeddings", .key = "n_positions"},
};
constexpr std::array kT5Aliases{
    HfAlias{.alias = "hidden_size", .key = "d_model"},
    HfAlias{.alias = "num_hidden_layers", .key = "num_layers"},
    HfAlias{.alias = "num_attention_heads", .key = "num_heads"},
    HfAlias{.alias = "head_dim", .key = "d_kv"},
};

/// How the names in "architectures" begin and end: Llama + ForCausalLM.
struct Family {
  std::string_view model_type;
  Result<Graph> (*import)(const HfReader& config, const ImportOptions& options);
  std::span<const Key> keys;
  std::span<const HfAlias> aliases;
  std::string_view prefix;       ///< of the class names: "Llama"
  std::string_view infer_class;  ///< the class that inference runs: "ForCausalLM"
  std::string_view train_class;  ///< and training
};

constexpr Family decoder(std::string_view type, std::string_view prefix) {
  return {.model_type = type,
          .import = import_llama,
          .keys = kLlamaKeys,
          .aliases = {},
          .prefix = prefix,
          .infer_class = "ForCausalLM",
          .train_class = "ForCausalLM"};
}
constexpr Family encoder_decoder(std::string_view type, std::string_view prefix) {
  return {.model_type = type,
          .import = import_t5,
          .keys = kT5Keys,
          .aliases = kT5Aliases,
          .prefix = prefix,
          .infer_class = "ForConditionalGeneration",
          .train_class = "ForConditionalGeneration"};
}

constexpr std::array kFamilies{
    Family{.model_type = "gpt2",
           .import = import_gpt2,
           .keys = kGpt2Keys,
           .aliases = kGpt2Aliases,
           .prefix = "GPT2",
           .infer_class = "LMHeadModel",
           .train_class = "LMHeadModel"},
    Family{.model_type = "bert",
           .import = import_bert,
           .keys = kBertKeys,
           .aliases = {},
           .prefix = "Bert",
           .infer_class = "ForSequenceClassification",
           .train_class = "ForPreTraining"},
    Family{.model_type = "opt",
           .import = import_opt,
           .keys = kOptKeys,
           .aliases = {},
           .prefix = "OPT",
           .infer_class = "ForCausalLM",
           .train_class = "ForCausalLM"},
    decoder("llama", "Llama"),
    decoder("mistral", "Mistral"),
    decoder("mixtral", "Mixtral"),
    decoder("qwen2", "Qwen2"),
    decoder("qwen3", "Qwen3"),
    decoder("gemma", "Gemma"),
    encoder_decoder("t5", "T5"),
    encoder_decoder("switch_transformers", "SwitchTransformers"),
    Family{.model_type = "vit",
           .import = import_vit,
           .keys = kVitKeys,
           .aliases = {},
           .prefix = "ViT",
           .infer_class = "ForImageClassification",
           .train_class = "ForImageClassification"},
};

/// The first of "architectures", which is what the library loads; empty when there is none.
Result<std::string> architecture_of(const JsonView& document) {
  const auto field = document.find("architectures");
  if (!field) return std::string{};
  ROOFTILE_TRY(const auto names, field->elements());
  if (names.empty()) return std::string{};
  return names.front().string();
}

/// Reads the head from the class name. A bare model has no loss, so it does not train.
Result<HfHead> read_head(const JsonView& document, const Family& family, const std::string& name,
                         Step step) {
  HfHead head = HfHead::Usual;
  if (name == fmt::format("{}Model", family.prefix)) head = HfHead::None;
  if (family.import == import_t5 && name == fmt::format("{}EncoderModel", family.prefix)) {
    head = HfHead::EncoderOnly;
  }
  if (head != HfHead::Usual && step == Step::Train) {
    ROOFTILE_TRY(const JsonView field, document.at("architectures"));
    return field.unsupported(
        fmt::format("{} has no head to train", name),
        fmt::format("name {}{}, or use infer", family.prefix, family.train_class));
  }
  return head;
}

/// What the file says and the graph does not follow.
Result<std::vector<std::string>> notes_on(const JsonView& document, const Family& family,
                                          const std::string& architecture, HfHead head,
                                          const ImportOptions& options) {
  std::vector<std::string> notes;
  const std::string runs = fmt::format(
      "{}{}", family.prefix, options.step == Step::Train ? family.train_class : family.infer_class);
  // The old name of T5ForConditionalGeneration is still in published files.
  const bool same = architecture == runs || architecture == "T5WithLMHeadModel";
  if (!architecture.empty() && head == HfHead::Usual && !same) {
    notes.push_back(fmt::format("architecture: the file names {}, the graph of this step is {}",
                                printable(architecture), runs));
  }
  for (const std::string_view key : {"dtype", "torch_dtype"}) {
    const auto field = document.find(key);
    if (!field) continue;
    ROOFTILE_TRY(const std::string text, field->string());
    const auto dtype = parse_dtype(text);
    if (text == "auto" || (dtype && *dtype == options.dtype)) break;
    notes.push_back(fmt::format("dtype: the file's {} is {}, the prediction is for {}", key,
                                printable(text), name_of(options.dtype)));
    break;
  }
  if (document.find("quantization_config")) {
    notes.push_back(
        fmt::format("quantization: quantization_config is not modelled, weights are counted in {}",
                    name_of(options.dtype)));
  }
  return notes;
}

Result<Graph> import_family(const JsonView& document, const Family& family,
                            const ImportOptions& options) {
  ROOFTILE_TRY(const std::string architecture, architecture_of(document));
  ROOFTILE_TRY(const HfHead head, read_head(document, family, architecture, options.step));
  HfSizes sizes;
  const HfReader config(document, family.keys, family.aliases, head, sizes);
  ROOFTILE_CHECK(config.check_spelling());
  ROOFTILE_TRY(Graph graph, family.import(config, options));
  ROOFTILE_TRY(graph.notes, notes_on(document, family, architecture, head, options));
  for (std::string& note : sizes.notes(fmt::format("{}Config", family.prefix))) {
    graph.notes.push_back(std::move(note));
  }
  graph.family = family.model_type;
  return graph;
}

std::array<std::string_view, kFamilies.size()> family_names() {
  std::array<std::string_view, kFamilies.size()> names;
  for (std::size_t i = 0; i < kFamilies.size(); ++i) names[i] = kFamilies[i].model_type;
  return names;
}

}  // namespace

bool is_hf_config(const JsonView& document) {
  return document.find("model_type").has_value();
}

Result<Graph> import_hf_config(const JsonView& document, const ImportOptions& options) {
  ROOFTILE_TRY(const JsonView field, document.at("model_type"));
  ROOFTILE_TRY(const std::string type, field.string());
  for (const Family& family : kFamilies) {
    if (family.model_type == type) return import_family(document, family, options);
  }
  const auto names = family_names();
  return field.unsupported(fmt::format("unsupported model_type \"{}\"", printable(type)),
                           fmt::format("supported: {}", fmt::join(names, ", ")));
}

}  // namespace rooftile::graph
