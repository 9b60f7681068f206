// SPDX-License-Identifier: Apache-2.0
#include "cost/conv_time.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "cost/conv_estimate.h"
#include "cost/delta/product.h"
#include "cost/predictor.h"
#include "default_constants.h"
#include "hardware/machine.h"
#include "ops/any_op.h"

namespace rooftile::cost {
namespace {

hardware::Machine machine_of(std::string_view gpu) {
  return hardware::load_machine(Catalog::embedded(), gpu, std::nullopt).value();
}

TimeMachine fp32(std::string_view gpu) {
  const auto machine = machine_of(gpu);
  return make_time_machine(machine, *machine.best_rate(DType::Fp32, true), DType::Fp32, true,
                           testing::default_constants());
}

ops::ConvShape layer_3x3() {
  ops::ConvShape conv{.n = 64, .c = 128, .h = 28, .w = 28, .k = 128, .r = 3, .s = 3};
  conv.pad_h = conv.pad_w = 1;
  return conv;
}

// A machine of round numbers: 10 SMs of 64 lanes at 1 GHz, 1 TB/s.
TimeMachine round_machine() {
  TimeMachine m;
  m.constants = testing::default_constants().convolution.constants;
  m.launch = Seconds::from_base(testing::default_constants().step.gap);
  m.sms = 10;
  m.lanes = 64;
  m.vector_lanes = 64;
  m.clock = Hertz::from_base(1e9);
  m.shared = Bytes::from_base(96 * 1024);
  m.l2_size = Bytes::from_base(4 << 20);
  m.shared_bandwidth = BytesPerCycle::from_base(128);
  m.dram_bandwidth = BytesPerSecond::from_base(1e12);
  m.constants.issue = 1;
  m.constants.latency_floor = 50, m.constants.latency_miss = 950;
  m.constants.prologue = 1000, m.constants.epilogue = 2.5;
  m.constants.filter_gradient = 1, m.constants.filter_gradient_tap = 0;
  m.constants.filter_gradient_tile = 0.5, m.constants.filter_gradient_output = 3;
  return m;
}

// 128x128 tiles: 2 CTAs by registers (65536 / (256 * 128)); t_cs = 128*128*8/64 = 2048 clocks,
// k = 800 is 100 iterations. 40 CTAs on 10 SMs are 4 per SM, two batches of 2:
// 100 * 2 * max(2 * 2048, 2048 + 50 + 950) + 4 * (1000 + 2.5 * 128) = 819200 + 5280 clocks.
TEST(StreamTime, AddsWavesPrologueAndEpilogue) {
  const StreamWork work{.m = 40 * 128, .n = 128, .k = 800};
  const StreamTime t = stream_time(round_machine(), work, {}, stream_tuning(round_machine(), 0));
  EXPECT_DOUBLE_EQ(active_ctas(round_machine(), {}, 4), 2);
  EXPECT_NEAR(t.sm, (819200 + 5280) * 1e-9, 1e-12);
  EXPECT_EQ(t.limiter, Resource::Compute);
  EXPECT_DOUBLE_EQ(t.ctas, 40);
}

// One CTA per SM cannot hide the latency of a 1x1 layer's loads: 32-wide tiles take 512 clocks to
// multiply and 1000 to load.
TEST(StreamTime, FewCtasAreLatencyBound) {
  const StreamWork work{.m = 10 * 128, .n = 32, .k = 800};
  const StreamTime t =
      stream_time(round_machine(), work, {.m = 128, .n = 32}, stream_tuning(round_machine(), 0));
  EXPECT_EQ(t.limiter, Resource::Latency);
  EXPECT_NEAR(t.sm, (100 * (512 + 1000) + 1000 + 2.5 * 32) * 1e-9, 1e-12);
}

TEST(StreamTime, NamesTheSlowestStream) {
  TimeMachine m = round_machine();
  StreamWork work{.m = 40 * 128, .n = 128, .k = 800};
  work.dram = 1e9;  // 1.2 ms at 0.82 TB/s against 0.82 ms of compute
  EXPECT_EQ(stream_time(m, work, {}, stream_tuning(round_machine(), 0)).limiter, Resource::Dram);
  work.dram = 0;
  work.l2 = 40 * 100 * 16384.0;                      // 16 KiB per iteration: 65.5 MB
  m.l2_bandwidth = BytesPerSecond::from_base(40e9);  // 1.64 ms
  EXPECT_EQ(stream_time(m, work, {}, stream_tuning(round_machine(), 0)).limiter, Resource::L2);
  work.l1 = work.l2;
  m.l1_bandwidth = BytesPerCycle::from_base(2);
  EXPECT_EQ(stream_time(m, work, {}, stream_tuning(round_machine(), 0)).limiter, Resource::L1);
}

// One CTA on ten SMs asks the L2 for its bytes at the L2's rate, not at a tenth of it.
TEST(StreamTime, TheL2IsOnePipe) {
  TimeMachine m = round_machine();
  StreamWork work{.m = 128, .n = 128, .k = 800};
  const double alone = stream_time(m, work, {}, stream_tuning(m, 0)).sm;
  work.l2 = 100 * 16384.0;
  m.l2_bandwidth = BytesPerSecond::from_base(40e9);  // 41 us; compute and latency take 306 us
  EXPECT_EQ(stream_time(m, work, {}, stream_tuning(m, 0)).sm, alone);
  m.l2_bandwidth = BytesPerSecond::from_base(2e9);
  const StreamTime slow = stream_time(m, work, {}, stream_tuning(m, 0));
  EXPECT_DOUBLE_EQ(slow.sm, 100 * 16384.0 / 2e9);
  EXPECT_TRUE(slow.l2_binds);
}

// A lone CTA multiplies for 2048 clocks of an iteration and waits for 1000: compute, as lanes help.
TEST(StreamTime, ALoneCtaNamesTheLargerPart) {
  const StreamWork work{.m = 128, .n = 128, .k = 800};
  EXPECT_EQ(stream_time(round_machine(), work, {}, stream_tuning(round_machine(), 0)).limiter,
            Resource::Compute);
}

// 5 CTAs per SM: batches of 4 and 1, whether 5, 6 or 7 fit (registers for 4 of 128x64: 65536).
TEST(StreamTime, MoreRegistersAreNotSlower) {
  const StreamWork work{.m = 50 * 128, .n = 64, .k = 800};
  TimeMachine m = round_machine();
  double before = 1e9;
  for (double registers = 16384; registers <= 8 * 65536; registers *= 1.25) {
    m.registers = registers;
    const double now = stream_time(m, work, {.m = 128, .n = 64}, stream_tuning(m, 0)).sm;
    EXPECT_LE(now, before) << registers;
    before = now;
  }
}

// A measured rate is what the board sustained: 4.5 TFLOP/s stay 4.5 on a T4. Measured L1 and launch
// replace the file's.
TEST(TimeMachine, MeasuredCeilingsCount) {
  hardware::Machine machine = machine_of("t4");
  hardware::Ceilings measured;
  measured.rate[{.dtype = DType::Fp32, .pipe = hardware::Pipe::Vector}].value =
      FlopsPerSecond::from_base(4.5e12);
  measured.bandwidth[hardware::MemoryLevel::L1].value = BytesPerSecond::from_base(1e12);
  measured.shared.emplace().value = BytesPerSecond::from_base(2e12);
  measured.launch.emplace().value = Seconds::from_base(5e-6);
  machine.ceilings = measured;
  const TimeMachine m = make_time_machine(machine, *machine.best_rate(DType::Fp32, true),
                                          DType::Fp32, true, testing::default_constants());
  EXPECT_NEAR(2 * m.sms * m.lanes * m.clock.base(), 4.5e12, 1e3);
  EXPECT_NEAR(m.sms * m.l1_bandwidth->base() * m.clock.base(), 1e12, 1e3);
  EXPECT_NEAR(m.sms * m.shared_bandwidth.base() * m.clock.base(), 2e12, 1e3);
  EXPECT_EQ(m.launch, Seconds::from_base(5e-6));
}

// 1x1, one tile of 64 x 64 and one iteration. Small tiles load more from shared memory, in clocks
// of an SM: with twice the lanes the multiply-adds take half the time and the loads as long. The
// outputs are added up at 3 clocks of an SM each.
TEST(ConvCandidates, FilterGradientsLoadAndAddUp) {
  const ops::ConvShape conv{
      .n = 1, .c = 64, .h = 4, .w = 2, .k = 64, .pass = ops::ConvPass::FilterGradient};
  const auto clocks = [&](const TimeMachine& m) {
    return implicit_candidate(conv, DType::Fp32, m, {64, 64, 1}).time.sm * 1e9;
  };
  const TimeMachine narrow = round_machine();
  TimeMachine wide = narrow;
  wide.lanes = 128;
  const double multiply = 64.0 * 64 * 8 / 64;     // clocks
  const double load = 0.5 * 64.0 * 64 * 8 / 128;  // 64 / 64 + 64 / 64 - 1 = 1
  const double rest = 50 + 950 + 1000 + 2.5 * 32 + 3.0 * 64 * 64 / 10;
  EXPECT_NEAR(clocks(narrow), multiply + load + rest, 1e-6);
  EXPECT_NEAR(clocks(wide), multiply / 2 + load + rest, 1e-6);
}

// An SM with an eighth of the registers holds 128x32 and 64x64 outputs, not 128x128.
TEST(ConvCandidates, TilesFitIntoAnSm) {
  TimeMachine small = fp32("v100-pcie-32gb");
  small.registers /= 8;
  for (const ops::ConvPass pass : {ops::ConvPass::Forward, ops::ConvPass::FilterGradient}) {
    ops::ConvShape conv = layer_3x3();
    conv.pass = pass;
    for (const ConvCandidate& c : conv_candidates(conv, DType::Fp32, small, {})) {
      EXPECT_TRUE(fits_sm(small, c.time.tile, 4)) << name_of(c.algorithm);
    }
  }
  const ops::GemmShape gemm{.m = 4096, .n = 4096, .k = 512};
  EXPECT_TRUE(fits_sm(small, delta::fastest_product(gemm, DType::Fp32, small).time.tile, 4));
}

TEST(TimeMachine, MissingFieldsAreNamed) {
  const Status status = check_time_fields(machine_of("b300-sxm").gpu);
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().where.find("/memory/l2/size"), std::string::npos);
  EXPECT_TRUE(check_time_fields(machine_of("h100-sxm").gpu));
}

TEST(ConvCandidates, WinogradOnlyWhereItApplies) {
  const auto has = [](const std::vector<ConvCandidate>& all, ConvAlgorithm algorithm) {
    return std::any_of(all.begin(), all.end(),
                       [&](const ConvCandidate& c) { return c.algorithm == algorithm; });
  };
  const TimeMachine v100 = fp32("v100-pcie-32gb");
  const auto square = conv_candidates(layer_3x3(), DType::Fp32, v100, {});
  EXPECT_TRUE(has(square, ConvAlgorithm::WinogradFused));
  EXPECT_TRUE(has(square, ConvAlgorithm::ImplicitGemm));
  EXPECT_FALSE(has(square, ConvAlgorithm::ExplicitGemm)) << "nobody times its product";
  EXPECT_NE(square.front().algorithm, ConvAlgorithm::ImplicitGemm) << "Winograd is faster here";
  ops::ConvShape strided = layer_3x3();
  strided.stride_h = strided.stride_w = 2;
  EXPECT_FALSE(has(conv_candidates(strided, DType::Fp32, v100, {}), ConvAlgorithm::WinogradFused));
  EXPECT_FALSE(
      has(conv_candidates(layer_3x3(), DType::Fp16, v100, {}), ConvAlgorithm::WinogradFused));
  for (std::size_t i = 1; i < square.size(); ++i) {
    EXPECT_LE(square[i - 1].seconds(), square[i].seconds()) << "fastest first";
  }
  // F(2x2,3x3) multiplies 16 times per 4 outputs and channel instead of 36.
  const double direct = 2.0 * 64 * 28 * 28 * 128 * 128 * 9;
  for (const ConvCandidate& candidate : square) {
    if (candidate.algorithm == ConvAlgorithm::WinogradFused) {
      EXPECT_GE(candidate.flops, direct * 16 / 36);
      EXPECT_LT(candidate.flops, direct);
    }
  }
}

// With a hundredth of the L1 and L2 bandwidth every algorithm is slower, and names the level.
TEST(ConvCandidates, EveryAlgorithmAnswersToTheCaches) {
  const TimeMachine v100 = fp32("v100-pcie-32gb");
  ASSERT_TRUE(v100.l1_bandwidth && v100.l2_bandwidth);
  TimeMachine slow = v100;
  *slow.l2_bandwidth *= 0.01;
  const double before = conv_candidates(layer_3x3(), DType::Fp32, v100, {}).front().seconds();
  const auto l2 = conv_candidates(layer_3x3(), DType::Fp32, slow, {});
  EXPECT_GT(l2.front().seconds(), 2 * before);
  EXPECT_EQ(l2.front().time.limiter, Resource::L2);
  slow = v100;
  *slow.l1_bandwidth *= 0.01;
  const auto l1 = conv_candidates(layer_3x3(), DType::Fp32, slow, {});
  EXPECT_GT(l1.front().seconds(), 1.4 * before);
  EXPECT_EQ(l1.front().time.limiter, Resource::L1);
}

// A product with a vector streams its matrix, whichever operand the vector is.
TEST(DeltaProduct, AVectorTimesAMatrixIsBoundByDram) {
  const TimeMachine v100 = fp32("v100-pcie-32gb");
  const double seconds = 4.0 * (4096.0 * 9216 + 9216 + 4096) / v100.dram_bandwidth.base();
  for (const ops::GemmShape& gemm : {ops::GemmShape{.m = 1, .n = 4096, .k = 9216},
                                     ops::GemmShape{.m = 4096, .n = 1, .k = 9216}}) {
    const delta::Product product = delta::fastest_product(gemm, DType::Fp32, v100);
    EXPECT_EQ(product.time.limiter, Resource::Dram);
    EXPECT_DOUBLE_EQ(product.time.dram, seconds);
    EXPECT_LT(product.time.total(), 1.2 * seconds);
    EXPECT_DOUBLE_EQ(product.read.dram, product.read.least);
    // A CTA has 128 outputs along the matrix, and one of the vector.
    EXPECT_EQ(product.time.tile.m, gemm.m == 1 ? 1 : 128);
    EXPECT_EQ(product.time.tile.n, gemm.n == 1 ? 1 : 128);
    EXPECT_EQ(product.time.ctas, 4096 / 128);
  }
}

// 640,000 outputs of 9 taps: (60 + 9 x 12) instructions each, on 640 lanes at 1 GHz.
TEST(ConvCandidates, DepthwiseLayersHaveADirectKernel) {
  const TimeMachine g = round_machine();
  ops::ConvShape conv{.n = 1, .c = 64, .h = 100, .w = 100, .k = 64, .r = 3, .s = 3, .groups = 64};
  conv.pad_h = conv.pad_w = 1;
  const ConvCandidate forward = conv_candidates(conv, DType::Fp32, g, {}).front();
  EXPECT_EQ(forward.algorithm, ConvAlgorithm::Depthwise);
  EXPECT_NEAR(forward.time.sm, 640'000.0 * (60 + 9 * 12) / 640e9, 1e-12);
  EXPECT_EQ(forward.read.dram, 4.0 * (640'000 + 64 * 9));
  EXPECT_EQ(forward.written, 4.0 * 640'000);
  EXPECT_EQ(forward.flops, 2.0 * 9 * 640'000);
  conv.pass = ops::ConvPass::DataGradient;
  EXPECT_EQ(conv_candidates(conv, DType::Fp32, g, {}).front().time.sm, forward.time.sm);
  conv.pass = ops::ConvPass::FilterGradient;
  const ConvCandidate filters = conv_candidates(conv, DType::Fp32, g, {}).front();
  EXPECT_EQ(filters.algorithm, ConvAlgorithm::Depthwise);
  EXPECT_EQ(filters.read.l2, 9 * filters.read.dram) << "each tap reads both tensors";
  EXPECT_EQ(filters.written, 4.0 * 64 * 9);
  EXPECT_NEAR(filters.time.sm, (640'000.0 * 9 * 12 + 64 * 9 * 256 * 60) / 640e9, 1e-12);
  conv.groups = 32;  // two input channels per filter: no depthwise layer
  for (const ConvCandidate& candidate : conv_candidates(conv, DType::Fp32, g, {})) {
    EXPECT_NE(candidate.algorithm, ConvAlgorithm::Depthwise);
  }
}

// A strided gradient skips taps by row: half of the products of its GEMM, which are twice those of
// the forward pass here (4 times the outputs).
TEST(ConvCandidates, StridedGradientsSkipRows) {
  ops::ConvShape conv{.n = 8, .c = 64, .h = 56, .w = 56, .k = 128};
  conv.stride_h = conv.stride_w = 2;
  const TimeMachine v100 = fp32("v100-pcie-32gb");
  const double forward = implicit_candidate(conv, DType::Fp32, v100, {}).flops;
  conv.pass = ops::ConvPass::DataGradient;
  EXPECT_EQ(implicit_candidate(conv, DType::Fp32, v100, {}).flops, 2 * forward);
}

// Of 4 parts each writes 128 x 1152 partial sums, the reduction reads the 4 and writes 1: the same
// closed forms, 4 outputs more read and 5 written.
TEST(ConvCandidates, SplitKReadsItsPartialSums) {
  ops::ConvShape conv = layer_3x3();
  conv.pass = ops::ConvPass::FilterGradient;
  const TimeMachine v100 = fp32("v100-pcie-32gb");
  const double output = 128.0 * 128 * 9 * 4;
  const ConvCandidate one = implicit_candidate(conv, DType::Fp32, v100, {.split = 1});
  const ConvCandidate four = implicit_candidate(conv, DType::Fp32, v100, {.split = 4});
  EXPECT_DOUBLE_EQ(one.written, output);
  EXPECT_DOUBLE_EQ(four.written, 5 * output);
  EXPECT_DOUBLE_EQ(four.read.l1, one.read.l1 + 4 * output);
  EXPECT_DOUBLE_EQ(four.read.l2, one.read.l2 + 4 * output);
  EXPECT_DOUBLE_EQ(four.read.dram, one.read.dram + 4 * output);
}

// 64/32 + 64/32 - 1 = 3 times the constant against 0 for 128x128.
TEST(ConvCandidates, SmallTilesOfFilterGradientsAreSlower) {
  ops::ConvShape conv = layer_3x3();
  conv.pass = ops::ConvPass::FilterGradient;
  const TimeMachine v100 = fp32("v100-pcie-32gb");
  TimeMachine ideal = v100;
  ideal.constants.filter_gradient_tile = 0;
  const ImplicitCut small{.tile_m = 32, .tile_n = 32, .split = 4};
  EXPECT_GT(implicit_candidate(conv, DType::Fp32, v100, small).seconds(),
            1.5 * implicit_candidate(conv, DType::Fp32, ideal, small).seconds());
  const ImplicitCut large{.tile_m = 128, .tile_n = 128, .split = 4};
  EXPECT_EQ(implicit_candidate(conv, DType::Fp32, v100, large).seconds(),
            implicit_candidate(conv, DType::Fp32, ideal, large).seconds());
}

// One row is one CTA: its SM receives 64 B per clock, however fast the memory is.
TEST(DeltaPredictor, FewRowsDoNotFillTheMachine) {
  const auto delta = make_predictor("delta", Catalog::embedded()).value();
  const auto machine = machine_of("h100-sxm");
  const auto time_of = [&](std::int64_t rows, std::int64_t columns) {
    ops::KernelList kernels;
    ops::forward(ops::Softmax{.shape = {rows, columns}},
                 {.precision = ops::precision_of(DType::Fp32)}, kernels);
    return delta->estimate(bind(kernels.front(), machine).value(), machine).time.base();
  };
  const double clock = machine.gpu.clock.boost.base();
  EXPECT_GE(time_of(1, 10'000'000), 2 * 40e6 / (64 * clock));
  EXPECT_LT(time_of(10'000, 1000), time_of(1, 10'000'000) / 10);
}

TEST(DeltaPredictor, NamesTheFieldThatAGpuLacks) {
  const auto delta = make_predictor("delta", Catalog::embedded()).value();
  const auto bound = make_predictor("bound", Catalog::embedded()).value();
  EXPECT_TRUE(delta->check(machine_of("v100-pcie-32gb")));
  for (const char* gpu : {"arc-pro-b60", "max-1550", "b300-sxm"}) {
    const Status status = delta->check(machine_of(gpu));
    ASSERT_FALSE(status) << gpu;
    EXPECT_NE(status.error().where.find(":/"), std::string::npos) << status.error().where;
    EXPECT_TRUE(bound->check(machine_of(gpu))) << gpu;
  }
}

TEST(DeltaPredictor, IsNeverFasterThanItsBoundAndSaysHow) {
  const auto predictor = make_predictor("delta", Catalog::embedded()).value();
  EXPECT_EQ(predictor->name(), "delta");
  for (const char* name : {"p4", "v100-pcie-32gb", "h100-sxm", "mi300x", "h100-nvl"}) {
    const auto machine = machine_of(name);
    const std::vector<ops::AnyOp> operators{
        ops::Conv2d{.conv = layer_3x3()}, ops::Linear{.rows = 4096, .in = 1024, .out = 4096},
        ops::Linear{.rows = 1, .in = 4096, .out = 4096}, ops::Softmax{.shape = {4096, 512}},
        ops::BatchedMatmul{.batch = 96, .m = 512, .n = 512, .k = 64}};
    for (const DType dtype : {DType::Fp32, DType::Fp16}) {
      for (const ops::AnyOp& op : operators) {
        ops::KernelList kernels;
        const ops::LowerContext context{.precision = ops::precision_of(dtype)};
        ops::forward(op, context, kernels);
        ops::backward(op, context, kernels);
        for (const ops::KernelWork& work : kernels) {
          const auto job = bind(work, machine);
          if (!job) continue;
          const Estimate e = predictor->estimate(*job, machine);
          EXPECT_GE(e.time, e.bound) << name << " " << work.op;
          EXPECT_LE(e.low, e.time);
          EXPECT_GE(e.high, e.time);
          EXPECT_TRUE(std::isfinite(e.time.base()));
          EXPECT_GE(e.traffic.l1, e.traffic.l2);
          EXPECT_GE(e.traffic.l2, e.traffic.dram());
          EXPECT_EQ(e.provenance, Provenance::Analytical);
          EXPECT_EQ(!e.algorithm.empty(), work.kind == ops::KernelClass::Conv);
        }
      }
    }
  }
}

// A faster machine is never slower: each resource doubled, for all passes.
TEST(ConvCandidates, MoreOfAResourceIsNotSlower) {
  const TimeMachine base = fp32("p100-pcie-16gb");
  for (const ops::ConvPass pass :
       {ops::ConvPass::Forward, ops::ConvPass::DataGradient, ops::ConvPass::FilterGradient}) {
    ops::ConvShape conv = layer_3x3();
    conv.pass = pass;
    const double before = conv_candidates(conv, DType::Fp32, base, {}).front().seconds();
    TimeMachine clock = base;
    clock.clock *= 2;
    TimeMachine dram = base;
    dram.dram_bandwidth *= 2;
    TimeMachine lanes = base;
    lanes.lanes *= 2;
    for (const TimeMachine& better : {clock, dram, lanes}) {
      EXPECT_LE(conv_candidates(conv, DType::Fp32, better, {}).front().seconds(), before);
    }
  }
}

}  // namespace
}  // namespace rooftile::cost
