// SPDX-License-Identifier: Apache-2.0
#include "core/operations.h"

#include <gtest/gtest.h>

namespace rooftile {
namespace {

TEST(Operations, IntegerFormatsCountOpNotFlop) {
  EXPECT_EQ(operation_name(DType::Int8), "OP");
  EXPECT_EQ(operation_name(DType::Fp4), "FLOP");
  EXPECT_EQ(format_rate(FlopsPerSecond::from_base(624e12), DType::Int8, 3), "624 TOP/s");
  EXPECT_EQ(format_rate(FlopsPerSecond::from_base(312e12), DType::Bf16, 3), "312 TFLOP/s");
  EXPECT_EQ(format_rate(FlopsPerSecond::from_base(12), DType::Int32, 3), "12.0 OP/s");
}

}  // namespace
}  // namespace rooftile
