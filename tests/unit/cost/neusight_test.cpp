// SPDX-License-Identifier: Apache-2.0
#include "cost/neusight/neusight.h"

#include <gtest/gtest.h>

#include <cmath>

#include "hardware/load.h"
#include "ops/any_op.h"

namespace rooftile::cost::neusight {
namespace {

/// 10 SMs, 1 TFLOP/s, 100 GB/s, 8 GB of DRAM, 4 MB of L2.
hardware::GpuSpec gpu() {
  hardware::GpuSpec spec;
  spec.sm.count = 10;
  spec.dram.size = 8_GB;
  spec.l2.size = Bytes::from_base(4e6);
  return spec;
}

Job product(const ops::GemmShape& shape) {
  Job job;
  job.work.kind = ops::KernelClass::Gemm;
  job.work.shape = shape;
  const auto m = static_cast<double>(shape.m), n = static_cast<double>(shape.n),
             k = static_cast<double>(shape.k);
  job.work.read = Bytes::from_base(4 * (m * k + k * n));
  job.work.written = Bytes::from_base(4 * m * n);
  job.roof.compute = 1.0_TFLOPps;
  job.roof.dram = 100_GBps;
  return job;
}

TEST(NeuSightNetwork, TwoLayersByHand) {
  // Hidden unit: max(0, 1 + 2 - 0.5) = 2.5 of inputs (1, 2, 0, 0) with weights (1, 1, 0, 0) and
  // bias -0.5; outputs 3 * 2.5 + 1 = 8.5 and -1 * 2.5 + 0 = -2.5.
  const Network network{.widths = {4, 1, 2}, .values = {1, 1, 0, 0, -0.5F, 3, -1, 1, 0}};
  ASSERT_EQ(value_count(network.widths), network.values.size());
  const auto outputs = evaluate(network, {1, 2, 0, 0});
  EXPECT_DOUBLE_EQ(outputs[0], 8.5);
  EXPECT_DOUBLE_EQ(outputs[1], -2.5);
  // A hidden unit below zero is off: only the biases remain.
  EXPECT_DOUBLE_EQ(evaluate(network, {0, 0, 5, 5})[0], 1.0);
}

TEST(NeuSightForm, PaddedWavesOfAProduct) {
  // 300 x 200 in tiles of 128 x 64: 3 x 4 = 12 tiles on 10 SMs are 2 waves. A tile has
  // 2 * 128 * 64 * 1000 = 16.384 MFLOP; intensity 120e6 / 2.24e6 B = 53.6 FLOP/B, so the peak
  // limits: 2 * 10 * 16.384e6 / 1e12 = 327.68 us.
  const Cut kernel = cut(product({.m = 300, .n = 200, .k = 1000}), gpu(), {.m = 128, .n = 64});
  EXPECT_EQ(kernel.plan.tiles, 12);
  EXPECT_DOUBLE_EQ(kernel.waves, 2);
  EXPECT_NEAR(kernel.seconds, 327.68e-6, 1e-12);
  // log2(16.384e6 / 1e11), log2(800768 B / 1e10 B/s), log2(2 * 10 * 800768 / 8e9 and 4e6).
  const double bytes = 4.0 * (128 * 1000 + 1000 * 64 + 128 * 64);
  EXPECT_NEAR(*kernel.features[0], std::log2(16.384e6 / 1e11), 1e-12);
  EXPECT_NEAR(*kernel.features[1], std::log2(bytes / 1e10), 1e-12);
  EXPECT_NEAR(*kernel.features[2], std::log2(20 * bytes / 8e9), 1e-12);
  EXPECT_NEAR(*kernel.features[3], std::log2(20 * bytes / 4e6), 1e-12);
}

TEST(NeuSightForm, VectorKernels) {
  // 100 rows of 1000, read and written: a row is a tile of 8000 B; 10 waves of 10 rows move
  // 800 kB, at 100 GB/s 8 us whatever the FLOP.
  Job job = product({});
  job.work.kind = ops::KernelClass::Softmax;
  job.work.shape = ops::RowShape{.rows = 100, .columns = 1000};
  job.work.read = job.work.written = Bytes::from_base(4e5);
  EXPECT_NEAR(cut(job, gpu(), {}).seconds, 8e-6, 1e-15);
  // Element-wise with tiles of 512: two per row, 200 tiles, 20 waves of 5120 elements.
  job.work.kind = ops::KernelClass::Pointwise;
  const Cut pieces = cut(job, gpu(), {.m = 1, .n = 512});
  EXPECT_EQ(pieces.plan.tiles, 200);
  EXPECT_NEAR(pieces.seconds, 20 * 5120 * 8 / 1e11, 1e-15);
}

TEST(NeuSightForm, UtilizationIsADifferenceOfSigmoids) {
  // sigmoid(0) = 0.5: 0.5 - 0.5 / 2 = 0.25 with two waves, nothing left with one.
  EXPECT_DOUBLE_EQ(utilization({0, 0}, 2, 1e-3), 0.25);
  EXPECT_DOUBLE_EQ(utilization({0, 0}, 1, 1e-3), 1e-3);
}

TEST(NeuSightForm, TheNearestTileIsInRawUnits) {
  TileTable table;
  table.devices = {{1000, 100, 8, 10, 4}, {20000, 1500, 40, 108, 40}};
  table.entries = {{.device = 0, .shape = {1, 64, 64, 64}, .tile = {32, 32}},
                   {.device = 1, .shape = {1, 4096, 4096, 64}, .tile = {128, 128}}};
  EXPECT_EQ(*nearest_tile(table, {1, 64, 64, 64}, table.devices[0]), (TileSize{32, 32}));
  // The same small shape on the large device takes the large device's tile: 19000 GFLOP/s weigh
  // more than 4032 rows.
  EXPECT_EQ(*nearest_tile(table, {1, 64, 64, 64}, table.devices[1]), (TileSize{128, 128}));
  EXPECT_FALSE(nearest_tile({}, {}, {}));
}

class NeuSightWeights : public ::testing::Test {
 protected:
  Weights small() const {
    Weights weights;
    ClassModel& model = weights.classes["nvidia/linear"];
    model.deviation = {1, 1, 1, 1};
    model.network = {.widths = {4, 1, 2}, .values = {1, 1, 0, 0, -0.5F, 3, -1, 1, 0}};
    model.tiles.devices = {{1000, 100, 8, 10, 4}};
    model.tiles.entries = {{.device = 0, .shape = {1, 64, 64, 64}, .tile = {32, 32}}};
    return weights;
  }
  static std::string with(std::string text, const std::string& from, const std::string& to) {
    const auto at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return at == std::string::npos ? text : text.replace(at, from.size(), to);
  }
};

TEST_F(NeuSightWeights, RoundTripThroughJson) {
  const std::string text = to_json(small());
  const auto again = parse_weights(text, "x.json");
  ASSERT_TRUE(again) << to_string(again.error());
  EXPECT_EQ(to_json(*again), text);
}

TEST_F(NeuSightWeights, SizesAreChecked) {
  const std::string text = to_json(small());
  const auto rejects = [&](const std::string& from, const std::string& to) {
    const auto result = parse_weights(with(text, from, to), "x.json");
    EXPECT_FALSE(result) << to;
    return result ? std::string() : to_string(result.error());
  };
  EXPECT_NE(rejects("\"values\":[1,", "\"values\":[").find("needs 9 numbers, has 8"),
            std::string::npos);
  rejects("\"widths\":[4,1,2]", "\"widths\":[4,1,3]");
  rejects("\"widths\":[4,1,2]", "\"widths\":[4,100000,2]");
  rejects("\"widths\":[4,1,2]", "\"widths\":[]");
  rejects("\"deviation\":[1,", "\"deviation\":[0,");
  rejects("\"least_utilization\":0.0001", "\"least_utilization\":0");
  rejects("\"least_utilization\":0.0001", "\"least_utilization\":1.0001");
  EXPECT_TRUE(parse_weights(with(text, "\"least_utilization\":0.0001", "\"least_utilization\":1"),
                            "x.json"));
  rejects("\"tiles\":[[0,", "\"tiles\":[[1,");  // no such device
  rejects(",32,32]]", ",32,0]]");               // no such tile
  rejects(",32,32]]", ",32]]");
  rejects("\"devices\":[[1000,", "\"devices\":[[");
  rejects("\"features\":\"", "\"features\":\"0");
  rejects("\"form\":\"neusight\"", "\"form\":\"other\"");
  rejects("\"classes\"", "\"klasses\"");
}

TEST_F(NeuSightWeights, NumbersHaveLimitsThatTheyMayReach) {
  struct Limit {
    std::string from, reached, beyond;
  };
  const std::string text = to_json(small());
  for (const Limit& limit : {
           Limit{"\"mean\":[0,", "\"mean\":[200,", "\"mean\":[201,"},
           Limit{"\"mean\":[0,", "\"mean\":[-200,", "\"mean\":[-201,"},
           Limit{"\"deviation\":[1,", "\"deviation\":[1000,", "\"deviation\":[1001,"},
           Limit{"\"deviation\":[1,", "\"deviation\":[0.001,", "\"deviation\":[0.00099,"},
           Limit{"\"values\":[1,", "\"values\":[10000,", "\"values\":[10001,"},
           Limit{"\"values\":[1,", "\"values\":[-10000,", "\"values\":[-10001,"},
           Limit{"\"devices\":[[1000,", "\"devices\":[[1e12,", "\"devices\":[[1.01e12,"},
           Limit{"\"devices\":[[1000,", "\"devices\":[[0,", "\"devices\":[[-1,"},
           Limit{",32,32]]", ",4096,32]]", ",4097,32]]"},
           Limit{",32,32]]", ",32,4096]]", ",32,4097]]"},
       }) {
    EXPECT_TRUE(parse_weights(with(text, limit.from, limit.reached), "x.json")) << limit.reached;
    EXPECT_FALSE(parse_weights(with(text, limit.from, limit.beyond), "x.json")) << limit.beyond;
  }
}

TEST_F(NeuSightWeights, ShippedOnesPredictEveryKindOfKernel) {
  const Catalog catalog = Catalog::embedded();
  const auto predictor = make_predictor("neusight", catalog);
  ASSERT_TRUE(predictor) << to_string(predictor.error());
  EXPECT_EQ((*predictor)->name(), "neusight");
  const ops::LowerContext context{.precision = ops::precision_of(DType::Fp32)};
  ops::KernelList kernels;
  ops::forward(ops::Linear{.rows = 4096, .in = 1024, .out = 4096}, context, kernels);
  ops::forward(ops::Softmax{.shape = {4096, 1024}}, context, kernels);
  ops::forward(ops::LayerNorm{.shape = {4096, 1024}}, context, kernels);
  for (const char* name : {"v100-pcie-32gb", "h100-sxm", "mi250", "t4"}) {
    const auto machine = hardware::load_machine(catalog, name, std::nullopt).value();
    for (const ops::KernelWork& work : kernels) {
      const Estimate estimate = (*predictor)->estimate(bind(work, machine).value(), machine);
      EXPECT_TRUE(std::isfinite(estimate.time.base())) << name << " " << work.op;
      EXPECT_GE(estimate.time, estimate.bound) << name << " " << work.op;
      EXPECT_LT(estimate.time, estimate.bound * 200.0) << name << " " << work.op;
      EXPECT_FALSE(estimate.extrapolated) << name << " " << work.op;
    }
  }
  // No network covers convolutions: the roofline, and the flag.
  kernels.clear();
  ops::forward(ops::Conv2d{.conv = {.n = 8, .c = 64, .h = 56, .w = 56, .k = 64, .r = 3, .s = 3}},
               context, kernels);
  const auto machine = hardware::load_machine(catalog, "t4", std::nullopt).value();
  EXPECT_TRUE((*predictor)->estimate(bind(kernels.front(), machine).value(), machine).extrapolated);
}

}  // namespace
}  // namespace rooftile::cost::neusight
