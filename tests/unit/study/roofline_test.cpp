// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "embedded_session.h"
#include "report/describe.h"
#include "report/writer.h"
#include "roofline/chart.h"
#include "rooftile/roofline.h"
#include "shared_data.h"
#include "temporary_folder.h"

namespace rooftile::study {
namespace {

namespace fs = std::filesystem;

class Roofline : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) {
    return folder_.write(name, text);
  }
  rooftile::testing::TemporaryFolder folder_;
};

/// A wide table with one counter; launches are (kernel, value).
std::string table(const std::string& metric, const std::string& unit,
                  const std::vector<std::pair<std::string, double>>& launches) {
  std::string text = "\"ID\",\"Process ID\",\"Kernel Name\",\"CC\",\"" + metric +
                     "\"\n\"\",\"\",\"\",\"\",\"" + unit + "\"\n";
  int id = 0;
  for (const auto& [kernel, value] : launches) {
    text += "\"" + std::to_string(id++) + "\",\"1\",\"" + kernel + "\",\"7.0\",\"" +
            std::to_string(static_cast<std::int64_t>(value)) + "\"\n";
  }
  return text;
}

RooflineRequest request_for(std::vector<std::string> exports) {
  RooflineRequest request;
  request.exports = std::move(exports);
  return request;
}

TEST_F(Roofline, OneMetricPerFileJoinsAndRunsStayApart) {
  // Two runs with the same kernels and other launch counts, files in the order of their counters.
  const std::vector<std::string> files{
      write("fw.time", table("gpu__time_duration.sum", "ns", {{"a", 100}, {"b", 50}})),
      write("both.time",
            table("gpu__time_duration.sum", "ns", {{"a", 100}, {"b", 50}, {"a", 300}})),
      write("fw.bytes", table("dram__bytes.sum", "byte", {{"a", 1000}, {"b", 500}})),
      write("both.bytes",
            table("dram__bytes.sum", "byte", {{"a", 1000}, {"b", 500}, {"a", 9000}}))};
  const auto chart = testing::embedded_session().roofline(request_for(files));
  ASSERT_TRUE(chart) << to_string(chart.error());
  ASSERT_EQ(chart->phases.size(), 2U);
  EXPECT_EQ(chart->phases[0].label, "fw");
  EXPECT_EQ(chart->phases[0].total.launches, 2);
  EXPECT_EQ(chart->phases[1].label, "both");
  EXPECT_EQ(chart->phases[1].total.launches, 3);
  EXPECT_DOUBLE_EQ(chart->phases[1].total.bytes[2]->base(), 10500.0);
}

TEST_F(Roofline, SubtractionKeepsTheLastLaunches) {
  const std::string both = write("both.csv", table("gpu__time_duration.sum", "ns",
                                                   {{"a", 100}, {"b", 50}, {"a", 300}, {"c", 7}}));
  const std::string fw =
      write("fw.csv", table("gpu__time_duration.sum", "ns", {{"a", 90}, {"b", 50}}));
  RooflineRequest request = request_for({both});
  request.subtract = {fw};
  const auto chart = testing::embedded_session().roofline(request);
  ASSERT_TRUE(chart) << to_string(chart.error());
  ASSERT_EQ(chart->points.size(), 2U);  // b is gone
  EXPECT_EQ(chart->points[0].record.name, "a");
  EXPECT_DOUBLE_EQ(chart->points[0].record.time->base(), 300e-9);
  EXPECT_EQ(chart->points[1].record.name, "c");
}

/// The authors join the counters of the runs by name and drop what is not in all of them.
TEST_F(Roofline, NerscModeJoinsInnerAndSaysSo) {
  const std::vector<std::string> files{
      write("r.time", table("gpu__time_duration.sum", "ns", {{"a", 100}, {"b", 50}, {"c", 9}})),
      write("r.bytes", table("dram__bytes.sum", "byte", {{"a", 1000}, {"b", 500}}))};
  RooflineRequest request = request_for(files);
  const auto all = testing::embedded_session().roofline(request);
  ASSERT_TRUE(all) << to_string(all.error());
  EXPECT_EQ(all->total.kernels, 3);
  request.nersc = true;
  const auto inner = testing::embedded_session().roofline(request);
  ASSERT_TRUE(inner) << to_string(inner.error());
  EXPECT_EQ(inner->total.kernels, 2);
  EXPECT_TRUE(std::any_of(inner->warnings.begin(), inner->warnings.end(),
                          [](const auto& w) { return w.name == "inner-join"; }));
}

TEST_F(Roofline, FoldersLabelsPhasesAndComparison) {
  write("run1/t", table("gpu__time_duration.sum", "ns", {{"a", 100}}));
  write("run1/b", table("dram__bytes.sum", "byte", {{"a", 1000}}));
  const std::string other = write("x.csv", table("gpu__time_duration.sum", "ns", {{"a", 400}}));
  RooflineRequest request = request_for({folder_.file("run1"), "second=" + other});
  request.compare = true;
  const auto chart = testing::embedded_session().roofline(request);
  ASSERT_TRUE(chart) << to_string(chart.error());
  EXPECT_EQ(chart->comparison->first, "run1");
  EXPECT_EQ(chart->comparison->second, "second");
  EXPECT_DOUBLE_EQ(to_us(chart->comparison->kernels.at(0).delta), 0.3);
  request.exports.pop_back();
  const auto alone = testing::embedded_session().roofline(request);
  ASSERT_FALSE(alone);
  EXPECT_EQ(alone.error().message, "--compare needs two runs or more, the exports are 1 run");
}

TEST_F(Roofline, FoldersOfOneNameStayApartAndKeepTheirNotes) {
  for (const char* run : {"A/out", "B/out"}) {
    write(std::string(run) + "/pmc_1/t", table("gpu__time_duration.sum", "ns", {{"a", 100}}));
    write(std::string(run) + "/pmc_2/b", table("dram__bytes.sum", "byte", {{"a", 1000}}));
    write(std::string(run) + "/app.log", "hello\n");
  }
  RooflineRequest request = request_for({folder_.file("A/out"), folder_.file("B/out/")});
  request.compare = true;
  const auto chart = testing::embedded_session().roofline(request);
  ASSERT_TRUE(chart) << to_string(chart.error());
  EXPECT_EQ(chart->comparison->first, "A/out");
  EXPECT_EQ(chart->comparison->second, "B/out");
  EXPECT_TRUE(std::any_of(chart->warnings.begin(), chart->warnings.end(), [](const auto& w) {
    return w.name == "import" && w.message.find("app.log") != std::string::npos;
  }));
}

TEST_F(Roofline, RunsUnderTheRoofsOfAnotherGpuAreNamed) {
  const std::string file = write("x.csv", table("gpu__time_duration.sum", "ns", {{"a", 100}}));
  RooflineRequest request = request_for({file});  // compute capability 7.0
  const auto other = [&](const std::string& gpu) {
    request.gpu = gpu;
    const auto chart = testing::embedded_session().roofline(request).value();
    return std::any_of(chart.warnings.begin(), chart.warnings.end(),
                       [](const auto& w) { return w.name == "other-gpu"; });
  };
  EXPECT_TRUE(other("h100-sxm"));
  EXPECT_FALSE(other("v100-pcie-32gb"));
}

TEST_F(Roofline, ProductsOfATraceWithShapesArePredicted) {
  const auto op = [](int id, const std::string& name, const std::string& dims) {
    return "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"" + name +
           "\",\"dur\":1,\"args\":{\"External id\":" + std::to_string(id) +
           ",\"Input Dims\":" + dims +
           ",\"Input type\":[\"c10::Half\",\"c10::Half\",\"c10::Half\"]}},";
  };
  const auto kernel = [](int id) {
    return "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"sm80_gemm_tn\",\"dur\":100,\"args\":{"
           "\"External id\":" +
           std::to_string(id) + ",\"grid\":[8,8,1],\"block\":[128,1,1]}}";
  };
  const std::string file =
      write("trace.json",
            "{\"deviceProperties\":[{\"name\":\"NVIDIA A100-SXM4-40GB\",\"computeMajor\":8,"
            "\"computeMinor\":0}],\"traceEvents\":[" +
                op(1, "aten::addmm", "[[1024],[512,256],[256,1024]]") +
                op(2, "aten::bmm", "[[4,64,32],[4,32,128]]") + kernel(1) + "," + kernel(2) + "]}");
  RooflineRequest request = request_for({file});
  request.predict = true;
  const auto chart = testing::embedded_session().roofline(request);
  ASSERT_TRUE(chart) << to_string(chart.error());
  const auto& predicted = chart->points.at(0).predicted;
  ASSERT_TRUE(predicted);
  EXPECT_EQ(predicted->match, "aten::addmm and 1 more, shapes of the trace");
  // Both launches: 2 (512 1024 256 + 4 64 128 32)
  EXPECT_DOUBLE_EQ(predicted->flops.base(), 2.0 * (512 * 1024 * 256 + 4 * 64 * 128 * 32));
}

TEST_F(Roofline, CeilingsOfAProcessorAreItsRoofsAndNobodyElses) {
  const std::string machine = write(
      "m.json",
      "{\"schema\":1,\"kind\":\"machine\",\"device\":\"CPU X\",\"tool\":\"t\","
      "\"date\":\"2026-11-16\",\"environment\":{\"backend\":\"cpu\"},\"bandwidth\":"
      "{\"dram\":\"50 GB/s\",\"last_level\":\"200 GB/s\"},\"rate\":{\"fp64\":\"100 GFLOP/s\"}}");
  const std::string likwid = write(
      "l.csv",
      "TABLE,Region triad,Group 1 Metric,MEM_DP,3,,\nMetric,HWThread 0,HWThread 1,\n"
      "Runtime (RDTSC) [s],1.0,1.0,\nDP [MFLOP/s],10,30,\nMemory data volume [GBytes],4,0,\n");
  RooflineRequest request = request_for({likwid});
  request.machine = machine;
  const auto chart = testing::embedded_session().roofline(request);
  ASSERT_TRUE(chart) << to_string(chart.error());
  EXPECT_DOUBLE_EQ(chart->roofs.bandwidth(hardware::MemoryLevel::Dram)->base(), 50e9);
  EXPECT_EQ(chart->roofs.provenance(), "measured");
  EXPECT_EQ(chart->roofs.machine, "CPU X");
  request.gpu = "h100-sxm";
  const auto refused = testing::embedded_session().roofline(request);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("measured on a processor (CPU X)"), std::string::npos);
}

/// One launch of 1e6 cycles and 2560 FMAs per cycle; `clock` in Hz.
std::string volta_table(const std::string& kernel, const std::string& clock) {
  return "\"ID\",\"Process ID\",\"Kernel Name\",\"sm__cycles_elapsed.avg\","
         "\"sm__cycles_elapsed.avg.per_second\",\"sm__sass_thread_inst_executed_op_fadd_pred_on."
         "sum\","
         "\"sm__sass_thread_inst_executed_op_fmul_pred_on.sum\","
         "\"sm__sass_thread_inst_executed_op_ffma_pred_on.sum\"\n"
         "\"\",\"\",\"\",\"cycle\",\"cycle/second\",\"inst\",\"inst\",\"inst\"\n"
         "\"0\",\"1\",\"" +
         kernel + "\",\"1000000\",\"" + clock + "\",\"0\",\"0\",\"2560000000\"\n";
}

// The tables of Volta's days name neither the GPU nor its compute capability, but the kernels and the
// locked clock do: 1312 MHz is the base clock of the V100 SXM2, whose two sizes have the same roofs.
TEST_F(Roofline, AGpuThatOnlyKernelsAndClockTellIsAssumedWithAWarning) {
  const auto chart = testing::embedded_session().roofline(
      request_for({write("o0.csv", volta_table("volta_sgemm_128x64_nn", "1306000000"))}));
  ASSERT_TRUE(chart) << to_string(chart.error());
  EXPECT_EQ(chart->roofs.machine, "NVIDIA Tesla V100 SXM2 16GB");
  EXPECT_NEAR(chart->roofs.clock->base(), 1306e6, 1.0);
  // 2560 FMAs per cycle of 80 x 64: half, at whatever clock
  EXPECT_NEAR(*chart->points.at(0).fraction_of_roof, 0.5, 0.002);
  const bool said = std::any_of(chart->warnings.begin(), chart->warnings.end(), [](const auto& w) {
    return w.name == "assumed-gpu" && w.message.find("--gpu") != std::string::npos;
  });
  EXPECT_TRUE(said);
}

TEST_F(Roofline, NoGpuIsAssumedWithoutItsClockOrItsNames) {
  for (const auto& [kernel, clock] :
       {std::pair("volta_sgemm_128x64_nn", "585000000"), std::pair("sgemm", "1306000000"),
        std::pair("turing_s1688gemm", "1306000000")}) {
    const auto chart = testing::embedded_session().roofline(
        request_for({write("x.csv", volta_table(kernel, clock))}));
    ASSERT_TRUE(chart) << to_string(chart.error());
    EXPECT_TRUE(chart->roofs.compute.empty()) << kernel << " at " << clock;
  }
}

TEST_F(Roofline, RoofsFromTheExportItself) {
  // dram: 100 byte/cycle at 1 GHz = 100 GB/s; fp32: 2 * 64 per cycle at 1 GHz = 128 GFLOP/s
  const std::string file =
      write("raw.csv",
            "\"ID\",\"Process ID\",\"Kernel "
            "Name\",\"dram__bytes.sum\",\"dram__bytes.sum.peak_sustained\","
            "\"dram__cycles_elapsed.avg.per_second\",\"gpu__time_duration.sum\","
            "\"sm__cycles_elapsed.avg.per_second\","
            "\"sm__sass_thread_inst_executed_op_ffma_pred_on.sum\","
            "\"sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained\"\n"
            "\"\",\"\",\"\",\"byte\",\"byte/cycle\",\"cycle/nsecond\",\"us\",\"Ghz\",\"inst\","
            "\"inst/cycle\"\n"
            "\"0\",\"1\",\"k\",\"50000\",\"100\",\"1\",\"1\",\"1\",\"16000\",\"64\"\n");
  const auto chart = testing::embedded_session().roofline(request_for({file}));
  ASSERT_TRUE(chart) << to_string(chart.error());
  EXPECT_EQ(chart->roofs.provenance(), "export");
  EXPECT_DOUBLE_EQ(chart->roofs.bandwidth(hardware::MemoryLevel::Dram)->base(), 100e9);
  EXPECT_DOUBLE_EQ(chart->roofs.compute.at(0).rate.base(), 128e9);
  // 50 kB at 100 GB/s = 0.5 us of 1 us; 32 kFLOP at 128 GFLOP/s = 0.25 us
  EXPECT_EQ(chart->points.at(0).limiter, "dram");
  EXPECT_DOUBLE_EQ(*chart->points[0].fraction_of_roof, 0.5);
}

TEST_F(Roofline, ConvolutionsOfAProfiledModelHavePredictions) {
  const std::string file = "profiles/cisc0f__nyu-imagenet-ncu-profiler__resnet18-a100.csv";
  if (!testing::has_shared_data(file)) GTEST_SKIP() << "no shared data";
  RooflineRequest request = request_for({(testing::shared_data() / file).string()});
  request.predict = true;
  request.step.model = "resnet18";
  request.step.phase = "train";
  request.step.dtype = "tf32";
  const auto chart = testing::embedded_session().roofline(request);
  ASSERT_TRUE(chart) << to_string(chart.error());
  std::int64_t forward = 0;
  for (const auto& point : chart->points) {
    if (!point.predicted || point.predicted->match.find("conv, by order") == std::string::npos) {
      continue;
    }
    forward += point.record.launches;
  }
  EXPECT_GE(forward, 4);  // those of one operator each
  // The kernel of 15 of the 20 convolutions: measured DRAM bytes are close to the predicted ones.
  const auto most = std::find_if(chart->points.begin(), chart->points.end(), [](const auto& p) {
    return p.record.launches == 15 && p.record.name.starts_with("sm80_xmma_fprop");
  });
  ASSERT_NE(most, chart->points.end());
  ASSERT_TRUE(most->predicted);
  EXPECT_EQ(most->predicted->shape, "6 shapes");
  EXPECT_NEAR(most->predicted->bytes[2] / *most->record.bytes[2], 1.0, 0.2);
}

TEST_F(Roofline, DeepCamUnderItsRoofs) {
  if (!rooftile::testing::has_shared_data("profiles")) GTEST_SKIP() << "no shared data";
  RooflineRequest request;
  for (const auto& entry : fs::directory_iterator(rooftile::testing::shared_data() / "profiles")) {
    const std::string name = entry.path().string();
    if (name.find("__out.") != std::string::npos) request.exports.push_back(name);
  }
  std::sort(request.exports.begin(), request.exports.end());
  ASSERT_EQ(request.exports.size(), 24U);
  request.gpu = "v100-sxm2-16gb";
  request.nersc = true;
  const auto chart = testing::embedded_session().roofline(request);
  ASSERT_TRUE(chart) << to_string(chart.error());
  ASSERT_EQ(chart->phases.size(), 2U) << "24 files are two runs of 12 counters";
  EXPECT_EQ(chart->phases[0].total.launches, 797);
  EXPECT_EQ(chart->phases[0].total.zero_ai.launches, 437);
  EXPECT_NEAR(to_ms(chart->phases[0].total.time), 104.184, 0.0005);
  EXPECT_EQ(chart->phases[1].total.launches, 35);
  for (const std::string& text :
       {report::write("text", report::describe(*chart, report::RooflineView::Hierarchical)),
        report::write("text", report::describe(*chart, report::RooflineView::TimeBased))}) {
    std::size_t begin = 0;
    for (std::size_t end = text.find('\n'); end != std::string::npos;
         end = text.find('\n', begin)) {
      const bool command = text.substr(begin, 20).find("collect") != std::string::npos;
      if (!command) {
        EXPECT_LE(end - begin, 100U) << text.substr(begin, end - begin);
      }
      begin = end + 1;
    }
  }
}

}  // namespace
}  // namespace rooftile::study
