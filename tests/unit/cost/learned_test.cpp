// SPDX-License-Identifier: Apache-2.0
#include "cost/learned/learned.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "cost/learned/calibrated.h"
#include "cost/learned/chip.h"
#include "cost/learned/classes.h"
#include "cost/learned/neighbours.h"
#include "cost/learned/row_form.h"
#include "hardware/load.h"
#include "ops/any_op.h"

namespace rooftile::cost::learned {
namespace {

// 100 SMs, 10 TFLOP/s, 1 TB/s; L2 unknown, so nothing is re-read from DRAM.
Chip chip() {
  Chip c;
  c.sms = 100, c.peak = 10e12, c.bandwidth = 1e12, c.streaming = 0.8, c.clock = 1410e6;
  c.l2_bandwidth = 1e15;
  return c;
}

TEST(RowForm, ResidentRowsOnlyStream) {
  // 8 B x 2048 x 1024 = 16.78 MB / (1 TB/s * 0.8) = 20.97 us.
  ops::KernelWork work;
  work.kind = ops::KernelClass::Softmax;
  work.read = work.written = Bytes::from_base(4.0 * 2048 * 1024);
  const ops::RowShape shape{.rows = 2048, .columns = 1024};
  RowModel model;
  model.parameters.traffic = 1;
  const RowGeometry g = row_geometry(work, shape, chip(), model);
  EXPECT_NEAR(row_time(g, model.parameters).time().base(), 20.97e-6, 0.01e-6);
}

TEST(RowForm, LongRowsPayLatency) {
  // 2048 / 128 = 16 blocks per SM, 1600 rows in flight: 3200 rows take 2 rounds of
  // (4 us + 8 iterations x 2 us) = 40 us; there is nothing to stream.
  ops::KernelWork work;
  work.kind = ops::KernelClass::Norm;
  RowModel model;
  model.block_short = model.block_long = 128, model.resident_row = 0;
  const RowGeometry g = row_geometry(work, {.rows = 3200, .columns = 4096}, chip(), model);
  EXPECT_DOUBLE_EQ(g.rounds, 2.0);
  EXPECT_DOUBLE_EQ(g.iterations, 8.0);
  EXPECT_NEAR(row_time(g, model.parameters).time().base(), 40e-6, 1e-9);
}

ops::GemmShape shape(std::int64_t batch, std::int64_t m) {
  return {.batch = batch, .m = m, .n = 1024, .k = 64};
}

const NeighbourConstants kReach = starting<NeighbourConstants>();

TEST(Neighbours, CountLessTheFartherTheyAre) {
  Neighbours neighbours;
  neighbours.of["8.0"] = {{.at = shape_point(shape(1, 1024), kReach), .residual = 0.2F}};
  // At the shape itself K = 1: 0.2 / 1.05.
  EXPECT_NEAR(neighbour_correction(neighbours, kReach, "8.0", shape(1, 1024)), 0.2 / 1.05, 1e-6);
  // log2(1448 / 1024) = 0.49985: K = (1 - 0.24985 / 0.5625)^2 = 0.30894;
  // 0.2 * 0.30894 / 0.35894 = 0.17214.
  EXPECT_NEAR(neighbour_correction(neighbours, kReach, "8.0", shape(1, 1448)), 0.17214, 1e-4);
  // Two octaves of the batch are 0.6: K = (1 - 0.36 / 0.5625)^2 = 0.1296; 0.1443.
  EXPECT_NEAR(neighbour_correction(neighbours, kReach, "8.0", shape(4, 1024)),
              0.2 * 0.1296 / 0.1796, 1e-4);
  // An octave of m is too far.
  EXPECT_EQ(neighbour_correction(neighbours, kReach, "8.0", shape(1, 2048)), 0.0);
}

TEST(Neighbours, OtherInstructionSetsCountByTheirShare) {
  Neighbours neighbours;
  neighbours.of["a"] = {{.at = shape_point(shape(1, 1024), kReach), .residual = 0.2F}};
  neighbours.of["b"] = {{.at = shape_point(shape(1, 1024), kReach), .residual = -0.1F}};
  EXPECT_EQ(neighbour_correction(neighbours, kReach, "c", shape(1, 1024)), 0.0);
  neighbours.foreign = 0.5;
  // Half of the mean of 0.2 / 1.05 and -0.1 / 1.05.
  EXPECT_NEAR(neighbour_correction(neighbours, kReach, "c", shape(1, 1024)), 0.025 / 1.05, 1e-6);
  EXPECT_NEAR(neighbour_correction(neighbours, kReach, "b", shape(1, 1024)), -0.1 / 1.05, 1e-6);
  EXPECT_EQ(neighbour_correction(neighbours, kReach, "c", shape(1, 8)), 0.0);
}

TEST(Neighbours, ReadWhatTheyWrote) {
  const std::vector<Neighbour> list{{.at = {10.25F, 0, 6, 2.5F}, .residual = -1},
                                    {.at = {3, 16, 22.75F, 0}, .residual = 0.123F}};
  const std::string text = encode_neighbours(list);
  EXPECT_EQ(text.size(), 12U);
  const auto read = decode_neighbours(text);
  ASSERT_TRUE(read);
  ASSERT_EQ(read->size(), 2U);
  // Ascending in m.
  EXPECT_EQ((*read)[0].at, list[1].at);
  EXPECT_NEAR((*read)[0].residual, 0.123, 1e-6);
  EXPECT_EQ((*read)[1].at, list[0].at);
  EXPECT_NEAR((*read)[1].residual, -1, 1e-6);
  EXPECT_EQ(encode_neighbours(*read), text);
  EXPECT_TRUE(decode_neighbours("")->empty());
  EXPECT_FALSE(decode_neighbours(text.substr(1)));                      // a part of an entry
  EXPECT_FALSE(decode_neighbours("!!!! !"));                            // no digit
  EXPECT_FALSE(decode_neighbours(text.substr(6) + text.substr(0, 6)));  // not ascending
}

class Shipped : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto file = read_weights_file(catalog, "default");
    ASSERT_TRUE(file) << to_string(file.error());
    auto loaded = parse_weights(file->content, file->name);
    ASSERT_TRUE(loaded) << to_string(loaded.error());
    weights = *std::move(loaded);
  }
  hardware::Machine machine(std::string_view gpu) const {
    auto loaded = hardware::load_machine(catalog, gpu, std::nullopt);
    EXPECT_TRUE(loaded);
    return *std::move(loaded);
  }
  [[nodiscard]] Seconds gap() const { return Seconds::from_base(weights.constants.step.gap); }
  Catalog catalog = Catalog::embedded();
  Weights weights;
};

TEST_F(Shipped, PowerLimitsTheT4) {
  // load x 0.9 x watt at 16 nm x 8.1 TFLOP/s / 70 W, by the rule: measured plateaus are taken out.
  const auto t4 = machine("t4");
  Plateau rule = weights.models.at("nvidia").gemm->plateau;
  rule.measured.clear();
  rule.boards.clear();
  const double tau = rule.load * 0.9 * weights.constants.clock.watt_16nm * 8.1 / 70.0;
  EXPECT_GT(tau, 1.5);
  EXPECT_NEAR(plateau(t4.gpu, {.peak = 8.1e12, .key = {}}, rule, weights), tau, 1e-12);
  // An A100 holds its clock: kappa of the kernels that run on it, from the ceiling that was
  // published for its chip.
  const auto a100 = machine("a100-pcie-80gb");
  EXPECT_NEAR(plateau(a100.gpu, {.peak = 19.5e12, .key = {}}, rule, weights),
              rule.kappa.at("ampere") * ceiling_factor(a100.gpu, {}, weights), 1e-12);
}

TEST_F(Shipped, IntervalsWidenWithTheDistanceFromWhatWasFitted) {
  const auto predictor = make_learned(weights);
  const auto a100 = machine("a100-sxm-80gb");
  const auto width = [&](std::int64_t rows, std::int64_t out) {
    ops::KernelList kernels;
    ops::forward(ops::Linear{.rows = rows, .in = 65536, .out = out},
                 {.precision = ops::precision_of(DType::Bf16)}, kernels);
    const Estimate e = predictor->estimate(*bind(kernels.front(), a100), a100);
    return std::log(e.high / e.time);
  };
  // All of them take more than 3.2 ms: one bucket of the class. Rows were fitted up to 32768.
  const double inside = width(32768, 65536);
  EXPECT_GT(inside, 0);
  EXPECT_NEAR(width(65536, 65536) - inside, 0.1, 1e-6);
  EXPECT_NEAR(width(131072, 131072) - inside, 0.3, 1e-6);
}

TEST_F(Shipped, HalfPrecisionIsNotSlowerThanSingleOnPascal) {
  const auto predictor = make_learned(weights);
  for (const char* gpu : {"p4", "p40", "gtx-1080-ti", "p100-pcie-16gb"}) {
    const auto pascal = machine(gpu);
    for (const std::int64_t rows : {1, 8, 32, 300, 4096}) {
      const auto seconds = [&](DType dtype) {
        ops::KernelList kernels;
        ops::forward(ops::Linear{.rows = rows, .in = 4096, .out = 4096},
                     {.precision = ops::precision_of(dtype)}, kernels);
        return predictor->estimate(*bind(kernels.front(), pascal), pascal).time.base();
      };
      EXPECT_LE(seconds(DType::Fp16), seconds(DType::Fp32)) << gpu << " " << rows;
    }
  }
}

// A board of "chip X" with 100 TFLOP/s in both 16-bit formats.
hardware::GpuSpec board(const char* id, double watt) {
  hardware::GpuSpec gpu;
  gpu.id = id, gpu.chip = "chip X", gpu.isa = "x", gpu.power_watt = watt;
  for (const DType dtype : {DType::Fp16, DType::Bf16})
    gpu.peak[{.dtype = dtype, .pipe = hardware::Pipe::Tensor}] = 100.0_TFLOPps;
  return gpu;
}
constexpr hardware::RateKey kHalf{.dtype = DType::Fp16, .pipe = hardware::Pipe::Tensor};
constexpr hardware::RateKey kBrain{.dtype = DType::Bf16, .pipe = hardware::Pipe::Tensor};

TEST(Plateaus, APublishedRateHoldsForTheOtherFormatOfTheSameUnits) {
  hardware::GpuSpec gpu = board("a", 300);
  gpu.measured.rate[kBrain] = 80.0_TFLOPps;
  EXPECT_DOUBLE_EQ(ceiling_factor(gpu, kBrain, {}), 1.25);
  EXPECT_DOUBLE_EQ(ceiling_factor(gpu, kHalf, {}), 1.25);
  gpu.peak[kHalf] = 200.0_TFLOPps;  // other units
  EXPECT_DOUBLE_EQ(ceiling_factor(gpu, kHalf, {}), 1.0);
}

TEST(Plateaus, APublishedCeilingHoldsForBoardsWithTheSameChip) {
  Weights weights;
  weights.ceilings["bf16_tensor"]["chip X"]["a"] = {.factor = 1.5, .watt_per_tflop = 3};
  EXPECT_DOUBLE_EQ(ceiling_factor(board("b", 300), kBrain, weights), 1.5);
  EXPECT_DOUBLE_EQ(ceiling_factor(board("b", 300), kHalf, weights), 1.5);
  EXPECT_DOUBLE_EQ(ceiling_factor(board("b", 200), kBrain, weights), 1.5);
  // 3.6 W per TFLOP/s instead of 3: 1.5 * 3 / 3.6 = 1.25; with twice the power nothing is left.
  EXPECT_NEAR(ceiling_factor(board("b", 360), kBrain, weights), 1.25, 1e-12);
  EXPECT_NEAR(ceiling_factor(board("b", 600), kBrain, weights), 1.0, 1e-12);
  hardware::GpuSpec other = board("c", 300);
  other.chip = "chip Y";
  EXPECT_DOUBLE_EQ(ceiling_factor(other, kBrain, weights), 1.0);
}

TEST(Plateaus, CountFromTheCeilingOrFromThePeak) {
  Plateau rule;
  rule.generic = 1.2;
  hardware::GpuSpec gpu = board("a", 300);
  gpu.measured.rate[kBrain] = 80.0_TFLOPps;
  EXPECT_DOUBLE_EQ(plateau(gpu, {.peak = 1e14, .key = kBrain}, rule, {}), 1.2 * 1.25);
  rule.above_ceiling = false;
  EXPECT_DOUBLE_EQ(plateau(gpu, {.peak = 1e14, .key = kBrain}, rule, {}), 1.25);
  rule.generic = 1.4;
  EXPECT_DOUBLE_EQ(plateau(gpu, {.peak = 1e14, .key = kBrain}, rule, {}), 1.4);
  // 90 TFLOP/s were measured on this machine: 1.4 * 90 / 100 of it are left.
  EXPECT_NEAR(plateau(gpu, {.peak = 9e13, .key = kBrain, .measured_ceiling = true}, rule, {}), 1.26,
              1e-12);
}

TEST(Plateaus, MeasuredBoardsHoldTheirSiblings) {
  Plateau rule;
  rule.generic = 1.2;
  rule.boards["chip X"]["a"] = {.factor = 1.3, .watt_per_tflop = 3};
  const auto level = [&](double watt, double generic) {
    rule.generic = generic;
    return plateau(board("b", watt), {.peak = 1e14, .key = kBrain}, rule, {});
  };
  EXPECT_DOUBLE_EQ(level(250, 1.2), 1.3);  // less power: not faster
  EXPECT_DOUBLE_EQ(level(250, 1.4), 1.4);
  EXPECT_DOUBLE_EQ(level(400, 1.4), 1.3);  // more power: not slower
  EXPECT_DOUBLE_EQ(level(400, 1.2), 1.2);
  EXPECT_DOUBLE_EQ(level(300, 1.2), 1.3);  // the same
  EXPECT_DOUBLE_EQ(level(300, 1.4), 1.3);
  // Somebody published 80 of 100 TFLOP/s for this board and 1 / 1.5 for the other: 1.3 * 1.25 /
  // 1.5.
  Weights weights;
  weights.ceilings["bf16_tensor"]["chip X"]["a"] = {.factor = 1.5, .watt_per_tflop = 3};
  hardware::GpuSpec published = board("b", 300);
  published.measured.rate[kBrain] = 80.0_TFLOPps;
  EXPECT_NEAR(plateau(published, {.peak = 1e14, .key = kHalf}, rule, weights), 1.3 * 1.25 / 1.5,
              1e-12);
}

TEST_F(Shipped, BothSixteenBitFormatsOfTheMi300xRunAlike) {
  const auto mi300x = machine("mi300x");
  const auto predictor = make_learned(weights);
  const auto seconds = [&](DType dtype) {
    ops::KernelList works;
    ops::forward(ops::Linear{.rows = 8192, .in = 8192, .out = 8192, .bias = false},
                 {.precision = ops::precision_of(dtype)}, works);
    return predictor->estimate(*bind(works.front(), mi300x), mi300x).time.base();
  };
  EXPECT_DOUBLE_EQ(seconds(DType::Fp16), seconds(DType::Bf16));
  // 2 * 8192^3 FLOP at the published 708 TFLOP/s are 1.553 ms; kappa alone is above.
  EXPECT_GT(seconds(DType::Bf16), 1.553e-3);
}

TEST_F(Shipped, IntervalsAreWiderWhereNothingWasCalibrated) {
  const auto predictor = make_learned(weights);
  const auto width = [&](const char* gpu, const ops::AnyOp& op, DType dtype) {
    const auto on = machine(gpu);
    ops::KernelList works;
    ops::forward(op, {.precision = ops::precision_of(dtype)}, works);
    const Estimate e = predictor->estimate(*bind(works.front(), on), on);
    return std::log((e.high - gap()) / (e.time - gap()));
  };
  const ops::Linear product{.rows = 8192, .in = 8192, .out = 8192};
  const double measured = width("h100-sxm", product, DType::Bf16);
  EXPECT_LT(measured, 0.3);
  // FP16 runs on the same units at the same rate.
  EXPECT_EQ(width("h100-sxm", product, DType::Fp16), measured);
  EXPECT_GE(width("mi300x", product, DType::Fp16), 0.5 - 1e-12);    // vendor
  EXPECT_GE(width("max-1550", product, DType::Fp32), 0.5 - 1e-12);  // vendor without a model
  EXPECT_GE(width("h100-sxm", ops::LayerNorm{.shape = {4096, 4096}}, DType::Bf16),
            0.5 - 1e-12);  // dtype
  EXPECT_GE(width("h100-sxm", ops::RmsNorm{.shape = {4096, 4096}}, DType::Fp32),
            0.5 - 1e-12);  // nearest class
}

// How far a kernel is from its bound is one of its coordinates, down to a thousandth of its time.
TEST_F(Shipped, KernelsFarAboveTheirBoundLieTogether) {
  const auto h100 = machine("h100-sxm");
  ops::KernelList works;
  ops::forward(ops::Linear{.rows = 8192, .in = 8192, .out = 8192},
               {.precision = ops::precision_of(DType::Bf16)}, works);
  Estimate estimate = make_learned(weights)->estimate(*bind(works.front(), h100), h100);
  const auto coordinate = [&](double share) {
    estimate.bound = estimate.time * share;
    return kernel_point(works.front(), estimate).at.back();
  };
  EXPECT_GT(coordinate(1), coordinate(0.5));
  EXPECT_GT(coordinate(1.1e-3), coordinate(1e-3));
  EXPECT_EQ(coordinate(1e-3), coordinate(1e-9));
}

// A class may have a range without widths, or widths without a range: then it has no widths of its own.
TEST_F(Shipped, WidthsNeedTheRangeOfTheirClass) {
  const auto h100 = machine("h100-sxm");
  ops::KernelList works;
  ops::forward(ops::Linear{.rows = 8192, .in = 8192, .out = 8192},
               {.precision = ops::precision_of(DType::Bf16)}, works);
  const auto estimate = [&](bool with_ranges, bool with_widths) {
    Weights some = weights;
    if (!with_ranges) some.ranges.clear();
    if (!with_widths) some.intervals.clear();
    return make_learned(some)->estimate(*bind(works.front(), h100), h100);
  };
  const auto width = [](const Estimate& e) { return std::log(e.high / e.time); };
  const Estimate all = estimate(true, true), neither = estimate(false, false);
  EXPECT_EQ(width(estimate(false, true)), width(neither));
  EXPECT_TRUE(estimate(false, true).extrapolated);
  EXPECT_LT(width(all), width(neither));
  EXPECT_EQ(estimate(true, false).time, all.time);
  EXPECT_GT(width(estimate(true, false)), 0);
}

TEST_F(Shipped, RoundTripsThroughJson) {
  const std::string text = to_json(weights);
  const auto again = parse_weights(text, "x.json");
  ASSERT_TRUE(again) << to_string(again.error());
  EXPECT_EQ(to_json(*again), text);
}

TEST_F(Shipped, RefusesBrokenNeighbours) {
  std::string text = to_json(weights);
  const std::string key = "\"8.0\": \"";
  const std::size_t at = text.find(key, text.find("\"neighbours\"", text.find("\"models\"")));
  ASSERT_NE(at, std::string::npos);
  text.erase(at + key.size(), 1);
  const auto refused = parse_weights(text, "x.json");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().where.find("/neighbours/of/8.0"), std::string::npos)
      << refused.error().where;
}

TEST_F(Shipped, RefusesWeightsOfOtherFeatures) {
  std::string text = to_json(weights);
  text.replace(text.find(features_hash()), 4, "beef");
  const auto refused = parse_weights(text, "x.json");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().where, "x.json:/features");
}

ops::AnyOp random_op(std::mt19937_64& random) {
  const auto size = [&random](double high) {
    return static_cast<std::int64_t>(
        std::exp2(std::uniform_real_distribution<double>(0, high)(random)));
  };
  switch (random() % 7) {
    case 0: return ops::Linear{.rows = size(15), .in = size(14), .out = size(16)};
    case 1: return ops::BatchedMatmul{.batch = size(9), .m = size(11), .n = size(11), .k = size(9)};
    case 2: return ops::Softmax{.shape = {size(16), size(13)}};
    case 3: return ops::LayerNorm{.shape = {size(16), size(13)}};
    case 4: return ops::Elementwise{.function = ops::Function::Gelu, .shape = {size(14), size(13)}};
    case 5: {
      ops::ConvShape c;
      c.n = size(7), c.c = size(9), c.k = size(9), c.h = c.w = 3 + size(7);
      c.r = c.s = random() % 2 == 0 ? 3 : 1, c.pad_h = c.pad_w = c.r / 2;
      c.stride_h = c.stride_w = random() % 2 == 0 ? 1 : 2;
      return ops::Conv2d{.conv = c};
    }
    default: {
      ops::AttentionShape a;
      a.batch = size(5), a.heads = a.kv_heads = size(5), a.queries = size(11), a.head_dim = 64;
      a.keys = a.queries + size(11), a.causal = true;
      return ops::FusedAttention{.shape = a};
    }
  }
}

TEST_F(Shipped, IsNeverBelowTheBoundOnAnyGpuAndRepeatsItself) {
  const auto gpus = hardware::list_gpus(catalog);
  ASSERT_TRUE(gpus);
  const auto predictor = make_learned(weights);
  std::mt19937_64 random(7);
  int estimated = 0;
  for (const hardware::GpuSpec& gpu : *gpus) {
    const hardware::Machine machine{.gpu = gpu, .ceilings = {}};
    for (int i = 0; i < 200; ++i) {
      const ops::AnyOp op = random_op(random);
      const DType dtype = i % 3 == 0 ? DType::Fp16 : DType::Fp32;
      ops::KernelList works;
      ops::forward(op, {.precision = ops::precision_of(dtype)}, works);
      auto job = bind(works.front(), machine);
      if (!job) continue;  // a GPU without that rate
      job->setting = i % 2 == 0 ? Setting::Isolated : Setting::InStream;
      const Estimate estimate = predictor->estimate(*job, machine);
      ++estimated;
      ASSERT_TRUE(std::isfinite(estimate.time.base())) << gpu.id << " " << works.front().op;
      ASSERT_GE(estimate.time, estimate.bound) << gpu.id << " " << works.front().op;
      ASSERT_LE(estimate.low, estimate.time);
      ASSERT_GE(estimate.high, estimate.time);
      ASSERT_EQ(predictor->estimate(*job, machine).time, estimate.time);
    }
  }
  EXPECT_GT(estimated, 5000);
}

// A short benchmark is over before the board's power sets the clock of large products.
TEST_F(Shipped, ProductsThatLastRunAtTheClockThatPowerSustains) {
  const auto predictor = make_learned(weights);
  ops::KernelList works;
  ops::forward(ops::Linear{.rows = 8192, .in = 8192, .out = 8192, .bias = false},
               {.precision = ops::precision_of(DType::Bf16)}, works);
  const auto slower = [&](const char* id) {
    const hardware::Machine board = machine(id);
    Job job = *bind(works.front(), board);
    const Estimate lasting = predictor->estimate(job, board);
    job.burst = true;
    const Estimate burst = predictor->estimate(job, board);
    return lasting.breakdown.of(Resource::Compute) / burst.breakdown.of(Resource::Compute);
  };
  const hardware::RateKey bf16{.dtype = DType::Bf16, .pipe = hardware::Pipe::Tensor};
  const double h200 = sustained_slowdown(machine("h200-sxm").gpu, bf16, weights.constants.clock);
  EXPECT_GT(h200, 1.05);
  EXPECT_NEAR(slower("h200-sxm"), h200, 0.02);
  EXPECT_EQ(slower("a100-sxm-80gb"), 1.0);
}

// A stream adds the gap behind the kernel, once: measured on the machine, else that of the weights.
TEST_F(Shipped, TheLaunchGapIsPartOfTheStream) {
  const auto predictor = make_learned(weights);
  hardware::Machine v100 = machine("v100-pcie-32gb");
  ops::KernelList works;
  ops::forward(ops::Softmax{.shape = {4096, 1024}}, {.precision = ops::precision_of(DType::Fp32)},
               works);
  const Estimate shipped = predictor->estimate(*bind(works.front(), v100), v100);
  EXPECT_EQ(shipped.breakdown.of(Resource::Launch), gap());
  EXPECT_NEAR(shipped.time / shipped.breakdown.time(), 1, 1e-12);
  v100.ceilings.emplace();
  v100.ceilings->launch.emplace().value = Seconds::from_base(5e-6);
  const Estimate measured = predictor->estimate(*bind(works.front(), v100), v100);
  EXPECT_NEAR(to_us(measured.time - shipped.time), 5 - to_us(gap()), 1e-6);
}

// Bounds take the compulsory bytes, times those that are moved, at the rate of the access pattern.
TEST_F(Shipped, TimesTakeTheBytesThatAreMoved) {
  const auto v100 = machine("v100-pcie-32gb");
  const auto predictor = make_learned(weights);
  ops::KernelList works;
  const ops::LowerContext context{.precision = ops::precision_of(DType::Fp32)};
  ops::forward(ops::Dropout{.shape = {65536, 1024}}, context, works);
  ops::forward(ops::Softmax{.shape = {65536, 4096}}, context, works);
  for (const ops::KernelWork& textbook : works) {
    const auto of = [&](const ops::KernelWork& work) {
      return predictor->estimate(*bind(work, v100), v100);
    };
    const auto gpu_time = [this](const Estimate& e) { return e.time - gap(); };
    const Estimate once = of(textbook);
    ops::KernelWork more = textbook;
    more.excess = textbook.bytes() * 0.5;
    EXPECT_NEAR(gpu_time(of(more)) / gpu_time(once), 1.5, 1e-9) << textbook.op;
    EXPECT_EQ(of(more).bound, once.bound);
    EXPECT_NEAR(of(more).traffic.dram() / once.traffic.dram(), 1.5, 1e-9);
  }
  ops::KernelWork strided = works.front();
  strided.access_efficiency = 0.5;
  const Estimate slow = predictor->estimate(*bind(strided, v100), v100);
  const Estimate fast = predictor->estimate(*bind(works.front(), v100), v100);
  EXPECT_NEAR((slow.time - gap()) / (fast.time - gap()), 2, 1e-9);
  EXPECT_EQ(slow.traffic, fast.traffic);
}

TEST_F(Shipped, MoreBandwidthIsNeverSlower) {
  const auto predictor = make_learned(weights);
  std::mt19937_64 random(11);
  hardware::Machine slow = machine("v100-pcie-32gb");
  hardware::Machine fast = slow;
  *fast.gpu.dram.bandwidth *= 2.0;
  for (int i = 0; i < 500; ++i) {
    ops::KernelList works;
    ops::forward(random_op(random), {.precision = ops::precision_of(DType::Fp32)}, works);
    const auto a = bind(works.front(), slow);
    const auto b = bind(works.front(), fast);
    ASSERT_TRUE(a && b);
    EXPECT_LE(predictor->estimate(*b, fast).time.base(),
              predictor->estimate(*a, slow).time.base() * (1 + 1e-12))
        << works.front().op << " " << shape_text(works.front().shape);
  }
}

TEST_F(Shipped, SaysWhenItExtrapolates) {
  const auto predictor = make_learned(weights);
  const auto v100 = machine("v100-pcie-32gb");
  const auto extrapolated = [&](const ops::AnyOp& op, DType dtype) {
    ops::KernelList works;
    ops::forward(op, {.precision = ops::precision_of(dtype)}, works);
    return predictor->estimate(*bind(works.front(), v100), v100).extrapolated;
  };
  EXPECT_FALSE(extrapolated(ops::Linear{.rows = 512, .in = 1024, .out = 1024}, DType::Fp32));
  EXPECT_TRUE(extrapolated(ops::Linear{.rows = 512, .in = 1 << 20, .out = 1024}, DType::Fp32));
  EXPECT_TRUE(extrapolated(ops::RmsNorm{.shape = {512, 1024}}, DType::Fp32));
  EXPECT_TRUE(extrapolated(ops::LayerNorm{.shape = {512, 1024}}, DType::Fp16));
}

}  // namespace
}  // namespace rooftile::cost::learned
