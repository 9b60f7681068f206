// SPDX-License-Identifier: Apache-2.0
#include "ops/conv2d.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ops/pool.h"
#include "unit/ops/lowering.h"

namespace rooftile::ops {
namespace {

// ResNet's first layer, one image: 3 x 224 x 224 -> 64 x 112 x 112, 7 x 7, stride 2, padding 3:
// 2 * 64 * 112^2 * 3 * 49 = 236,027,904 FLOP; 9408 weights.
Conv2d resnet_stem() {
  return {.conv = {.n = 1,
                   .c = 3,
                   .h = 224,
                   .w = 224,
                   .k = 64,
                   .r = 7,
                   .s = 7,
                   .stride_h = 2,
                   .stride_w = 2,
                   .pad_h = 3,
                   .pad_w = 3}};
}

TEST(Conv2d, ForwardAndItsGradients) {
  const Conv2d op = resnet_stem();
  EXPECT_EQ(op.output(), (Shape{1, 64, 112, 112}));
  EXPECT_EQ(op.parameters(), 9408);
  const KernelWork work = forward_of(op)[0];
  EXPECT_EQ(work.flops, 236027904_FLOP);
  EXPECT_EQ(work.read.base(), (150528 + 9408) * 4.0);
  EXPECT_EQ(work.written.base(), 802816 * 4.0);
  const auto gradients = backward_of(op);
  ASSERT_EQ(gradients.size(), 2U);
  EXPECT_EQ(std::get<ConvShape>(gradients[0].shape).pass, ConvPass::DataGradient);
  EXPECT_EQ(std::get<ConvShape>(gradients[1].shape).pass, ConvPass::FilterGradient);
  for (const KernelWork& gradient : gradients) EXPECT_EQ(gradient.flops, work.flops);
  EXPECT_EQ(gradients[1].written.base(), 9408 * 4.0);
}

// Depthwise 3 x 3 on 32 channels of 8 x 8: 2 * 32 * 64 * 9 = 36864 FLOP and 288 weights.
TEST(Conv2d, Depthwise) {
  Conv2d op{.conv = {.n = 1, .c = 32, .h = 8, .w = 8, .k = 32, .r = 3, .s = 3}};
  op.conv.pad_h = op.conv.pad_w = 1;
  op.conv.groups = 32;
  EXPECT_EQ(forward_of(op)[0].flops, 36864_FLOP);
  EXPECT_EQ(op.parameters(), 288);
}

/// Positions of one axis that a tap reads, counted one by one.
std::int64_t counted(const ConvShape& s) {
  std::vector<bool> read(static_cast<std::size_t>(s.h), false);
  for (std::int64_t p = 0; p < s.p(); ++p) {
    for (std::int64_t r = 0; r < s.r; ++r) {
      const std::int64_t y = p * s.stride_h + r * s.dilation_h - s.pad_h;
      if (y >= 0 && y < s.h) read[static_cast<std::size_t>(y)] = true;
    }
  }
  return std::count(read.begin(), read.end(), true);
}

// A 1x1 filter of stride 2 reads every other row and column; 3x3 of stride 2 without padding on 8 x
// 8 stops at row 2 * 2 + 2 = 6. One channel, one filter: read = input + filter.
TEST(Conv2d, UntouchedInputIsNotCompulsory) {
  Conv2d pointwise{.conv = {.n = 1, .c = 1, .h = 8, .w = 8, .k = 1}};
  pointwise.conv.stride_h = pointwise.conv.stride_w = 2;
  EXPECT_EQ(forward_of(pointwise)[0].read.base(), (4 * 4 + 1) * 4.0);
  EXPECT_EQ(backward_of(pointwise)[0].written.base(), 8 * 8 * 4.0) << "zeros are written too";
  EXPECT_EQ(backward_of(pointwise)[1].read.base(), (4 * 4 + 4 * 4) * 4.0);
  pointwise.conv.r = pointwise.conv.s = 3;
  EXPECT_EQ(forward_of(pointwise)[0].read.base(), (7 * 7 + 9) * 4.0);
}

TEST(Conv2d, TouchedInputIsCounted) {
  for (std::int64_t h = 1; h <= 14; ++h) {
    for (std::int64_t r = 1; r <= 5; ++r) {
      for (std::int64_t stride = 1; stride <= 4; ++stride) {
        for (std::int64_t dilation = 1; dilation <= 3; ++dilation) {
          for (std::int64_t pad = 0; pad <= 4; ++pad) {
            Conv2d op{.conv = {.n = 1, .c = 1, .h = h, .w = 1, .k = 1, .r = r, .s = 1}};
            op.conv.stride_h = stride;
            op.conv.dilation_h = dilation;
            op.conv.pad_h = pad;
            if (!op.check()) continue;
            const double touched = forward_of(op)[0].read.base() / 4 - static_cast<double>(r);
            const auto truth = static_cast<double>(counted(op.conv));
            EXPECT_EQ(touched, truth) << h << " " << r << " " << stride << " " << dilation;
          }
        }
      }
    }
  }
}

TEST(Conv2d, DilationWidensTheFilter) {
  Conv2d op{.conv = {.n = 1, .c = 1, .h = 9, .w = 9, .k = 1, .r = 3, .s = 3}};
  op.conv.dilation_h = op.conv.dilation_w = 2;
  EXPECT_EQ(op.output(), (Shape{1, 1, 5, 5}));  // 9 - 2 * 2
}

// A transposed convolution from 4 x 4 to 8 x 8 with 16 -> 6 channels is the data gradient of the
// convolution from 8 x 8 (6 channels) to 4 x 4 (16 channels).
TEST(Conv2d, TransposedIsTheMirrorImage) {
  Conv2d op{.conv = {.n = 1, .c = 6, .h = 8, .w = 8, .k = 16, .r = 4, .s = 4}};
  op.conv.stride_h = op.conv.stride_w = 2;
  op.conv.pad_h = op.conv.pad_w = 1;
  op.transposed = true;
  op.bias = true;
  EXPECT_EQ(op.conv.p(), 4);
  EXPECT_EQ(op.output(), (Shape{1, 6, 8, 8}));
  EXPECT_EQ(op.parameters(), 16 * 6 * 16 + 6);
  EXPECT_EQ(std::get<ConvShape>(forward_of(op)[0].shape).pass, ConvPass::DataGradient);
  EXPECT_EQ(std::get<ConvShape>(backward_of(op)[0].shape).pass, ConvPass::Forward);
}

TEST(Conv2d, Checks) {
  Conv2d op = resnet_stem();
  op.conv.groups = 2;
  EXPECT_EQ(message_of(op), "2 groups do not divide 3 input and 64 output channels");
  op = resnet_stem();
  op.conv.r = 300;
  EXPECT_EQ(message_of(op),
            "a filter of height 300 (dilation 1) does not fit into 224 + 2 x 3 padding");
  op = resnet_stem();
  op.conv.stride_h = 0;
  EXPECT_EQ(message_of(op), "convolution stride and dilation has the size 0 in 0x2x1x1");
}

// 112 x 112, window 3, stride 2, padding 1 -> 56 x 56.
TEST(Pool, MaximumKeepsPositions) {
  const Pool op{.n = 1,
                .c = 64,
                .h = 112,
                .w = 112,
                .window_h = 3,
                .window_w = 3,
                .stride_h = 2,
                .stride_w = 2,
                .pad_h = 1,
                .pad_w = 1};
  EXPECT_EQ(op.output(), (Shape{1, 64, 56, 56}));
  EXPECT_EQ(forward_of(op)[0].flops.base(), 64.0 * 56 * 56 * 9);
  EXPECT_EQ(op.saved({}).extra.base(), 64.0 * 56 * 56 * 8);
}

// 7 wide, window 3, stride 2: 3 windows fit exactly; 8 wide: 3, or 4 where the last may hang over.
TEST(Pool, CeilMode) {
  Pool op{.h = 7, .w = 8, .window_h = 3, .window_w = 3, .stride_h = 2, .stride_w = 2};
  EXPECT_EQ(op.output(), (Shape{1, 1, 3, 3}));
  op.ceil_mode = true;
  EXPECT_EQ(op.output(), (Shape{1, 1, 3, 4}));
  op.window_h = 9;
  EXPECT_EQ(message_of(op), "a pooling window of height 9 does not fit into 7 + 2 x 0 padding");
}

}  // namespace
}  // namespace rooftile::ops
