// SPDX-License-Identifier: Apache-2.0
//
// The built-in part "attention" of family files, and what layers keep between the steps.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/text.h"
#include "graph/family/block_template.h"

namespace rooftile::graph {

namespace {

template <typename Enum, std::size_t kSize>
Result<Enum> word(const Fields& fields, std::string_view key, std::string_view fallback,
                  const std::array<std::pair<std::string_view, Enum>, kSize>& words) {
  ROOFTILE_TRY(const std::string text, fields.text(key, fallback));
  std::vector<std::string_view> names;
  for (const auto& [name, value] : words) {
    if (name == text) return value;
    names.push_back(name);
  }
  return fields.node().error(fmt::format("unknown {} \"{}\"", key, printable(text)),
                             did_you_mean(text, names, fmt::format("{} is one of", key)));
}

constexpr std::array<std::pair<std::string_view, ScoreScale>, 4> kScales{
    {{"none", ScoreScale::None},
     {"divided", ScoreScale::ByScalar},
     {"divided_by_tensor", ScoreScale::ByTensor},
     {"multiplied", ScoreScale::Multiplied}}};
constexpr std::array<std::pair<std::string_view, ScoreMask>, 3> kMasks{
    {{"none", ScoreMask::None}, {"where", ScoreMask::Where}, {"added", ScoreMask::Add}}};

}  // namespace

Result<AttentionSpec> BlockTemplate::attention_spec(const Fields& fields) const {
  AttentionSpec spec;
  ROOFTILE_TRY(spec.heads, fields.size("heads"));
  ROOFTILE_TRY(spec.kv_heads, fields.size_or("kv_heads", spec.heads));
  ROOFTILE_TRY(spec.head_dim, fields.size("head_dim"));
  ROOFTILE_TRY(spec.value_dim, fields.count_or("value_dim", 0));
  ROOFTILE_TRY(spec.causal, fields.flag("causal", true));
  ROOFTILE_TRY(spec.window, fields.count_or("window", 0));
  ROOFTILE_TRY(spec.scale, word(fields, "scale", "multiplied", kScales));
  ROOFTILE_TRY(spec.mask, word(fields, "mask", "added", kMasks));
  ROOFTILE_TRY(spec.mask_gradient, fields.flag("mask_gradient", false));
  ROOFTILE_TRY(spec.dropout, fields.flag("dropout", false));
  ROOFTILE_TRY(spec.contiguous, fields.flag("contiguous", true));
  ROOFTILE_TRY(spec.latent, fields.flag("latent", false));
  ROOFTILE_TRY(spec.sinks, fields.flag("sinks", false));
  ROOFTILE_TRY(spec.floor, fields.flag("floor", false));
  return spec;
}

Result<TokenCounts> BlockTemplate::attention_tokens(const Fields& fields,
                                                    const AttentionSpec& spec) const {
  TokenCounts tokens;
  ROOFTILE_TRY(tokens.batch, fields.named("batch"));
  ROOFTILE_TRY(tokens.queries, fields.named("queries"));
  ROOFTILE_TRY(const std::int64_t keys, fields.named("keys"));
  ROOFTILE_TRY(tokens.keys, fields.size_or("keys", keys));
  tokens.train = options_.step == Step::Train;
  ROOFTILE_TRY(const Value cached, scope_.value_of("cached"));
  tokens.cached = cached.truth();
  // A cached token leaves the window for good: decode never sees more keys than it.
  if (spec.window > 0 && tokens.cached && tokens.queries == 1) {
    tokens.keys = std::min(tokens.keys, spec.window);
  }
  return tokens;
}

Status BlockTemplate::add_attention_part(const JsonView& view, Site& site) {
  constexpr std::array<std::string_view, 24> kKeys{
      "name",     "part",  "when",       "inputs",        "label",        "heads",
      "kv_heads", "keys",  "head_dim",   "causal",        "value_dim",    "window",
      "scale",    "mask",  "sinks",      "latent",        "dropout",      "mask_elements",
      "keep",     "write", "contiguous", "mask_gradient", "cached_width", "floor"};
  ROOFTILE_CHECK(view.expect_keys(kKeys));
  const Fields fields(view, scope_);
  ROOFTILE_TRY(AttentionSpec spec, attention_spec(fields));
  ROOFTILE_TRY(TokenCounts tokens, attention_tokens(fields, spec));
  if (!checked_product({tokens.batch, spec.heads, tokens.queries, tokens.keys + 1}) ||
      !checked_product({tokens.batch, spec.heads, tokens.keys, spec.head_dim}) ||
      !checked_product({2, tokens.batch, tokens.queries, spec.heads, spec.head_dim})) {
    return bad_input(model_, "the tensors of attention are too large",
                     "a tensor may have up to 2^53 elements; choose a smaller batch or sequence");
  }
  ROOFTILE_TRY(spec.mask_elements, fields.count_or("mask_elements", tokens.queries * tokens.keys));
  ROOFTILE_TRY(const auto read, inputs(view, site));
  if (read.size() != 3) return view.error("attention reads queries, keys and values");
  ROOFTILE_TRY(const std::string prefix, full_name(view, site));
  const std::size_t first = block_->size();
  // What is cached may be a latent from which the keys and values were expanded.
  ROOFTILE_TRY(const std::int64_t latent, fields.count_or("cached_width", 0));
  if (tokens.cached) {
    ROOFTILE_TRY(
        const std::int64_t kept,
        fields.count_or("keep", spec.window > 0 && latent == 0 ? std::min(spec.window, tokens.keys)
                                                               : tokens.keys));
    remember_cache(spec, tokens, latent, kept);
  }
  ROOFTILE_TRY(const bool write, fields.flag("write", true));
  if (tokens.cached && latent > 0) {
    block_->add_constant(prefix + "cache_write",
                         ops::Move{.kind = ops::MoveKind::Write,
                                   .input = {tokens.batch, tokens.queries, latent},
                                   .result = {},
                                   .to_cache = true},
                         {});
  }
  tokens.cached = tokens.cached && write && latent == 0;
  const std::string output =
      add_attention(*block_, tokens, options_.attention, spec,
                    {.query = read[0], .key = read[1], .value = read[2]}, prefix);
  ROOFTILE_CHECK(adopt(first));
  local_[output].shape = {tokens.batch, tokens.queries, spec.heads * spec.shape(tokens).values()};
  return leave(view, output, site);
}

KvCache& BlockTemplate::cache() {
  if (!cache_) cache_.emplace();
  if (const auto batch = scope_.value_of("batch"); batch && batch->integer() != nullptr) {
    cache_->batch = *batch->integer();
  }
  return *cache_;
}

void BlockTemplate::remember_cache(const AttentionSpec& spec, const TokenCounts& tokens,
                                   std::int64_t latent, std::int64_t kept) {
  if (aside_ != Aside::No) return;
  const bool shared = spec.latent || latent > 0;
  cache().parts.push_back({.block = name_,
                           .layers = repeat_,
                           .kv_heads = shared ? 1 : spec.kv_heads,
                           .width = latent > 0 ? latent : spec.shape(tokens).cached_width(),
                           .tokens = kept,
                           .shared = shared});
}

void BlockTemplate::remember_state(const ops::AnyOp& op) {
  const auto cached = scope_.value_of("cached");
  if (aside_ != Aside::No || !cached || !cached->truth()) return;
  const auto keep = [this](std::int64_t elements, DType dtype) {
    cache().states.push_back(
        {.block = name_, .layers = repeat_, .bytes = ops::bytes_of(elements, dtype)});
  };
  if (const auto* scan = std::get_if<ops::ChunkedScan>(&op)) {
    keep(scan->heads * scan->head_dim * scan->state, DType::Fp32);
  } else if (const auto* update = std::get_if<ops::StateUpdate>(&op)) {
    keep(update->elements(), DType::Fp32);
  } else if (const auto* conv = std::get_if<ops::ShortConv>(&op);
             conv != nullptr && conv->kernel > 1) {
    keep(conv->channels * (conv->kernel - 1), ops::precision_of(options_.dtype).storage);
  }
}

}  // namespace rooftile::graph
