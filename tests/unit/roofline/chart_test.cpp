// SPDX-License-Identifier: Apache-2.0
#include "roofline/chart.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "profile/evaluate.h"
#include "profile/importer.h"
#include "shared_data.h"

namespace rooftile::roofline {
namespace {

using hardware::MemoryLevel;
using hardware::Pipe;
using hardware::RateKey;
using profile::KernelRecord;

constexpr RateKey kFp32{DType::Fp32, Pipe::Vector};
constexpr RateKey kTensor{DType::Fp16, Pipe::Tensor};

/// 1 TB/s DRAM, 4 TB/s L2, 10 TFLOP/s FP32, 100 TFLOP/s tensor, 1.5 GHz.
Roofs roofs() {
  Roofs r;
  r.memory = {{"l2", MemoryLevel::L2, 4000_GBps, "measured (x)"},
              {"dram", MemoryLevel::Dram, 1000_GBps, "measured (x)"}};
  r.compute = {{kFp32, 10.0_TFLOPps, "measured (x)"}, {kTensor, 100.0_TFLOPps, "measured (x)"}};
  r.clock = 1500_MHz;
  return r;
}

KernelRecord kernel(std::string name, double ms, double gflop, double dram_gb) {
  KernelRecord k;
  k.name = std::move(name);
  k.launches = 10;
  k.time = from_ms(ms);
  k.flops = Flops::from_base(gflop * 1e9);
  k.flops_by[kFp32] = *k.flops;
  k.bytes[2] = Bytes::from_base(dram_gb * 1e9);
  k.bytes[1] = 2 * *k.bytes[2];
  k.clock = 1500_MHz;
  return k;
}

Chart chart_of(std::vector<KernelRecord> kernels) {
  NamedRun run;
  run.run.label = "run";
  run.run.kernels = std::move(kernels);
  return make_chart({run}, roofs(), {});
}

bool warns(const Chart& chart, std::string_view name) {
  return std::any_of(chart.warnings.begin(), chart.warnings.end(),
                     [name](const profile::Warning& w) { return w.name == name; });
}

TEST(Chart, BoundLimiterAndFraction) {
  // 10 GFLOP at 10 TFLOP/s = 1 ms; 0.5 GB at 1 TB/s = 0.5 ms; 1 GB at 4 TB/s = 0.25 ms; took 2 ms
  const Chart chart = chart_of({kernel("a", 2.0, 10.0, 0.5)});
  const Point& p = chart.points.at(0);
  EXPECT_DOUBLE_EQ(to_ms(*p.bound), 1.0);
  EXPECT_EQ(p.limiter, "compute");
  EXPECT_EQ(p.terms.compute_roof, "fp32");
  EXPECT_DOUBLE_EQ(*p.fraction_of_roof, 0.5);
  EXPECT_DOUBLE_EQ(p.intensity[2]->base(), 20.0);
  EXPECT_DOUBLE_EQ(p.intensity[1]->base(), 10.0);
  EXPECT_FALSE(p.intensity[0]);
  EXPECT_DOUBLE_EQ(p.rate->base(), 5e12);
}

TEST(Chart, MixedPrecisionsBoundEachPipe) {
  // 10 GFLOP fp32 = 1 ms, 300 GFLOP tensor = 3 ms: the tensor pipe is the limit
  KernelRecord k = kernel("a", 6.0, 10.0, 0.5);
  k.flops_by[kTensor] = Flops::from_base(300e9);
  k.flops = Flops::from_base(310e9);
  const Chart chart = chart_of({k});
  EXPECT_DOUBLE_EQ(to_ms(*chart.points[0].bound), 3.0);
  EXPECT_EQ(chart.points[0].terms.compute_roof, "fp16_tensor");
  EXPECT_DOUBLE_EQ(chart.total.tensor_time / chart.total.time, 1.0);
}

TEST(Chart, ZeroAiIsCountedAndBoundByMemory) {
  const Chart chart = chart_of({kernel("a", 3.0, 10.0, 0.5), kernel("copy", 1.0, 0.0, 0.9)});
  EXPECT_EQ(chart.total.zero_ai.kernels, 1);
  EXPECT_EQ(chart.total.zero_ai.launches, 10);
  EXPECT_DOUBLE_EQ(chart.total.zero_ai.launch_fraction, 0.5);
  EXPECT_DOUBLE_EQ(chart.total.zero_ai.time_fraction, 0.25);
  const Point& copy = chart.points.at(1);
  EXPECT_EQ(copy.limiter, "dram");
  EXPECT_DOUBLE_EQ(*copy.fraction_of_roof, 0.9);
}

TEST(Chart, ZeroAiIsUnknownWhereNobodyCountedFlops) {
  KernelRecord uncounted = kernel("a", 3.0, 10.0, 0.5);
  uncounted.flops.reset();
  uncounted.flops_by.clear();
  const Chart none = chart_of({uncounted});
  EXPECT_FALSE(none.total.knows_zero_ai());
  const Chart some = chart_of({uncounted, kernel("copy", 1.0, 0.0, 0.9)});
  EXPECT_TRUE(some.total.knows_zero_ai());
  EXPECT_EQ(some.total.uncounted, 1);
  EXPECT_EQ(some.total.zero_ai.kernels, 1);
  const Chart none_known = chart_of({uncounted, kernel("gemm", 1.0, 10.0, 0.9)});
  EXPECT_FALSE(none_known.total.knows_zero_ai()) << "the first may have none";
  EXPECT_TRUE(chart_of({kernel("gemm", 1.0, 10.0, 0.9)}).total.knows_zero_ai());
}

TEST(Chart, PointsAboveARoofSayWhy) {
  const auto reason = [](const KernelRecord& record, const Roofs& under) {
    NamedRun run;
    run.run.kernels = {record};
    return make_chart({run}, under, {}).points.at(0).above_roof;
  };
  // The bound is 1 ms.
  EXPECT_EQ(reason(kernel("a", 1.0, 10.0, 0.5), roofs()), "");
  EXPECT_EQ(reason(kernel("a", 0.997, 10.0, 0.5), roofs()), "");  // rounding
  KernelRecord fast = kernel("a", 0.5, 10.0, 0.5);
  EXPECT_NE(reason(fast, roofs()).find("was measured too low"), std::string::npos);
  KernelRecord winograd = fast;
  winograd.algorithm = "winograd_nonfused";
  EXPECT_NE(reason(winograd, roofs()).find("effective rate, Winograd"), std::string::npos);
  winograd.algorithm = "fft";
  EXPECT_NE(reason(winograd, roofs()).find("effective rate, FFT"), std::string::npos);
  winograd.algorithm = "implicit_gemm";
  EXPECT_EQ(reason(winograd, roofs()), reason(fast, roofs()));
  // 1800 / 1500 MHz explain 1.2 x the roof, not 2 x, and nothing about DRAM.
  KernelRecord clocked = kernel("a", 1 / 1.2, 10.0, 0.5);
  clocked.clock = 1800_MHz;
  EXPECT_NE(reason(clocked, roofs()).find("ran at 1800 MHz, the roof holds for 1500 MHz"),
            std::string::npos);
  clocked.time = from_ms(0.5);
  EXPECT_EQ(reason(clocked, roofs()).find("MHz"), std::string::npos);
  KernelRecord streaming = kernel("a", 0.45, 1.0, 0.5);
  streaming.clock = 1800_MHz;
  Roofs sheet = roofs();
  for (MemoryRoof& roof : sheet.memory) roof.source = "datasheet";
  EXPECT_NE(reason(streaming, sheet).find("more bytes than the level can move"), std::string::npos);
}

TEST(Chart, PredictionsAboveARoofSayWhy) {
  Prediction p{.match = {},
               .shape = {},
               .time = from_ms(1.0),
               .low = {},
               .high = {},
               .flops = Flops::from_base(15e9),
               .bytes = {},
               .limiter = {},
               .rate = "fp32"};
  p.algorithm = "winograd_fused";
  EXPECT_NE(above_roof_reason(p, roofs()).find("Winograd"), std::string::npos);
  p.algorithm.clear();
  EXPECT_NE(above_roof_reason(p, roofs()).find("data-sheet"), std::string::npos);
  p.time = from_ms(2.0);  // 7.5 of 10 TFLOP/s
  EXPECT_EQ(above_roof_reason(p, roofs()), "");
  p.bytes[2] = Bytes::from_base(3e9);  // 1.5 of 1 TB/s
  EXPECT_NE(above_roof_reason(p, roofs()).find("data-sheet"), std::string::npos);
}

TEST(Checks, OneWarningPerReasonAboveTheRoof) {
  KernelRecord winograd = kernel("w", 0.5, 10.0, 0.5);
  winograd.algorithm = "winograd_fused";
  const Chart chart =
      chart_of({winograd, kernel("a", 0.6, 10.0, 0.5), kernel("b", 0.7, 10.0, 0.5)});
  std::vector<std::string> found;
  for (const auto& warning : chart.warnings) {
    if (warning.name == "above-roof") found.push_back(warning.message);
  }
  ASSERT_EQ(found.size(), 2U);
  EXPECT_TRUE(found[0].starts_with("2 kernels are more than 5 % above the roof, worst a at 1.67"))
      << found[0];
  EXPECT_TRUE(found[1].starts_with("1 kernel is more than 5 % above the roof, worst w at 2.00 x"))
      << found[1];
}

TEST(Chart, TotalIntensityIsARatioOfSums) {
  const Chart chart = chart_of({kernel("a", 1.0, 10.0, 1.0), kernel("b", 1.0, 2.0, 2.0)});
  EXPECT_DOUBLE_EQ(chart.total.intensity(MemoryLevel::Dram)->base(), 4.0);  // 12 / 3
}

TEST(Checks, TimesInAnotherUnitAreNamedWithTheLimit) {
  const auto message = [](double ms) {
    const Chart chart = chart_of({kernel("a", ms, 10.0, 0.5), kernel("b", 20.0, 10.0, 0.5)});
    const auto found = std::ranges::find(chart.warnings, "times", &profile::Warning::name);
    return found == chart.warnings.end() ? std::string() : found->message;
  };
  // 10 launches in 4 us
  EXPECT_EQ(message(4e-3),
            "1 of 2 kernels took less than 0.5 us per launch, less than any kernel does: are the "
            "times in another unit than the export says?");
  EXPECT_EQ(message(6e-3), "");
}

TEST(Chart, ATimeOfNothingHasNoShares) {
  const Chart chart = chart_of({kernel("a", 0.0, 10.0, 0.5)});
  EXPECT_EQ(chart.points.at(0).time_fraction, 0.0);
}

TEST(Checks, NamedWarnings) {
  EXPECT_FALSE(warns(chart_of({kernel("a", 2.0, 10.0, 0.5)}), "above-roof"));
  EXPECT_TRUE(warns(chart_of({kernel("a", 0.9, 10.0, 0.5)}), "above-roof"));  // bound is 1 ms
  KernelRecord inverted = kernel("a", 2.0, 10.0, 0.5);
  inverted.bytes[1] = Bytes::from_base(0.4e9);
  EXPECT_TRUE(warns(chart_of({inverted}), "byte-order"));
  KernelRecord slow = kernel("a", 2.0, 10.0, 0.5);
  slow.clock = 1300_MHz;
  EXPECT_TRUE(warns(chart_of({slow}), "clock-mismatch"));
  KernelRecord shorts = kernel("a", 0.05, 0.1, 0.01);
  shorts.short_launches = 10;
  shorts.short_time = *shorts.time;
  EXPECT_TRUE(warns(chart_of({shorts}), "launch-bound"));
  KernelRecord half = kernel("a", 2.0, 10.0, 0.5);
  half.flops_by[{DType::Fp16, Pipe::Vector}] = Flops::from_base(1e9);
  EXPECT_TRUE(warns(chart_of({half}), "no-roof"));
  const Chart clean = chart_of({kernel("a", 2.0, 10.0, 0.5)});
  EXPECT_TRUE(clean.warnings.empty()) << clean.warnings[0].message;
}

TEST(Chart, LaunchBoundBeginsAtHalfOfTheTime) {
  // 10 launches of 4.2 us are 42 us.
  const Chart chart = chart_of({kernel("a", 0.085, 0.1, 0.01), kernel("b", 0.083, 0.1, 0.01)});
  ASSERT_EQ(chart.points.size(), 2U);
  EXPECT_FALSE(chart.points[0].launch_bound);  // 0.494 of the time
  EXPECT_TRUE(chart.points[1].launch_bound);   // 0.506
}

TEST(Checks, ClocksWithoutTimeSayNothing) {
  KernelRecord slow = kernel("a", 2.0, 10.0, 0.5);
  slow.clock = 1300_MHz;
  slow.time = Seconds{};
  EXPECT_FALSE(warns(chart_of({slow}), "clock-mismatch"));
  KernelRecord near = kernel("a", 2.0, 10.0, 0.5);
  near.clock = 1471_MHz;  // 1.93 % below 1500 MHz
  EXPECT_FALSE(warns(chart_of({near}), "clock-mismatch"));
  near.clock = 1469_MHz;  // 2.07 %
  EXPECT_TRUE(warns(chart_of({near}), "clock-mismatch"));
}

TEST(Checks, BytesMayDifferByFivePercent) {
  const auto inverted = [](double l2_gb) {
    KernelRecord record = kernel("a", 2.0, 10.0, 0.5);
    record.bytes[1] = Bytes::from_base(l2_gb * 1e9);  // DRAM: 0.5 GB
    return warns(chart_of({record}), "byte-order");
  };
  EXPECT_FALSE(inverted(0.48));
  EXPECT_TRUE(inverted(0.47));
  // The bound is 1 ms; 5 % above the roof is not worth a warning.
  EXPECT_FALSE(warns(chart_of({kernel("a", 0.96, 10.0, 0.5)}), "above-roof"));
  EXPECT_TRUE(warns(chart_of({kernel("a", 0.945, 10.0, 0.5)}), "above-roof"));
}

TEST(Checks, LaunchBoundByLaunchesOrByTime) {
  const auto with_shorts = [](std::int64_t launches, double fraction) {
    KernelRecord record = kernel("a", 2.0, 10.0, 0.5);
    record.short_launches = launches;
    record.short_time = *record.time * fraction;
    return warns(chart_of({record}), "launch-bound");
  };
  EXPECT_FALSE(with_shorts(4, 0.09));  // of 10 launches
  EXPECT_TRUE(with_shorts(5, 0.01));
  EXPECT_TRUE(with_shorts(1, 0.11));
}

TEST(Comparison, RanksByDifferenceOfTime) {
  NamedRun first, second;
  first.run.kernels = {kernel("a", 5.0, 10.0, 0.5), kernel("b", 1.0, 1.0, 0.1)};
  second.run.kernels = {kernel("a", 2.0, 10.0, 0.5), kernel("c", 2.0, 0.0, 0.1)};
  ChartOptions options;
  options.compare = true;
  const Chart chart = make_chart({first, second}, roofs(), options);
  ASSERT_TRUE(chart.comparison);
  ASSERT_EQ(chart.comparison->kernels.size(), 3U);
  EXPECT_EQ(chart.comparison->kernels[0].name, "a");
  EXPECT_DOUBLE_EQ(to_ms(chart.comparison->kernels[0].delta), -3.0);
  EXPECT_EQ(chart.comparison->kernels[1].name, "c");
  EXPECT_FALSE(chart.comparison->kernels[1].first);
}

TEST(ShortName, KeepsWhatTellsKernelsApart) {
  EXPECT_EQ(short_kernel_name("saxpy(int, float*)"), "saxpy");
  EXPECT_EQ(short_kernel_name("void unnamed>::gemm_tiled_kernel<32>(const float *)"),
            "gemm_tiled_kernel<32>");
  EXPECT_EQ(
      short_kernel_name("void at::native::modern::vectorized_elementwise_kernel<4, at::native::add_"
                        "kernel_cuda(at::TensorIterator&, c10::Scalar)::{lambda()#1}, "
                        "at::detail::Array<char*, 2> >(int, int)"),
      "vectorized_elementwise_kernel<add_kernel_cuda>");
  EXPECT_EQ(short_kernel_name("volta_fp16_s884cudnn_fp16_256x128_ldg8_relu_f2f_exp_small_nhwc"),
            "volta_fp16_s884cudnn_fp16_256.._ldg8_relu_f2f_exp_small_nhwc");
  EXPECT_EQ(short_kernel_name("std::enable_if<!T7, void>::type gemv::kernel<int, 7>(T1)"),
            "kernel<int, 7>");
  EXPECT_EQ(short_kernel_name("int kernel<7>(T1)"), "kernel<7>");
  EXPECT_EQ(short_kernel_name("unsigned int ns::kernel(T1)"), "kernel");
  // 24 letters of arguments are shown, 25 are not.
  EXPECT_EQ(short_kernel_name("k<10, 20, 3, 4, 5, 6, 7, 8>(T)"), "k<10, 20, 3, 4, 5, 6, 7, 8>");
  EXPECT_EQ(short_kernel_name("k<10, 20, 30, 4, 5, 6, 7, 8>(T)"), "k");
  // 60 letters stay, of 61 the middle goes.
  EXPECT_EQ(short_kernel_name(std::string(60, 'a')), std::string(60, 'a'));
  EXPECT_EQ(short_kernel_name(std::string(61, 'a')),
            std::string(29, 'a') + ".." + std::string(29, 'a'));
  EXPECT_EQ(short_kernel_name("Memcpy HtoD (Pageable -> Device)"), "Memcpy HtoD");
  EXPECT_EQ(short_kernel_name(""), "");
}

/// G6: the three try files of one ERT configuration give its published summary.
TEST(Roofs, ErtSweepGivesThePublishedLevels) {
  if (!rooftile::testing::has_shared_data("profiles")) GTEST_SKIP() << "no shared data";
  profile::RawProfile all;
  for (const auto& entry :
       std::filesystem::directory_iterator(rooftile::testing::shared_data() / "profiles")) {
    if (entry.path().string().find("__try.00") == std::string::npos) continue;
    auto one = profile::import_file(entry.path().string());
    ASSERT_TRUE(one) << to_string(one.error());
    all = merge(std::move(all), *one);
  }
  const Roofs roofs = roofs_of(all.roofs, all.sweep);
  ASSERT_EQ(roofs.memory.size(), 4U);
  EXPECT_NEAR(roofs.memory[0].bandwidth.base() * 1e-9, 991.11, 0.005);
  EXPECT_NEAR(roofs.memory[1].bandwidth.base() * 1e-9, 541.26, 0.005);
  EXPECT_NEAR(roofs.memory[2].bandwidth.base() * 1e-9, 298.56, 0.005);
  EXPECT_NEAR(roofs.memory[3].bandwidth.base() * 1e-9, 66.14, 0.005);
  EXPECT_EQ(roofs.memory[3].level, MemoryLevel::Dram);
  EXPECT_NEAR(roofs.compute[0].rate.base() * 1e-9, 62.18, 0.005);
}

}  // namespace
}  // namespace rooftile::roofline
