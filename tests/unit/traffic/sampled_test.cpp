// SPDX-License-Identifier: Apache-2.0
//
// The sampled model against the simulator on random layers, and the conservation laws.
#include "traffic/sampled.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "traffic/closed.h"
#include "traffic/random_layer.h"
#include "traffic/touched.h"

namespace rooftile::traffic {
namespace {

constexpr int kLayers = 100;  // per seed

struct Error {
  double sum = 0, worst = 0;
  int count = 0;
  void add(double model, double truth) {
    const double error = std::abs(model / truth - 1);
    sum += error;
    worst = std::max(worst, error);
    ++count;
  }
  [[nodiscard]] double mean() const { return sum / count; }
};

/// Errors at L1, L2 and DRAM against the simulator.
struct Agreement {
  std::array<Error, 3> sampled, closed;
};

/// Small layers are sampled too, as large ones are.
Agreement on_random_layers(std::uint32_t seed, int count, const Access& access) {
  RandomLayers layers(seed, LayerSize::Small);
  Agreement agreement;
  for (int i = 0; i < count; ++i) {
    RandomLayer layer = layers.next();
    layer.cut.access = access;
    const ImplicitGemm g = layer.problem();
    const auto truth = simulate(g, layer.machine, {});
    if (!truth) {
      ADD_FAILURE() << truth.error().message;
      return agreement;
    }
    const ReadTraffic t = sampled_traffic(g, layer.machine, Counting::Sampled);
    EXPECT_LE(t.compulsory_a, truth->a.dram * (1 + 1e-12)) << "layer " << i;
    EXPECT_LE(t.compulsory_b, truth->b.dram * (1 + 1e-12)) << "layer " << i;
    const auto add = [&](std::size_t level, double OperandTraffic::* field, double closed) {
      const double simulated = truth->a.*field + truth->b.*field;
      agreement.sampled[level].add(t.a.*field + t.b.*field, simulated);
      agreement.closed[level].add(closed, simulated);
      EXPECT_LT(std::abs((t.a.*field + t.b.*field) / simulated - 1), 0.3)
          << "layer " << i << " " << ops::shape_text(layer.conv) << " level " << level;
    };
    const ReadBytes closed =
        closed_conv(layer.conv, layer.dtype, {.tile = layer.cut.tile, .split_k = layer.cut.split_k},
                    {.concurrent = layer.machine.wave(),
                     .sms = layer.machine.sm_count,
                     .l2_bytes = static_cast<double>(layer.machine.l2_bytes),
                     .access = access});
    add(0, &OperandTraffic::l1, closed.l1);
    add(1, &OperandTraffic::l2, closed.l2);
    add(2, &OperandTraffic::dram, closed.dram);
  }
  for (std::size_t i = 0; i < 3; ++i) {
    const auto record = [i](const char* name, double value) {
      testing::Test::RecordProperty(name + std::to_string(i), std::to_string(value));
    };
    record("sampled_mean_", agreement.sampled[i].mean());
    record("sampled_worst_", agreement.sampled[i].worst);
    record("closed_mean_", agreement.closed[i].mean());
  }
  return agreement;
}

class SampledSeed : public testing::TestWithParam<std::uint32_t> {};

TEST_P(SampledSeed, AgreesWithTheSimulatorOnRandomLayers) {
  const Agreement agreement = on_random_layers(GetParam(), kLayers, {});
  EXPECT_LT(agreement.sampled[0].mean(), 0.01);
  EXPECT_LT(agreement.sampled[1].mean(), 0.02);
  EXPECT_LT(agreement.sampled[2].mean(), 0.03);
  // The closed forms know neither the L1 size nor the sharing of co-resident CTAs.
  EXPECT_LT(agreement.closed[0].mean(), 0.25);
  EXPECT_LT(agreement.closed[1].mean(), 0.6);
  EXPECT_LT(agreement.closed[2].mean(), 0.45);
}

INSTANTIATE_TEST_SUITE_P(Seeds, SampledSeed,
                         testing::Values(20240607U, 7U, 99U, 141U, 285U, 2024U));

class SampledAccess : public testing::TestWithParam<Access> {};

TEST_P(SampledAccess, AgreesWithTheSimulator) {
  const Agreement agreement = on_random_layers(20240607, 80, GetParam());
  EXPECT_LT(agreement.sampled[0].mean(), 0.01);
  EXPECT_LT(agreement.sampled[1].mean(), 0.02);
  EXPECT_LT(agreement.sampled[2].mean(), 0.03);
  EXPECT_LT(agreement.closed[0].mean(), 0.25);
}

INSTANTIATE_TEST_SUITE_P(
    Amd, SampledAccess,
    testing::Values(Access{.lanes = 64, .sector_bytes = 64, .line_bytes = 64},    // CDNA 1
                    Access{.lanes = 64, .sector_bytes = 64, .line_bytes = 128}),  // later ones
    [](const auto& test) {
      return "Sector" + std::to_string(test.param.sector_bytes) + "Line" +
             std::to_string(test.param.line_bytes);
    });

TEST(Sampled, SimulatesWhatIsSmall) {
  RandomLayers layers(3, LayerSize::Small);
  int whole = 0;
  for (int i = 0; i < 20; ++i) {
    const RandomLayer layer = layers.next();
    const ReadTraffic t = sampled_traffic(layer.problem(), layer.machine);
    if (!t.counted_whole) continue;
    ++whole;
    const auto truth = simulate(layer.problem(), layer.machine, {});
    ASSERT_TRUE(truth);
    EXPECT_EQ(t.a.l2, truth->a.l2);
    EXPECT_EQ(t.b.dram, truth->b.dram);
  }
  EXPECT_GT(whole, 0);
}

// Parts of k that run one after another, in waves smaller than one of them: each has the whole L2,
// and a part meets the halo that the one before it left there.
TEST(Sampled, PartsOfKInSequenceHaveTheWholeL2) {
  ops::ConvShape conv{.n = 2, .c = 16, .h = 40, .w = 64, .k = 64, .r = 7, .s = 7};
  conv.pad_h = conv.pad_w = 3;
  conv.pass = ops::ConvPass::FilterGradient;
  const ImplicitGemm g =
      make_conv_problem(conv, DType::Fp32, {.tile = {.m = 64, .n = 32, .k = 8}, .split_k = 16});
  const CacheMachine machine{
      .sm_count = 4, .active_ctas = 4, .l1_bytes = 24 << 10, .l2_bytes = 256 << 10};
  const auto truth = simulate(g, machine, {});
  ASSERT_TRUE(truth);
  const ReadTraffic t = sampled_traffic(g, machine, Counting::Sampled);
  EXPECT_NEAR(t.a.dram / truth->a.dram, 1, 0.15);
  EXPECT_NEAR(t.b.dram / truth->b.dram, 1, 0.15);
}

// A part of the gradient (4 images of 24) exceeds the L2 and is read again by each wave of columns.
TEST(Sampled, LongPartsOfKDoNotFitTheL2) {
  ops::ConvShape conv{.n = 24, .c = 16, .h = 20, .w = 20, .k = 64, .r = 5, .s = 5};
  conv.pad_h = conv.pad_w = 2;
  conv.pass = ops::ConvPass::FilterGradient;
  const ImplicitGemm g =
      make_conv_problem(conv, DType::Fp32, {.tile = {.m = 64, .n = 32, .k = 8}, .split_k = 6});
  const CacheMachine machine{
      .sm_count = 1, .active_ctas = 4, .l1_bytes = 24 << 10, .l2_bytes = 48 << 10};
  const auto truth = simulate(g, machine, {});
  ASSERT_TRUE(truth);
  const ReadTraffic t = sampled_traffic(g, machine, Counting::Sampled);
  EXPECT_GT(truth->a.dram, 3 * t.compulsory_a);
  EXPECT_NEAR(t.a.dram / truth->a.dram, 1, 0.2);
}

// SMs at an even index hold full tiles, those at an odd index tiles of 32 rows: two classes.
TEST(Sampled, PartialTilesAreClassesOfTheirOwn) {
  ops::ConvShape conv{.n = 6, .c = 64, .h = 18, .w = 27, .k = 160, .r = 7, .s = 1};
  conv.pad_h = 3;
  conv.pass = ops::ConvPass::FilterGradient;
  const ImplicitGemm g =
      make_conv_problem(conv, DType::Fp16, {.tile = {.m = 128, .n = 32, .k = 8}, .split_k = 3});
  const CacheMachine machine{
      .sm_count = 16, .active_ctas = 6, .l1_bytes = 64 << 10, .l2_bytes = 768 << 10};
  const auto truth = simulate(g, machine, {});
  ASSERT_TRUE(truth);
  const ReadTraffic t = sampled_traffic(g, machine, Counting::Sampled);
  EXPECT_NEAR((t.a.l2 + t.b.l2) / (truth->a.l2 + truth->b.l2), 1, 0.15);
}

// Groups share nothing: half of those of a wave with half its SMs and L2 stand for all.
TEST(Sampled, GroupsOfAFilterGradient) {
  ops::ConvShape conv{.n = 8, .c = 64, .h = 56, .w = 100, .k = 64, .r = 7, .s = 1};
  conv.pad_h = 3;
  conv.groups = 16;
  conv.pass = ops::ConvPass::FilterGradient;
  const ImplicitGemm g =
      make_conv_problem(conv, DType::Fp32, {.tile = {.m = 32, .n = 32, .k = 8}, .split_k = 32});
  const CacheMachine machine{
      .sm_count = 80, .active_ctas = 8, .l1_bytes = 64 << 10, .l2_bytes = 3 << 20};
  const auto truth = simulate(g, machine, {});
  ASSERT_TRUE(truth);
  const ReadTraffic t = sampled_traffic(g, machine, Counting::Sampled);
  EXPECT_NEAR((t.a.dram + t.b.dram) / (truth->a.dram + truth->b.dram), 1, 0.15);
}

TEST(Sampled, ConservationHolds) {
  RandomLayers layers(99, LayerSize::Small);
  for (int i = 0; i < 60; ++i) {
    const RandomLayer layer = layers.next();
    const ImplicitGemm g = layer.problem();
    const ReadTraffic t = sampled_traffic(g, layer.machine);
    for (const auto& [operand, least] : {std::pair{t.a, t.compulsory_a}, {t.b, t.compulsory_b}}) {
      EXPECT_LE(operand.l2, operand.l1) << i;
      EXPECT_LE(operand.dram, operand.l2) << i;
      EXPECT_GE(operand.dram, std::min(least, operand.l2)) << i;
    }
    const double output = static_cast<double>(g.output_elements * g.element_bytes);
    const double parts = g.split_k > 1 ? static_cast<double>(g.split_k) : 0;
    EXPECT_EQ(t.partial_sums, parts * output) << i;
    EXPECT_EQ(t.dram_written, (1 + parts) * output) << i;
  }
}

// Tiles of 128 outputs that do not cross images: two halves of the batch load what the whole does.
TEST(Sampled, L1TrafficIsIndependentOfSplittingTheBatch) {
  ops::ConvShape whole{.n = 8, .c = 32, .h = 16, .w = 16, .k = 64, .r = 3, .s = 3};
  whole.pad_h = whole.pad_w = 1;  // 16 x 16 outputs = two tiles per image
  ops::ConvShape half = whole;
  half.n = 4;
  const CutOptions cut{.tile = delta_tile(64)};
  const CacheMachine machine{
      .sm_count = 4, .active_ctas = 4, .l1_bytes = 48 << 10, .l2_bytes = 1 << 20};
  const ReadTraffic one = sampled_traffic(make_conv_problem(whole, DType::Fp32, cut), machine);
  const ReadTraffic two = sampled_traffic(make_conv_problem(half, DType::Fp32, cut), machine);
  EXPECT_NEAR(one.a.l1, 2 * two.a.l1, 0.01 * one.a.l1);
  EXPECT_NEAR(one.b.l1, 2 * two.b.l1, 0.01 * one.b.l1);
  EXPECT_EQ(one.compulsory_a, 2 * two.compulsory_a);
  EXPECT_EQ(one.compulsory_b, two.compulsory_b);
}

// 1x1 with stride 2 on 8 x 8: rows 0, 2, 4, 6 of 32 bytes are read, each one sector: 4 of 8.
TEST(Sampled, SkippedRowsAreNotCompulsory) {
  ops::ConvShape conv{.n = 1, .c = 4, .h = 8, .w = 8, .k = 32};
  conv.stride_h = conv.stride_w = 2;
  const ImplicitGemm g = make_conv_problem(conv, DType::Fp32, {.tile = delta_tile(32)});
  EXPECT_EQ(touched_bytes(g.a, 4, g.access.sector_bytes), 4 * 4 * 32);
  EXPECT_EQ(touched_bytes(g.b, 4, g.access.sector_bytes), 32 * 4 * 4);
}

// With elements of a whole sector every one counts: images of one row or with taps far apart are
// not dense either.
TEST(Sampled, SkippedColumnsOfASingleRowAreNotCompulsory) {
  const auto touched = [](const ops::ConvShape& conv) {
    const ImplicitGemm g = make_conv_problem(conv, DType::Fp32, {.tile = delta_tile(32)});
    return touched_bytes(g.a, 32, 32) / 32;
  };
  ops::ConvShape conv{.n = 1, .c = 4, .h = 1, .w = 64, .k = 32};
  EXPECT_EQ(touched(conv), 4 * 64);
  conv.stride_w = 2;
  EXPECT_EQ(touched(conv), 4 * 32);
  conv = {.n = 1, .c = 4, .h = 1, .w = 4, .k = 32, .r = 1, .s = 2};
  conv.dilation_w = 3;  // columns 0 and 3
  EXPECT_EQ(touched(conv), 4 * 2);
  conv = {.n = 1, .c = 4, .h = 4, .w = 8, .k = 32};
  conv.stride_h = 2;
  EXPECT_EQ(touched(conv), 4 * 2 * 8);
}

// Columns 0, 2, 4 of 7 and all rows, FP16, planes of 98 bytes: neighbours share the sector between
// them. The simulator reads every touched sector at least once.
TEST(Sampled, SectorsBetweenTwoPlanesCountOnce) {
  ops::ConvShape conv{.n = 32, .c = 16, .h = 7, .w = 7, .k = 16, .r = 7, .s = 1};
  conv.pad_h = 3;
  conv.stride_h = conv.stride_w = 2;
  const ImplicitGemm g = make_conv_problem(conv, DType::Fp16, {.tile = delta_tile(16)});
  const CacheMachine machine{
      .sm_count = 8, .active_ctas = 4, .l1_bytes = 32 << 10, .l2_bytes = 4 << 20};
  const auto truth = simulate(g, machine, {});
  ASSERT_TRUE(truth);
  // 512 planes of 98 bytes are 1568 sectors, and the last element of a plane is touched.
  EXPECT_EQ(touched_bytes(g.a, 2, g.access.sector_bytes), 1568 * 32);
  EXPECT_EQ(truth->a.dram, 1568 * 32);
}

// The first rows of the filter gradient of VGG-16's second layer: 16 parts of k stream through
// their own rows, and what lies between two rows of taps exceeds the L2, so that rows are read
// more than once.
TEST(Sampled, FilterGradientsReadRowsAgainForEachRowOfTaps) {
  ops::ConvShape conv{.n = 1, .c = 64, .h = 64, .w = 224, .k = 64, .r = 3, .s = 3};
  conv.pad_h = conv.pad_w = 1;
  conv.pass = ops::ConvPass::FilterGradient;
  const ImplicitGemm g =
      make_conv_problem(conv, DType::Fp32, {.tile = {.m = 64, .n = 64, .k = 8}, .split_k = 16});
  const CacheMachine machine{
      .sm_count = 30, .active_ctas = 8, .l1_bytes = 48 << 10, .l2_bytes = 3 << 19};
  const auto truth = simulate(g, machine, {});
  ASSERT_TRUE(truth);
  const ReadTraffic t = sampled_traffic(g, machine);
  EXPECT_GT(truth->b.dram, 1.5 * t.compulsory_b);
  EXPECT_NEAR(t.b.dram / truth->b.dram, 1, 0.08);
  EXPECT_NEAR(t.a.dram / truth->a.dram, 1, 0.08);
}

// Every second row of the gradient of the input is zero; a tile takes about a third of a row.
TEST(Sampled, StridedDataGradientsSkipRowsAtAnyPitch) {
  ops::ConvShape conv{.n = 2, .c = 20, .h = 47, .w = 361, .k = 32};
  conv.stride_h = conv.stride_w = 2;
  conv.pass = ops::ConvPass::DataGradient;
  const ImplicitGemm g = make_conv_problem(conv, DType::Fp32, {.tile = delta_tile(20)});
  const CacheMachine machine{
      .sm_count = 40, .active_ctas = 6, .l1_bytes = 128 << 10, .l2_bytes = 2560 << 10};
  const auto truth = simulate(g, machine, {});
  ASSERT_TRUE(truth);
  const ReadTraffic t = sampled_traffic(g, machine, Counting::Sampled);
  EXPECT_NEAR(t.a.l1 / truth->a.l1, 1, 0.05);
  EXPECT_NEAR(t.a.l2 / truth->a.l2, 1, 0.05);
}

TEST(Sampled, HugeLayersTakeNoLonger) {
  ops::ConvShape conv{.n = 1 << 20, .c = 64, .h = 224, .w = 224, .k = 64, .r = 3, .s = 3};
  conv.pad_h = conv.pad_w = 1;
  const ImplicitGemm g = make_conv_problem(conv, DType::Fp32, {.tile = delta_tile(64)});
  const CacheMachine machine{
      .sm_count = 80, .active_ctas = 4, .l1_bytes = 96 << 10, .l2_bytes = 6 << 20};
  const ReadTraffic t = sampled_traffic(g, machine);
  const double image = 4.0 * static_cast<double>(g.a.elements);
  EXPECT_NEAR(t.a.dram / image, 1.0, 0.05) << "one column of CTAs reads the image once";
  conv.pass = ops::ConvPass::FilterGradient;
  const ImplicitGemm filters =
      make_conv_problem(conv, DType::Fp32, {.tile = delta_tile(576), .split_k = 32});
  EXPECT_GE(sampled_traffic(filters, machine).b.dram, image);
}

}  // namespace
}  // namespace rooftile::traffic
