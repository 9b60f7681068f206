// SPDX-License-Identifier: Apache-2.0
//
// Layers whose past is a state of constant size: state-space models (Mamba 1 and 2) and linear
// attention with the delta rule (gated delta net). A prompt is worked through in chunks: within a
// chunk everything is products of chunk, key and value sizes, from chunk to chunk only the state is
// passed on. A single new token reads and writes the state, which is all that its time depends on.
// A short causal convolution over the tokens precedes both.
#pragma once

#include "ops/operator.h"

namespace rooftile::ops {

/// Each channel is filtered over the last `kernel` tokens. For a single token the `kernel` - 1
/// earlier ones come from a state, which is read and written.
struct ShortConv {
  static constexpr std::string_view kName = "short_conv";
  std::int64_t batch = 1, tokens = 1, channels = 1, kernel = 1;
  bool bias = false;
  bool from_state = false;

  [[nodiscard]] Status check() const;
  [[nodiscard]] Shape output() const { return {batch, tokens, channels}; }
  [[nodiscard]] std::int64_t parameters() const { return channels * (kernel + (bias ? 1 : 0)); }
  [[nodiscard]] Saved saved(const LowerContext&) const { return {.inputs = 1}; }
  void forward(const LowerContext& context, KernelList& kernels) const;
  void backward(const LowerContext& context, KernelList& kernels) const;
  void accumulate(const LowerContext& context, KernelList& kernels) const;
  bool operator==(const ShortConv&) const = default;
};

enum class StateRule : std::uint8_t {
  Decay,     ///< Mamba 2: the state of a head decays and adds key x value
  Delta,     ///< gated delta net: what the state already says about the key is taken off first
  Selective  ///< Mamba 1: every channel is a head of its own with its own decay per state element
};
/// decay delta selective
std::string_view name_of(StateRule rule);
Result<StateRule> parse_state_rule(std::string_view text);

/// A prompt of `tokens` tokens in chunks.
struct ChunkedScan {
  static constexpr std::string_view kName = "chunked_scan";
  StateRule rule = StateRule::Decay;
  std::int64_t batch = 1, tokens = 1, heads = 1;
  std::int64_t head_dim = 1;  ///< of a value
  std::int64_t state = 1;     ///< of a key: the state of a head is state x head_dim
  std::int64_t groups = 1;    ///< heads that have keys and queries of their own
  std::int64_t chunk = 64;

  [[nodiscard]] std::int64_t chunk_tokens() const { return chunk < tokens ? chunk : tokens; }
  [[nodiscard]] std::int64_t chunks() const {
    return (tokens + chunk_tokens() - 1) / chunk_tokens();
  }
  [[nodiscard]] Status check() const;
  [[nodiscard]] Shape output() const { return {batch, tokens, heads * head_dim}; }
  [[nodiscard]] std::int64_t parameters() const { return 0; }
  [[nodiscard]] Saved saved(const LowerContext&) const { return {.inputs = 1, .output = true}; }
  void forward(const LowerContext& context, KernelList& kernels) const;
  void backward(const LowerContext& context, KernelList& kernels) const;
  void accumulate(const LowerContext&, KernelList&) const {}
  bool operator==(const ChunkedScan&) const = default;
};

/// One new token of every sequence: the state, kept in FP32, is read, changed and written.
struct StateUpdate {
  static constexpr std::string_view kName = "state_update";
  StateRule rule = StateRule::Decay;
  std::int64_t batch = 1, heads = 1, head_dim = 1, state = 1;

  [[nodiscard]] std::int64_t elements() const { return heads * head_dim * state; }
  [[nodiscard]] Status check() const;
  [[nodiscard]] Shape output() const { return {batch, 1, heads * head_dim}; }
  [[nodiscard]] std::int64_t parameters() const { return 0; }
  [[nodiscard]] Saved saved(const LowerContext&) const { return {}; }
  void forward(const LowerContext& context, KernelList& kernels) const;
  void backward(const LowerContext& context, KernelList& kernels) const;
  void accumulate(const LowerContext&, KernelList&) const {}
  bool operator==(const StateUpdate&) const = default;
};

}  // namespace rooftile::ops
