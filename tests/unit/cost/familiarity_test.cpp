// SPDX-License-Identifier: Apache-2.0
#include "cost/learned/familiarity.h"

#include <gtest/gtest.h>

#include "core/catalog.h"
#include "hardware/machine.h"

namespace rooftile::cost::learned {
namespace {

hardware::GpuSpec gpu(std::string_view id) {
  return hardware::load_machine(Catalog::embedded(), id, std::nullopt).value().gpu;
}

TEST(Familiarity, IsWhatWasMeasuredOfTheKin) {
  const auto clock = starting<ClockConstants>();
  Kin kin;
  add_kin(gpu("h100-sxm"), "linear_16bit", clock, kin);
  add_kin(gpu("l40s"), "linear_16bit", clock, kin);
  const auto known = [&](std::string_view id) {
    return familiarity(gpu(id), "linear_16bit", clock, kin);
  };
  EXPECT_EQ(known("h20"), Familiarity::Chip);
  EXPECT_EQ(known("l4"), Familiarity::Architecture);  // its power lacks no more than the L40S's
  EXPECT_EQ(known("rtx-pro-6000-server"), Familiarity::Family);
  EXPECT_EQ(known("mi300x"), Familiarity::Nothing);
}

TEST(Familiarity, ABoardThatLacksMorePowerIsLessFamiliar) {
  const auto clock = starting<ClockConstants>();
  Kin kin;
  add_kin(gpu("a100-sxm-80gb"), "linear_16bit", clock, kin);
  EXPECT_EQ(kin.demand, 1);
  EXPECT_EQ(familiarity(gpu("rtx-a6000"), "linear_16bit", clock, kin), Familiarity::Family);
  // 366 TFLOP/s from 350 W at 2.5 GHz.
  EXPECT_EQ(familiarity(gpu("l40s"), "linear_16bit", clock, kin), Familiarity::Nothing);
  EXPECT_EQ(familiarity(gpu("l40s"), "decode", clock, kin), Familiarity::Nothing);  // its kernels
}

}  // namespace
}  // namespace rooftile::cost::learned
