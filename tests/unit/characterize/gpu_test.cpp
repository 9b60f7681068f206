// SPDX-License-Identifier: Apache-2.0
// The GPU back ends without a GPU: the host side against a fake driver, and the generated PTX.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <string>

#include "characterize/characterize.h"
#include "characterize/gpu/gpu_device.h"
#include "characterize/gpu/image.h"

namespace rooftile::characterize::gpu {
namespace {

/// A GPU of 4 multiprocessors at 2 GHz, compute capability 8.9, that takes 1 us plus what its
/// memory (64 bytes per clock) and its units (half of their peak) need. The driver interface has no
/// user data, so its state is here.
struct FakeGpu {
  std::map<DevicePointer, std::size_t> memory;
  std::map<std::string, int> launches;
  std::set<std::string> names;  ///< owns the handles of the functions
  double microseconds = 0, begin = 0, end = 0;
  std::uint32_t grid = 0, threads = 0, n = 0, passes = 0, links = 0;
  bool refuse_module = false;
  bool does_nothing = false;      ///< kernels return at once
  std::set<std::string> missing;  ///< kernels that the image does not have
  int major = 8, minor = 9;
} fake;

GpuApi fake_api() {
  GpuApi api;
  api.vendor = "cuda";
  api.attributes = {.units = 1,
                    .threads_per_unit = 2,
                    .l2_bytes = 3,
                    .clock_khz = 4,
                    .major = 5,
                    .minor = 6,
                    .warp_size = 7};
  api.init = [](unsigned) { return 0; };
  api.driver_version = [](int* v) { return *v = 13000, 0; };
  api.device_count = [](int* n) { return *n = 1, 0; };
  api.device_name = [](char* name, int, int) { return std::strcpy(name, "Fake L4"), 0; };
  api.device_attribute = [](int* value, int number, int) {
    const std::map<int, int> facts{{1, 4},          {2, 1536},       {3, 4 << 20}, {4, 2000000},
                                   {5, fake.major}, {6, fake.minor}, {7, 32}};
    return *value = facts.at(number), 0;
  };
  api.total_memory = [](std::size_t* bytes, int) { return *bytes = std::size_t{1} << 30, 0; };
  api.retain_context = [](Handle* context, int) { return *context = &fake, 0; };
  api.set_context = [](Handle context) { return context == &fake ? 0 : 1; };
  api.load_module = [](Handle* module, const void*) {
    return *module = &fake, fake.refuse_module ? 200 : 0;
  };
  api.find_function = [](Handle* function, Handle, const char* name) {
    if (fake.missing.contains(name)) return 500;
    *function = const_cast<std::string*>(&*fake.names.insert(name).first);
    return 0;
  };
  api.allocate = [](DevicePointer* pointer, std::size_t bytes) {
    *pointer = 0x1000 * (fake.memory.size() + 1);
    while (fake.memory.contains(*pointer)) *pointer += 0x1000;
    fake.memory[*pointer] = bytes;
    return 0;
  };
  api.release = [](DevicePointer pointer) { return fake.memory.erase(pointer) == 1 ? 0 : 1; };
  api.fill32 = [](DevicePointer pointer, unsigned, std::size_t words) {
    return fake.memory.at(pointer) == words * 4 ? 0 : 1;
  };
  api.copy_in = [](DevicePointer pointer, const void*, std::size_t bytes) {
    return fake.memory.at(pointer) >= bytes ? 0 : 1;
  };
  api.copy_out = [](void* out, DevicePointer, std::size_t) {
    const std::uint64_t counters[2] = {2000, 1000};  // 2 cycles per nanosecond
    return std::memcpy(out, counters, sizeof(counters)), 0;
  };
  api.launch = [](Handle function, unsigned grid, unsigned, unsigned, unsigned threads, unsigned,
                  unsigned, unsigned, Handle, void** arguments, void**) {
    ++fake.launches[*static_cast<std::string*>(function)];
    fake.grid = grid;
    fake.threads = threads;
    fake.n = *static_cast<std::uint32_t*>(arguments[3]);
    fake.passes = *static_cast<std::uint32_t*>(arguments[4]);
    fake.links = *static_cast<std::uint32_t*>(arguments[5]);
    if (fake.does_nothing) return 0;
    const std::string& name = *static_cast<std::string*>(function);
    double cycles = std::max(fake.n * 16.0 * 3 / 64, fake.n * 2.0 * fake.links / (4 * 2));
    if (const auto flops = product_flops(name)) cycles = 8.0 * grid * threads / 32 * *flops / 2048;
    if (name == "shared_load") cycles = grid * threads * 16.0 * 8 / 256;
    fake.microseconds += 1.0 + std::max(cycles, 100.0) / 2000 * fake.passes;
    return 0;
  };
  api.create_event = [](Handle* event, unsigned) {
    static int made = 0;
    return *event = made++ % 2 == 0 ? &fake.begin : &fake.end, 0;
  };
  api.record_event = [](Handle event, Handle) {
    return *static_cast<double*>(event) = fake.microseconds, 0;
  };
  api.wait_event = [](Handle) { return 0; };
  api.event_time = [](float* ms, Handle begin, Handle end) {
    *ms = static_cast<float>((*static_cast<double*>(end) - *static_cast<double*>(begin)) * 1e-3);
    return 0;
  };
  api.synchronize = [] { return 0; };
  return api;
}

class GpuTest : public ::testing::Test {
 protected:
  void SetUp() override { fake = {}; }
  static std::unique_ptr<Device> open() {
    auto device = make_gpu_device(fake_api(), "an image", 0, Catalog::embedded());
    EXPECT_TRUE(device.has_value()) << to_string(device.error());
    return device ? *std::move(device) : nullptr;
  }
};

TEST_F(GpuTest, DescribesTheDevice) {
  const auto device = open();
  const DeviceDescription& d = device->description();
  EXPECT_EQ(d.name, "Fake L4");
  EXPECT_EQ(d.isa, "8.9");
  EXPECT_EQ(d.units, 4);
  ASSERT_EQ(d.caches.size(), 2u);
  EXPECT_EQ(d.caches[0].capacity, 512_KiB);  // 4 x 128 KiB
  EXPECT_EQ(d.caches[1].capacity, 4_MiB);
  EXPECT_NEAR(device->observe_clock()->base(), 2e9, 1);
}

TEST_F(GpuTest, OffersTheFormatsOfTheArchitecture) {
  const auto has = [](const Device& device, Pattern pattern, DType dtype) {
    for (const Capability& c : device.capabilities()) {
      if (c.pattern == pattern && c.dtype == dtype) return true;
    }
    return false;
  };
  EXPECT_TRUE(has(*open(), Pattern::Mma, DType::Fp8E4m3));
  fake.missing = {"mma_fp8_e4m3_m16n8k32", "mma_fp8_e4m3_m32n32k16", "update_bf16"};
  EXPECT_FALSE(has(*open(), Pattern::Mma, DType::Fp8E4m3));
  EXPECT_FALSE(has(*open(), Pattern::Update, DType::Bf16));
  EXPECT_TRUE(has(*open(), Pattern::Mma, DType::Tf32));
}

TEST_F(GpuTest, CountsTheProductThatTheImageHas) {
  fake.missing = {"mma_fp16_m16n8k16"};  // as built for Turing
  const auto device = open();
  const auto mma = device->prepare({.pattern = Pattern::Mma,
                                    .dtype = DType::Fp16,
                                    .pipe = hardware::Pipe::Tensor,
                                    .working_set = {},
                                    .flops_per_element = 0});
  ASSERT_TRUE(mma.has_value());
  EXPECT_DOUBLE_EQ(mma->flops.base(), 24.0 * 8 * 8 * 2048);  // m16n8k8
}

TEST_F(GpuTest, StatesALimitOfEveryFormat) {
  const auto device = open();
  const UnitLimits& limits = device->description().limits;
  for (const Capability& c : device->capabilities()) {
    if (c.pattern != Pattern::Update && c.pattern != Pattern::Mma) continue;
    EXPECT_TRUE(limits.flops.contains({.dtype = c.dtype, .pipe = c.pipe})) << name_of(c.dtype);
  }
  // 4 SMs of compute capability 8.9: 128 lanes x 2 FLOP; no table has BF16 vectors.
  EXPECT_EQ(limits.flops.at({.dtype = DType::Fp32}),
            (FlopLimit{.value = FlopsPerCycle::from_base(4 * 256), .exact = true}));
  EXPECT_EQ(limits.flops.at({.dtype = DType::Bf16}),
            (FlopLimit{.value = FlopsPerCycle::from_base(4 * 1024), .exact = false}));
  EXPECT_DOUBLE_EQ(limits.load.base(), 4 * 128);
}

TEST_F(GpuTest, AnAmdFamilyIsNoComputeCapability) {
  fake.major = 9, fake.minor = 0;  // gfx906 to gfx90a: not NVIDIA's 9.0
  GpuApi api = fake_api();
  api.vendor = "hip";
  const auto device = make_gpu_device(api, "an image", 0, Catalog::embedded());
  ASSERT_TRUE(device) << to_string(device.error());
  const DeviceDescription& d = (*device)->description();
  EXPECT_FALSE(d.limits.flops.at({.dtype = DType::Fp32}).exact);
  EXPECT_EQ(d.caches[0].capacity, 64_KiB);  // 4 x 16 KiB
}

TEST_F(GpuTest, KernelsThatDoNothingAreAnError) {
  fake.does_nothing = true;
  const auto device = open();
  const auto result = characterize(*device, {.plan = {.effort = Effort::Quick,
                                                      .dtypes = {DType::Fp32, DType::Fp16},
                                                      .patterns = {},
                                                      .dense_update = false,
                                                      .max_working_set = 1_MiB},
                                             .sweep = {}});
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::BadInput);
}

TEST_F(GpuTest, MeasuresL1WithItsOwnKernel) {
  const auto device = open();
  const auto small = device->prepare({.pattern = Pattern::Load,
                                      .dtype = DType::Fp32,
                                      .pipe = {},
                                      .working_set = 256_KiB,
                                      .flops_per_element = 0});
  ASSERT_TRUE(small.has_value());
  EXPECT_EQ(small->bytes, 256_KiB);
  ASSERT_TRUE(device->run(3).has_value());
  EXPECT_EQ(fake.launches["l1_load"], 1);
  EXPECT_EQ(fake.grid, 4u);  // one block per multiprocessor
  EXPECT_EQ(fake.n, 256u * 1024 / 16);
  ASSERT_TRUE(device
                  ->prepare({.pattern = Pattern::Load,
                             .dtype = DType::Fp32,
                             .pipe = {},
                             .working_set = 2_MiB,
                             .flops_per_element = 0})
                  .has_value());
  ASSERT_TRUE(device->run(3).has_value());
  EXPECT_EQ(fake.launches["stream_load"], 1);
}

TEST_F(GpuTest, CountsFlopsOfUpdatesAndProducts) {
  const auto device = open();
  const auto update = device->prepare({.pattern = Pattern::Update,
                                       .dtype = DType::Fp16,
                                       .pipe = {},
                                       .working_set = 1_MiB,
                                       .flops_per_element = 64});
  ASSERT_TRUE(update.has_value());
  // Steps of 4 x 6 blocks x 256 threads x 4 bytes x 8 chains = 192 KiB: 5 of them fit into 1 MiB.
  EXPECT_EQ(update->bytes, 1920_KiB);
  EXPECT_DOUBLE_EQ(update->flops.base(), 960.0 * 1024 / 2 * 64);
  ASSERT_TRUE(device->run(1).has_value());
  EXPECT_EQ(fake.links, 32u);          // 64 FLOP per element are 32 multiply-adds per pair
  EXPECT_EQ(fake.n, 960u * 1024 / 4);  // a pair per thread
  const auto mma = device->prepare({.pattern = Pattern::Mma,
                                    .dtype = DType::Fp16,
                                    .pipe = hardware::Pipe::Tensor,
                                    .working_set = {},
                                    .flops_per_element = 0});
  ASSERT_TRUE(mma.has_value());
  // 24 blocks x 8 warps x 8 products x 2 x 16 x 8 x 16
  EXPECT_DOUBLE_EQ(mma->flops.base(), 24.0 * 8 * 8 * 4096);
}

TEST_F(GpuTest, ReleasesItsMemory) {
  {
    const auto device = open();
    ASSERT_TRUE(device
                    ->prepare({.pattern = Pattern::Copy,
                               .dtype = DType::Fp32,
                               .pipe = {},
                               .working_set = 1_MiB,
                               .flops_per_element = 0})
                    .has_value());
    EXPECT_EQ(fake.memory.size(), 2u);
  }
  EXPECT_TRUE(fake.memory.empty());
}

TEST_F(GpuTest, RunsTheWholeCharacterization) {
  const auto device = open();
  const auto result = characterize(*device, {.plan = {.effort = Effort::Quick,
                                                      .dtypes = {DType::Fp16, DType::Fp32},
                                                      .patterns = {},
                                                      .dense_update = false,
                                                      .max_working_set = 16_MiB},
                                             .sweep = {}});
  ASSERT_TRUE(result.has_value()) << to_string(result.error());
  const auto ceilings = to_ceilings(result->own, "test");
  EXPECT_TRUE(ceilings.rate.contains({.dtype = DType::Fp16, .pipe = hardware::Pipe::Tensor}));
  EXPECT_TRUE(ceilings.rate.contains({.dtype = DType::Fp32, .pipe = hardware::Pipe::Vector}));
  EXPECT_TRUE(ceilings.bandwidth.contains(hardware::MemoryLevel::L1));
  EXPECT_TRUE(ceilings.bandwidth.contains(hardware::MemoryLevel::Dram));
  EXPECT_TRUE(ceilings.shared.has_value());
}

TEST_F(GpuTest, SaysWhatIsMissing) {
  const auto no_image = make_gpu_device(fake_api(), "", 0, Catalog::embedded());
  ASSERT_FALSE(no_image.has_value());
  EXPECT_NE(no_image.error().message.find("without the GPU kernels"), std::string::npos);
  EXPECT_EQ(make_gpu_device(fake_api(), "x", 1, Catalog::embedded()).error().code,
            ErrorCode::Usage);
  fake.refuse_module = true;
  EXPECT_EQ(make_gpu_device(fake_api(), "x", 0, Catalog::embedded()).error().message,
            "the driver does not accept the kernels");
}

TEST(GpuKernels, TheNameStatesTheProduct) {
  EXPECT_EQ(product_flops("mma_fp16_m16n8k16"), 2.0 * 16 * 8 * 16);
  EXPECT_EQ(product_flops("mma_fp8_e4m3_m32n32k16"), 2.0 * 32 * 32 * 16);
  EXPECT_EQ(product_flops("mma_fp64_m16n16k4"), 2.0 * 16 * 16 * 4);
  for (const char* bad :
       {"update_fp32", "mma_fp16", "mma_fp16_m16n8", "mma_fp16_mxnyk8", "mma_m"}) {
    EXPECT_FALSE(product_flops(bad)) << bad;
  }
}

/// The text of one kernel in the PTX.
std::string_view ptx_of(std::string_view kernel) {
  const std::string_view ptx = cuda_ptx();
  const std::size_t begin = ptx.find(".entry " + std::string(kernel) + "(");
  if (begin == std::string_view::npos) return {};
  return ptx.substr(begin, ptx.find(".entry", begin + 6) - begin);
}

std::size_t count(std::string_view text, std::string_view word) {
  std::size_t found = 0;
  for (std::size_t at = text.find(word); at != std::string_view::npos;
       at = text.find(word, at + 1)) {
    ++found;
  }
  return found;
}

TEST(GpuKernels, ContainTheInstructionsTheyMeasure) {
  if (cuda_ptx().empty()) GTEST_SKIP() << "built without nvcc";
  const std::map<std::string, std::string> wanted{
      {"l1_load", "ld.global.ca.v4.f32"},
      {"stream_load", "ld.global.cg.v4.f32"},
      {"shared_load", "ld.shared.v4.f32"},
      {"update_fp64", "fma.rn.f64"},
      {"update_fp32", "fma.rn.f32"},
      {"update_fp16", "fma.rn.f16x2"},
      {"update_bf16", "fma.rn.bf16x2"},
      {"mma_fp16_m16n8k16", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"},
      {"mma_bf16_m16n8k16", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"},
      {"mma_tf32_m16n8k8", "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"},
      {"mma_int8_m16n8k32", "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"},
      {"mma_fp8_e4m3_m16n8k32", "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32"},
      {"mma_fp64_m8n8k4", "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64"}};
  for (const auto& [kernel, instruction] : wanted) {
    EXPECT_GE(count(ptx_of(kernel), instruction), 4u) << kernel;
  }
}

TEST(GpuKernels, MeasureNothingElse) {
  if (cuda_ptx().empty()) GTEST_SKIP() << "built without nvcc";
  EXPECT_EQ(count(ptx_of("l1_load"), "ld.global.cg"), 0u);
  EXPECT_EQ(count(ptx_of("stream_load"), "ld.global.ca"), 0u);
  // The products run on registers: two loads before the loop and no store inside of it.
  EXPECT_LE(count(ptx_of("mma_fp16_m16n8k16"), "ld.global"), 2u);
  EXPECT_LE(count(ptx_of("mma_fp16_m16n8k16"), "st.global"), 1u);
  EXPECT_EQ(ptx_of("update_fp32").find(".local"), std::string_view::npos);
}

TEST(GpuKernels, TheImageHasMachineCode) {
  if (cuda_image().empty()) GTEST_SKIP() << "built without nvcc";
  // A fat binary begins with its magic number, 0xba55ed50.
  ASSERT_GT(cuda_image().size(), 16u);
  EXPECT_EQ(cuda_image().substr(0, 4), std::string_view("\x50\xed\x55\xba", 4));
}

}  // namespace
}  // namespace rooftile::characterize::gpu
