// SPDX-License-Identifier: Apache-2.0
//
// The geometry of row kernels, worked out by hand.
#include "cost/learned/row_form.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace rooftile::cost::learned {
namespace {

RowGeometry geometry(std::int64_t rows, std::int64_t columns, double block) {
  ops::KernelWork work;
  work.kind = ops::KernelClass::Softmax;
  work.dtype = DType::Fp32;
  RowModel model;
  model.resident_row = 1024;
  model.short_row = 2048;
  model.block_short = model.block_long = block;
  model.reread = 0.5;
  Chip chip;
  chip.sms = 10;
  chip.threads = 2048;
  chip.l2 = 1e6;
  chip.clock = 705e6;
  return row_geometry(work, {.rows = rows, .columns = columns}, chip, model);
}

TEST(RowForm, BlocksShareAnSm) {
  const RowGeometry whole = geometry(1600, 4096, 128);  // 16 blocks on each of 10 SMs
  const double passes = whole.rounds / 10;
  EXPECT_GE(passes, 1);
  EXPECT_DOUBLE_EQ(geometry(1600, 4096, 256).rounds, 20 * passes);
  EXPECT_DOUBLE_EQ(geometry(1600, 4096, 64).rounds, 5 * passes) << "32 blocks";
  EXPECT_DOUBLE_EQ(geometry(1600, 4096, 32).rounds, 5 * passes) << "an SM runs no more than 32";
  EXPECT_DOUBLE_EQ(geometry(1600, 4096, 4096).rounds, 160 * passes) << "at least one";
}

TEST(RowForm, ALoadTakesFourElementsOfEachThread) {
  EXPECT_DOUBLE_EQ(geometry(1, 4096, 128).iterations, 8);
  EXPECT_DOUBLE_EQ(geometry(1, 4097, 128).iterations, 9);
  EXPECT_DOUBLE_EQ(geometry(1, 4096, 128).clock_ratio, 2) << "of 1410 MHz";
}

TEST(RowForm, RowsThatRegistersKeepAreReadOnce) {
  EXPECT_EQ(geometry(1600, 1024, 128).rounds, 0);
  EXPECT_EQ(geometry(1600, 1024, 128).reread, 0);
  EXPECT_GT(geometry(1600, 1025, 128).rounds, 0);
  EXPECT_EQ(geometry(1600, 1025, 128).reread, 0.5);
}

TEST(RowForm, ANarrowRowOfAnRmsNormTakesFewerWarps) {
  ops::KernelWork work;
  work.kind = ops::KernelClass::Norm;
  RowModel model;
  model.block_short = model.block_long = 128, model.resident_row = 0;
  Chip chip;
  chip.sms = 10;
  chip.threads = 2048;
  const auto rounds = [&](std::string op, std::int64_t columns) {
    work.op = std::move(op);
    return row_geometry(work, {.rows = 3200, .columns = columns}, chip, model).rounds;
  };
  EXPECT_DOUBLE_EQ(rounds("rms_norm", 128), 10) << "one warp; an SM runs no more than 32 blocks";
  EXPECT_DOUBLE_EQ(rounds("rms_norm", 384), 15) << "three warps, 21.3 blocks";
  EXPECT_DOUBLE_EQ(rounds("rms_norm", 512), 20) << "a block of the library's";
  EXPECT_DOUBLE_EQ(rounds("rms_norm", 4096), 20);
  EXPECT_DOUBLE_EQ(rounds("ln", 128), 20) << "PyTorch's layer norm";
}

TEST(RowForm, PressureIsRowsInFlightAgainstTheCaches) {
  EXPECT_DOUBLE_EQ(geometry(1600, 4096, 128).pressure, 160 * 4096 * 4 / 1e6);
  EXPECT_DOUBLE_EQ(geometry(7, 4096, 128).pressure, 7 * 4096 * 4 / 1e6);
}

}  // namespace
}  // namespace rooftile::cost::learned
