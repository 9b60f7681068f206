// SPDX-License-Identifier: Apache-2.0
#include "ops/conv2d.h"

#include <fmt/format.h>

namespace rooftile::ops {

namespace {

std::int64_t filter_elements(const ConvShape& s) {
  return s.k * (s.c / s.groups) * s.r * s.s;
}

KernelWork conv_kernel(const Precision& p, ConvShape shape, ConvPass pass, std::int64_t bias) {
  shape.pass = pass;
  const std::int64_t input = shape.n * shape.c * shape.h * shape.w;
  const std::int64_t filter = filter_elements(shape);
  const std::int64_t output = shape.n * shape.k * shape.p() * shape.q();
  std::int64_t read = 0;
  std::int64_t written = 0;
  switch (pass) {
    case ConvPass::Forward: read = input + filter, written = output; break;
    case ConvPass::DataGradient: read = output + filter, written = input; break;
    case ConvPass::FilterGradient: read = output + input, written = filter; break;
  }
  const double macs = static_cast<double>(output) * static_cast<double>(shape.c / shape.groups) *
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

std::int64_t Conv2d::parameters() const {
  return filter_elements(conv) + (bias ? (transposed ? conv.c : conv.k) : 0);
}

void Conv2d::forward(const LowerContext& context, KernelList& kernels) const {
  const ConvPass pass = transposed ? ConvPass::DataGradient : ConvPass::Forward;
  const std::int64_t biases = bias ? (transposed ? conv.c : conv.k) : 0;
  kernels.push_back(conv_kernel(context.precision, conv, pass, biases));
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
