// SPDX-License-Identifier: Apache-2.0
#include "ops/conv2d.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "core/integer.h"
#include "ops/touched_rows.h"

namespace rooftile::ops {

namespace {

std::int64_t filter_elements(const ConvShape& s) {
  return s.k * (s.c / s.groups) * s.r * s.s;
}

/// One axis of the input against the outputs' filters.
struct ConvAxis {
  std::int64_t size, outputs, filter, stride, dilation, pad;
};

/// Positions of the axis that some tap of some output reads: filters narrower than their stride
/// skip some, and so may the end of the axis. A tap reads every stride-th position of a range; taps
/// of the same residue may overlap.
std::int64_t touched(const ConvAxis& a) {
  const bool no_holes =
      a.dilation == 1 ? a.filter >= a.stride : a.stride == 1 && a.outputs >= a.dilation;
  if (no_holes) {
    const std::int64_t last = (a.outputs - 1) * a.stride + (a.filter - 1) * a.dilation - a.pad;
    return std::min(a.size - 1, last) + 1;  // the first is 0: padding is at most below it
  }
  std::map<std::int64_t, std::vector<std::pair<std::int64_t, std::int64_t>>> ranges;  // by residue
  for (std::int64_t tap = 0; tap < a.filter; ++tap) {
    const std::int64_t first = tap * a.dilation - a.pad;
    const std::int64_t begin = first >= 0 ? 0 : ceil_div(-first, a.stride);
    const std::int64_t end =
        first >= a.size ? 0 : std::min(a.outputs, (a.size - 1 - first) / a.stride + 1);
    const std::int64_t residue = ((first % a.stride) + a.stride) % a.stride;
    const std::int64_t offset = (first - residue) / a.stride;
    if (begin < end) ranges[residue].emplace_back(offset + begin, offset + end);
  }
  std::int64_t sum = 0;
  for (auto& [residue, list] : ranges) {
    std::sort(list.begin(), list.end());
    std::int64_t reached = list.front().first;
    for (const auto& [begin, end] : list) {
      sum += std::max<std::int64_t>(0, end - std::max(begin, reached));
      reached = std::max(reached, end);
    }
  }
  return sum;
}

/// Input elements that a forward pass or a filter gradient has to read.
std::int64_t touched_input(const ConvShape& s) {
  const ConvAxis x{s.w, s.q(), s.s, s.stride_w, s.dilation_w, s.pad_w};
  return s.n * s.c * touched_rows(s) * touched(x);
}

KernelWork conv_kernel(const Precision& p, ConvShape shape, ConvPass pass, std::int64_t bias) {
  shape.pass = pass;
  const std::int64_t input = shape.n * shape.c * shape.h * shape.w;
  const std::int64_t filter = filter_elements(shape);
  const std::int64_t output = shape.n * shape.k * shape.p() * shape.q();
  std::int64_t read = 0;
  std::int64_t written = 0;
  switch (pass) {
    case ConvPass::Forward: read = touched_input(shape) + filter, written = output; break;
    case ConvPass::DataGradient: read = output + filter, written = input; break;
    case ConvPass::FilterGradient: read = output + touched_input(shape), written = filter; break;
  }
  const std::int64_t channels = shape.c / shape.groups;  // exact: groups divide the channels
  const double macs = static_cast<double>(output) * static_cast<double>(channels) *
                      static_cast<double>(shape.r) * static_cast<double>(shape.s);
  return {.op = std::string(Conv2d::kName),
          .kind = KernelClass::Conv,
          .dtype = p.matrix_storage,
          .compute = p.matrix_compute,
          .matrix = true,
          .shape = shape,
          .flops = Flops::from_base(2.0 * macs),
          .read = bytes_of(read, p.matrix_storage) + bytes_of(bias, p.storage),
          .written = bytes_of(written, p.storage),
          .cold = bytes_of(pass == ConvPass::FilterGradient ? 0 : filter, p.matrix_storage)};
}

/// `size + 2 pad` covers the dilated filter; also keeps the products in p() and q() small.
Status check_extent(std::string_view axis, std::int64_t size, std::int64_t filter, std::int64_t pad,
                    std::int64_t dilation) {
  constexpr std::int64_t kMaxExtent = std::int64_t{1} << 24;
  if (size > kMaxExtent || filter > kMaxExtent || pad > kMaxExtent || dilation > kMaxExtent) {
    return bad_input({}, fmt::format("convolution {} is too large", axis),
                     "image and filter sides may have up to 2^24 elements");
  }
  if (pad < 0) {
    return bad_input({}, fmt::format("convolution {} padding {} is negative", axis, pad), {});
  }
  if (size + 2 * pad < dilation * (filter - 1) + 1) {
    return bad_input(
        {},
        fmt::format("a filter of {} {} (dilation {}) does not fit into {} + 2 x {} padding", axis,
                    filter, dilation, size, pad),
        {});
  }
  return {};
}

}  // namespace

std::int64_t touched_rows(const ConvShape& s) {
  return touched({s.h, s.p(), s.r, s.stride_h, s.dilation_h, s.pad_h});
}

Status Conv2d::check() const {
  const ConvShape& s = conv;
  ROOFTILE_CHECK(check_sizes("convolution input", {s.n, s.c, s.h, s.w}));
  ROOFTILE_CHECK(check_sizes("convolution filter", {s.k, s.c, s.r, s.s}));
  ROOFTILE_CHECK(check_sizes("convolution stride and dilation",
                             {s.stride_h, s.stride_w, s.dilation_h, s.dilation_w}));
  if (s.groups <= 0 || s.c % s.groups != 0 || s.k % s.groups != 0) {
    return bad_input(
        {},
        fmt::format("{} groups do not divide {} input and {} output channels", s.groups, s.c, s.k),
        "channels must be multiples of the number of groups");
  }
  ROOFTILE_CHECK(check_extent("height", s.h, s.r, s.pad_h, s.dilation_h));
  ROOFTILE_CHECK(check_extent("width", s.w, s.s, s.pad_w, s.dilation_w));
  return check_sizes("convolution output", {s.n, s.k, s.p(), s.q()});
}

Shape Conv2d::output() const {
  if (transposed) return {conv.n, conv.c, conv.h, conv.w};
  return {conv.n, conv.k, conv.p(), conv.q()};
}

std::int64_t Conv2d::biases() const {
  if (!bias) return 0;
  return transposed ? conv.c : conv.k;
}

std::int64_t Conv2d::parameters() const {
  return filter_elements(conv) + biases();
}

void Conv2d::forward(const LowerContext& context, KernelList& kernels) const {
  const ConvPass pass = transposed ? ConvPass::DataGradient : ConvPass::Forward;
  kernels.push_back(conv_kernel(context.precision, conv, pass, biases()));
}

void Conv2d::backward(const LowerContext& context, KernelList& kernels) const {
  if (context.input_gradient) {
    const ConvPass pass = transposed ? ConvPass::Forward : ConvPass::DataGradient;
    kernels.push_back(conv_kernel(context.precision, conv, pass, 0));
  }
  kernels.push_back(conv_kernel(context.precision, conv, ConvPass::FilterGradient, 0));
}

void Conv2d::accumulate(const LowerContext& context, KernelList& kernels) const {
  kernels.push_back(gradient_add(context.precision, filter_elements(conv)));
  if (bias) kernels.push_back(gradient_add(context.precision, transposed ? conv.c : conv.k));
}

}  // namespace rooftile::ops
