// SPDX-License-Identifier: Apache-2.0
//
// Convolution, pooling and batch norm of the native graph format.
#include <fmt/format.h>

#include "graph/import/native_ops.h"

namespace rooftile::graph {

namespace {

constexpr std::string_view kImage = "batch x channels x height x width";
constexpr SizeRange kExtent{.low = 1, .high = kMaxNativeExtent};
constexpr SizeRange kPadding{.low = 0, .high = kMaxNativeExtent};
constexpr Pair kOne{.h = 1, .w = 1};
constexpr Pair kZero{.h = 0, .w = 0};

/// The image that a transposed convolution makes:
///   (size - 1) stride - 2 pad + dilation (r - 1) + 1 + output padding
/// The operator is described by its mirror image, which maps that back.
Status mirror(const NativeCall& call, const Shape& image, ops::Conv2d& op) {
  ROOFTILE_TRY(const Pair extra, call.fields.pair("output_padding", kZero, kPadding));
  ops::ConvShape& s = op.conv;
  s.k = image[1];
  s.h = (image[2] - 1) * s.stride_h - 2 * s.pad_h + s.dilation_h * (s.r - 1) + 1 + extra.h;
  s.w = (image[3] - 1) * s.stride_w - 2 * s.pad_w + s.dilation_w * (s.s - 1) + 1 + extra.w;
  if (s.h < 1 || s.w < 1) {
    return call.fields.node().error(
        fmt::format("the transposed convolution makes an image of {} x {}", s.h, s.w),
        "reduce \"padding\"");
  }
  if (extra.h >= s.stride_h || extra.w >= s.stride_w) {
    return call.fields.at_or_node("output_padding")
        .error("the output padding is not smaller than the stride");
  }
  return {};
}

}  // namespace

Result<InferredOp> infer_conv(const NativeCall& call) {
  ROOFTILE_CHECK(expect_rank(call, 0, 4, kImage));
  const Shape& image = call.inputs[0];
  const NativeFields& fields = call.fields;
  ROOFTILE_TRY(const std::int64_t out, fields.size("out_channels"));
  ROOFTILE_TRY(const Pair kernel, fields.pair("kernel", std::nullopt, kExtent));
  ROOFTILE_TRY(const Pair stride, fields.pair("stride", kOne, kExtent));
  ROOFTILE_TRY(const Pair padding, fields.pair("padding", kZero, kPadding));
  ROOFTILE_TRY(const Pair dilation, fields.pair("dilation", kOne, kExtent));
  ROOFTILE_TRY(const std::int64_t groups, fields.size_or("groups", 1));
  ops::Conv2d op;
  ROOFTILE_TRY(op.bias, fields.flag("bias", true));
  ROOFTILE_TRY(op.transposed, fields.flag("transposed", false));
  op.conv = {.n = image[0],
             .c = op.transposed ? out : image[1],
             .h = image[2],
             .w = image[3],
             .k = out,
             .r = kernel.h,
             .s = kernel.w,
             .stride_h = stride.h,
             .stride_w = stride.w,
             .pad_h = padding.h,
             .pad_w = padding.w,
             .dilation_h = dilation.h,
             .dilation_w = dilation.w,
             .groups = groups};
  if (op.transposed) {
    ROOFTILE_CHECK(mirror(call, image, op));
  } else if (const auto extra = fields.node().find("output_padding")) {
    return extra->error("only a transposed convolution has an output padding",
                        "add \"transposed\": true");
  }
  return InferredOp{.op = op, .output = {}};
}

Result<InferredOp> infer_pool(const NativeCall& call) {
  ROOFTILE_CHECK(expect_rank(call, 0, 4, kImage));
  const Shape& image = call.inputs[0];
  ROOFTILE_TRY(const Pair kernel, call.fields.pair("kernel", std::nullopt, kExtent));
  ROOFTILE_TRY(const Pair stride, call.fields.pair("stride", kernel, kExtent));
  ROOFTILE_TRY(const Pair padding, call.fields.pair("padding", kZero, kPadding));
  if (2 * padding.h > kernel.h || 2 * padding.w > kernel.w) {
    return call.fields.at_or_node("padding").error("the padding exceeds half of the window");
  }
  ops::Pool op{.n = image[0],
               .c = image[1],
               .h = image[2],
               .w = image[3],
               .window_h = kernel.h,
               .window_w = kernel.w,
               .stride_h = stride.h,
               .stride_w = stride.w,
               .pad_h = padding.h,
               .pad_w = padding.w,
               .maximum = call.op.name == "max_pool"};
  ROOFTILE_TRY(op.ceil_mode, call.fields.flag("ceil_mode", false));
  return InferredOp{.op = op, .output = {}};
}

Result<InferredOp> infer_adaptive_pool(const NativeCall& call) {
  ROOFTILE_CHECK(expect_rank(call, 0, 4, kImage));
  const Shape& image = call.inputs[0];
  ROOFTILE_TRY(const Pair output, call.fields.pair("output", kOne, kExtent));
  if (image[2] % output.h != 0 || image[3] % output.w != 0) {
    return call.fields.at_or_node("output").unsupported(
        fmt::format("an image of {} x {} cannot be cut into {} x {} equal windows", image[2],
                    image[3], output.h, output.w),
        "choose an output that divides the image");
  }
  const Pair window{.h = image[2] / output.h, .w = image[3] / output.w};
  return InferredOp{.op = ops::Pool{.n = image[0],
                                    .c = image[1],
                                    .h = image[2],
                                    .w = image[3],
                                    .window_h = window.h,
                                    .window_w = window.w,
                                    .stride_h = window.h,
                                    .stride_w = window.w,
                                    .maximum = false},
                    .output = {}};
}

Result<InferredOp> infer_batch_norm(const NativeCall& call) {
  const Shape& shape = call.inputs[0];
  if (shape.rank() < 2) {
    return call.fields.node().error(fmt::format(
        "\"batch_norm\" needs batch x channels x ..., its input is {}", to_string(shape)));
  }
  std::int64_t spatial = 1;
  for (std::size_t i = 2; i < shape.rank(); ++i) spatial *= shape[i];
  return InferredOp{.op = ops::BatchNorm{.n = shape[0],
                                         .c = shape[1],
                                         .spatial = spatial,
                                         .shape = shape,
                                         .training = call.train},
                    .output = {}};
}

}  // namespace rooftile::graph
