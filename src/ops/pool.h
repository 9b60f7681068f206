// SPDX-License-Identifier: Apache-2.0
//
// Pooling over windows of an image: maximum or average. One FLOP per window element; the input is
// read once (overlapping windows meet in cache), the output written once. Backward reads the
// gradient of the output (and, for a maximum, the saved positions) and writes that of the input.
#pragma once

#include "ops/operator.h"

namespace rooftile::ops {

struct Pool {
  static constexpr std::string_view kName = "pool";
  std::int64_t n = 1, c = 1, h = 1, w = 1;
  std::int64_t window_h = 1, window_w = 1, stride_h = 1, stride_w = 1, pad_h = 0, pad_w = 0;
  bool maximum = true;     ///< else the average
  bool ceil_mode = false;  ///< a last window may hang over the edge

  [[nodiscard]] std::int64_t p() const;
  [[nodiscard]] std::int64_t q() const;
  [[nodiscard]] Status check() const;
  [[nodiscard]] Shape output() const { return {n, c, p(), q()}; }
  [[nodiscard]] std::int64_t parameters() const { return 0; }
  [[nodiscard]] Saved saved(const LowerContext& context) const;
  void forward(const LowerContext& context, KernelList& kernels) const;
  void backward(const LowerContext& context, KernelList& kernels) const;
  void accumulate(const LowerContext&, KernelList&) const {}
  bool operator==(const Pool&) const = default;
};

}  // namespace rooftile::ops
