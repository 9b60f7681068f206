// SPDX-License-Identifier: Apache-2.0
#include "ops/pool.h"

#include <fmt/format.h>

namespace rooftile::ops {

namespace {

struct PoolAxis {
  std::int64_t size, window, stride, pad;
};

std::int64_t outputs(const PoolAxis& a, bool ceil_mode) {
  const std::int64_t span = a.size + 2 * a.pad - a.window;
  std::int64_t count = span / a.stride + 1;
  // With ceil_mode a window may start inside the input or its left padding only.
  if (ceil_mode && span % a.stride != 0 && count * a.stride < a.size + a.pad) ++count;
  return count;
}

Status check_axis(std::string_view name, const PoolAxis& a) {
  constexpr std::int64_t kMaxExtent = std::int64_t{1} << 24;
  if (a.pad < 0 || a.pad > kMaxExtent || a.size > kMaxExtent || a.window > kMaxExtent) {
    return bad_input({}, fmt::format("pooling {} is out of range", name),
                     "sides may have up to 2^24 elements, paddings are not negative");
  }
  if (a.size + 2 * a.pad < a.window) {
    return bad_input({},
                     fmt::format("a pooling window of {} {} does not fit into {} + 2 x {} padding",
                                 name, a.window, a.size, a.pad),
                     {});
  }
  return {};
}

}  // namespace

std::int64_t Pool::p() const {
  return outputs({.size = h, .window = window_h, .stride = stride_h, .pad = pad_h}, ceil_mode);
}

std::int64_t Pool::q() const {
  return outputs({.size = w, .window = window_w, .stride = stride_w, .pad = pad_w}, ceil_mode);
}

Status Pool::check() const {
  ROOFTILE_CHECK(check_sizes("pooling input", {n, c, h, w}));
  ROOFTILE_CHECK(check_sizes("pooling window", {window_h, window_w, stride_h, stride_w}));
  ROOFTILE_CHECK(
      check_axis("height", {.size = h, .window = window_h, .stride = stride_h, .pad = pad_h}));
  ROOFTILE_CHECK(
      check_axis("width", {.size = w, .window = window_w, .stride = stride_w, .pad = pad_w}));
  return check_sizes("pooling output", {n, c, p(), q()});
}

Saved Pool::saved(const LowerContext&) const {
  if (!maximum) return {};
  return {.inputs = 1, .output = false, .extra = bytes_of(output().elements(), DType::Int64)};
}

void Pool::forward(const LowerContext& context, KernelList& kernels) const {
  kernels.push_back(vector_kernel(
      context.precision,
      {.op = maximum ? "max_pool" : "avg_pool",
       .kind = KernelClass::Reduction,
       .shape = {.rows = n * c, .columns = p() * q()},
       .flop_per_element = static_cast<double>(window_h) * static_cast<double>(window_w),
       .read = n * c * h * w,
       .written = n * c * p() * q()}));
}

void Pool::backward(const LowerContext& context, KernelList& kernels) const {
  KernelWork work = vector_kernel(
      context.precision,
      {.op = maximum ? "max_pool_backward" : "avg_pool_backward",
       .kind = KernelClass::Reduction,
       .shape = {.rows = n * c, .columns = p() * q()},
       .flop_per_element = static_cast<double>(window_h) * static_cast<double>(window_w),
       .read = n * c * p() * q(),
       .written = n * c * h * w});
  if (maximum) work.read += bytes_of(n * c * p() * q(), DType::Int64);
  kernels.push_back(work);
}

}  // namespace rooftile::ops
