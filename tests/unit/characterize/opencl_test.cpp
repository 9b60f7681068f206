// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "characterize/child_probe.h"
#include "characterize/opencl/opencl_api.h"
#include "characterize/opencl/opencl_device.h"
#include "characterize/plan.h"
#include "characterize/sweep.h"
#if __has_include(<CL/cl.h>)
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#endif

namespace rooftile::characterize {
namespace {

TEST(ChildProbe, HandsBackTextAndErrors) {
  const auto good = run_in_child([]() -> Result<std::string> { return "two\nlines\n"; }, "x");
  ASSERT_TRUE(good.has_value());
  EXPECT_EQ(*good, "two\nlines\n");
  const auto bad = run_in_child(
      []() -> Result<std::string> { return unsupported("", "no platform", "install one"); }, "x");
  ASSERT_FALSE(bad.has_value());
  EXPECT_EQ(bad.error().message, "no platform");
  EXPECT_EQ(bad.error().hint, "install one");
}

TEST(ChildProbe, SurvivesADriverThatAborts) {
  const auto result = run_in_child([]() -> Result<std::string> { std::_Exit(3); }, "opencl");
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::Unsupported);
  EXPECT_NE(result.error().message.find("ended the process"), std::string::npos);
}

#ifdef CL_DEVICE_MAX_COMPUTE_UNITS
TEST(OpenCl, ConstantsAreThoseOfTheStandardHeader) {
  using namespace opencl;
  EXPECT_EQ(kDeviceType, static_cast<std::uint32_t>(CL_DEVICE_TYPE));
  EXPECT_EQ(kDeviceMaxComputeUnits, static_cast<std::uint32_t>(CL_DEVICE_MAX_COMPUTE_UNITS));
  EXPECT_EQ(kDeviceMaxWorkGroupSize, static_cast<std::uint32_t>(CL_DEVICE_MAX_WORK_GROUP_SIZE));
  EXPECT_EQ(kDeviceMaxClockFrequency, static_cast<std::uint32_t>(CL_DEVICE_MAX_CLOCK_FREQUENCY));
  EXPECT_EQ(kDeviceMaxMemAllocSize, static_cast<std::uint32_t>(CL_DEVICE_MAX_MEM_ALLOC_SIZE));
  EXPECT_EQ(kDeviceGlobalMemCacheSize, static_cast<std::uint32_t>(CL_DEVICE_GLOBAL_MEM_CACHE_SIZE));
  EXPECT_EQ(kDeviceGlobalMemSize, static_cast<std::uint32_t>(CL_DEVICE_GLOBAL_MEM_SIZE));
  EXPECT_EQ(kDeviceLocalMemSize, static_cast<std::uint32_t>(CL_DEVICE_LOCAL_MEM_SIZE));
  EXPECT_EQ(kDeviceName, static_cast<std::uint32_t>(CL_DEVICE_NAME));
  EXPECT_EQ(kDriverVersion, static_cast<std::uint32_t>(CL_DRIVER_VERSION));
  EXPECT_EQ(kDeviceVersion, static_cast<std::uint32_t>(CL_DEVICE_VERSION));
  EXPECT_EQ(kDeviceExtensions, static_cast<std::uint32_t>(CL_DEVICE_EXTENSIONS));
  EXPECT_EQ(kProgramBuildLog, static_cast<std::uint32_t>(CL_PROGRAM_BUILD_LOG));
  EXPECT_EQ(kProfilingCommandStart, static_cast<std::uint32_t>(CL_PROFILING_COMMAND_START));
  EXPECT_EQ(kProfilingCommandEnd, static_cast<std::uint32_t>(CL_PROFILING_COMMAND_END));
  EXPECT_EQ(kDeviceTypeCpu, static_cast<Bitfield>(CL_DEVICE_TYPE_CPU));
  EXPECT_EQ(kDeviceTypeAll, static_cast<Bitfield>(CL_DEVICE_TYPE_ALL));
  EXPECT_EQ(kMemReadWrite, static_cast<Bitfield>(CL_MEM_READ_WRITE));
  EXPECT_EQ(kQueueProfilingEnable, static_cast<Bitfield>(CL_QUEUE_PROFILING_ENABLE));
}
#endif

TEST(OpenCl, MeasuresTheFirstDevice) {
  const auto names = opencl::list_devices();
  if (!names) GTEST_SKIP() << "no OpenCL device: " << names.error().message;
  EXPECT_FALSE(opencl::make_opencl_device(1000, Catalog::embedded()).has_value());
  auto device = opencl::make_opencl_device(0, Catalog::embedded());
  ASSERT_TRUE(device.has_value()) << to_string(device.error());
  auto plan =
      make_plan((*device)->description(), (*device)->capabilities(),
                {.effort = Effort::Quick,
                 .dtypes = {},
                 .patterns = {Pattern::Load, Pattern::Copy, Pattern::Update, Pattern::Chase},
                 .dense_update = false,
                 .max_working_set = 64_KiB});
  ASSERT_TRUE(plan.has_value()) << to_string(plan.error());
  plan->warm_up = Seconds{};
  plan->second_look = Seconds{};
  plan->target_run = Seconds::from_base(1e-4);
  plan->stopping.min_repetitions = 3;
  plan->stopping.max_repetitions = 4;
  const auto result = run_sweep(**device, *plan, {});
  ASSERT_TRUE(result.has_value()) << to_string(result.error());
  for (const Sample& s : result->samples) {
    EXPECT_GT(s.time.fast.base(), 0) << describe(s.what);
    if (is_streaming(s.what.pattern)) {
      EXPECT_GT(bandwidth(s).base(), 1e6) << describe(s.what);
    }
  }
}

}  // namespace
}  // namespace rooftile::characterize
