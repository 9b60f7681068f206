// SPDX-License-Identifier: Apache-2.0
//
// Reports, databases and traces as their profilers left them (shared data, skipped without it):
// every file gives the numbers that an independent script computed from its bytes, those that hold
// no kernels are refused with a way out, and damaged copies of all of them are survived.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>

#include "aggregate/communication.h"
#include "core/text.h"
#include "cost/predictor.h"
#include "embedded_session.h"
#include "hardware/load.h"
#include "hardware/system.h"
#include "profile/evaluate.h"
#include "profile/importer.h"
#include "roofline/chart.h"
#include "roofline/operation.h"
#include "rooftile/roofline.h"
#include "shared_data.h"
#include "study/session.h"

namespace rooftile {
namespace {

namespace fs = std::filesystem;

/// The file of the folder whose name contains `part`; empty without the data.
std::string find_export(const std::string& part) {
  if (!testing::has_shared_data("exports")) return {};
  for (const auto& entry : fs::directory_iterator(testing::shared_data() / "exports")) {
    if (entry.path().filename().string().find(part) != std::string::npos) {
      return entry.path().string();
    }
  }
  ADD_FAILURE() << "no export named like " << part;
  return {};
}

profile::Run run_of(const std::string& file) {
  const auto imported = profile::import_file(file);
  EXPECT_TRUE(imported) << to_string(imported.error());
  if (!imported) return {};
  const auto run = profile::evaluate(*imported, {}, Catalog::embedded());
  EXPECT_TRUE(run) << to_string(run.error());
  return run ? *run : profile::Run{};
}

struct Sums {
  std::size_t kernels = 0;
  std::int64_t launches = 0;
  double ns = 0, fp32 = 0, fp64 = 0, dram = 0, l2 = 0;
};

Sums sums_of(const profile::Run& run) {
  Sums sums;
  sums.kernels = run.kernels.size();
  for (const profile::KernelRecord& kernel : run.kernels) {
    sums.launches += kernel.launches;
    sums.ns += kernel.time ? kernel.time->base() * 1e9 : 0.0;
    sums.dram += kernel.bytes[2] ? kernel.bytes[2]->base() : 0.0;
    sums.l2 += kernel.bytes[1] ? kernel.bytes[1]->base() : 0.0;
    for (const auto& [key, flops] : kernel.flops_by) {
      if (key.pipe != hardware::Pipe::Vector) continue;
      if (key.dtype == DType::Fp32) sums.fp32 += flops.base();
      if (key.dtype == DType::Fp64) sums.fp64 += flops.base();
    }
  }
  return sums;
}

struct Expected {
  const char* file;
  Sums sums;
};

TEST(ExportFiles, ReportsAndDatabasesGiveTheNumbersOfTheirBytes) {
  if (!testing::has_shared_data("exports")) GTEST_SKIP() << "no shared data";
  const Expected kFiles[] = {
      {"77_06-MT.ncu-rep", {1, 3, 1311264, 4227858432, 0, 1572491776, 3189770528}},
      {"CUDATutorial__profile.ncu-rep", {1, 1, 131136, 0, 0, 0, 0}},
      {"dot_product.ncu-rep", {2, 2, 2248256, 3141632, 0, 18702432, 50940096}},
      {"CudaProgramming__profile.ncu-rep", {1, 3, 664320, 50331509, 0, 528873600, 637956096}},
      {"inference__report.ncu-rep", {1, 1, 52576, 1000000, 0, 13801632, 12058016}},
      {"report_v4_8", {1, 1, 151328, 1000000, 0, 20597920, 66189888}},
      {"report_v6_1d", {1, 1, 47104, 1000000, 0, 12495008, 12057376}},
      {"report_name.ncu-rep", {3, 4, 9536, 30988, 0, 35264, 84896}},
      {"profileMSDKT23", {1, 1, 0, 0, 0, 0, 0}},
      {"dfe08662", {2, 2, 9433920, 0, 0, 2322544768, 1963717664}},
      {"30405468", {2, 2, 85310880, 70000000, 0, 3313530496, 11853662272}},
      {"memfusion_artifact__report1.sqlite", {14, 36, 6415244, 0, 0, 0, 0}},
      {"CUDALab__report1.sqlite", {1, 1, 25786230349, 0, 0, 0, 0}},
      {"CUDALab__report4.sqlite", {1, 1, 1264295976, 0, 0, 0, 0}},
      {"21_results.db", {2, 301, 3825007, 0, 0, 0, 0}},
      {"15_results.db", {2, 301, 11029243, 0, 0, 0, 0}},
      {"HIP_Programming__results.db", {1, 1, 3431611, 0, 0, 0, 0}},
  };
  for (const Expected& expected : kFiles) {
    const Sums got = sums_of(run_of(find_export(expected.file)));
    EXPECT_EQ(got.kernels, expected.sums.kernels) << expected.file;
    EXPECT_EQ(got.launches, expected.sums.launches) << expected.file;
    EXPECT_EQ(std::llround(got.ns), std::llround(expected.sums.ns)) << expected.file;
    EXPECT_NEAR(got.fp32, expected.sums.fp32, 1e-3 * expected.sums.fp32) << expected.file;
    EXPECT_EQ(got.fp64, expected.sums.fp64) << expected.file;
    EXPECT_EQ(got.dram, expected.sums.dram) << expected.file;
    EXPECT_EQ(got.l2, expected.sums.l2) << expected.file;
  }
}

TEST(ExportFiles, NansSayThatNothingWasMeasured) {
  if (!testing::has_shared_data("exports")) GTEST_SKIP() << "no shared data";
  const profile::Run run = run_of(find_export("profileMSDKT23"));
  EXPECT_TRUE(std::any_of(run.warnings.begin(), run.warnings.end(),
                          [](const auto& w) { return w.name == "nothing-measured"; }));
}

/// FLOP/s = (FFMA operations + FADD + FMUL per cycle) x SM frequency, over the DRAM bandwidth.
TEST(ExportFiles, RooflineSectionsArePoints) {
  if (!testing::has_shared_data("exports")) GTEST_SKIP() << "no shared data";
  struct Section {
    const char* file;
    double gflops, intensity;
  };
  for (const Section& section : {Section{"kernel_0003", 79.94, 0.558},
                                 {"kernel_0005", 146.2, 0.934},
                                 {"kernel_0007", 282.4, 9.08},
                                 {"kernel_0009", 1574.7, 2.396},
                                 {"kernel_0011", 169.3, 0.450},
                                 {"kernel_0013", 258.2, 0.563}}) {
    RooflineRequest request;
    request.exports = {find_export(section.file)};
    const auto chart = testing::embedded_session().roofline(request);
    ASSERT_TRUE(chart) << to_string(chart.error());
    ASSERT_EQ(chart->points.size(), 1U);
    const roofline::Point& point = chart->points[0];
    ASSERT_TRUE(point.rate && point.intensity[2] && point.fraction_of_roof) << section.file;
    EXPECT_NEAR(point.rate->base() * 1e-9, section.gflops, 1e-3 * section.gflops);
    EXPECT_NEAR(point.intensity[2]->base(), section.intensity, 1.5e-3 * section.intensity);
  }
}

TEST(ExportFiles, TheChipOfARocprofTableIsAskedForOrTold) {
  if (!testing::has_shared_data("exports")) GTEST_SKIP() << "no shared data";
  RooflineRequest request;
  request.exports = {find_export("A1__pmc_perf.csv")};
  const auto warned = [](const roofline::Chart& chart, std::string_view name) {
    return std::any_of(chart.warnings.begin(), chart.warnings.end(),
                       [name](const auto& w) { return w.name == name; });
  };
  const auto alone = testing::embedded_session().roofline(request);
  ASSERT_TRUE(alone) << to_string(alone.error());
  EXPECT_FALSE(alone->points.at(0).record.bytes[0]) << "64 or 128 bytes per request: not assumed";
  EXPECT_TRUE(warned(*alone, "unknown-chip"));
  request.gpu = "mi300x";
  const auto stated = testing::embedded_session().roofline(request);
  ASSERT_TRUE(stated) << to_string(stated.error());
  EXPECT_EQ(stated->points.at(0).record.bytes[0]->base(), 201326592);
  request.gpu.clear();
  request.exports.push_back(find_export("A1__sysinfo.csv"));
  const auto told = testing::embedded_session().roofline(request);
  ASSERT_TRUE(told) << to_string(told.error());
  EXPECT_EQ(told->points.at(0).record.bytes[0]->base(), 201326592);
  EXPECT_EQ(told->points.at(0).record.bytes[1]->base(), 75497472);
  request.exports = {find_export("A1__sysinfo.csv")};
  const auto machine = testing::embedded_session().roofline(request);
  ASSERT_TRUE(machine) << to_string(machine.error());
  EXPECT_TRUE(warned(*machine, "nothing-measured"));
}

TEST(ExportFiles, WhatHoldsNoKernelsIsRefusedWithAWayOut) {
  if (!testing::has_shared_data("exports")) GTEST_SKIP() << "no shared data";
  const std::pair<const char*, const char*> kRefused[] = {
      {"miniGEMM__report1.nsys-rep", "nsys export --type sqlite -o "},
      {"miniGEMM__report1.sqlite", "nsys profile --trace=cuda"},
      {"copy_stats.csv", "rocprof"},
      {"hip_stats.csv", "rocprof"}};
  for (const auto& [file, hint] : kRefused) {
    const auto imported = profile::import_file(find_export(file));
    ASSERT_FALSE(imported) << file;
    EXPECT_NE(imported.error().hint.find(hint), std::string::npos) << imported.error().hint;
  }
}

/// "14 kernels, 36 launches, NVTX ranges", "4 results, 3 kernel names, 677 metrics" -> the number
/// before the word.
std::optional<std::int64_t> stated(const std::string& notes, const std::string& word) {
  const std::regex pattern("([0-9]+) " + word);
  std::smatch match;
  if (!std::regex_search(notes, match, pattern)) return std::nullopt;
  return std::stoll(match[1]);
}

/// Every row of the index: what it calls negative is refused with a hint, the rest imports with the
/// kernels, launches and GPU that it states.
TEST(ExportFiles, EveryRowOfTheIndexIsAsItSays) {
  if (!testing::has_shared_data("exports")) GTEST_SKIP() << "no shared data";
  const fs::path folder = testing::shared_data() / "exports";
  std::ifstream index(folder / "index.tsv");
  std::string line;
  std::getline(index, line);  // names of the columns
  std::set<std::string> listed{"index.tsv"};
  while (std::getline(index, line)) {
    std::vector<std::string> fields;
    for (const std::string_view field : split(line, '\t')) fields.emplace_back(field);
    ASSERT_EQ(fields.size(), 10U) << line;
    const std::string &file = fields[0], &gpu = fields[6], &notes = fields[9];
    listed.insert(file);
    EXPECT_EQ(std::to_string(fs::file_size(folder / file)), fields[8]) << file;
    const auto imported = profile::import_file((folder / file).string());
    if (notes.starts_with("NEGATIVE")) {
      ASSERT_FALSE(imported) << file;
      EXPECT_FALSE(imported.error().hint.empty()) << file;
      continue;
    }
    ASSERT_TRUE(imported) << to_string(imported.error());
    std::int64_t launches = 0;
    for (const profile::KernelSeries& kernel : imported->kernels) launches += kernel.launches();
    const auto kernels = static_cast<std::int64_t>(imported->kernels.size());
    EXPECT_EQ(stated(notes, "kernels?( names?)?[,;]").value_or(kernels), kernels) << file;
    EXPECT_EQ(stated(notes, "(results?|launch(es)?),").value_or(launches), launches) << file;
    const std::size_t cc = gpu.find("(CC ");
    if (cc != std::string::npos && !imported->device.isa.empty()) {
      EXPECT_EQ(imported->device.isa, gpu.substr(cc + 4, gpu.find(')', cc) - cc - 4)) << file;
    }
    if (file.ends_with(".ncu-rep")) {
      EXPECT_TRUE(gpu.starts_with(imported->device.name)) << file << ": " << imported->device.name;
    }
  }
  for (const auto& entry : fs::directory_iterator(folder)) {
    EXPECT_TRUE(listed.contains(entry.path().filename().string())) << entry.path();
  }
}

struct Trace {
  const char* file;
  std::size_t kernels;
  std::int64_t launches;
  double us, product_us, product_flops;
};

bool is_product(const profile::TracedWork& work) {
  const std::string& name = work.operation;
  return name == "aten::mm" || name == "aten::addmm" || name == "aten::bmm" ||
         name == "aten::baddbmm";
}

TEST(ExportFiles, TracesGiveTheProductsOfTheirShapes) {
  if (!testing::has_shared_data("exports")) GTEST_SKIP() << "no shared data";
  const Trace kTraces[] = {
      {"h100__gaunernst", 11, 60, 307.197, 197.598, 8029194240},
      {"mi300__gaunernst", 11, 60, 388.344, 174.13, 8029194240},
      {"h100__Falconsai", 14, 154, 1220.926, 735.037, 133861736448},
      {"mi300__Falconsai", 16, 155, 1716.301, 942.325, 133861736448},
      {"resnet_act_checkpoint", 55, 2995, 97255.826, 61.071, 92160000},
      {"torch_compile_triton", 8, 12, 12549.021, 8029.555, 4398046511104},
      {"trace_diff__control", 170, 8568, 446813, 77926, 2068206096384},
      {"gpu_only_trace", 45, 562, 5343.422, 0, 0},
  };
  for (const Trace& trace : kTraces) {
    const auto imported = profile::import_file(find_export(trace.file));
    ASSERT_TRUE(imported) << to_string(imported.error());
    double us = 0, product_us = 0, flops = 0;
    std::int64_t launches = 0;
    for (const profile::KernelSeries& kernel : imported->kernels) {
      launches += kernel.launches();
      const auto& times = kernel.find("duration")->values;
      for (std::size_t i = 0; i < times.size(); ++i) {
        us += times[i] * 1e6;
        const std::uint32_t work = kernel.launch_list.at(i).work;
        if (work == 0 || !is_product(imported->works[work - 1])) continue;
        product_us += times[i] * 1e6;
        flops += imported->works[work - 1].work.flops.base() * imported->works[work - 1].share;
      }
    }
    EXPECT_EQ(imported->kernels.size(), trace.kernels) << trace.file;
    EXPECT_EQ(launches, trace.launches) << trace.file;
    EXPECT_NEAR(us, trace.us, 1e-6 * trace.us) << trace.file;
    EXPECT_NEAR(product_us, trace.product_us, 1e-3 * trace.product_us) << trace.file;
    EXPECT_NEAR(flops, trace.product_flops, 1e-3 * trace.product_flops) << trace.file;
  }
}

/// Time of products, convolutions and attention by the names of the kernels, whatever was linked.
TEST(ExportFiles, ProductsOfTracesHaveFlopsAndPredictions) {
  if (!testing::has_shared_data("exports")) GTEST_SKIP() << "no shared data";
  for (const char* file :
       {"h100__gaunernst", "mi300__gaunernst", "h100__Falconsai", "mi300__Falconsai",
        "torch_compile_triton", "trace_diff__control", "resnet_act_checkpoint"}) {
    RooflineRequest request;
    request.exports = {find_export(file)};
    request.predict = true;
    const auto chart = testing::embedded_session().roofline(request);
    ASSERT_TRUE(chart) << to_string(chart.error());
    double all = 0, predicted = 0;
    for (const roofline::Point& point : chart->points) {
      const std::string_view kind = roofline::operation_class(point.record.name);
      if (kind != "product" && kind != "convolution" && kind != "attention") continue;
      all += point.record.time->base();
      if (point.predicted && point.record.flops) predicted += point.record.time->base();
    }
    EXPECT_GT(all, 0.0) << file;
    EXPECT_GE(predicted, 0.8 * all) << file;
  }
}

/// 8 GPUs: a training step with all-reduces that name their group, and an older one with
/// all-to-alls that do not.
TEST(ExportFiles, CollectivesOfTracesHavePredictions) {
  if (!testing::has_shared_data("exports")) GTEST_SKIP() << "no shared data";
  for (const auto& [file, kernel] : {std::pair("resnet_act_checkpoint", "ncclDevKernel_Generic"),
                                     std::pair("trace_diff__control", "ncclKernel_SendRecv")}) {
    RooflineRequest request;
    request.exports = {find_export(file)};
    request.predict = true;
    const auto chart = testing::embedded_session().roofline(request);
    ASSERT_TRUE(chart) << to_string(chart.error());
    bool found = false;
    for (const roofline::Point& point : chart->points) {
      if (!point.record.name.starts_with(kernel)) continue;
      found = true;
      ASSERT_TRUE(point.predicted) << file;
      EXPECT_EQ(point.predicted->limiter, "link");
      EXPECT_GT(point.predicted->time.base(), 0.0);
      // The trace's times contain waiting for the other GPUs: no message is faster than its bound.
      EXPECT_LE(point.predicted->low.base(), point.predicted->measured->base()) << file;
    }
    EXPECT_TRUE(found) << file;
  }
}

/// The ring's constants are fitted to all-reduces; the other collectives of the same campaign take
/// them too (messages of at least 64 KiB, FP16).
TEST(Collectives, OthersThanAllReduceTakeItsConstants) {
  if (!testing::has_shared_data("aiconfigurator")) GTEST_SKIP() << "no shared data";
  const auto predictor = testing::embedded_session().predictor({});
  ASSERT_TRUE(predictor) << to_string(predictor.error());
  for (const char* name : {"a100_sxm", "h100_sxm", "h200_sxm"}) {
    const std::string id = std::string(name) == "a100_sxm"   ? "a100-sxm-80gb"
                           : std::string(name) == "h100_sxm" ? "h100-sxm"
                                                             : "h200-sxm";
    const auto gpu = hardware::load_gpu(Catalog::embedded(), id);
    ASSERT_TRUE(gpu) << to_string(gpu.error());
    std::ifstream rows(testing::shared_data() / "aiconfigurator" /
                       (std::string("nccl_") + name + ".csv"));
    std::string line;
    std::getline(rows, line);
    double error = 0;
    int count = 0;
    while (std::getline(rows, line)) {
      const auto fields = split(line, ',');
      const auto kind = ops::collective_named(fields[0]);
      if (fields[1] != "half" || !kind || kind == ops::CollectiveKind::AllReduce) continue;
      const std::int64_t gpus = *parse_int(fields[2]);
      const double bytes = 2.0 * *parse_double(fields[3]);
      if (bytes < 65536) continue;
      const auto system = hardware::system_of(Catalog::embedded(), *gpu, gpus);
      ASSERT_TRUE(system) << to_string(system.error());
      const auto link = hardware::link_of(*system, {.size = gpus, .stage = gpus, .total = gpus});
      ASSERT_TRUE(link) << to_string(link.error());
      const auto time =
          aggregate::exchange({.kind = *kind, .bytes = Bytes::from_base(bytes), .gpus = gpus},
                              *link, (*predictor)->constants().links);
      error += std::abs(to_ms(time.time) / *parse_double(fields[4]) - 1.0);
      ++count;
    }
    ASSERT_GT(count, 100) << name;
    EXPECT_LT(error / count, 0.35) << name;
  }
}

/// The forward pass of the study as twelve exports and as its authors' table.
TEST(ExportFiles, RunsOfTheStudyPair) {
  if (!testing::has_shared_data("profiles")) GTEST_SKIP() << "no shared data";
  RooflineRequest request;
  for (const auto& entry : fs::directory_iterator(testing::shared_data() / "profiles")) {
    const std::string name = entry.path().filename().string();
    if (name.find("O1-Adam-fw") == std::string::npos) continue;
    request.exports.push_back((name.ends_with(".csv") ? "table=" : "exports=") +
                              entry.path().string());
  }
  request.compare = true;
  const auto chart = testing::embedded_session().roofline(request);
  ASSERT_TRUE(chart) << to_string(chart.error());
  ASSERT_TRUE(chart->comparison);
  EXPECT_GE(chart->comparison->paired_first, 0.8);
  EXPECT_GE(chart->comparison->paired_second, 0.8);
}

/// Roofs of the study's V100 hold at the clock that the profiler locked, without an option.
TEST(ExportFiles, KernelsAreJudgedAtTheClockOfTheirProfile) {
  if (!testing::has_shared_data("profiles")) GTEST_SKIP() << "no shared data";
  RooflineRequest request;
  for (const auto& entry : fs::directory_iterator(testing::shared_data() / "profiles")) {
    const std::string name = entry.path().filename().string();
    if (name.find("PT-fp32-O1-Adam-fw") != std::string::npos) {
      request.exports.push_back(entry.path().string());
    }
  }
  request.gpu = "v100-sxm2-16gb";
  const auto chart = testing::embedded_session().roofline(request);
  ASSERT_TRUE(chart) << to_string(chart.error());
  ASSERT_TRUE(chart->roofs.clock && chart->roofs.boost);
  EXPECT_NEAR(chart->roofs.clock->base(), 1.306e9, 0.01e9);
  // 80 SMs, 1024 FLOP per clock
  const auto tensor = chart->roofs.rate({DType::Fp16, hardware::Pipe::Tensor});
  ASSERT_TRUE(tensor);
  EXPECT_NEAR(tensor->base(), 80 * 1024 * chart->roofs.clock->base(), 0.01 * tensor->base());
  request.boost = true;
  const auto boost = testing::embedded_session().roofline(request);
  ASSERT_TRUE(boost);
  EXPECT_NEAR(boost->roofs.rate({DType::Fp16, hardware::Pipe::Tensor})->base(), 125.3e12, 1e12);
}

/// Every file, cut in several places and with bytes turned over: an error or a profile, no crash.
TEST(ExportFiles, DamagedCopiesAreSurvived) {
  if (!testing::has_shared_data("exports")) GTEST_SKIP() << "no shared data";
  for (const auto& entry : fs::directory_iterator(testing::shared_data() / "exports")) {
    std::ifstream stream(entry.path(), std::ios::binary);
    const std::string whole{std::istreambuf_iterator<char>(stream), {}};
    const std::string name = entry.path().filename().string();
    for (const double part : {0.1, 0.5, 0.97}) {
      const auto size = static_cast<std::size_t>(part * static_cast<double>(whole.size()));
      const auto cut = profile::import_text(whole.substr(0, size), name);
      if (!cut) {
        EXPECT_FALSE(cut.error().message.empty()) << name;
      }
    }
    std::string turned = whole;
    for (std::size_t at = 41; at < turned.size(); at += turned.size() / 7 + 1) turned[at] ^= 0x2a;
    (void)profile::import_text(turned, name);
  }
}

}  // namespace
}  // namespace rooftile
