// SPDX-License-Identifier: Apache-2.0
#include "traffic/access.h"

#include <gtest/gtest.h>

#include "hardware/load.h"

namespace rooftile::traffic {
namespace {

hardware::GpuSpec gpu(const char* name) {
  return *hardware::load_gpu(Catalog::embedded(), name);
}

TEST(Access, IsThatOfTheArchitecture) {
  const auto expect = [](const char* name, const Access& wanted) {
    const Access access = access_of(gpu(name));
    EXPECT_EQ(access.lanes, wanted.lanes) << name;
    EXPECT_EQ(access.sector_bytes, wanted.sector_bytes) << name;
    EXPECT_EQ(access.line_bytes, wanted.line_bytes) << name;
  };
  expect("h100-sxm", {.lanes = 32, .sector_bytes = 32, .line_bytes = 128});
  expect("mi100", {.lanes = 64, .sector_bytes = 64, .line_bytes = 64});
  expect("mi210", {.lanes = 64, .sector_bytes = 64, .line_bytes = 128});
  expect("mi300x", {.lanes = 64, .sector_bytes = 64, .line_bytes = 128});
}

TEST(Access, SizesThatNoCacheHasAreRefused) {
  hardware::GpuSpec odd = gpu("h100-sxm");
  EXPECT_TRUE(check_access(odd));
  odd.l1.sector = Bytes::from_base(24);
  const Status status = check_access(odd);
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find("lines of 128 B in sectors of 24 B"), std::string::npos)
      << status.error().message;
  EXPECT_EQ(access_of(odd).sector_bytes, 32) << "reports still get bytes";
  odd.l1.sector = Bytes::from_base(4);  // 32 in a line
  EXPECT_FALSE(check_access(odd));
  odd.l1.sector = Bytes::from_base(1e30);
  EXPECT_FALSE(check_access(odd));
  odd.l1.sector = Bytes::from_base(2);  // less than an element
  odd.l1.line = odd.l2.line = Bytes::from_base(16);
  EXPECT_FALSE(check_access(odd));
  odd = gpu("h100-sxm");
  odd.sm.warp_size = 4096;
  EXPECT_FALSE(check_access(odd));
  odd = gpu("h100-sxm");
  odd.l1.sector.reset();
  EXPECT_EQ(access_of(odd).sector_bytes, 32) << "not stated: as on NVIDIA";
}

}  // namespace
}  // namespace rooftile::traffic
