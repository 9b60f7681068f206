// SPDX-License-Identifier: Apache-2.0
#include "core/number_of.h"

#include <gtest/gtest.h>

namespace rooftile {
namespace {

TEST(NumberOf, SingularOnlyForOne) {
  EXPECT_EQ(number_of(0, "kernel"), "0 kernels");
  EXPECT_EQ(number_of(1, "kernel"), "1 kernel");
  EXPECT_EQ(number_of(std::size_t{12}, "kernel"), "12 kernels");
}

TEST(NumberOf, Sibilants) {
  EXPECT_EQ(number_of(1, "launch"), "1 launch");
  EXPECT_EQ(number_of(2, "launch"), "2 launches");
  EXPECT_EQ(number_of(2, "matrix product"), "2 matrix products");
}

}  // namespace
}  // namespace rooftile
