// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "profile/evaluate.h"
#include "profile/importer.h"
#include "profile/select.h"
#include "profile/wire.h"
#include "report_writer.h"

namespace rooftile::profile {
namespace {

using testing::ReportFile;
using testing::WireMessage;
using testing::written;

Run run_of(const std::string& bytes) {
  const auto profile = import_text(bytes, "r.ncu-rep");
  EXPECT_TRUE(profile) << to_string(profile.error());
  if (!profile) return {};
  const auto run = evaluate(*profile, {}, Catalog::embedded());
  EXPECT_TRUE(run) << to_string(run.error());
  return run ? *run : Run{};
}

std::string refusal(const std::string& bytes) {
  const auto profile = import_text(bytes, "r.ncu-rep");
  EXPECT_FALSE(profile);
  return profile ? "" : to_string(profile.error());
}

bool warned(const Run& run, std::string_view name) {
  for (const Warning& warning : run.warnings) {
    if (warning.name == name) return true;
  }
  return false;
}

const char* const kAdd = "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum.per_cycle_elapsed";
const char* const kMul = "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum.per_cycle_elapsed";
const char* const kFma = "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum.per_cycle_elapsed";

ReportFile two_launches() {
  ReportFile file;
  for (const double scale : {1.0, 2.0}) {
    file.launches.push_back({"saxpy(float *)",
                             {{"gpu__time_duration.sum", 1000 * scale},
                              {"dram__bytes_read.sum", 4096 * scale},
                              {"dram__bytes_write.sum", 1024 * scale},
                              {"lts__t_sectors.sum", 100 * scale},
                              {"smsp__cycles_elapsed.avg", 500 * scale},
                              {"smsp__cycles_elapsed.avg.per_second", 1e9},
                              {kAdd, 2.0},
                              {kMul, 0.0},
                              {kFma, 4.0},
                              {"something__else", 3.0}}});
  }
  return file;
}

// Time (1000 + 2000) ns; DRAM 5120 * 3 byte; L2 32 * 300 byte; FLOP (2 + 0 + 2 * 4) * 1500 cycles.
TEST(NcuReport, MetricsBecomeTimesBytesAndFlops) {
  const profile::Run run = run_of(written(two_launches()));
  ASSERT_EQ(run.kernels.size(), 1U);
  const KernelRecord& kernel = run.kernels[0];
  EXPECT_EQ(kernel.name, "saxpy(float *)");
  EXPECT_EQ(kernel.launches, 2);
  EXPECT_NEAR(kernel.time->base(), 3e-6, 1e-18);
  EXPECT_EQ(kernel.bytes[2]->base(), 15360);
  EXPECT_EQ(kernel.bytes[1]->base(), 9600);
  EXPECT_EQ(kernel.flops_by.at({DType::Fp32, hardware::Pipe::Vector}).base(), 15000);
  EXPECT_EQ(kernel.grid, (Dim3{4, 2, 1}));
  EXPECT_EQ(kernel.block, (Dim3{128, 1, 1}));
}

TEST(NcuReport, ReportsGluedTogetherHaveEachTheirNames) {
  ReportFile other = two_launches();
  for (auto& launch : other.launches) {
    std::reverse(launch.metrics.begin(), launch.metrics.end());  // names get other numbers
  }
  const profile::Run run = run_of(written(two_launches()) + written(other));
  ASSERT_EQ(run.kernels.size(), 1U);
  EXPECT_EQ(run.kernels[0].launches, 4);
  EXPECT_NEAR(run.kernels[0].time->base(), 6e-6, 1e-18);
  EXPECT_EQ(run.kernels[0].bytes[1]->base(), 19200);
}

TEST(NcuReport, RangesOfNvtxSelectLaunches) {
  ReportFile file = two_launches();
  file.launches[1].ranges = {"step", "forward"};
  const auto profile = import_text(written(file), "r");
  ASSERT_TRUE(profile) << to_string(profile.error());
  ASSERT_EQ(profile->ranges.size(), 1U);
  EXPECT_EQ(profile->ranges[0], (std::vector<std::string>{"step", "forward"}));
  EXPECT_FALSE(profile->notes.empty()) << "no report that was seen has a range";
  const auto inside = select(*profile, {.annotation = "forward"});
  ASSERT_TRUE(inside) << to_string(inside.error());
  EXPECT_EQ(inside->kernels.at(0).launches(), 1);
  EXPECT_FALSE(select(*import_text(written(two_launches()), "r"), {.annotation = "forward"}));
}

TEST(NcuReport, TheDeviceIsThatOfTheSession) {
  const auto profile = import_text(written(two_launches()), "r");
  ASSERT_TRUE(profile);
  EXPECT_EQ(profile->device.name, "NVIDIA A100-SXM4-40GB");
  EXPECT_EQ(profile->device.isa, "8.0");
  EXPECT_EQ(profile->format, "ncu-rep");
  EXPECT_EQ(profile->ignored_metrics, 1) << "something__else, once";
}

TEST(NcuReport, AMetricWithoutAValueIsUnknownAndNotZero) {
  ReportFile file = two_launches();
  for (auto& launch : file.launches) {
    for (auto& [name, value] : launch.metrics) {
      if (name.starts_with("dram")) value.reset();
    }
  }
  const profile::Run run = run_of(written(file));
  EXPECT_FALSE(run.kernels.at(0).bytes[2]);
  EXPECT_TRUE(run.kernels.at(0).bytes[1]);
}

// One failed launch of two: sums are over the other one.
TEST(NcuReport, ALaunchOfNansIsLeftOut) {
  ReportFile file = two_launches();
  for (auto& [name, value] : file.launches[0].metrics) {
    value = std::numeric_limits<double>::quiet_NaN();
  }
  const profile::Run run = run_of(written(file));
  EXPECT_EQ(run.kernels.at(0).launches, 1);
  EXPECT_EQ(run.kernels.at(0).bytes[2]->base(), 10240);
  EXPECT_TRUE(warned(run, "not-available-launches"));
}

TEST(NcuReport, OnlyNansSayThatNothingWasMeasured) {
  ReportFile file = two_launches();
  for (auto& launch : file.launches) {
    for (auto& [name, value] : launch.metrics) value = std::nan("");
    // A peak is of the machine, not of the kernel.
    launch.metrics.emplace_back("dram__bytes.sum.peak_sustained", 96.0);
  }
  const profile::Run run = run_of(written(file));
  EXPECT_EQ(run.kernels.at(0).launches, 2);
  EXPECT_FALSE(run.kernels.at(0).time);
  EXPECT_TRUE(warned(run, "nothing-measured"));
}

// The second launch lacks what the first one has, and the other way round.
TEST(NcuReport, ValuesStayWithTheirLaunches) {
  ReportFile file = two_launches();
  file.launches[0].metrics.resize(1);
  const auto profile = import_text(written(file), "r");
  ASSERT_TRUE(profile);
  const Column* bytes = profile->kernels[0].find("dram__bytes_read.sum");
  ASSERT_NE(bytes, nullptr);
  EXPECT_EQ(bytes->values, std::vector{8192.0});
  EXPECT_EQ(bytes->gaps, std::vector<std::size_t>{0});
}

TEST(NcuReport, AnotherVersionIsReadWithAWarning) {
  ReportFile file = two_launches();
  file.version = 9;
  const auto profile = import_text(written(file), "r.ncu-rep");
  ASSERT_TRUE(profile);
  ASSERT_FALSE(profile->notes.empty());
  EXPECT_NE(profile->notes[0].find("format version 9"), std::string::npos);
}

TEST(NcuReport, BytesThatTheCountsDoNotExplainAreSkipped) {
  ReportFile file = two_launches();
  file.announced = 12;
  const auto profile =
      import_text(written(file) + WireMessage().bytes(1, "unknown!").framed().substr(0, 12), "r");
  ASSERT_TRUE(profile) << to_string(profile.error());
  EXPECT_EQ(profile->kernels[0].launches(), 2);
  EXPECT_NE(profile->notes.back().find("12 bytes"), std::string::npos) << profile->notes.back();
}

TEST(NcuReport, DamageIsNamed) {
  const std::string whole = written(two_launches());
  EXPECT_NE(refusal(whole.substr(0, whole.size() - 5)).find("in the middle of a message"),
            std::string::npos);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(import_text(whole.substr(0, size), "r")) << size;
  }
  std::string length = whole;
  length[4] = '\xff';
  length[7] = '\x7f';
  EXPECT_NE(refusal(length).find("longer than any report has"), std::string::npos);
  ReportFile negative = two_launches();
  negative.launches[1].metrics[0].second = -1.0;
  EXPECT_NE(refusal(written(negative)).find("cannot be negative"), std::string::npos);
  ReportFile empty;
  EXPECT_NE(refusal(written(empty)).find("no kernels in this report"), std::string::npos);
}

TEST(Wire, FieldsOfEveryType) {
  const std::string text =
      WireMessage().varint(1, 300).number(2, -0.5).bytes(3, "abc").text() + "\x25\x00\x00\x80\x3f";
  WireReader reader(std::string_view(text.data(), text.size()));
  WireField field;
  ASSERT_TRUE(reader.next(field));
  EXPECT_EQ(field.value, 300U);
  ASSERT_TRUE(reader.next(field));
  EXPECT_EQ(field.number_value(), -0.5);
  ASSERT_TRUE(reader.next(field));
  EXPECT_EQ(field.bytes, "abc");
}

TEST(Wire, LengthsBeyondTheEndAreDamage) {
  for (const std::string& text :
       {std::string("\x0a\x05"
                    "abc"),
        std::string("\x09"
                    "abc"),
        std::string("\x0d"
                    "a"),
        std::string("\x80"), std::string("\x0b"), std::string(11, '\xff')}) {
    WireReader reader(text);
    for (WireField field; reader.next(field);) {
    }
    EXPECT_TRUE(reader.damaged());
  }
}

}  // namespace
}  // namespace rooftile::profile
