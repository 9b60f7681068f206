// SPDX-License-Identifier: Apache-2.0
//
// Convolutions that launch products: they take the time of the predictor's own products.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "core/integer.h"
#include "cost/conv_estimate.h"
#include "cost/predictor.h"
#include "default_constants.h"
#include "hardware/machine.h"
#include "ops/any_op.h"

namespace rooftile::cost {
namespace {

hardware::Machine loaded(std::string_view gpu) {
  return hardware::load_machine(Catalog::embedded(), gpu, std::nullopt).value();
}

TimeMachine timed(std::string_view gpu) {
  const auto machine = loaded(gpu);
  return make_time_machine(machine, *machine.best_rate(DType::Fp32, true), DType::Fp32, true,
                           testing::default_constants());
}

ops::ConvShape square_layer() {
  ops::ConvShape conv{.n = 64, .c = 128, .h = 28, .w = 28, .k = 128, .r = 3, .s = 3};
  conv.pad_h = conv.pad_w = 1;
  return conv;
}

/// A library whose products take a nanosecond and find their operands where `spilled` says.
ConvTimeOptions instant_products(double spilled = 1) {
  return {.product = [spilled](const ops::GemmShape& gemm, Operands operands) {
    const double operand_bytes = 4.0 * real(gemm.batch * gemm.k * (gemm.m + gemm.n));
    const double result_bytes = 4.0 * real(gemm.batch * gemm.m * gemm.n);
    LibraryProduct product;
    product.breakdown.of(Resource::Compute) = Seconds::from_base(1e-9);
    product.seconds = 1e-9;
    const double share = operands == Operands::JustWritten ? spilled : 1.0;
    product.read = {.l1 = operand_bytes, .l2 = operand_bytes, .dram = share * operand_bytes};
    product.written = share * result_bytes;
    return product;
  }};
}

// What the measured libraries of Maxwell do.
TEST(ConvProducts, MaxwellTakesNoWinogradForFilterGradients) {
  ops::ConvShape conv = square_layer();
  conv.pass = ops::ConvPass::FilterGradient;
  const auto winograd = [&](std::string_view gpu) {
    const auto all = conv_candidates(conv, DType::Fp32, timed(gpu), instant_products());
    return std::any_of(all.begin(), all.end(), [](const ConvCandidate& c) {
      return c.algorithm == ConvAlgorithm::WinogradNonfused;
    });
  };
  EXPECT_FALSE(winograd("m40"));
  EXPECT_TRUE(winograd("titan-xp"));
}

// Weights that were fitted without products know no explicit GEMM.
TEST(ConvProducts, NoTimeOfAProductIsNoExplicitGemm) {
  const TimeMachine v100 = timed("v100-pcie-32gb");
  const ConvTimeOptions options{
      .product = [](const ops::GemmShape&, Operands) { return std::nullopt; }};
  for (const ops::ConvShape& conv :
       {ops::ConvShape{.n = 1, .c = 2048, .h = 7, .w = 7, .k = 512}, square_layer()}) {
    for (const ConvCandidate& c : conv_candidates(conv, DType::Fp32, v100, options)) {
      EXPECT_NE(c.algorithm, ConvAlgorithm::ExplicitGemm);
      EXPECT_NE(c.algorithm, ConvAlgorithm::WinogradNonfused);
    }
    EXPECT_GT(plan_of(fastest_conv(conv, DType::Fp32, v100, options).time).tile_k, 0);
  }
}

// Without a product's timer there are no explicit GEMMs; with one its time is theirs.
TEST(ConvProducts, ExplicitGemmsAreTimedByTheirPredictor) {
  const TimeMachine v100 = timed("v100-pcie-32gb");
  ops::ConvShape conv{.n = 1, .c = 2048, .h = 7, .w = 7, .k = 512};
  std::vector<ops::GemmShape> asked;
  const ConvTimeOptions instant = instant_products();
  const ConvTimeOptions options{.product = [&](const ops::GemmShape& gemm, Operands operands) {
    asked.push_back(gemm);
    return instant.product(gemm, operands);
  }};
  EXPECT_NE(conv_candidates(conv, DType::Fp32, v100, {}).front().algorithm,
            ConvAlgorithm::ExplicitGemm);
  const ConvCandidate forward = conv_candidates(conv, DType::Fp32, v100, options).front();
  EXPECT_EQ(forward.algorithm, ConvAlgorithm::ExplicitGemm);
  EXPECT_EQ(forward.seconds(), 1e-9);
  conv.pass = ops::ConvPass::DataGradient;
  EXPECT_EQ(conv_candidates(conv, DType::Fp32, v100, options).front().algorithm,
            ConvAlgorithm::ExplicitGemm);
  EXPECT_EQ(asked.front(), (ops::GemmShape{.m = 49, .n = 512, .k = 2048}));
  // im2col writes 9 times the image, at the DRAM's rate, in a kernel of its own.
  const ops::ConvShape large = square_layer();
  for (const ConvCandidate& c : conv_candidates(large, DType::Fp32, v100, options)) {
    if (c.algorithm != ConvAlgorithm::ExplicitGemm) continue;
    const double bytes = 4.0 * (64 * 128 * 28 * 28) * (1 + 9);
    EXPECT_NEAR(c.seconds(), 1e-9 + bytes / v100.dram_bandwidth.base() + v100.launch.base(), 1e-12);
    EXPECT_EQ(c.breakdown().time().base(), c.seconds());
    EXPECT_EQ(c.breakdown().limiter(), Resource::Dram);
  }
}

// F(4x4,3x3) of 64 images of 28 x 28: 64 x 7 x 7 tiles, 36 products of 3136 x 128 x 128. The
// transforms read the image, write one operand, read the results and write the image, at the DRAM's
// rate; what stays in the L2 between two kernels passes through it alone. That of the filters, 9
// numbers of each and 36 of the matrices, has a lower rate.
TEST(ConvProducts, WinogradTakesTheTimeOfItsProducts) {
  const TimeMachine v100 = timed("v100-pcie-32gb");
  const double tensors = 4.0 * 2 * 64 * 128 * 28 * 28;
  const double filters = 4.0 * 9 * 128 * 128;
  const double matrices = 4.0 * 36 * 128 * 128;
  const double between = 4.0 * 36 * 2 * 3136 * 128;
  const double dram = v100.dram_bandwidth.base();
  const double slower = (filters + matrices) / dram * (1 / v100.constants.nonfused_filters - 1);
  const auto winograd = [&](double spilled) {
    const auto all = conv_candidates(square_layer(), DType::Fp32, v100, instant_products(spilled));
    return *std::find_if(all.begin(), all.end(), [](const ConvCandidate& c) {
      return c.algorithm == ConvAlgorithm::WinogradNonfused;
    });
  };
  const double launch = v100.constants.nonfused_launch;
  const ConvCandidate far = winograd(1);
  EXPECT_NEAR(far.seconds(),
              1e-9 + launch + slower + (tensors + filters + between + matrices) / dram, 1e-12);
  EXPECT_EQ(far.breakdown().time().base(), far.seconds());
  EXPECT_NEAR(far.read.dram + far.written, tensors + filters + 2 * (between + matrices), 1);
  EXPECT_EQ(far.flops, 2.0 * 36 * 3136 * 128 * 128);
  const ConvCandidate near = winograd(0);
  EXPECT_NEAR(near.seconds(),
              1e-9 + launch + slower +
                  std::max((tensors + filters) / dram,
                           (tensors + filters + between + matrices) / v100.l2_bandwidth->base()),
              1e-12);
  EXPECT_NEAR(near.read.dram + near.written, tensors + filters, 1);
}

// One number: the default predictor gives a 1x1 layer of one image the time of the GEMM with 49
// rows, `delta` that of its own; so do their data gradients.
TEST(ConvProducts, SmallPointwiseLayersTakeTheTimeOfTheirProduct) {
  const auto machine = loaded("v100-pcie-32gb");
  for (const char* name : {"", "delta"}) {
    const auto predictor = make_predictor(name, Catalog::embedded()).value();
    const auto estimate = [&](const ops::AnyOp& op, bool gradient) {
      ops::KernelList kernels;
      const ops::LowerContext context{.precision = ops::precision_of(DType::Fp32)};
      gradient ? ops::backward(op, context, kernels) : ops::forward(op, context, kernels);
      return predictor->estimate(bind(kernels.front(), machine).value(), machine);
    };
    const ops::ConvShape layer{.n = 1, .c = 2048, .h = 7, .w = 7, .k = 512};
    const Estimate product =
        estimate(ops::Linear{.rows = 49, .in = 2048, .out = 512, .bias = false}, false);
    const Estimate conv = estimate(ops::Conv2d{.conv = layer}, false);
    EXPECT_EQ(conv.algorithm, "explicit_gemm") << name;
    EXPECT_NEAR(conv.time / product.time, 1, 1e-12) << name;
    EXPECT_EQ(conv.plan.label(), product.plan.label()) << name;
    EXPECT_NEAR(conv.traffic.l2 / product.traffic.l2, 1, 1e-12) << name;
    EXPECT_EQ(conv.limiter(), product.limiter()) << name;
    EXPECT_EQ(estimate(ops::Conv2d{.conv = layer}, true).algorithm, "explicit_gemm") << name;
  }
}

}  // namespace
}  // namespace rooftile::cost
