// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <zlib.h>

#include "profile/evaluate.h"
#include "profile/importer.h"

namespace rooftile::profile {
namespace {

RawProfile import(const std::string& text) {
  auto profile = import_text(text, "x");
  EXPECT_TRUE(profile) << to_string(profile.error());
  return profile ? *std::move(profile) : RawProfile{};
}

std::string failure(const std::string& text) {
  const auto profile = import_text(text, "x");
  EXPECT_FALSE(profile);
  return profile ? "" : to_string(profile.error());
}

KernelRecord only(const RawProfile& profile) {
  const auto run = evaluate(profile, {}, Catalog::embedded());
  EXPECT_TRUE(run) << to_string(run.error());
  EXPECT_EQ(run->kernels.size(), 1U);
  return run->kernels.at(0);
}

std::string gzip(const std::string& text) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

// GPP of BerkeleyGW on V100 with nvprof (arXiv 2009.02449): 6.3206e12 FLOP, 1.2808043 s.
const char* const kNvprof =
    "==12== NVPROF is profiling process 12, command: ./gpp\n"
    "==12== Profiling result:\n"
    "\"Type\",\"Time(%)\",\"Time\",\"Calls\",\"Avg\",\"Min\",\"Max\",\"Name\"\n"
    ",%,s,,s,s,s,\n"
    "\"GPU activities\",99.9,1.2808043,1,1.2808043,1.28,1.28,\"gpp(int)\"\n"
    "\"GPU activities\",0.1,0.001,2,0.0005,0.0005,0.0005,\"[CUDA memcpy HtoD]\"\n"
    "\"API calls\",50,2,1,2,2,2,\"cudaLaunchKernel\"\n"
    "==12== Metric result:\n"
    "\"Device\",\"Kernel\",\"Invocations\",\"Metric Name\",\"Metric Description\",\"Min\",\"Max\","
    "\"Avg\"\n"
    "\"Tesla V100-SXM2-16GB (0)\",\"gpp(int)\",1,\"flop_count_dp\",\"Floating Point "
    "Operations(Double Precision)\",6320600000000,6320600000000,6320600000000\n"
    "\"Tesla V100-SXM2-16GB (0)\",\"gpp(int)\",1,\"dram_read_transactions\",\"reads\",15013000000,"
    "15013000000,15013000000\n"
    "\"Tesla V100-SXM2-16GB (0)\",\"gpp(int)\",1,\"dram_write_transactions\",\"writes\",123354,"
    "123354,123354\n"
    "\"Tesla V100-SXM2-16GB (0)\",\"gpp(int)\",1,\"sm_efficiency\",\"eff\",99%,99%,99%\n";

TEST(Nvprof, MetricsAndSummaryOfOneLog) {
  const RawProfile p = import(kNvprof);
  EXPECT_EQ(p.format, "nvprof");
  EXPECT_EQ(p.device.name, "Tesla V100-SXM2-16GB");
  const KernelRecord k = only(p);
  EXPECT_DOUBLE_EQ(k.time->base(), 1.2808043);
  EXPECT_DOUBLE_EQ(k.flops->base(), 6.3206e12);
  // 32 B * (15013000000 + 123354) = 480419947328 B; AI 13.16 as published
  EXPECT_DOUBLE_EQ(k.bytes[2]->base(), 480419947328.0);
  EXPECT_NEAR(k.flops->base() / k.bytes[2]->base(), 13.16, 0.005);
}

TEST(Nvprof, TracesWithAndWithoutMetrics) {
  // Two launches of 700 and 800 us; one of their counters overflowed.
  const RawProfile times = import(
      "==9== Profiling result:\n"
      "\"Start\",\"Duration\",\"Grid X\",\"Grid Y\",\"Grid Z\",\"Block X\",\"Block Y\","
      "\"Block Z\",\"Device\",\"Name\"\n"
      "ms,us,,,,,,,,\n"
      "1.5,700,8,4,1,256,1,1,\"Tesla P100-PCIE-16GB (0)\",\"gemm(int) [12]\"\n"
      "2.5,800,8,4,1,256,1,1,\"Tesla P100-PCIE-16GB (0)\",\"gemm(int) [14]\"\n");
  ASSERT_EQ(times.kernels.size(), 1U);
  EXPECT_EQ(times.kernels[0].name, "gemm(int)");
  EXPECT_EQ(times.kernels[0].grid, (Dim3{8, 4, 1}));
  EXPECT_EQ(times.device.name, "Tesla P100-PCIE-16GB");
  EXPECT_DOUBLE_EQ(only(times).time->base(), 1500e-6);
  const RawProfile metrics = import(
      "==9== Profiling result:\n"
      "\"Device\",\"Context\",\"Stream\",\"Kernel\",\"flop_count_sp\",\"l2_read_transactions\"\n"
      "\"\",\"\",\"\",\"\",\"\",\"\"\n"
      "\"Tesla P100-PCIE-16GB (0)\",\"1\",\"7\",\"gemm(int) [12]\",100,5\n"
      "\"Tesla P100-PCIE-16GB (0)\",\"1\",\"7\",\"gemm(int) [14]\",<OVERFLOW>,6\n");
  const Column* flops = metrics.kernels.at(0).find("flop_count_sp");
  ASSERT_NE(flops, nullptr);
  EXPECT_DOUBLE_EQ(flops->sum(), 100.0);
  EXPECT_EQ(flops->missing, 1);
  EXPECT_GT(affinity(times, metrics), 0.9);  // exports of one run
}

TEST(Nvprof, LaunchesBelowTenMicrosecondsAreCountedApart) {
  const KernelRecord record =
      only(import("==9== Profiling result:\n"
                  "\"Start\",\"Duration\",\"Grid X\",\"Grid Y\",\"Grid Z\",\"Block X\",\"Block Y\","
                  "\"Block Z\",\"Device\",\"Name\"\n"
                  "ms,us,,,,,,,,\n"
                  "1.5,9.9,8,4,1,256,1,1,\"Tesla P100-PCIE-16GB (0)\",\"gemm(int) [12]\"\n"
                  "2.5,10.1,8,4,1,256,1,1,\"Tesla P100-PCIE-16GB (0)\",\"gemm(int) [14]\"\n"));
  EXPECT_EQ(record.launches, 2);
  EXPECT_EQ(record.short_launches, 1);
  EXPECT_DOUBLE_EQ(record.short_time.base(), 9.9e-6);
}

TEST(Nvprof, IndentedText) {
  const RawProfile p = import(
      "==1== NVPROF is profiling process 1\n"
      "==1== Metric result:\n"
      "Invocations                 Metric Name          Metric Description    Min   Max   Avg\n"
      "Device \"Tesla P100 (0)\"\n"
      "    Kernel: saxpy(int)\n"
      "          4    flop_count_sp   Floating Point Operations(Single)   10  30  20\n");
  EXPECT_EQ(p.device.name, "Tesla P100");
  EXPECT_EQ(p.kernels.at(0).launches(), 4);
  EXPECT_DOUBLE_EQ(p.kernels[0].find("flop_count_sp")->sum(), 80.0);
}

TEST(Nvprof, PrintedSummary) {
  const RawProfile p = import(
      "==7== NVPROF is profiling process 7, command: ./a\n"
      "==7== Profiling result:\n"
      "            Type  Time(%)      Time     Calls       Avg       Min       Max  Name\n"
      " GPU activities:   60.00%  12.000ms         4  3.0000ms  2.9000ms  3.1000ms  saxpy(int, "
      "float*)\n"
      "                   40.00%  8.0000ms         2  4.0000ms  4.0000ms  4.0000ms  [CUDA memcpy "
      "HtoD]\n"
      "      API calls:  100.00%  200.00ms         2  100.00ms  1.0000us  199.00ms  cudaMalloc\n");
  ASSERT_EQ(p.kernels.size(), 1U);
  EXPECT_EQ(p.kernels[0].name, "saxpy(int, float*)");
  EXPECT_EQ(p.kernels[0].launches(), 4);
  EXPECT_NEAR(p.kernels[0].find("duration")->sum(), 12e-3, 1e-12);
}

TEST(Rocprof, WideTableWithAmdFormulas) {
  const RawProfile p = import(
      "Dispatch_ID,Kernel_Name,GPU_ID,Grid_Size,Workgroup_Size,SQ_INSTS_VALU_ADD_F32,"
      "SQ_INSTS_VALU_MUL_F32,SQ_INSTS_VALU_FMA_F32,SQ_INSTS_VALU_TRANS_F32,"
      "SQ_INSTS_VALU_MFMA_MOPS_F16,TCP_TCC_READ_REQ_sum,TCP_TCC_WRITE_REQ_sum,TCC_EA_RDREQ_sum,"
      "TCC_EA_RDREQ_32B_sum,TCC_EA_WRREQ_sum,TCC_EA_WRREQ_64B_sum,Start_Timestamp,End_Timestamp\n"
      "0,\"k(int) [clone .kd]\",2,1024,256,1,2,3,4,5,10,20,100,10,50,20,1000,3000\n");
  EXPECT_EQ(p.kernels.at(0).name, "k(int)");
  const KernelRecord k = only(p);
  EXPECT_DOUBLE_EQ(k.time->base(), 2e-6);
  // 64 * (1 + 2 + 2*3 + 4) = 832; 512 * 5 = 2560
  EXPECT_DOUBLE_EQ(k.flops->base(), 832.0 + 2560.0);
  EXPECT_DOUBLE_EQ(k.bytes[1]->base(), 64.0 * 30);
  // 32*10 + 64*(100-10) + 64*20 + 32*(50-20) = 320 + 5760 + 1280 + 960
  EXPECT_DOUBLE_EQ(k.bytes[2]->base(), 8320.0);
}

TEST(Rocprof, Mi300LinesAndChannels) {
  const RawProfile p = import(
      "Index,KernelName,gpu-id,TCC_BUBBLE[0],TCC_BUBBLE[1],TCC_EA0_RDREQ_sum,"
      "TCC_EA0_RDREQ_32B_sum,TCC_EA0_WRREQ_sum,TCC_EA0_WRREQ_64B_sum,TCP_TCC_READ_REQ_sum,"
      "TCP_TCC_WRITE_REQ_sum,DurationNs\n"
      "0,\"k.kd\",1,3,4,100,10,50,20,5,5,1500\n");
  EXPECT_EQ(p.device.isa, "gfx942");
  const KernelRecord k = only(p);
  EXPECT_DOUBLE_EQ(k.bytes[1]->base(), 128.0 * 10);
  // 128*7 + 32*10 + 64*(100-7-10) + 32*(50-20) + 64*20 = 896 + 320 + 5312 + 960 + 1280
  EXPECT_DOUBLE_EQ(k.bytes[2]->base(), 8768.0);
  EXPECT_DOUBLE_EQ(k.time->base(), 1.5e-6);
}

TEST(Rocprof, Version3CountersAndTraceJoin) {
  const RawProfile counters = import(
      "\"Dispatch_Id\",\"Kernel_Name\",\"Counter_Name\",\"Counter_Value\",\"Start_Timestamp\","
      "\"End_Timestamp\"\n"
      "1,\"k\",\"SQ_INSTS_VALU_ADD_F32\",10,100,300\n"
      "1,\"k\",\"SQ_INSTS_VALU_FMA_F32\",20,100,300\n"
      "2,\"k\",\"SQ_INSTS_VALU_ADD_F32\",10,400,700\n"
      "2,\"k\",\"SQ_INSTS_VALU_FMA_F32\",20,400,700\n");
  const KernelRecord k = only(counters);
  EXPECT_EQ(k.launches, 2);
  EXPECT_DOUBLE_EQ(k.time->base(), 500e-9) << "once per dispatch, not once per counter";
  EXPECT_DOUBLE_EQ(k.flops->base(), 64.0 * 2 * (10 + 2 * 20));
}

const std::string kTrace =
    "{\"schemaVersion\":1,\"deviceProperties\":[{\"id\":0,\"name\":\"Tesla V100\","
    "\"computeMajor\":7,\"computeMinor\":0,\"numSms\":80},{\"id\":1,\"name\":\"other\"}],"
    "\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::add\",\"dur\":5},"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"add\",\"ts\":1.5,\"dur\":4.928,\"args\":{"
    "\"grid\":[4,2,1],\"block\":[128,1,1],\"stream\":7}},"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"add\",\"dur\":2},"
    "{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"Memcpy\",\"dur\":3,\"args\":{\"bytes\":8}},"
    "{\"ph\":\"X\",\"cat\":\"cuda_profiler_range\",\"name\":\"mul\",\"dur\":99999,\"args\":{"
    "\"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum\":21}}]}";

TEST(Kineto, KernelsCountersAndDevice) {
  for (const std::string& text : {kTrace, gzip(kTrace), "\xEF\xBB\xBF" + kTrace}) {
    const RawProfile p = import(text);
    EXPECT_EQ(p.device.name, "Tesla V100");
    EXPECT_EQ(p.device.isa, "7.0");
    EXPECT_EQ(p.device.sm_count, 80);
    ASSERT_EQ(p.kernels.size(), 2U);
    EXPECT_EQ(p.kernels[0].launches(), 2);
    EXPECT_EQ(p.kernels[0].grid, (Dim3{4, 2, 1}));
    const auto run = evaluate(p, {}, Catalog::embedded());
    ASSERT_TRUE(run);
    EXPECT_DOUBLE_EQ(run->kernels[0].time->base(), 6.928e-6);
    EXPECT_FALSE(run->kernels[0].flops);
    EXPECT_FALSE(run->kernels[1].time) << "the range's duration is the profiler's";
    EXPECT_DOUBLE_EQ(run->kernels[1].flops->base(), 42.0);
  }
}

TEST(Kineto, WhatProfilersWriteIsNotAlwaysJson) {
  // NaN, a raw tab, escapes, and Chrome's array format that is never closed
  const RawProfile p = import(
      "[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"a\\u0041\\n\tb\",\"dur\":2e0,\"args\":{"
      "\"occupancy\":NaN,\"x\":-Infinity,\"y\":null}},\n");
  ASSERT_EQ(p.kernels.size(), 1U);
  EXPECT_EQ(p.kernels[0].name, "aA\n\tb");
  const auto name = [](const std::string& escaped) {
    return import("[{\"ph\":\"X\",\"cat\":\"kernel\",\"dur\":1,\"name\":\"" + escaped + "\"}]")
        .kernels.at(0)
        .name;
  };
  EXPECT_EQ(name("\\ud83d\\ude00"), "\xF0\x9F\x98\x80") << "a pair of UTF-16 is one character";
  const std::string unknown = "\xEF\xBF\xBD";
  EXPECT_EQ(name("\\ud83d"), unknown);
  EXPECT_EQ(name("\\ud83dx"), unknown + "x");
  EXPECT_EQ(name("\\ud83d\\n"), unknown + "\n");
  EXPECT_EQ(name("\\ud83d\\u0041"), unknown + "A");
  EXPECT_EQ(name("\\ud83d\\ud83d\\ude00"), unknown + "\xF0\x9F\x98\x80");
  EXPECT_NE(failure("[{\"ph\":\"X\",\"cat\":\"kernel\"]").find("damaged near byte 25"),
            std::string::npos);
  EXPECT_NE(failure("{\"traceEvents\":" + std::string(300, '[')).find("damaged"),
            std::string::npos);
}

TEST(Likwid, PrintedTableOfTwoThreads) {
  const RawProfile p = import(
      "CPU name:\tIntel(R) Xeon(R) Gold\n"
      "Region triad, Group 1: MEM_DP\n"
      "+-------------------+---------+------------+------------+\n"
      "|       Event       | Counter | HWThread 0 | HWThread 1 |\n"
      "+-------------------+---------+------------+------------+\n"
      "| INSTR_RETIRED_ANY |  FIXC0  |    100     |    100     |\n"
      "+-----------------------------+------------+------------+\n"
      "|            Metric           | HWThread 0 | HWThread 1 |\n"
      "+-----------------------------+------------+------------+\n"
      "|     Runtime (RDTSC) [s]     |     2.0    |     2.5    |\n"
      "|         DP [MFLOP/s]        |    1000    |    2000    |\n"
      "|       AVX DP [MFLOP/s]      |     900    |     900    |\n"
      "| Memory data volume [GBytes] |     3.5    |      0     |\n"
      "+-----------------------------+------------+------------+\n"
      "|          Metric            |  Sum | Min | Max | Avg |\n"
      "| DP [MFLOP/s] STAT          | 3000 | 1000 | 2000 | 1500 |\n");
  EXPECT_EQ(p.device.name, "Intel(R) Xeon(R) Gold");
  const KernelRecord k = only(p);
  EXPECT_EQ(k.name, "triad");
  EXPECT_DOUBLE_EQ(k.time->base(), 2.5);
  // 1000e6 * 2.0 + 2000e6 * 2.5 = 7e9
  EXPECT_DOUBLE_EQ(k.flops->base(), 7e9);
  EXPECT_DOUBLE_EQ(k.bytes[2]->base(), 3.5e9);
}

TEST(Likwid, CsvTables) {
  const RawProfile p = import(
      "STRUCT,Info,3,,\nCPU name:,AMD EPYC,,\n"
      "TABLE,Group 1 Raw,MEM_DP,2,\nEvent,Counter,HWThread 0,\nX,PMC0,5,\n"
      "TABLE,Group 1 Metric,MEM_DP,3,\nMetric,HWThread 0,\nRuntime (RDTSC) [s],4,\n"
      "DP [MFLOP/s],10,\nL2 data volume [GBytes],2,\n");
  const KernelRecord k = only(p);
  EXPECT_EQ(k.name, "whole run");
  EXPECT_DOUBLE_EQ(k.flops->base(), 4e7);
  EXPECT_DOUBLE_EQ(k.bytes[1]->base(), 2e9);
}

TEST(MachineFiles, BenchTableSysinfoPeaksAndErt) {
  const RawProfile bench = import("device,HBMBw,L2Bw,MFMAF16Flops\n0,1388.9,5017.4,164927.8\n");
  ASSERT_EQ(bench.roofs.size(), 3U);
  EXPECT_DOUBLE_EQ(bench.roofs[0].value, 1388.9e9);
  const RawProfile info =
      import("workload_name,rocm_version,gpu_model,gpu_arch,cu_per_gpu\nx,6.0,MI200,gfx90a,104\n");
  EXPECT_EQ(info.device.isa, "gfx90a");
  const RawProfile peaks =
      import("label,peak_flops,peak_bandwidth\ntheoretical,9,9\nmeasured,33e12,590e9\n");
  ASSERT_EQ(peaks.roofs.size(), 2U);
  EXPECT_DOUBLE_EQ(peaks.roofs[1].value, 590e9);
  const RawProfile sum =
      import("    62.18 GFLOPs\n\n  7451.61 Weight\n\n   991.11 L1\n    66.14 DRAM\n");
  ASSERT_EQ(sum.roofs.size(), 3U);
  EXPECT_DOUBLE_EQ(sum.roofs[2].value, 66.14e9);
  const RawProfile json = import(
      "{\"empirical\":{\"gbytes\":{\"data\":[[\"L1\",1002.83],[\"DRAM\",68.76]]},"
      "\"gflops\":{\"data\":[[\"FP32 GFLOPs\",288.33]]}}}");
  ASSERT_EQ(json.roofs.size(), 3U);
  EXPECT_EQ(json.roofs[2].rate->dtype, DType::Fp32);
  const RawProfile ours = import(
      "{\"empirical\":{\"gbytes\":{\"data\":[]},\"gflops\":{\"data\":[[\"INT8 GFLOPs\",377.1],"
      "[\"FP16 TC GFLOPs\",900],[\"odd GFLOPs\",1]]}}}");
  EXPECT_EQ(ours.roofs.at(0).rate->dtype, DType::Int8);
  EXPECT_EQ(ours.roofs[1].rate->pipe, hardware::Pipe::Tensor);
  EXPECT_FALSE(ours.roofs[2].rate) << "an unknown precision is nobody's roof";
  const RawProfile agents = import(
      "\"Node_Id\",\"Agent_Type\",\"Cu_Count\",\"Name\",\"Product_Name\"\n"
      "0,\"CPU\",0,\"AMD EPYC\",\"AMD EPYC\"\n4,\"GPU\",304,\"gfx942\",\"AMD Instinct MI300X\"\n"
      "5,\"GPU\",304,\"gfx942\",\"AMD Instinct MI300X\"\n");
  EXPECT_EQ(agents.device.name, "AMD Instinct MI300X");
  EXPECT_EQ(agents.device.isa, "gfx942");
}

TEST(MachineFiles, EveryPrecisionOfAnErtFileIsASweepOfItsOwn) {
  const RawProfile p =
      import("fp16\n  1024  1  1.0  2000  28000\nfp64\n  1024  1  1.0  2000  7000\n");
  ASSERT_EQ(p.sweep.size(), 2U);
  EXPECT_EQ(p.sweep[0].dtype, DType::Fp16);
  EXPECT_EQ(p.sweep[1].dtype, DType::Fp64);
}

TEST(MachineFiles, TablesHaveOneDelimiter) {
  const RawProfile semicolons = import("label;peak_flops;peak_bandwidth\nmeasured;15e12;9e11\n");
  ASSERT_EQ(semicolons.roofs.size(), 2U);
  EXPECT_DOUBLE_EQ(semicolons.roofs[0].value, 15e12);
  // A line with two delimiters is not a header.
  EXPECT_NE(failure("w,peak_flops,;peak_bandwidth\nred,154e06,590e9\n")
                .find("this is not a known profiler export"),
            std::string::npos);
}

TEST(Errors, OfEveryFormat) {
  EXPECT_EQ(failure("{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"kernel\""),
            "error: x: the JSON of this trace is damaged near byte 40\n"
            "hint: the trace was cut; record it again\n");
  EXPECT_EQ(failure("{\"traceEvents\":[]}"),
            "error: x: there are no GPU kernels in this trace\n"
            "hint: record with activities=[ProfilerActivity.CUDA]\n");
  EXPECT_EQ(failure(gzip(kTrace).substr(0, 100)),
            "error: x: the compressed data ends too early\nhint: copy the file again\n");
  EXPECT_EQ(failure("\x1f\x8bgarbage"),
            "error: x: the compressed data is damaged\nhint: copy the file again\n");
  EXPECT_EQ(failure("Kernel_Name,Start_Timestamp,End_Timestamp\nk,30,10\n"),
            "error: x:2: the kernel ends before it starts\n");
  EXPECT_EQ(failure("Kernel_Name,Start_Timestamp,End_Timestamp\nk,30\n"),
            "error: x:2: the row has 2 fields, the header has 3\n"
            "hint: the export was cut; run it again\n");
  EXPECT_EQ(failure("Kernel_Name,SQ_INSTS_VALU_ADD_F32\nk,abc\n"),
            "error: x:2: \"abc\" is not a number\n");
  EXPECT_EQ(
      failure("1 2 3 4 five\n1 2 3 4 5\n").find("not a known profiler export") == std::string::npos,
      false);
  EXPECT_EQ(failure("64 1 1.6 128 8\n64 2 0.7 256 oops\n"),
            "error: x:2: \"oops\" is not a positive number\n");
  EXPECT_EQ(failure("device,HBMBw\n0,fast\n"), "error: x:2: \"fast\" is not a rate for HBM\n");
}

}  // namespace
}  // namespace rooftile::profile
