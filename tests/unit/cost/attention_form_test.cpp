// SPDX-License-Identifier: Apache-2.0
#include "cost/learned/attention_form.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ops/attention.h"

namespace rooftile::cost::learned {
namespace {

/// 132 SMs, 989.4 TFLOP/s, 3.2 TB/s of which 0.9 are attained.
Chip chip() {
  Chip c;
  c.sms = 132, c.peak = 989.4e12, c.bandwidth = 3.2e12, c.products = 0.9, c.clock = 1.83e9;
  return c;
}

hardware::GpuSpec gpu(bool packs) {
  hardware::GpuSpec g;
  g.arch.library.attention =
      hardware::AttentionKernels{.family = "f", .rows = 128, .granule = 64, .packs_groups = packs};
  g.arch.sm.exponentials_per_clock = 16;
  return g;
}

ops::KernelWork work_of(const ops::AttentionShape& shape) {
  ops::KernelList kernels;
  ops::FusedAttention{.shape = shape}.forward(
      {.precision = {.storage = DType::Bf16, .matrix_compute = DType::Bf16}}, kernels);
  return kernels.front();
}

AttentionCut cut(const ops::AttentionShape& shape, const hardware::GpuSpec& on) {
  const ops::KernelWork work = work_of(shape);
  const Job job{.work = work, .roof = {}, .units = {DType::Bf16, hardware::Pipe::Tensor}};
  return cut_attention(job, shape, chip(), on, starting<ClockConstants>());
}
AttentionCut cut(const ops::AttentionShape& shape, bool packs = true) {
  return cut(shape, gpu(packs));
}

ops::AttentionShape prompt() {
  ops::AttentionShape s;
  s.batch = 2, s.queries = 1024, s.keys = 1024, s.heads = 4, s.kv_heads = 4, s.head_dim = 128;
  s.causal = true;
  return s;
}

TEST(AttentionForm, MaskedBlocksAreNotVisited) {
  // 8 tiles of 128 queries visit 1 + 2 + ... + 8 = 36 blocks of 128 keys, for 2 x 4 heads.
  const AttentionCut causal = cut(prompt());
  EXPECT_DOUBLE_EQ(causal.ctas, 64);
  EXPECT_DOUBLE_EQ(causal.blocks, 288);
  EXPECT_DOUBLE_EQ(causal.longest, 8);
  // Without the mask 8 x 8.
  ops::AttentionShape all = prompt();
  all.causal = false;
  EXPECT_DOUBLE_EQ(cut(all).blocks, 512);
  // A window of 128 keys lies in two blocks, but for the first tile: 1 + 7 x 2 = 15.
  ops::AttentionShape window = prompt();
  window.window = 128;
  EXPECT_DOUBLE_EQ(cut(window).blocks, 120);
  EXPECT_DOUBLE_EQ(cut(window).longest, 2);
}

TEST(AttentionForm, ABlockIsProductsAndExponentials) {
  // 128 x 128 pairs: 4 x 128 FLOP each at 989.4 / 132 TFLOP/s is 1.1192 us (the causal mask halves
  // the FLOPs of a head, but not those of a block that is visited); 16384 / (16 x 1.83e9) = 0.5596.
  ops::AttentionShape all = prompt();
  all.causal = false;
  EXPECT_NEAR(cut(all).product_seconds, 1.1192e-6, 1e-10);
  EXPECT_NEAR(cut(all).exponential_seconds, 0.5596e-6, 1e-10);
  EXPECT_NEAR(cut(prompt()).product_seconds, 1.1192e-6, 1e-10);
}

TEST(AttentionForm, OneQuerySplitsTheKeys) {
  // Four heads of a group are packed into one tile of 64 rows: 2 groups on 132 SMs, so each of the
  // 8 blocks of keys runs apart.
  ops::AttentionShape decode;
  decode.batch = 1, decode.queries = 1, decode.keys = 1024, decode.heads = 8, decode.kv_heads = 2;
  decode.head_dim = 128, decode.causal = true;
  const AttentionCut c = cut(decode);
  EXPECT_DOUBLE_EQ(c.ctas, 2);
  EXPECT_DOUBLE_EQ(c.longest, 8);
  EXPECT_DOUBLE_EQ(c.splits, 8);
  EXPECT_NEAR(c.product_seconds, 1.1192e-6 / 2, 1e-10);
  // Keys and values: 2 x 1024 x 2 x 128 x 2 bytes, queries and output 8 x 128 x 2 each.
  EXPECT_NEAR(c.stream_seconds, (1048576 + 4096) / (3.2e12 * 0.9), 1e-12);
}

TEST(AttentionForm, PartsOfTheKeysAreThoseOfTheLibrary) {
  ops::AttentionShape decode;
  decode.batch = 1, decode.queries = 1, decode.keys = 1024, decode.heads = 8, decode.kv_heads = 2;
  decode.head_dim = 64, decode.causal = true;
  hardware::GpuSpec on = gpu(true);
  EXPECT_DOUBLE_EQ(cut(decode, on).splits, 8);
  on.arch.library.attention->split_numbers = 16384;
  EXPECT_DOUBLE_EQ(cut(decode, on).splits, 4);  // at least 256 keys of 64 numbers each
  decode.window = 512;
  EXPECT_DOUBLE_EQ(cut(decode, on).splits, 2);  // the window sees half of them
  on.arch.library.attention->splits_windows = false;
  EXPECT_DOUBLE_EQ(cut(decode, on).splits, 1);
}

TEST(AttentionForm, SlowerUnitsHideWhatKeepsThemWaiting) {
  const hardware::RateKey bf16{DType::Bf16, hardware::Pipe::Tensor};
  hardware::GpuSpec on = gpu(true);
  on.sm.flop_per_clock[bf16] = 1024, on.arch.sm.flop_per_clock[bf16] = 4096;
  AttentionCut c = cut(prompt(), on);
  EXPECT_NEAR(c.units, std::cbrt(16.0), 1e-12);  // four times the rate, cube root of 4 of the clock
  AttentionParameters p = starting<AttentionParameters>();
  p.products = 1.25, p.exponentials = 0, p.block = 0, p.tile = 0;
  c.exponential_seconds = 0, c.longest = 0;
  EXPECT_NEAR(attention_time(c, p, true).of(Resource::Compute).base(),
              c.blocks * c.product_seconds / c.sms, 1e-12);
  c.units = 1;
  EXPECT_NEAR(attention_time(c, p, true).of(Resource::Compute).base(),
              1.25 * c.blocks * c.product_seconds / c.sms, 1e-12);
}

TEST(AttentionForm, ProductsRunAtTheClockThatThePowerSustains) {
  const hardware::RateKey bf16{DType::Bf16, hardware::Pipe::Tensor};
  hardware::GpuSpec on = gpu(true);
  on.process = "4 nm", on.peak[bf16] = FlopsPerSecond::from_base(989.4e12);
  on.clock.boost = Hertz::from_base(1.41e9);
  // 989.4 x 4.5 W x 0.104 are 463 W; a third of that slows down by the cube root of three.
  on.power_watt = 989.4 * 4.5 * 0.104 / 3;
  EXPECT_NEAR(cut(prompt(), on).product_seconds, 1.1192e-6 * std::cbrt(3.0), 1e-9);
}

TEST(AttentionForm, TheCacheIsWrittenByThreadsUntilDramHoldsThem) {
  AttentionParameters p;
  p.cache = 0.4e-6;
  const AttentionCut c = cut(prompt());
  // Keys and values: 2 x 2 x 1024 x 4 x 128 x 2 bytes over 132 x 2048 threads.
  EXPECT_NEAR(c.new_per_thread, 4194304 / (132.0 * 2048), 1e-9);
  EXPECT_NEAR(cache_seconds(c, p, true), 0.4e-6 * c.new_per_thread, 1e-15);
  p.cache = 1e-9;
  EXPECT_NEAR(cache_seconds(c, p, false), 2 * 4194304 / (3.2e12 * 0.9), 1e-12);
}

TEST(AttentionForm, GroupsArePackedWhereTheLibraryDoes) {
  ops::AttentionShape s = prompt();
  s.queries = s.keys = 16, s.heads = 32, s.kv_heads = 4;
  EXPECT_DOUBLE_EQ(cut(s, true).ctas, 8);    // 2 sequences x 4 groups of 8 x 16 rows
  EXPECT_DOUBLE_EQ(cut(s, false).ctas, 64);  // 2 x 32 heads
}

TEST(AttentionForm, TimeByItsTerms) {
  AttentionParameters p;
  p.products = 1.25, p.exponentials = 1, p.tile = 2e-6, p.start = 9e-6, p.memory = 1, p.join = 3;
  const AttentionCut c = cut(prompt());
  // Block 1.25 x 1.1192 + 0.5596 = 1.9586 us. All of them: (288 x 1.9586 + 64 x 2) / 132 = 5.243;
  // the longest tile 8 x 1.9586 + 2 = 17.669 us holds the call.
  const Breakdown time = attention_time(c, p, true);
  EXPECT_NEAR(time.of(Resource::Compute).base(), 17.669e-6, 1e-9);
  // Its start is counted at 1410 MHz, the chip has 1830.
  EXPECT_NEAR(time.time().base(), 17.669e-6 + 9e-6 * 1.41 / 1.83, 1e-9);
  EXPECT_EQ(attention_time(c, p, true).of(Resource::Dram), Seconds{});
  EXPECT_NEAR(attention_time(c, p, false).of(Resource::Dram).base(), c.stream_seconds, 1e-15);
}

TEST(AttentionForm, AnUnknownFamilyHasTheCommonNumbers) {
  AttentionModel model;
  model.common.start = 1, model.families["f"].start = 2;
  EXPECT_EQ(parameters_for(model, gpu(true)).start, 2);
  EXPECT_EQ(parameters_for(model, hardware::GpuSpec{}).start, 1);
}

}  // namespace
}  // namespace rooftile::cost::learned
