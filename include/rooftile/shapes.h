// SPDX-License-Identifier: Apache-2.0
//
// The sizes of single kernels.
#pragma once

#include <cstdint>

namespace rooftile::ops {

/// C[m,n] = A[m,k] B[k,n], `batch` times.
struct GemmShape {
  std::int64_t batch = 1, m = 1, n = 1, k = 1;
  bool operator==(const GemmShape&) const = default;
};

enum class ConvPass : std::uint8_t { Forward, DataGradient, FilterGradient };

/// Convolution, named as in Timeloop's cnn_layer: input n c h w, filters k (c/groups) r s,
/// output n k p q. A transposed convolution is the DataGradient pass of its mirror image.
struct ConvShape {
  std::int64_t n = 1, c = 1, h = 1, w = 1, k = 1, r = 1, s = 1;
  std::int64_t stride_h = 1, stride_w = 1, pad_h = 0, pad_w = 0, dilation_h = 1, dilation_w = 1;
  std::int64_t groups = 1;
  ConvPass pass = ConvPass::Forward;
  [[nodiscard]] std::int64_t p() const {
    return (h + 2 * pad_h - dilation_h * (r - 1) - 1) / stride_h + 1;
  }
  [[nodiscard]] std::int64_t q() const {
    return (w + 2 * pad_w - dilation_w * (s - 1) - 1) / stride_w + 1;
  }
  bool operator==(const ConvShape&) const = default;
};

/// Row-wise view of vector operators: `rows` independent rows of `columns` elements.
struct RowShape {
  std::int64_t rows = 1, columns = 1;
  bool operator==(const RowShape&) const = default;
};

/// Fused attention: queries attend to keys/values without materialising the scores.
struct AttentionShape {
  std::int64_t batch = 1, heads = 1, kv_heads = 1;
  std::int64_t queries = 1, keys = 1;  ///< sequence lengths
  std::int64_t head_dim = 1;
  bool causal = false;
  std::int64_t window = 0;     ///< sliding window, 0 = full
  std::int64_t value_dim = 0;  ///< size of a value where it is not that of a key; 0 = head_dim
  /// The values are the first columns of the keys (absorbed multi-head latent attention).
  bool latent = false;
  [[nodiscard]] std::int64_t values() const { return value_dim > 0 ? value_dim : head_dim; }
  /// Elements that one token and key/value head has in the cache.
  [[nodiscard]] std::int64_t cached_width() const {
    return latent ? head_dim : head_dim + values();
  }
  bool operator==(const AttentionShape&) const = default;
};

}  // namespace rooftile::ops

namespace rooftile {
using ops::AttentionShape;
using ops::ConvPass;
using ops::ConvShape;
using ops::GemmShape;
using ops::RowShape;
}  // namespace rooftile
