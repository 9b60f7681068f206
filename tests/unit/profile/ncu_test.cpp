// SPDX-License-Identifier: Apache-2.0
//
// Every shape of Nsight Compute output, small and synthetic; the real ones are in exports_test.cpp.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "profile/evaluate.h"
#include "profile/importer.h"

namespace rooftile::profile {
namespace {

RawProfile import(const std::string& text) {
  auto profile = import_text(text, "x.csv");
  EXPECT_TRUE(profile) << to_string(profile.error());
  return profile ? *std::move(profile) : RawProfile{};
}

std::string failure(const std::string& text) {
  const auto profile = import_text(text, "x.csv");
  EXPECT_FALSE(profile);
  return profile ? "" : to_string(profile.error());
}

const std::string kLong =
    "\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\",\"Context\",\"Stream\","
    "\"Block Size\",\"Grid Size\",\"Device\",\"CC\",\"Section Name\",\"Metric Name\","
    "\"Metric Unit\",\"Metric Value\"\n";

std::string row(int id, const std::string& kernel, const std::string& metric,
                const std::string& unit, const std::string& value) {
  return "\"" + std::to_string(id) + "\",\"7\",\"app\",\"host\",\"" + kernel +
         "\",\"1\",\"7\",\"(256, 1, 1)\",\"(64, 2, 1)\",\"0\",\"8.0\","
         "\"Command line profiler metrics\",\"" +
         metric + "\",\"" + unit + "\",\"" + value + "\"\n";
}

double sum(const RawProfile& profile, std::size_t kernel, const std::string& metric) {
  const Column* column = profile.kernels.at(kernel).find(metric);
  EXPECT_NE(column, nullptr) << metric;
  return column != nullptr ? column->sum() : -1.0;
}

TEST(NcuLong, UnitsArePerValueAndBannersAreSkipped) {
  // 1.5 Mbyte + 500 Kbyte + 3 byte
  const RawProfile p = import("program says: \"hello\n==PROF== Connected to process 7\n" + kLong +
                              row(0, "a, b", "dram__bytes.sum", "Mbyte", "1.5") +
                              "==PROF== something in between\n\"quoted program output\n12, 13\n" +
                              row(1, "a, b", "dram__bytes.sum", "Kbyte", "500") +
                              row(2, "a, b", "dram__bytes.sum", "byte", "3"));
  ASSERT_EQ(p.kernels.size(), 1U);
  EXPECT_EQ(p.kernels[0].name, "a, b");
  EXPECT_EQ(p.kernels[0].launches(), 3);
  EXPECT_DOUBLE_EQ(sum(p, 0, "dram__bytes.sum"), 2000003.0);
  EXPECT_EQ(p.device.isa, "8.0");
  EXPECT_EQ(p.kernels[0].grid, (Dim3{64, 2, 1}));
  EXPECT_EQ(p.kernels[0].block, (Dim3{256, 1, 1}));
}

TEST(NcuLong, ADecimalCommaAnywhereDecidesTheWholeFile) {
  // "1.234" is 1234 because a later value is "9,50"
  const RawProfile p = import(kLong + row(0, "k", "dram__bytes.sum", "byte", "1.234") +
                              row(0, "k", "gpu__time_duration.sum", "us", "9,50") +
                              row(1, "k", "dram__bytes.sum", "byte", "2.000.000") +
                              row(1, "k", "gpu__time_duration.sum", "us", "1.000,25"));
  EXPECT_DOUBLE_EQ(sum(p, 0, "dram__bytes.sum"), 2001234.0);
  EXPECT_DOUBLE_EQ(sum(p, 0, "gpu__time_duration.sum"), (9.5 + 1000.25) * 1e-6);
}

TEST(NcuLong, NotAvailableIsMissingNotZero) {
  const RawProfile p = import(
      kLong + row(0, "k", "sm__sass_thread_inst_executed_op_ffma_pred_on.sum", "inst", "n/a") +
      row(0, "k", "gpu__time_duration.sum", "ns", "1000"));
  const auto run = evaluate(p, {}, Catalog::embedded());
  ASSERT_TRUE(run);
  EXPECT_FALSE(run->kernels[0].flops);
  EXPECT_FALSE(run->kernels[0].zero_ai());
}

TEST(NcuLong, TensorInstructionsOfUnknownShapeAreMissedOnlyWhereThereAreSome) {
  const auto missed = [](const std::string& count) {
    const RawProfile p =
        import(kLong + row(0, "k", "sm__inst_executed_pipe_tensor.sum", "inst", count) +
               row(0, "k", "sm__sass_thread_inst_executed_op_ffma_pred_on.sum", "inst", "8") +
               row(0, "k", "gpu__time_duration.sum", "ns", "1000"));
    const auto run = evaluate(p, {}, Catalog::embedded());
    EXPECT_TRUE(run);
    return std::any_of(run->warnings.begin(), run->warnings.end(), [](const Warning& warning) {
      return warning.message.find("512 to 8192 FLOP") != std::string::npos;
    });
  };
  EXPECT_FALSE(missed("0"));
  EXPECT_TRUE(missed("5"));
}

// Integer products leave no trace in the counters of FP32 and FP64: only the units were busy.
TEST(NcuLong, BusyTensorUnitsAreNotZeroIntensity) {
  const auto record = [](const std::string& busy) {
    std::string text = kLong + row(0, "k", "gpu__time_duration.sum", "ns", "1000");
    for (const char* op : {"dadd", "dmul", "dfma", "fadd", "fmul", "ffma"}) {
      text += row(0, "k", fmt::format("sm__sass_thread_inst_executed_op_{}_pred_on.sum", op),
                  "inst", "0");
    }
    text += row(0, "k", "sm__inst_executed_pipe_tensor_op_imma.avg.pct_of_peak_sustained_active",
                "%", busy);
    const auto run = evaluate(import(text), {}, Catalog::embedded());
    EXPECT_TRUE(run);
    return run ? run->kernels.at(0) : KernelRecord{};
  };
  EXPECT_TRUE(record("0").zero_ai());
  EXPECT_FALSE(record("53.9").zero_ai());
  EXPECT_FALSE(record("53.9").flops_complete);
}

TEST(NcuLong, RatiosAreOverLaunchesThatHaveAllCounters) {
  // Four launches of 100 bytes in 10 ns, but the time of the second and the bytes of the last two
  // are n/a.
  std::string text = kLong;
  const char* const times[] = {"10", "n/a", "10", "10"};
  const char* const bytes[] = {"100", "100", "n/a", "n/a"};
  for (int i = 0; i < 4; ++i) {
    text += row(i, "k", "gpu__time_duration.sum", "ns", times[i]) +
            row(i, "k", "dram__bytes.sum", "byte", bytes[i]) +
            row(i, "k", "lts__t_bytes.sum", "byte", "n/a");
  }
  const auto run = evaluate(import(text), {}, Catalog::embedded());
  ASSERT_TRUE(run);
  EXPECT_EQ(run->kernels[0].launches, 1);
  EXPECT_DOUBLE_EQ(run->kernels[0].time->base(), 10e-9);
  EXPECT_DOUBLE_EQ(run->kernels[0].bytes[2]->base(), 100.0);
  EXPECT_FALSE(run->kernels[0].bytes[1]) << "n/a everywhere is not measured";
  bool said = false;
  for (const Warning& warning : run->warnings) said |= warning.name == "not-available-launches";
  EXPECT_TRUE(said);
}

TEST(NcuLong, TwoPassesShareTheirTimeAndMoreLaunchesDoNot) {
  const auto launch = [](int id, const std::string& counter) {
    return row(id, "k", "gpu__time_duration.sum", "ns", "10") +
           row(id, "k", counter, "byte", "100");
  };
  const std::string first = kLong + launch(0, "dram__bytes.sum") + launch(1, "dram__bytes.sum");
  const std::string second = kLong + launch(0, "lts__t_bytes.sum") + launch(1, "lts__t_bytes.sum");
  EXPECT_GT(affinity(import(first), import(second)), 0.9);
  for (const RawProfile& passes : {import(first + second), merge(import(first), import(second))}) {
    EXPECT_EQ(passes.kernels.at(0).launches(), 2);
    EXPECT_EQ(passes.kernels[0].launch_list.size(), 2U);
    EXPECT_DOUBLE_EQ(sum(passes, 0, "gpu__time_duration.sum"), 20e-9);
    EXPECT_DOUBLE_EQ(sum(passes, 0, "lts__t_bytes.sum"), 200.0);
  }
  EXPECT_EQ(affinity(import(first), import(first)), 0.0);
  const RawProfile longer = import(first + first);
  EXPECT_EQ(longer.kernels.at(0).launches(), 4);
  EXPECT_EQ(longer.kernels[0].rows, 4);
  ASSERT_EQ(longer.kernels[0].launch_list.size(), 4U);
  EXPECT_EQ(longer.kernels[0].launch_list[3].ordinal, 3);
  EXPECT_EQ(longer.files.size(), 1U);
}

TEST(NcuLong, RefusesWhereNothingDecidesTheDecimalMark) {
  const auto guessed =
      import_text(kLong + row(0, "k", "dram__bytes.sum", "byte", "30.000"), "k.csv");
  ASSERT_FALSE(guessed);
  EXPECT_NE(guessed.error().message.find("30.000 means 30 or 30000"), std::string::npos);
  EXPECT_NE(guessed.error().hint.find("LC_ALL=C ncu --csv"), std::string::npos);
  const RawProfile decided = import(kLong + row(0, "k", "dram__bytes.sum", "byte", "30.000") +
                                    row(1, "k", "dram__bytes.sum", "byte", "1.5"));
  EXPECT_DOUBLE_EQ(sum(decided, 0, "dram__bytes.sum"), 31.5);
  // The usual output: two decimals at most, so three digits behind a comma are thousands.
  EXPECT_DOUBLE_EQ(
      sum(import(kLong + row(0, "k", "dram__bytes.sum", "byte", "120,000")), 0, "dram__bytes.sum"),
      120000.0);
  // The same file in a German locale.
  const RawProfile german = import(kLong + row(0, "k", "dram__bytes.sum", "byte", "120.000") +
                                   row(0, "k", "gpu__time_duration.sum", "usecond", "9,25"));
  EXPECT_DOUBLE_EQ(sum(german, 0, "dram__bytes.sum"), 120000.0);
}

TEST(NcuLong, SemicolonsUtf16AndAppendedFiles) {
  std::string text = kLong + row(0, "k", "dram__bytes.sum", "byte", "10") + kLong +
                     row(0, "k", "lts__t_bytes.sum", "byte", "20");
  const RawProfile plain = import(text);
  EXPECT_EQ(plain.kernels.at(0).launches(), 1) << "two appended runs join by counter";
  std::string wide = "\xFF\xFE";
  for (const char c : text) wide += std::string(1, c) + '\0';
  const RawProfile utf16 = import(wide);
  EXPECT_DOUBLE_EQ(sum(utf16, 0, "lts__t_bytes.sum"), 20.0);
  const RawProfile semicolon = import(
      "ID;Process ID;Kernel Name;Metric Name;Metric Unit;Metric Value\r\n"
      "0;1;k;dram__bytes.sum;byte;1,5\r\n");
  EXPECT_DOUBLE_EQ(sum(semicolon, 0, "dram__bytes.sum"), 1.5);
}

TEST(NcuLong, SectionsRepeatMetricsAndRulesHaveRowsOfTheirOwn) {
  const std::string header =
      "\"ID\",\"Kernel Name\",\"CC\",\"Section Name\",\"Metric Name\",\"Metric Unit\",\"Metric "
      "Value\",\"Rule Name\",\"Rule Type\",\"Rule Description\",\"Estimated Speedup Type\","
      "\"Estimated Speedup\"\n";
  const RawProfile p = import(
      header +
      "\"0\",\"k\",\"12.0\",\"Command line profiler metrics\",\"gpu__time_duration.sum\",\"us\","
      "\"6.75\",\n"
      "\"0\",\"k\",\"12.0\",\"GPU Speed Of Light Throughput\",\"Memory "
      "Throughput\",\"%\",\"19.66\",\n"
      "\"0\",\"k\",\"12.0\",\"GPU Speed Of Light Throughput\",\"Duration\",\"us\",\"6.75\",\n"
      "\"0\",\"k\",\"12.0\",\"SpeedOfLight\",\"\",\"\",\"\",\"SOLBottleneck\",\"OPT\",\"too small, "
      "really\",\"\",\"\"\n"
      "\"0\",\"k\",\"12.0\",\"Memory Workload Analysis\",\"Memory "
      "Throughput\",\"Gbyte/s\",\"345.14\",\n");
  EXPECT_EQ(p.kernels.at(0).launches(), 1);
  const auto run = evaluate(p, {}, Catalog::embedded());
  ASSERT_TRUE(run);
  // 345.14 GB/s * 6.75 us = 2329695 B
  EXPECT_NEAR(run->kernels[0].bytes[2]->base(), 2329695.0, 1e-3);
}

TEST(NcuSummary, AverageTimesInvocations) {
  const RawProfile p = import(
      "\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\",\"Block Size\",\"Grid Size\","
      "\"Device\",\"CC\",\"Invocations\",\"Section Name\",\"Metric Name\",\"Metric Unit\","
      "\"Minimum\",\"Maximum\",\"Average\"\n"
      "\"1\",\"p\",\"h\",\"k\",\"(1, 1, 1)\",\"(1, 1, 1)\",\"0\",\"8.0\",\"100\",\"Command line "
      "profiler metrics\",\"dram__bytes.sum\",\"byte\",\"1,000.00\",\"3,000.00\",\"2,000.50\"\n");
  EXPECT_EQ(p.kernels.at(0).launches(), 100);
  EXPECT_DOUBLE_EQ(sum(p, 0, "dram__bytes.sum"), 200050.0);
}

TEST(NcuSummary, PerGpuAndAsText) {
  const RawProfile gpu = import(
      "\"Process ID\",\"Process Name\",\"Host Name\",\"Device\",\"CC\",\"Invocations\","
      "\"Section Name\",\"Metric Name\",\"Metric Unit\",\"Minimum\",\"Maximum\",\"Average\"\n"
      "\"1\",\"a\",\"h\",\"0\",\"9.0\",\"10\",\"Command line profiler metrics\","
      "\"dram__bytes.sum\",\"byte\",\"5\",\"9\",\"7\"\n");
  EXPECT_EQ(gpu.kernels.at(0).name, "all kernels");
  EXPECT_DOUBLE_EQ(sum(gpu, 0, "dram__bytes.sum"), 70.0);
  const RawProfile text = import(
      "==PROF== Connected\n"
      "  saxpy(int, float *) (256, 1, 1)x(4096, 1, 1), Device 0, CC 9.0, Invocations 10\n"
      "    Section: Command line profiler metrics\n"
      "    ----------------------- ----------- ------- ------- -------\n"
      "    Metric Name             Metric Unit Minimum Maximum Average\n"
      "    ----------------------- ----------- ------- ------- -------\n"
      "    dram__bytes.sum               Mbyte   12.00   13.00   12.58\n"
      "    ----------------------- ----------- ------- ------- -------\n");
  EXPECT_EQ(text.kernels.at(0).name, "saxpy(int, float *)");
  EXPECT_EQ(text.kernels[0].launches(), 10);
  EXPECT_EQ(text.device.isa, "9.0");
  EXPECT_NEAR(sum(text, 0, "dram__bytes.sum"), 125.8e6, 1e-3);
}

TEST(NcuWide, UnitsRowBelowTheNames) {
  const RawProfile p = import(
      "\"ID\",\"Process ID\",\"Kernel Name\",\"device__attribute_compute_capability_major\","
      "\"device__attribute_compute_capability_minor\",\"device__attribute_display_name\","
      "\"dram__bytes.sum\",\"gpu__time_duration.sum\",\"launch__grid_size\"\n"
      "\"\",\"\",\"\",\"\",\"\",\"\",\"Mbyte\",\"usecond\",\"\"\n"
      "\"0\",\"1\",\"k\",\"9\",\"0\",\"NVIDIA H100 80GB HBM3\",\"1,000.25\",\"2\",\"4\"\n"
      "\"1\",\"1\",\"k\",\"9\",\"0\",\"NVIDIA H100 80GB HBM3\",\"n/a\",\"3\",\"4\"\n");
  EXPECT_EQ(p.device.isa, "9.0");
  EXPECT_EQ(p.device.name, "NVIDIA H100 80GB HBM3");
  EXPECT_DOUBLE_EQ(sum(p, 0, "dram__bytes.sum"), 1000250000.0);
  EXPECT_DOUBLE_EQ(sum(p, 0, "gpu__time_duration.sum"), 5e-6);
  EXPECT_EQ(p.kernels[0].find("dram__bytes.sum")->missing, 1);
  EXPECT_EQ(p.kernels[0].launches(), 2);
}

TEST(NcuWide, RatesPerCycleAndPerSecondTimesTheirOwnLaunch) {
  // --set roofline: 10 and 20 FADD per cycle at 2 and 1 GHz for 1 and 3 us: 10*2000 + 20*3000
  const RawProfile p = import(
      "\"ID\",\"Process ID\",\"Kernel Name\",\"dram__bytes.sum.per_second\","
      "\"gpu__time_duration.sum\",\"smsp__cycles_elapsed.avg.per_second\","
      "\"smsp__sass_thread_inst_executed_op_fadd_pred_on.sum.per_cycle_elapsed\","
      "\"smsp__sass_thread_inst_executed_op_fmul_pred_on.sum.per_cycle_elapsed\","
      "\"derived__smsp__sass_thread_inst_executed_op_ffma_pred_on_x2\","
      "\"sm__ops_path_tensor_src_bf16_dst_fp32.sum.per_cycle_elapsed\"\n"
      "\"\",\"\",\"\",\"Gbyte/s\",\"us\",\"Ghz\",\"inst/cycle\",\"inst/cycle\",\"inst\",\"/"
      "cycle\"\n"
      "\"0\",\"1\",\"k\",\"100\",\"1\",\"2\",\"10\",\"0\",\"0\",\"512\"\n"
      "\"1\",\"1\",\"k\",\"200\",\"3\",\"1\",\"20\",\"0\",\"0\",\"0\"\n");
  const auto run = evaluate(p, {}, Catalog::embedded());
  ASSERT_TRUE(run);
  const KernelRecord& k = run->kernels.at(0);
  EXPECT_NEAR(k.flops_by.at({DType::Fp32, hardware::Pipe::Vector}).base(), 80000.0, 1e-6);
  EXPECT_NEAR(k.flops_by.at({DType::Bf16, hardware::Pipe::Tensor}).base(), 512.0 * 2000, 1e-6);
  EXPECT_NEAR(k.bytes[2]->base(), 100e3 + 600e3, 1e-6);
}

TEST(Tensor, TotalsAreNotAddedToTheirParts) {
  const auto inst = [](const std::string& metric, const std::string& value) {
    return row(0, "k", metric, "", value);
  };
  const RawProfile p =
      import(kLong + inst("sm__ops_path_tensor_src_fp16.sum", "100") +
             inst("sm__ops_path_tensor_op_hmma_src_fp16_dst_fp32.sum", "60") +
             inst("sm__ops_path_tensor_op_hgmma_src_fp16.sum", "40") +
             inst("sm__ops_path_tensor_op_hmma_src_bf16_dst_fp32_sparsity_on.sum", "3") +
             inst("sm__ops_path_tensor_op_hmma_src_bf16_dst_fp32_sparsity_off.sum", "4"));
  const auto run = evaluate(p, {}, Catalog::embedded());
  ASSERT_TRUE(run);
  const KernelRecord& k = run->kernels.at(0);
  EXPECT_DOUBLE_EQ(k.flops_by.at({DType::Fp16, hardware::Pipe::Tensor}).base(), 100.0);
  EXPECT_DOUBLE_EQ(k.flops_by.at({DType::Bf16, hardware::Pipe::Tensor}).base(), 7.0);
}

TEST(Tensor, InstructionsAreWorthWhatTheirShapeIs) {
  const auto flops = [](const std::string& kernel) {
    const auto run =
        evaluate(import(kLong + row(0, kernel, "sm__inst_executed_pipe_tensor.sum", "inst", "10")),
                 {}, Catalog::embedded());
    EXPECT_TRUE(run);
    return run->kernels.at(0).flops;
  };
  EXPECT_DOUBLE_EQ(flops("ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_nn")->base(), 40960.0);
  EXPECT_DOUBLE_EQ(flops("ampere_h1688gemm_128x128_nn")->base(), 20480.0);
  EXPECT_FALSE(flops("my_own_kernel")) << "compute capability 8.0, shape unknown";
}

TEST(Tensor, TheNameDecidesBeforeAnyConstant) {
  const auto flops = [](const std::string& kernel, const EvaluateOptions& options) {
    const auto run =
        evaluate(import("\"ID\",\"Process ID\",\"Kernel Name\",\"Metric Name\","
                        "\"Metric Unit\",\"Metric Value\"\n\"0\",\"1\",\"" +
                        kernel + "\",\"sm__inst_executed_pipe_tensor.sum\",\"inst\",\"10\"\n"),
                 options, Catalog::embedded());
    EXPECT_TRUE(run);
    return run->kernels.at(0).flops.value_or(Flops{}).base();
  };
  // No compute capability: the kernel's name states the instruction, or Volta is assumed.
  EXPECT_DOUBLE_EQ(flops("ampere_fp16_s16816gemm_fp16_128x128_nn", {}), 40960.0);
  EXPECT_DOUBLE_EQ(flops("own_kernel", {}), 5120.0);
  EvaluateOptions volta;
  volta.isa = "7.0";
  EXPECT_DOUBLE_EQ(flops("volta_fp16_s884gemm_fp16_128x128_nn", volta), 5120.0);
  EXPECT_DOUBLE_EQ(flops("volta_h884gemm_128x128_nn", volta), 10240.0);
  volta.tensor_512 = true;  // the authors' constant
  EXPECT_DOUBLE_EQ(flops("volta_h884gemm_128x128_nn", volta), 5120.0);
}

TEST(Tensor, PeaksOfEverySourceTypeAreRoofs) {
  const auto peak = [](const std::string& name, const std::string& value) {
    return row(0, "k", "sm__ops_path_tensor_src_" + name + ".sum.peak_sustained", "1/cycle", value);
  };
  const auto run = evaluate(
      import(kLong + row(0, "k", "sm__cycles_elapsed.avg.per_second", "Ghz", "1") +
             peak("fp8_dst_fp32_sparsity_off", "1000") + peak("fp8_dst_fp32_sparsity_on", "9000") +
             peak("int4", "4000") + peak("int8", "2000") + peak("fp64", "64")),
      {}, Catalog::embedded());
  ASSERT_TRUE(run);
  std::map<hardware::RateKey, double> roofs;
  for (const ExportRoof& roof : run->export_roofs) roofs[roof.rate.value()] = roof.value;
  using hardware::Pipe;
  EXPECT_DOUBLE_EQ((roofs[{DType::Fp8E4m3, Pipe::Tensor}]), 1e12) << "dense";
  EXPECT_DOUBLE_EQ((roofs[{DType::Int8, Pipe::Tensor}]), 2e12);
  EXPECT_DOUBLE_EQ((roofs[{DType::Fp64, Pipe::Tensor}]), 64e9);
}

TEST(ZeroFlops, AreBelievedWhenTwoPrecisionsWereCounted) {
  const auto inst = [](const std::string& op) {
    return row(0, "k", "sm__sass_thread_inst_executed_op_" + op + "_pred_on.sum", "inst", "0");
  };
  std::string text = kLong + row(0, "k", "dram__bytes.sum", "byte", "10");
  for (const char* op : {"fadd", "fmul", "ffma"}) text += inst(op);
  EXPECT_FALSE(evaluate(import(text), {}, Catalog::embedded())->kernels.at(0).flops)
      << "FP16 work is not excluded";
  for (const char* op : {"hadd", "hmul", "hfma"}) text += inst(op);
  EXPECT_TRUE(evaluate(import(text), {}, Catalog::embedded())->kernels.at(0).zero_ai());
}

TEST(NcuWide, WithoutARowOfUnitsBaseUnitsAreAssumedAndSaid) {
  const RawProfile p = import(
      "\"ID\",\"Process ID\",\"Kernel Name\",\"dram__bytes.sum\",\"gpu__time_duration.sum\"\n"
      "\"0\",\"7\",\"k\",\"4096\",\"1500\"\n");
  EXPECT_DOUBLE_EQ(sum(p, 0, "dram__bytes.sum"), 4096.0);
  EXPECT_DOUBLE_EQ(sum(p, 0, "gpu__time_duration.sum"), 1.5e-6);
  ASSERT_EQ(p.notes.size(), 1U);
  EXPECT_EQ(p.notes[0], "x.csv has no row of units; base units are assumed (byte, ns, hz)");
}

TEST(NcuLong, Latin1SpacesAndUtf16WithoutAMark) {
  const std::string text = kLong + row(0, "k", "dram__bytes.sum", "byte",
                                       "12\xA0"
                                       "345\xA0"
                                       "678");
  EXPECT_DOUBLE_EQ(sum(import(text), 0, "dram__bytes.sum"), 12345678.0);
  const std::string ascii = kLong + row(0, "k", "dram__bytes.sum", "byte", "12,345,678");
  std::string little, big;
  for (const char c : ascii) {
    little += {c, '\0'};
    big += {'\0', c};
  }
  EXPECT_DOUBLE_EQ(sum(import(little), 0, "dram__bytes.sum"), 12345678.0);
  EXPECT_DOUBLE_EQ(sum(import(big), 0, "dram__bytes.sum"), 12345678.0);
}

TEST(NcuText, SectionsAsPrinted) {
  const RawProfile p = import(
      "==PROF== Connected to process 1\n"
      "  saxpy(float, int) (1024, 1, 1)x(256, 1, 1), Context 1, Stream 7, Device 0, CC 7.5\n"
      "    Section: GPU Speed Of Light Throughput\n"
      "    ----------------------- ----------- ------------\n"
      "    Metric Name             Metric Unit Metric Value\n"
      "    ----------------------- ----------- ------------\n"
      "    SM Frequency                    Ghz         1.38\n"
      "    Duration                         ms         1.66\n"
      "    Memory Throughput                 %        97.25\n"
      "    ----------------------- ----------- ------------\n"
      "\n"
      "    Section: Memory Workload Analysis\n"
      "    ---------------------------- ----------- ------------\n"
      "    Metric Name                  Metric Unit Metric Value\n"
      "    ---------------------------- ----------- ------------\n"
      "    Memory Throughput                Gbyte/s       200.00\n"
      "    ---------------------------- ----------- ------------\n");
  ASSERT_EQ(p.kernels.size(), 1U);
  EXPECT_EQ(p.kernels[0].name, "saxpy(float, int)");
  EXPECT_EQ(p.kernels[0].grid, (Dim3{1024, 1, 1}));
  EXPECT_EQ(p.device.isa, "7.5");
  const auto run = evaluate(p, {}, Catalog::embedded());
  ASSERT_TRUE(run);
  EXPECT_DOUBLE_EQ(run->kernels[0].time->base(), 1.66e-3);
  EXPECT_DOUBLE_EQ(run->kernels[0].bytes[2]->base(), 200e9 * 1.66e-3);
}

TEST(NcuErrors, SayWhereAndWhat) {
  EXPECT_EQ(failure(kLong + row(0, "k", "dram__bytes.sum", "byte", "many")),
            "error: x.csv:2: \"many\" is not a number for dram__bytes.sum\n");
  EXPECT_EQ(failure(kLong + row(0, "k", "dram__bytes.sum", "furlong", "1")),
            "error: x.csv:2: the unit \"furlong\" of dram__bytes.sum is not known\n"
            "hint: export with --print-units base\n");
  EXPECT_EQ(failure(kLong + "\"0\",\"7\",\"app\",\"host\",\"k\n"),
            "error: x.csv:2: a quoted field is never closed\n"
            "hint: the export was cut; run it again\n");
  EXPECT_EQ(failure(kLong + "\"0\",\"7\",\"app\",\"host\"\n"),
            "error: x.csv:2: the row ends after 4 fields, the header has 15\n"
            "hint: the export was cut; run it again\n");
  EXPECT_EQ(failure(kLong + row(0, "k", "dram__bytes.sum", "byte", "1,000,000") +
                    row(1, "k", "dram__bytes.sum", "byte", "9,00")),
            "error: x.csv:3: \"9,00\" contradicts the decimal mark of the values before it\n"
            "hint: export again with LC_ALL=C, or do not join files of different locales\n");
  EXPECT_EQ(failure("==PROF== Connected to process 7\n==PROF== Disconnected\n"),
            "error: x.csv: there is no table of kernels in this file\n"
            "hint: export with: ncu --csv --page raw --print-units base -i FILE.ncu-rep\n");
  EXPECT_EQ(
      failure("==PROF== Connected to process 7\n==ERROR== ERR_NVGPUCTRPERM - The user does not "
              "have permission\n==WARNING== No kernels were profiled.\n"),
      "error: x.csv: the profiler measured nothing: ERR_NVGPUCTRPERM - The user does not have "
      "permission\n"
      "hint: run ncu as root, or load the driver with "
      "NVreg_RestrictProfilingToAdminUsers=0\n");
  EXPECT_EQ(failure("  \n"), "error: x.csv: the file is empty\n");
  EXPECT_NE(failure("hello world\n").find("this is not a known profiler export"),
            std::string::npos);
}

}  // namespace
}  // namespace rooftile::profile
