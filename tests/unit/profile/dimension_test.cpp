// SPDX-License-Identifier: Apache-2.0
#include "profile/dimension.h"

#include <gtest/gtest.h>

#include "profile/formula.h"
#include "profile/importer.h"

namespace rooftile::profile {
namespace {

TEST(Dimensions, FollowFromTheName) {
  EXPECT_EQ(dimension_of("duration"), Dimension::Time);
  EXPECT_EQ(dimension_of("gpu__time_duration.sum"), Dimension::Time);
  EXPECT_EQ(dimension_of("gpu__time_duration_measured_user.sum"), Dimension::Time);
  EXPECT_EQ(dimension_of("dram__bytes.sum"), Dimension::Bytes);
  EXPECT_EQ(dimension_of("dram_read_bytes"), Dimension::Bytes);
  EXPECT_EQ(dimension_of("Memory data volume"), Dimension::Bytes);
  EXPECT_EQ(dimension_of("dram__bytes.sum.per_second"), Dimension::ByteRate);
  EXPECT_EQ(dimension_of("dram_read_throughput"), Dimension::ByteRate);
  EXPECT_EQ(dimension_of("sm__cycles_elapsed.avg.per_second"), Dimension::Clock);
  EXPECT_EQ(dimension_of("sm__cycles_elapsed.avg"), Dimension::Count);
  EXPECT_EQ(dimension_of("dram__bytes.sum.peak_sustained"), Dimension::PerCycle);
  EXPECT_EQ(dimension_of("derived__smsp__sass_thread_inst_executed_op_ffma_pred_on_x2"),
            Dimension::PerCycle);
  EXPECT_EQ(dimension_of("derived__l1tex__lsu_writeback_bytes_mem_lg.sum.per_second"),
            Dimension::ByteRate);
  EXPECT_EQ(dimension_of("lts__t_sectors.sum"), Dimension::Count);
  EXPECT_EQ(dimension_of("SQ_INSTS_VALU_ADD_F32"), Dimension::Count);
}

// Every counter of a byte formula is bytes, a rate of bytes, or a count of something that has some.
TEST(Dimensions, FormulasOfRatesUseRates) {
  for (const Quantity quantity : kQuantities) {
    for (const Formula& formula : formulas(quantity)) {
      for (const Term& term : formula.terms) {
        const Dimension dimension = dimension_of(term.metric);
        const bool rate = dimension == Dimension::ByteRate || dimension == Dimension::CountRate;
        EXPECT_EQ(rate, formula.scale == Scale::Time) << term.metric;
        EXPECT_EQ(dimension == Dimension::PerCycle, formula.scale == Scale::ClockTime)
            << term.metric;
        EXPECT_NE(dimension, Dimension::Time) << term.metric;
      }
    }
  }
}

Result<CounterUnit> unit(std::string_view text, std::string_view counter) {
  const auto source = TextSource::from_text("", "x.csv");
  return read_unit(text, {.counter = counter, .shown = counter, .column = "Metric Unit"}, *source);
}

TEST(Dimensions, UnitsOfAnotherOneAreRefused) {
  EXPECT_EQ(unit("usecond", "gpu__time_duration.sum")->factor, 1e-6);
  EXPECT_EQ(unit("Kbyte", "dram__bytes.sum")->factor, 1e3);
  EXPECT_DOUBLE_EQ(unit("cycle/nsecond", "sm__cycles_elapsed.avg.per_second")->factor, 1e9);
  EXPECT_EQ(unit("byte/cycle", "dram__bytes.sum.peak_sustained")->factor, 1);
  EXPECT_EQ(unit("", "dram__bytes.sum")->factor, 1);
  EXPECT_EQ(unit("bananas", "lts__t_sectors.sum")->factor, 1);  // a count of whatever
  const auto failure = [](std::string_view text, std::string_view counter) {
    const auto read = unit(text, counter);
    return read ? "no error" : read.error().message;
  };
  EXPECT_EQ(failure("Kbyte", "gpu__time_duration.sum"),
            "column \"Metric Unit\": gpu__time_duration.sum is a time, but \"Kbyte\" is a unit of "
            "bytes");
  EXPECT_EQ(failure("byte/second", "dram__bytes.sum"),
            "column \"Metric Unit\": dram__bytes.sum is bytes, but \"byte/second\" is a unit of "
            "bytes per second");
  EXPECT_EQ(failure("nsecond", "lts__t_sectors.sum"),
            "column \"Metric Unit\": lts__t_sectors.sum is a count, but \"nsecond\" is a unit of "
            "time");
  EXPECT_EQ(failure("%", "dram__bytes.sum"),
            "column \"Metric Unit\": dram__bytes.sum is bytes, but \"%\" is a unit of shares");
}

std::string error_of(const std::string& text) {
  const auto profile = import_text(text, "x.csv");
  return profile ? "no error" : profile.error().where + ": " + profile.error().message;
}

TEST(NotKernels, ApiCallsAndCopiesAreNamed) {
  const std::string header =
      "\"Name\",\"Calls\",\"TotalDurationNs\",\"AverageNs\",\"Percentage\"\n";
  const std::string message =
      "x.csv:2: these are statistics of API calls, copies or annotations, not of kernels";
  for (const char* name :
       {"hipMemcpy", "__hipPushCallConfiguration", "hsa_queue_create", "CopyHostToDevice",
        "MEMORY_COPY_HOST_TO_DEVICE", "HIP_API", "KERNEL_DISPATCH", "roctxMarkA"}) {
    EXPECT_EQ(error_of(header + "\"" + name + "\",10,12000,1200,100\n"), message) << name;
  }
  for (const char* name : {"hipify(float*)", "hipSomething.kd", "copy_kernel", "hippo",
                           "Cijk_Ailk_Bljk_SB_MT64x64x8", "__amd_rocclr_copyBuffer"}) {
    EXPECT_EQ(error_of(header + "\"" + name + "\",10,12000,1200,100\n"), "no error") << name;
  }
}

TEST(NotKernels, SumsOfNsysAreTold) {
  const std::string message =
      "x.csv: these are statistics of API calls, copies or annotations, not of kernels";
  EXPECT_EQ(error_of("Time (%),Total Time (ns),Num Calls,Avg (ns),Name\n"
                     "90.0,9000,3,3000,cudaLaunchKernel\n"),
            message);
  EXPECT_EQ(error_of("Time (%),Total Time (ns),Count,Avg (ns),Operation\n"
                     "90.0,9000,3,3000,[CUDA memcpy HtoD]\n"),
            message);
  EXPECT_EQ(error_of("Time (%),Total Time (ns),Instances,Avg (ns),Name\n"
                     "90.0,9000,3,3000,saxpy(int)\n"),
            "no error");
}

}  // namespace
}  // namespace rooftile::profile
