// SPDX-License-Identifier: Apache-2.0
// The GPU back ends without a GPU: the host side against a modelled driver that executes the code
// of the kernels, and the text of the kernels.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "characterize/characterize.h"
#include "characterize/gpu/gpu_device.h"
#include "characterize/gpu/kernel_names.h"
#include "characterize/gpu/ptx.h"
#include "hardware/load.h"
#include "unit/characterize/gpu_model.h"
#include "unit/characterize/kernel_work.h"

namespace rooftile::characterize::gpu {
namespace {

/// 4 multiprocessors at 2 GHz, compute capability 8.9, 4 MiB of L2.
GpuModel small_gpu() {
  GpuModel m = model_of(hardware::load_gpu(Catalog::embedded(), "l4").value());
  m.name = "A small L4";
  m.units = 4;
  m.clock = 2e9;
  m.l2 = m.stated_l2 = 4 << 20;
  m.memory = 1 << 30;
  for (double* rate : {&m.l1_rate, &m.l2_rate, &m.dram_rate, &m.shared_rate}) *rate *= 0.05;
  for (auto& [name, rate] : m.rates) rate *= 0.05;
  return m;
}

std::unique_ptr<Device> open(const GpuModel& model, std::string_view image = "an image") {
  auto device = make_gpu_device(model_driver(model), image, 0, Catalog::embedded());
  EXPECT_TRUE(device.has_value()) << to_string(device.error());
  return device ? *std::move(device) : nullptr;
}

Case a_case(Pattern pattern, DType dtype, Bytes set = {}, std::int64_t flops = 0) {
  const bool product = is_product(pattern);
  return {.pattern = pattern,
          .dtype = dtype,
          .pipe = product ? hardware::Pipe::Tensor : hardware::Pipe::Vector,
          .working_set = set,
          .flops_per_element = flops};
}

bool offers(const Device& device, Pattern pattern, DType dtype) {
  const auto all = device.capabilities();
  return std::any_of(all.begin(), all.end(),
                     [&](const Capability& c) { return c.pattern == pattern && c.dtype == dtype; });
}

CharacterizeOptions quick(std::vector<DType> dtypes, std::vector<Pattern> patterns, Bytes most) {
  return {.plan = {.effort = Effort::Quick,
                   .dtypes = std::move(dtypes),
                   .patterns = std::move(patterns),
                   .dense_update = false,
                   .max_working_set = most},
          .sweep = {}};
}

TEST(GpuDevice, DescribesTheDevice) {
  const auto device = open(small_gpu());
  const DeviceDescription& d = device->description();
  EXPECT_EQ(d.name, "A small L4");
  EXPECT_EQ(d.isa, "8.9");
  EXPECT_EQ(d.units, 4);
  ASSERT_EQ(d.caches.size(), 2u);
  EXPECT_EQ(d.caches[0].capacity, 512_KiB);  // 4 x 128 KiB
  EXPECT_TRUE(d.caches[0].apart);
  EXPECT_EQ(d.caches[1].capacity, 4_MiB);
  EXPECT_NEAR(device->observe_clock()->base(), 2e9, 1e7);
}

TEST(GpuDevice, OffersTheFormatsOfTheArchitecture) {
  const auto ada = open(small_gpu());
  EXPECT_TRUE(offers(*ada, Pattern::Mma, DType::Fp8E4m3));
  EXPECT_TRUE(offers(*ada, Pattern::MmaSparse, DType::Fp8E4m3));
  EXPECT_FALSE(offers(*ada, Pattern::MmaSync, DType::Fp16));
  GpuModel older = small_gpu();
  older.major = 7, older.minor = 0;
  const auto volta = open(older);
  EXPECT_TRUE(offers(*volta, Pattern::Mma, DType::Fp16));
  EXPECT_FALSE(offers(*volta, Pattern::Mma, DType::Fp8E4m3));
  EXPECT_FALSE(offers(*volta, Pattern::Update, DType::Bf16));
  GpuModel newer = small_gpu();
  newer.major = 9, newer.minor = 0;
  EXPECT_TRUE(offers(*open(newer), Pattern::MmaSync, DType::Fp16));
}

TEST(GpuDevice, OffersLinksThatAreThere) {
  EXPECT_TRUE(offers(*open(small_gpu()), Pattern::CopyPeer, DType::Int8));
  GpuModel alone = small_gpu();
  alone.devices = 1;
  const auto device = open(alone);
  EXPECT_TRUE(offers(*device, Pattern::CopyIn, DType::Int8));
  EXPECT_TRUE(offers(*device, Pattern::ChaseHost, DType::Int64));
  EXPECT_FALSE(offers(*device, Pattern::CopyPeer, DType::Int8));
  EXPECT_FALSE(offers(*device, Pattern::ChasePeer, DType::Int64));
}

TEST(GpuDevice, TheCatalogueKnowsItsCaches) {
  // The driver states the 4 MiB of one of eight parts, and says nothing about the Infinity Cache.
  GpuModel mi300x = model_of(hardware::load_gpu(Catalog::embedded(), "mi300x").value());
  mi300x.stated_l2 = 4 << 20;
  const auto device = open(mi300x);
  ASSERT_EQ(device->description().caches.size(), 3u);
  EXPECT_EQ(device->description().caches[1].capacity, 32_MiB);
  EXPECT_EQ(device->description().caches[2].capacity, 256_MiB);
  EXPECT_EQ(device->description().isa, "gfx942");
}

TEST(GpuDevice, StatesALimitOfEveryFormat) {
  const auto device = open(small_gpu());
  const UnitLimits& limits = device->description().limits;
  for (const Capability& c : device->capabilities()) {
    if (c.pattern != Pattern::Update && !is_product(c.pattern)) continue;
    EXPECT_TRUE(limits.flops.contains({.dtype = c.dtype, .pipe = c.pipe})) << name_of(c.dtype);
  }
  // 4 SMs of compute capability 8.9: 128 lanes x 2 FLOP; no table has BF16 vectors.
  EXPECT_EQ(limits.flops.at({.dtype = DType::Fp32}),
            (FlopLimit{.value = FlopsPerCycle::from_base(4 * 256), .exact = true}));
  EXPECT_EQ(limits.flops.at({.dtype = DType::Bf16}),
            (FlopLimit{.value = FlopsPerCycle::from_base(4 * 1024), .exact = false}));
  EXPECT_DOUBLE_EQ(limits.load.base(), 4 * 128);
}

TEST(GpuDevice, AnAmdFamilyIsNoComputeCapability) {
  GpuModel m = small_gpu();
  m.vendor = "hip", m.isa = "gfx90a";
  m.major = 9, m.minor = 0;  // gfx906 to gfx90a: not NVIDIA's 9.0
  const DeviceDescription d = open(m)->description();
  EXPECT_FALSE(d.limits.flops.at({.dtype = DType::Fp32}).exact);
  EXPECT_EQ(d.caches[0].capacity, 64_KiB);  // 4 x 16 KiB
}

TEST(GpuDevice, KernelsThatDoNothingAreAnError) {
  GpuModel m = small_gpu();
  m.does_nothing = true;
  m.launch = 0;
  const auto device = open(m);
  const auto result = characterize(*device, quick({DType::Fp32, DType::Fp16}, {}, 1_MiB));
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::BadInput);
}

TEST(GpuDevice, MeasuresL1WithItsOwnKernel) {
  const auto device = open(small_gpu());
  const auto work = device->prepare(a_case(Pattern::LoadL1, DType::Fp32, 256_KiB));
  ASSERT_TRUE(work.has_value());
  EXPECT_EQ(work->bytes, 4.0 * 128_KiB);  // eight loads of 1024 threads
  ASSERT_TRUE(device->run(3).has_value());
  EXPECT_EQ(driver_log().launches.at("l1_load"), 1);
  EXPECT_EQ(driver_log().grid, 4u);  // one block per multiprocessor
  EXPECT_EQ(driver_log().n, 64u * 1024 / 16);
  ASSERT_TRUE(device->prepare(a_case(Pattern::Load, DType::Fp32, 256_KiB)).has_value());
  ASSERT_TRUE(device->run(3).has_value());
  EXPECT_EQ(driver_log().launches.at("stream_load"), 1);
}

TEST(GpuDevice, CountsFlopsOfUpdatesAndProducts) {
  const auto device = open(small_gpu());
  const auto update = device->prepare(a_case(Pattern::Update, DType::Fp16, 1_MiB, 64));
  ASSERT_TRUE(update.has_value());
  EXPECT_EQ(update->bytes, 2_MiB);
  EXPECT_DOUBLE_EQ(update->flops.base(), 1024.0 * 1024 / 2 * 64);
  ASSERT_TRUE(device->run(1).has_value());
  EXPECT_EQ(driver_log().links, 32u);  // 64 FLOP per element are 32 multiply-adds per pair
  EXPECT_EQ(driver_log().n, 1024u * 1024 / 16);
  const auto mma = device->prepare(a_case(Pattern::Mma, DType::Fp16));
  ASSERT_TRUE(mma.has_value());
  // 8 blocks x 8 warps x 32 products x 2 x 16 x 8 x 16
  EXPECT_DOUBLE_EQ(mma->flops.base(), 8.0 * 8 * 32 * 4096);
}

TEST(GpuDevice, ReleasesItsMemory) {
  {
    const auto device = open(small_gpu());
    ASSERT_TRUE(device->prepare(a_case(Pattern::Copy, DType::Fp32, 1_MiB)).has_value());
    EXPECT_EQ(driver_log().buffers, 2u);
  }
  EXPECT_EQ(driver_log().buffers, 0u);
}

TEST(GpuDevice, SaysWhatIsMissing) {
  GpuModel m = small_gpu();
  const auto missing = [&](std::string_view image, std::int64_t index = 0) {
    return make_gpu_device(model_driver(m), image, index, Catalog::embedded()).error();
  };
  EXPECT_EQ(missing("", 7).code, ErrorCode::Usage);
  m.refuses_module = true;
  EXPECT_EQ(missing("").message, "the driver does not accept the kernels for sm_89");
  m.major = 6, m.minor = 1;
  EXPECT_EQ(missing("").message, "compute capability 6.1 is not supported");
  m.vendor = "hip";
  EXPECT_EQ(missing("").message, "this program was built without the HIP kernels");
}

TEST(GpuKernels, TheNameStatesTheProduct) {
  EXPECT_EQ(product_of("mma_fp16_m16n8k16")->flops, 2.0 * 16 * 8 * 16);
  EXPECT_EQ(product_of("mma_fp16_m8n8k4x4")->flops, 4 * 2.0 * 8 * 8 * 4);
  EXPECT_EQ(product_of("wgmma_sparse_fp8_e4m3_m64n256k64")->flops, 2.0 * 64 * 256 * 64);
  EXPECT_EQ(product_of("wgmma_fp16_m64n256k16")->threads, 128u);
  EXPECT_EQ(product_of("mfma_fp64_m16n16k4")->flops, 2.0 * 16 * 16 * 4);
  for (const char* bad :
       {"update_fp32", "mma_fp16", "mma_fp16_m16n8", "mma_fp16_mxnyk8", "mma_m"}) {
    EXPECT_FALSE(product_of(bad)) << bad;
  }
}

TEST(GpuKernels, EveryDeviceGetsItsTarget) {
  EXPECT_EQ(ptx_target({7, 0}), "sm_70");
  EXPECT_EQ(ptx_target({8, 7}), "sm_86");
  EXPECT_EQ(ptx_target({9, 0}), "sm_90a");
  EXPECT_EQ(ptx_target({10, 0}), "sm_100a");
  EXPECT_EQ(ptx_target({11, 0}), "sm_89");  // those with an "a" run nowhere else
  EXPECT_EQ(ptx_target({12, 1}), "sm_120");
  EXPECT_EQ(ptx_target({6, 1}), "");
  EXPECT_EQ(ptx_module({6, 1}), "");
}

std::size_t count(std::string_view text, std::string_view word) {
  std::size_t found = 0;
  for (std::size_t at = text.find(word); at != std::string_view::npos;
       at = text.find(word, at + 1)) {
    ++found;
  }
  return found;
}

/// The text of one kernel.
std::string kernel_text(const std::string& module, const std::string& name) {
  const std::size_t begin = module.find(".entry " + name + "(");
  return begin == std::string::npos ? ""
                                    : module.substr(begin, module.find("\n}\n", begin) - begin);
}

TEST(GpuKernels, ContainTheInstructionsTheyMeasure) {
  struct Wanted {
    ComputeCapability of;
    const char* kernel;
    const char* instruction;
    std::size_t times;
  };
  const Wanted all[] = {
      {{8, 0}, "l1_load", "ld.global.ca.v4.b32", 8},
      {{8, 0}, "stream_load", "ld.global.cg.v4.b32", 4},
      {{8, 0}, "stream_store_nt", "st.global.cs.v4.b32", 4},
      {{8, 0}, "shared_load", "ld.shared.v4.b32", 4},
      {{8, 0}, "update_fp32", "fma.rn.f32", (1 + 31 + 32) * 16},
      {{8, 0}, "update_fp16", "fma.rn.f16x2", (1 + 31 + 32) * 16},
      {{7, 0}, "mma_fp16_m8n8k4x4", "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32", 32},
      {{7, 5}, "mma_int8_m8n8k16", "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32", 32},
      {{8, 0}, "sparse_fp16_m16n8k32", "mma.sp.sync.aligned.m16n8k32", 32},
      {{8, 9}, "mma_fp8_e4m3_m16n8k32", "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", 32},
      {{9, 0}, "wgmma_fp8_e4m3_m64n256k32", "m64n256k32.f32.e4m3.e4m3", 16},
      {{9, 0},
       "wgmma_sparse_int8_m64n256k64",
       "wgmma.mma_async.sp.sync.aligned.m64n256k64.s32",
       16},
      {{10, 0}, "tcgen05_fp16_m128n256k16", "tcgen05.mma.cta_group::1.kind::f16", 16},
      {{10, 3}, "tcgen05_sparse_fp8_e4m3_m128n256k64", "tcgen05.mma.sp.cta_group::1", 16},
  };
  for (const Wanted& w : all) {
    EXPECT_EQ(count(kernel_text(ptx_module(w.of), w.kernel), w.instruction), w.times) << w.kernel;
  }
  // FP8 of one warp is emulated on Hopper, and Blackwell Ultra has no INT8.
  EXPECT_EQ(kernel_text(ptx_module({9, 0}), "mma_fp8_e4m3_m16n8k32"), "");
  EXPECT_EQ(kernel_text(ptx_module({10, 3}), "tcgen05_int8_m128n256k32"), "");
}

/// Every vector of the arrays is accessed exactly as often as it is counted, by all threads.
TEST(GpuKernels, TouchEveryVectorOnce) {
  const std::string module = ptx_module({8, 0});
  constexpr unsigned kBlocks = 3, kChunks = 6, kVectorsAll = kChunks * kThreads * kVectors;
  for (const bool hip : {false, true}) {
    double bytes = 0;
    std::uint64_t lowest = ~std::uint64_t{0}, highest = 0;
    std::map<std::uint64_t, int> begins;
    for (unsigned t = 0; t < kBlocks * kThreads; ++t) {
      ThreadLaunch launch{.thread = t % kThreads,
                          .block = t / kThreads,
                          .blocks = kBlocks,
                          .threads = kThreads,
                          .arrays = {1 << 20, 0, 0},
                          .n = kVectorsAll,
                          .passes = 2,
                          .links = 0,
                          .read64 = {},
                          .write64 = {}};
      const KernelWork work =
          hip ? run_hip("stream_load", launch) : run_ptx(module, "stream_load", launch);
      bytes += work.past_l1;
      lowest = std::min(lowest, work.lowest);
      highest = std::max(highest, work.highest);
      ++begins[work.lowest];
    }
    EXPECT_DOUBLE_EQ(bytes, 2.0 * kVectorsAll * kVector);
    EXPECT_EQ(lowest, 1u << 20);
    EXPECT_EQ(highest, (1u << 20) + kVectorsAll * kVector);
    EXPECT_EQ(begins.size(), kBlocks * kThreads);  // no two threads begin at the same vector
  }
}

// What was wrong before, held against the executed code.
TEST(GpuKernels, KeepFourLoadsInFlight) {
  ThreadLaunch launch{.thread = 5,
                      .block = 1,
                      .blocks = 2,
                      .threads = kThreads,
                      .arrays = {1 << 20, 1 << 24, 1 << 26},
                      .n = 65536,
                      .passes = 64,
                      .links = 0,
                      .read64 = [](std::uint64_t) { return 0; },
                      .write64 = [](std::uint64_t, std::uint64_t) {}};
  const std::string module = ptx_module({9, 0});
  for (const char* kernel : {"stream_load", "stream_copy", "stream_triad", "l1_load", "shared_load",
                             "update_fp32", "update_fp64"}) {
    const KernelWork cuda = run_ptx(module, kernel, launch);
    EXPECT_GE(cuda.loads / cuda.waits, 3.8) << kernel;  // a few before the loop
  }
}

}  // namespace
}  // namespace rooftile::characterize::gpu
