// SPDX-License-Identifier: Apache-2.0
//
// Convolutions on machines with more of a resource are never slower, every algorithm moves at least
// the compulsory bytes through every level, and more of the resource that is named as the limiter
// helps. Random layers on GPUs of several generations.
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "cost/conv_time.h"
#include "cost/predictor.h"
#include "cost/stream_parts.h"
#include "default_constants.h"
#include "hardware/factors.h"
#include "ops/any_op.h"

namespace rooftile::cost {
namespace {

using hardware::Factors;
using hardware::MachineKey;

constexpr std::array kGpus{"m40",   "titan-xp", "p100-pcie-16gb", "v100-pcie-32gb", "t4",
                           "mi100", "l4",       "a100-sxm-40gb",  "h100-sxm"};

struct Case {
  std::string text;
  hardware::Machine machine;
  ops::KernelWork work;
  [[nodiscard]] const ops::ConvShape& conv() const { return std::get<ops::ConvShape>(work.shape); }
};

/// Networks' layers and odd ones: batch 1 to 256, strides, dilation, groups.
class Cases {
 public:
  explicit Cases(std::uint32_t seed) : engine_(seed) {}

  Case next() {
    ops::ConvShape c;
    c.r = c.s = pick({1, 1, 3, 5, 7});
    c.n = pick({1, 2, 4, 32, 64, 256});
    c.h = pick({7, 14, 28, 56, 112});
    c.w = pick({0, 0, 1}) != 0 ? pick({9, 30, 200}) : c.h;
    c.c = pick({3, 32, 64, 256, 512, 2048});
    c.k = pick({1, 64, 128, 512, 1000});
    c.stride_h = c.stride_w = pick({1, 1, 2});
    c.dilation_h = c.dilation_w = pick({1, 1, 1, 2});
    c.pad_h = c.pad_w = c.r / 2 * c.dilation_h;
    if (pick({0, 0, 0, 0, 1}) != 0) c.groups = c.k = c.c = pick({32, 256});
    const bool half = pick({0, 0, 1}) != 0;
    const char* gpu = kGpus[engine_() % kGpus.size()];
    Case out;
    out.machine = hardware::load_machine(Catalog::embedded(), gpu, std::nullopt).value();
    const DType dtype =
        half && out.machine.best_rate(DType::Fp16, true) ? DType::Fp16 : DType::Fp32;
    ops::KernelList works;
    const ops::LowerContext context{.precision = ops::precision_of(dtype)};
    ops::forward(ops::Conv2d{.conv = c}, context, works);
    ops::backward(ops::Conv2d{.conv = c}, context, works);
    std::erase_if(works, [](const ops::KernelWork& work) {
      return !std::holds_alternative<ops::ConvShape>(work.shape);
    });
    out.work = works[engine_() % works.size()];
    out.text = std::string(gpu) + " " + ops::shape_text(out.work.shape) + " pass " +
               std::to_string(static_cast<int>(out.conv().pass)) + " " +
               std::string(name_of(dtype));
    return out;
  }

 private:
  std::int64_t pick(std::initializer_list<std::int64_t> list) {
    return list.begin()[engine_() % list.size()];
  }
  std::mt19937 engine_;
};

TimeMachine timed(const Case& c, const Factors& factors) {
  const hardware::Machine machine = hardware::scaled(c.machine, factors);
  return make_time_machine(machine, bind(c.work, machine).value().roof.compute, c.work.compute,
                           c.work.matrix, testing::default_constants());
}

double seconds(const Case& c, const Factors& factors) {
  return conv_candidates(c.conv(), c.work.dtype, timed(c, factors), {}).front().seconds();
}

TEST(ConvScaling, MoreOfAResourceIsNeverSlower) {
  Cases cases(7);
  for (int i = 0; i < 400; ++i) {
    const Case c = cases.next();
    for (const MachineKey key : hardware::kAllMachineKeys) {
      double before = 0;
      double last = 0;
      for (const double factor : {0.5, 0.7, 0.9, 1.0, 1.1, 1.3, 1.5, 2.0, 3.0, 4.0, 8.0, 16.0}) {
        const double now = seconds(c, Factors::one(key, factor));
        if (last > 0) {
          EXPECT_LE(now, before / kWorthwhile)  // what the search for a part leaves
              << c.text << " " << name_of(key) << " " << last << " -> " << factor;
        }
        before = now;
        last = factor;
      }
    }
  }
}

/// The search that stops early finds what the whole list begins with.
TEST(ConvScaling, TheFastestIsTheFirstOfAll) {
  Cases cases(9);
  for (int i = 0; i < 400; ++i) {
    const Case c = cases.next();
    for (const double factor : {0.25, 1.0, 4.0}) {
      for (const MachineKey key : hardware::kAllMachineKeys) {
        const TimeMachine g = timed(c, Factors::one(key, factor));
        const ConvCandidate first = conv_candidates(c.conv(), c.work.dtype, g, {}).front();
        const ConvCandidate found = fastest_conv(c.conv(), c.work.dtype, g, {});
        EXPECT_EQ(found.algorithm, first.algorithm) << c.text << " " << name_of(key);
        EXPECT_EQ(found.seconds(), first.seconds()) << c.text << " " << name_of(key);
        EXPECT_EQ(found.read.l2, first.read.l2) << c.text << " " << name_of(key);
      }
    }
  }
}

TEST(ConvScaling, EveryAlgorithmMovesAtLeastTheCompulsoryBytes) {
  Cases cases(8);
  for (int i = 0; i < 600; ++i) {
    const Case c = cases.next();
    for (const ConvCandidate& candidate :
         conv_candidates(c.conv(), c.work.dtype, timed(c, {}), {})) {
      const std::string text = c.text + " " + std::string(name_of(candidate.algorithm));
      EXPECT_GE(candidate.read.dram, c.work.read.base() * (1 - 1e-12)) << text;
      EXPECT_GE(candidate.read.l2, candidate.read.dram * (1 - 1e-12)) << text;
      EXPECT_GE(candidate.read.l1, candidate.read.l2 * (1 - 1e-12)) << text;
      EXPECT_GE(candidate.written, c.work.written.base() * (1 - 1e-12)) << text;
      EXPECT_GT(candidate.flops, 0) << text;
      EXPECT_GT(candidate.seconds(), 0) << text;
    }
  }
}

/// What to multiply for more of a resource; nothing for latencies.
std::optional<MachineKey> key_of(Resource resource) {
  switch (resource) {
    case Resource::Compute: return MachineKey::Lanes;
    case Resource::Shared: return MachineKey::SharedBandwidth;
    case Resource::L1: return MachineKey::L1Bandwidth;
    case Resource::L2: return MachineKey::L2Bandwidth;
    case Resource::Dram: return MachineKey::DramBandwidth;
    case Resource::Link:
    case Resource::Latency:
    case Resource::Launch:
    case Resource::Host: break;
  }
  return std::nullopt;
}

// Of an implicit GEMM. Twice the resource that takes most of the time shortens it by at least a
// twentieth, unless the next stream is as slow; then more of all streams does.
TEST(ConvScaling, MoreOfTheLimiterHelps) {
  Cases cases(9);
  int unhelped = 0;
  int counted = 0;
  for (int i = 0; i < 400; ++i) {
    const Case c = cases.next();
    const auto implicit = [&](const Factors& factors) {
      return conv_candidates(c.conv(), c.work.dtype, timed(c, factors),
                             {.implicit_gemm_only = true})
          .front();
    };
    const ConvCandidate base = implicit({});
    const auto key = key_of(base.time.limiter);
    if (!key) continue;
    ++counted;
    if (implicit(Factors::one(*key, 2)).seconds() > 0.95 * base.seconds()) ++unhelped;
  }
  EXPECT_GT(counted, 200);
  EXPECT_LT(unhelped, counted / 20);
}

}  // namespace
}  // namespace rooftile::cost
