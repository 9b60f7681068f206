// SPDX-License-Identifier: Apache-2.0
#include "cost/learned/gemm_form.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace rooftile::cost::learned {
namespace {

// 100 SMs, 10 TFLOP/s, 1 TB/s; L2 unknown, so nothing is re-read from DRAM.
Chip chip() {
  Chip c;
  c.sms = 100, c.peak = 10e12, c.bandwidth = 1e12, c.streaming = 0.8, c.clock = 1410e6;
  c.products = 0.86, c.l2_bandwidth = 1e15;
  return c;
}

traffic::ProductWork product(std::int64_t m, std::int64_t n, std::int64_t k) {
  const ops::GemmShape shape{.batch = 1, .m = m, .n = n, .k = k};
  return {.shape = shape, .bytes = 4.0 * static_cast<double>(m * k + k * n + m * n)};
}

/// The same with a measured bandwidth, of which nothing is lost.
Chip attained() {
  Chip c = chip();
  c.products = 1;
  return c;
}

GemmParameters plain() {
  GemmParameters p;
  p.depth = 0, p.tail = 1, p.one_wave = 0, p.two_waves = 0, p.small_tile = 0, p.unaligned = 0;
  p.split = 0;
  return p;
}

TEST(GemmForm, OneFullWave) {
  // 10 x 10 tiles of 128 x 128 on 100 SMs: one wave. 2 * 128 * 128 * 100 / 10e12 = 3.2768e-7 s per
  // unit of k, times k = 1024, plateau 1.5 and occupancy 1.25: 6.291456e-4 s. Memory: 17.04 MB /
  // 1 TB/s = 1.704e-5 s; (1 + 0.02708^2.5)^0.4 = 1.0000483.
  GemmParameters p = plain();
  p.one_wave = 0.25;
  const GemmCandidate cut = cut_gemm(product(1280, 1280, 1024), chip(), {128, 128}, 1);
  EXPECT_DOUBLE_EQ(cut.waves, 1.0);
  EXPECT_NEAR(gemm_seconds(cut, attained(), p, 1.5, 1.0), 6.291456e-4 * 1.0000483, 1e-9);
}

TEST(GemmForm, SlowerUnitsOfTheSameSmWaitLess) {
  // The wave of OneFullWave takes 3.355443e-4 s at peak and 1.5 x 1.25 as long. With units of a
  // quarter of the rate that the SM feeds, waiting takes 1.875 / 4 of the time at peak: it hides.
  GemmParameters p = plain();
  p.one_wave = 0.25;
  Chip slower = attained();
  slower.units = 4;
  const GemmCandidate cut = cut_gemm(product(1280, 1280, 1024), slower, {128, 128}, 1);
  EXPECT_NEAR(gemm_seconds(cut, slower, p, 1.5, 1.0), 1.5 * 3.355443e-4, 1e-7);
  // Tiles four octaves smaller wait so long that it shows again: exp(0.5 x 4) x 1.25 / 4 = 2.31.
  p.small_tile = 0.5;
  const GemmCandidate small = cut_gemm(product(320, 320, 1024), slower, {32, 32}, 1);
  EXPECT_NEAR(gemm_seconds(small, slower, p, 1.0, 1.0), std::exp(2.0) * 1.25 / 4 * 3.355443e-4 / 16,
              1e-6);
}

TEST(GemmForm, WaitingTakesClocksNotWork) {
  // One wave of 32 x 32 tiles, four octaves small: 2 x 1024 x 100 / 10e12 = 2.048e-8 s per unit of k
  // at peak, and (e^2 - 1) times what units of twice the rate need for it.
  GemmParameters p = plain();
  p.small_tile = 0.5;
  Chip counted = attained();
  counted.waiting = 20e12;
  const auto cut = [](const Chip& on) {
    return cut_gemm(product(320, 320, 1024), on, {32, 32}, 1);
  };
  const double peak = 2.048e-8 * 1024;
  const double wait = peak / 2 * (std::exp(2.0) - 1);
  EXPECT_NEAR(gemm_seconds(cut(counted), counted, p, 1.0, 1.0), peak + wait, 1e-8);
  // Units of half the rate work twice as long and wait as long; a plateau is one of work.
  counted.peak /= 2;
  EXPECT_NEAR(gemm_seconds(cut(counted), counted, p, 1.0, 1.0), 2 * peak + wait, 1e-8);
  EXPECT_NEAR(gemm_seconds(cut(counted), counted, p, 1.5, 1.0), 3 * peak + wait, 1e-8);
}

TEST(GemmForm, ModelsOfTensorUnitsCountWaitingInClocksOfA100) {
  Chip a100 = chip();
  a100.sms = 108, a100.clock = 1410e6;
  GemmModel model;
  EXPECT_EQ(clocked(a100, model).waiting, 0);
  model.clocked = true;
  EXPECT_NEAR(clocked(a100, model).waiting, 312e12, 1e12);
}

TEST(GemmForm, TheTailIsPartlyHidden) {
  // 10 x 11 = 110 tiles: w = 1.1, W = 2; weff = 2 - (1 - 0.5) * 0.9 * 1 = 1.55; two waves cost 10
  // %: 1.1 * 1.55 * 3.2768e-7 * 1024 = 5.7210e-4 s.
  GemmParameters p = plain();
  p.tail = 0.5, p.two_waves = 0.1;
  const GemmCandidate cut = cut_gemm(product(1280, 1408, 1024), chip(), {128, 128}, 1);
  EXPECT_NEAR(gemm_seconds(cut, attained(), p, 1.0, 1.0), 5.7210e-4, 5e-8);
}

TEST(GemmForm, SmallAndUnalignedTilesAreSlower) {
  // 64 x 64 is two halvings below 128 x 128; k = 1023 is not a multiple of 4.
  const GemmCandidate cut = cut_gemm(product(1280, 1280, 1023), chip(), {64, 64}, 1);
  EXPECT_DOUBLE_EQ(cut.small, 2.0);
  EXPECT_DOUBLE_EQ(cut.unaligned, 1.0);
  GemmParameters p = plain();
  p.small_tile = 0.1, p.unaligned = 0.05;
  EXPECT_NEAR(
      gemm_seconds(cut, attained(), p, 1.0, 1.0) / gemm_seconds(cut, attained(), plain(), 1.0, 1.0),
      std::exp(0.25), 1e-3);
}

TEST(GemmForm, RowsAtAPowerOfTwoShareMemoryChannels) {
  // Rows of 49152 numbers are 3 * 2^16 bytes apart, rows of 65536 numbers 2^18, of 2^20 even 2^22.
  GemmParameters p = plain();
  p.aliased = 0.4, p.alias_from = 15.5;
  const auto slower = [&](std::int64_t k) {
    const GemmCandidate cut = cut_gemm(product(1280, 1280, k), chip(), {128, 128}, 1);
    return gemm_seconds(cut, attained(), p, 1.0, 10.0) /
           gemm_seconds(cut, attained(), plain(), 1.0, 10.0);
  };
  EXPECT_NEAR(slower(49152), std::exp(0.4 * 0.5), 1e-3);
  EXPECT_NEAR(slower(65536), std::exp(0.4 * 2.5), 1e-3);
  EXPECT_NEAR(slower(1 << 20), std::exp(0.4 * 5), 1e-3);  // no more channels than that
  EXPECT_DOUBLE_EQ(slower(50272), 1.0);                   // 2^7
}

TEST(GemmForm, SplitKFillsTheGpu) {
  // One tile of 128 x 128 with k = 8192 keeps 1 of 100 SMs busy; 13 parts keep 13 busy.
  GemmModel model;
  model.parameters = plain();
  model.tiles = {{128, 128}};
  model.split_k = {1, 2, 13};
  const GemmTime best = best_cut(product(128, 128, 8192), chip(), model, model.tiles, 1.0);
  EXPECT_EQ(best.split_k, 13);
  // With k = 512 each part must keep 64: 13 x 64 > 512.
  EXPECT_EQ(best_cut(product(128, 128, 512), chip(), model, model.tiles, 1.0).split_k, 2);
}

TEST(GemmForm, AWaveLargerThanL2ReadsAgain) {
  // 10 x 10 running tiles share 4 * 4096 * (10 + 10) * 128 B = 41.9 MB: log2(41.9e6 / 10.49e6) = 2,
  // where half of the re-reads miss.
  Chip c = chip();
  c.l2 = 4.0 * 4096 * 20 * 128 / 4;
  const GemmCandidate cut = cut_gemm(product(12800, 12800, 4096), c, {128, 128}, 1);
  EXPECT_NEAR(cut.bytes.panels, 2.0, 1e-12);
  const GemmParameters p = plain();
  const double tiny_compute = 1e-9;
  const double half = (cut.bytes.compulsory + cut.bytes.l2) / 2;
  c.products = 1;
  EXPECT_NEAR(gemm_seconds(cut, c, p, tiny_compute, 1e9), half / 1e12, 1e-6);
  // Of a data sheet's bandwidth a part is attained.
  c.products = 0.8;
  EXPECT_NEAR(gemm_seconds(cut, c, p, tiny_compute, 1e9), half / 0.8e12, 1e-6);
}

TEST(GemmForm, TheL2HoldsTilesThatAreTooSmall) {
  // 4096^3 in 64 x 64 tiles: 64 tiles along either side, each operand of 67.1 MB is read 64 times:
  // 8.66 GB with the results. At 100 GB/s that is 86.6 ms, against 13.7 ms of arithmetic.
  Chip c = attained();
  c.l2_bandwidth = 100e9;
  GemmModel model;
  model.parameters = plain();
  const GemmTile small{64, 64};
  const GemmTime time = best_cut(product(4096, 4096, 4096), c, model, {&small, 1}, 1.0);
  EXPECT_NEAR(time.l2, (2 * 64 * 67.108864e6 + 67.108864e6) / 100e9, 1e-9);
  EXPECT_GT(time.seconds, time.l2);
  EXPECT_EQ(time.breakdown(1.0).limiter(), Resource::L2);
  // No residual makes it faster than its bytes.
  EXPECT_GE(time.breakdown(0.5).time().base(), time.l2 * 0.999999);
  model.tiles = {{64, 64}, {256, 256}};
  EXPECT_EQ(best_cut(product(4096, 4096, 4096), c, model, model.tiles, 1.0).tile.along_m, 256);
}

TEST(GemmForm, LatenciesAreCountedInClocks) {
  // One wave: 3.2768e-7 * 1024 s and 1 us at 1410 MHz, half of it at 2820 MHz; of two waves the
  // second costs `more` as much.
  GemmParameters p = plain();
  p.latency = 1e-6, p.more_waves = 3;
  GemmModel model;
  model.clocked = true;
  const double work = 2.0 * 128 * 128 * 100 / 10e12 * 1024;
  const GemmCandidate one = cut_gemm(product(1280, 1280, 1024), chip(), {128, 128}, 1);
  const GemmCandidate two = cut_gemm(product(1280, 2560, 1024), chip(), {128, 128}, 1);
  p.join = 20;
  EXPECT_NEAR(gemm_seconds(one, clocked(attained(), model), p, 1.0, 1.0), work + 1e-6, 1e-10);
  EXPECT_NEAR(gemm_seconds(two, clocked(attained(), model), p, 1.0, 1.0), 2 * work + 4e-6, 1e-10);
  Chip fast = attained();
  fast.clock = 2820e6;
  EXPECT_NEAR(gemm_seconds(one, clocked(fast, model), p, 1.0, 1.0), work + 0.5e-6, 1e-10);
  // Another model's seconds are those of a host.
  EXPECT_DOUBLE_EQ(clocked(fast, GemmModel{}).slower_clock, 1.0);
}

TEST(GemmForm, ActivationsOfEightBitProductsAreQuantizedFirst) {
  GemmParameters p = plain();
  p.quantize_start = 1e-6, p.quantize_reach = 1e-9, p.quantize_row = 2e-6,
  p.quantize_element = 0.5e-9;
  Chip c = attained();
  c.bandwidth = 1e15;
  // One row of 1000: 1 us + 1000 ns. 10000 rows on 100 SMs: 100 (2 us + 500 ns).
  EXPECT_NEAR(quantize_seconds(product(1, 64, 1000), c, p), 2e-6, 1e-12);
  EXPECT_NEAR(quantize_seconds(product(10000, 64, 1000), c, p), 250e-6, 1e-12);
  // 3 bytes of an element at 1 GB/s.
  c.bandwidth = 1e9;
  EXPECT_NEAR(quantize_seconds(product(10000, 64, 1000), c, p), 0.03, 1e-9);
  EXPECT_EQ(quantize_seconds(product(10000, 64, 1000), c, plain()), 0.0);
  GemmModel model;
  model.parameters = p;
  model.tiles = {{128, 128}};
  const GemmTime with = best_cut(product(1000, 64, 1000), attained(), model, model.tiles, 1.0);
  model.parameters = plain();
  const GemmTime without = best_cut(product(1000, 64, 1000), attained(), model, model.tiles, 1.0);
  EXPECT_NEAR(with.seconds - without.seconds, with.quantize, 1e-12);
  EXPECT_NEAR(with.breakdown(1.0).time().base(), with.seconds, 1e-12);
}

TEST(GemmForm, AMatrixAndAVectorStream) {
  // 67 MB at 0.86 TB/s. Tiles of 128 rows would multiply 127 rows of padding.
  GemmModel model;
  model.tiles = {{128, 128}};
  for (const auto& work : {product(1, 4096, 4096), product(4096, 1, 4096)}) {
    const GemmTime time = best_cut(work, chip(), model, model.tiles, 1.2);
    EXPECT_EQ(std::min(time.tile.along_m, time.tile.along_n), 1);
    EXPECT_NEAR(time.seconds, work.bytes / 0.86e12, 0.05 * time.seconds);
  }
}

TEST(GemmForm, AnInstructionSetNobodySawRunsTheTilesOfItsFamily) {
  // 1280 x 64 x 1024 on 100 SMs: one wave with any tile. 128 x 128 takes 3.2768e-7 * 1024 =
  // 3.3554e-4 s, 64 x 64 a quarter of it; memory is negligible (join below 1.0001).
  GemmModel model;
  model.parameters = plain();
  model.tiles = {{64, 64}};
  model.tiles_of = {{"7.0", {{64, 64}}}, {"8.0", {{128, 128}}}};
  Weights weights;
  weights.families = {{"7.0", "volta"}, {"8.0", "ampere"}, {"9.0", "ampere"}};
  hardware::GpuSpec gpu;
  const auto seconds = [&](const char* isa) {
    gpu.isa = isa;
    const auto family = weights.families.find(isa);
    gpu.arch.library.kernel_family = family == weights.families.end() ? isa : family->second;
    return gemm_time(product(1280, 64, 1024), chip(), model, gpu, weights, 1.0).seconds;
  };
  const double large = 2.0 * 128 * 128 * 100 / 10e12 * 1024;
  EXPECT_NEAR(seconds("8.0") / large, 1.0, 1e-3);
  EXPECT_NEAR(seconds("7.0") / large, 0.25, 1e-3);
  EXPECT_NEAR(seconds("9.0") / large, 1.0, 1e-3);
  // No family: the geometric mean of 1 and 1/4.
  EXPECT_NEAR(seconds("3.0") / large, 0.5, 1e-3);
}

}  // namespace
}  // namespace rooftile::cost::learned
