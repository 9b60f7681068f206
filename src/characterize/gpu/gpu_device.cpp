// SPDX-License-Identifier: Apache-2.0
#include "characterize/gpu/gpu_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "characterize/gpu/image.h"
#include "core/text.h"
#include "hardware/architecture.h"

namespace rooftile::characterize::gpu {

namespace {

using hardware::Pipe;

constexpr std::int64_t kChains = 8;          // of the update kernels
constexpr std::int64_t kThreads = 256;       // per block of the streaming kernels
constexpr std::int64_t kL1Threads = 1024;    // one block per multiprocessor
constexpr std::int64_t kVector = 16;         // bytes per thread and access
constexpr std::int64_t kSharedElements = 8;  // vectors that one thread reads per pass
constexpr std::int64_t kChaseSteps = 4096;

constexpr Bytes kUsualL1 = 128_KiB;  // where the architecture states none

struct KernelName {
  Pattern pattern;
  DType dtype;
  Pipe pipe;
  const char* name;
};
constexpr std::array kKernels{
    KernelName{Pattern::Load, DType::Fp32, Pipe::Vector, "stream_load"},
    KernelName{Pattern::Store, DType::Fp32, Pipe::Vector, "stream_store"},
    KernelName{Pattern::Copy, DType::Fp32, Pipe::Vector, "stream_copy"},
    KernelName{Pattern::Triad, DType::Fp64, Pipe::Vector, "stream_triad"},
    KernelName{Pattern::Update, DType::Fp64, Pipe::Vector, "update_fp64"},
    KernelName{Pattern::Update, DType::Fp32, Pipe::Vector, "update_fp32"},
    KernelName{Pattern::Update, DType::Fp16, Pipe::Vector, "update_fp16"},
    KernelName{Pattern::Update, DType::Bf16, Pipe::Vector, "update_bf16"},
    KernelName{Pattern::Shared, DType::Fp32, Pipe::Vector, "shared_load"},
    KernelName{Pattern::Chase, DType::Int32, Pipe::Vector, "chase"},
    KernelName{Pattern::Launch, DType::Int32, Pipe::Vector, "empty"},
    KernelName{Pattern::Mma, DType::Fp64, Pipe::Tensor, "mma_fp64_m8n8k4"},
    KernelName{Pattern::Mma, DType::Fp64, Pipe::Tensor, "mma_fp64_m16n16k4"},
    KernelName{Pattern::Mma, DType::Fp32, Pipe::Tensor, "mma_fp32_m32n32k2"},
    KernelName{Pattern::Mma, DType::Tf32, Pipe::Tensor, "mma_tf32_m16n8k8"},
    KernelName{Pattern::Mma, DType::Fp16, Pipe::Tensor, "mma_fp16_m16n8k16"},
    KernelName{Pattern::Mma, DType::Fp16, Pipe::Tensor, "mma_fp16_m16n8k8"},
    KernelName{Pattern::Mma, DType::Fp16, Pipe::Tensor, "mma_fp16_m32n32k8"},
    KernelName{Pattern::Mma, DType::Bf16, Pipe::Tensor, "mma_bf16_m16n8k16"},
    KernelName{Pattern::Mma, DType::Bf16, Pipe::Tensor, "mma_bf16_m32n32k8"},
    KernelName{Pattern::Mma, DType::Int8, Pipe::Tensor, "mma_int8_m16n8k32"},
    KernelName{Pattern::Mma, DType::Int8, Pipe::Tensor, "mma_int8_m8n8k16"},
    KernelName{Pattern::Mma, DType::Int8, Pipe::Tensor, "mma_int8_m32n32k16"},
    KernelName{Pattern::Mma, DType::Int8, Pipe::Tensor, "mma_int8_m32n32k8"},
    KernelName{Pattern::Mma, DType::Fp8E4m3, Pipe::Tensor, "mma_fp8_e4m3_m16n8k32"},
    KernelName{Pattern::Mma, DType::Fp8E4m3, Pipe::Tensor, "mma_fp8_e4m3_m32n32k16"}};

/// Bytes that a multiprocessor moves per clock, in either direction: 128 on NVIDIA (one line), 256
/// at most on AMD (the local data share of CDNA 4; L1: 64 to 128).
double widest_path(const std::string& vendor) {
  return vendor == "cuda" ? 128.0 : 256.0;
}

/// What one launch of a prepared case looks like; passes and links follow.
struct Shape {
  Handle function = nullptr;
  std::int64_t grid = 1, threads = 1;
  std::uint32_t n = 0, links = 0;
};

class GpuDevice final : public Device {
 public:
  GpuDevice(const GpuApi& api, int index) : api_(api), index_(index) {}
  ~GpuDevice() override { release_buffers(); }
  GpuDevice(const GpuDevice&) = delete;
  GpuDevice& operator=(const GpuDevice&) = delete;

  Status open(std::string_view image, const Catalog& catalog) {
    ROOFTILE_TRY(architectures_, hardware::list_architectures(catalog));
    if (api_.set_device != nullptr) {
      ROOFTILE_CHECK(done(api_.set_device(index_), "choosing the device"));
    } else {
      Handle context = nullptr;
      ROOFTILE_CHECK(done(api_.retain_context(&context, index_), "creating a context"));
      ROOFTILE_CHECK(done(api_.set_context(context), "choosing the context"));
    }
    ROOFTILE_CHECK(describe(catalog));
    Handle module = nullptr;
    if (api_.load_module(&module, image.data()) != 0) {
      return unsupported(where(), "the driver does not accept the kernels",
                         "they are built for compute capability 7.5 and newer; is the driver "
                         "older than the toolkit of this build?");
    }
    for (const KernelName& k : kKernels) {
      Handle function = nullptr;
      if (api_.find_function(&function, module, k.name) == 0) functions_[k.name] = function;
    }
    for (const char* name : {"l1_load", "observe_clock"}) {
      ROOFTILE_CHECK(done(api_.find_function(&functions_[name], module, name), name));
    }
    state_limits();
    ROOFTILE_CHECK(done(api_.create_event(&begin_, 0), "creating an event"));
    return done(api_.create_event(&end_, 0), "creating an event");
  }

 private:
  [[nodiscard]] const DeviceDescription& do_description() const override { return description_; }

  [[nodiscard]] std::vector<Capability> do_capabilities() const override {
    std::vector<Capability> out;
    for (const KernelName& k : kKernels) {
      const Capability c{.pattern = k.pattern, .dtype = k.dtype, .pipe = k.pipe};
      const bool is_new = std::find(out.begin(), out.end(), c) == out.end();
      if (is_new && functions_.contains(k.name)) out.push_back(c);
    }
    return out;
  }

  /// The first kernel of the table that the image has; null: none.
  [[nodiscard]] const KernelName* find_kernel(const Case& what) const {
    const auto* const found =
        std::find_if(kKernels.begin(), kKernels.end(), [&](const KernelName& k) {
          return k.pattern == what.pattern && k.dtype == what.dtype && k.pipe == what.pipe &&
                 functions_.contains(k.name);
        });
    return found == kKernels.end() ? nullptr : found;
  }

  /// FLOP per clock from the files of the architectures; of AMD's the driver tells only the family.
  void state_limits() {
    UnitLimits& limits = description_.limits;
    const auto units = static_cast<double>(description_.units);
    limits.load = limits.store = limits.shared =
        BytesPerCycle::from_base(widest_path(api_.vendor) * units);
    for (const Capability& c : do_capabilities()) {
      if (c.pattern != Pattern::Update && c.pattern != Pattern::Mma) continue;
      const hardware::RateKey key{.dtype = c.dtype, .pipe = c.pipe};
      const auto known = hardware::flop_per_clock(architectures_, isa_name(), key);
      // Floating-point products with FP32 accumulators run at half the rate on GeForce parts.
      const bool may_be_half = c.pipe == Pipe::Tensor && c.dtype != DType::Int8 &&
                               description_.name.find("GeForce") != std::string::npos;
      limits.flops[key] = {
          .value = FlopsPerCycle::from_base(
              known.value_or(hardware::widest_flop_per_clock(architectures_, key)) * units),
          .exact = known.has_value() && !may_be_half};
    }
  }

  [[nodiscard]] std::string where() const {
    return fmt::format("{}:{}", api_.vendor, description_.name);
  }
  [[nodiscard]] Status done(int code, const char* what) const {
    if (code == 0) return {};
    return unsupported(where(), fmt::format("{} failed with driver error {}", what, code));
  }

  Result<int> attribute(int number) const {
    int value = 0;
    ROOFTILE_CHECK(done(api_.device_attribute(&value, number, index_), "asking for an attribute"));
    return value;
  }

  /// The gfx name of an AMD chip as far as the driver tells it; NVIDIA's compute capability.
  [[nodiscard]] std::string isa_name() const {
    return api_.vendor == "hip" ? fmt::format("gfx{}{:x}", major_, minor_) : description_.isa;
  }

  Status describe(const Catalog& catalog) {
    std::array<char, 256> name{};
    ROOFTILE_CHECK(done(api_.device_name(name.data(), name.size() - 1, index_), "asking the name"));
    description_.backend = api_.vendor;
    description_.name = name.data();
    ROOFTILE_TRY(const int units, attribute(api_.attributes.units));
    ROOFTILE_TRY(const int threads, attribute(api_.attributes.threads_per_unit));
    ROOFTILE_TRY(const int l2, attribute(api_.attributes.l2_bytes));
    ROOFTILE_TRY(const int clock, attribute(api_.attributes.clock_khz));
    ROOFTILE_TRY(major_, attribute(api_.attributes.major));
    ROOFTILE_TRY(minor_, attribute(api_.attributes.minor));
    ROOFTILE_TRY(warp_, attribute(api_.attributes.warp_size));
    if (units < 1 || threads < kThreads || warp_ < 1) {
      return unsupported(where(), "the driver describes a device without multiprocessors");
    }
    int version = 0;
    if (api_.driver_version(&version) == 0) description_.driver = fmt::format("{}", version);
    description_.isa = fmt::format("{}.{}", major_, minor_);
    description_.units = units;
    description_.workers = std::int64_t{units} * threads;
    resident_blocks_ = threads / kThreads;
    ROOFTILE_TRY(const auto arch, hardware::nearest_architecture(catalog, isa_name()));
    const Bytes l1 = arch ? arch->memory.l1.value_or(kUsualL1) : kUsualL1;
    description_.caches.push_back({.name = "L1",
                                   .capacity = l1 * static_cast<double>(units),
                                   .instances = units,
                                   .line = {}});
    if (l2 > 0) {
      description_.caches.push_back(
          {.name = "L2", .capacity = Bytes::from_base(l2), .instances = 1, .line = {}});
    }
    if (clock > 0) description_.max_clock = Hertz::from_base(clock * 1e3);
    std::size_t memory = 0;
    if (api_.total_memory(&memory, index_) == 0) {
      description_.memory = Bytes::from_base(static_cast<double>(memory));
    }
    // One pass of the block of a multiprocessor.
    description_.set_granule = Bytes::from_base(static_cast<double>(kL1Threads * kVector));
    description_.notes.emplace_back("L1 size as the architecture has it");
    if (api_.vendor == "cuda" && (major_ == 9 || major_ == 10)) {
      description_.notes.emplace_back(
          "tensor rates are those of mma.sync, below what wgmma or tcgen05 reach on this part");
    }
    return {};
  }

  Result<PassWork> do_prepare(const Case& what) override {
    const KernelName* kernel = find_kernel(what);
    if (kernel == nullptr) {
      return unsupported(where(), "no kernel for " + characterize::describe(what));
    }
    what_ = what;
    shape_ = {.function = functions_.at(kernel->name),
              .grid = description_.units * resident_blocks_,
              .threads = kThreads,
              .n = 0,
              .links = 0};
    if (what.pattern == Pattern::Mma) return prepare_mma(product_flops(kernel->name).value());
    if (what.pattern == Pattern::Chase) return prepare_chase();
    if (what.pattern == Pattern::Launch) {
      shape_.grid = shape_.threads = 1;
      ROOFTILE_CHECK(allocate(1, kVector));
      return PassWork{.bytes = {}, .flops = {}, .steps = 1};
    }
    if (what.pattern == Pattern::Shared) return prepare_shared();
    return prepare_stream();
  }

  /// Loads of sets that fit into all L1 together run in the kernel that really measures L1: each
  /// multiprocessor reads its own slice, through L1.
  [[nodiscard]] bool fits_l1() const {
    return what_.pattern == Pattern::Load &&
           what_.working_set <= description_.caches.front().capacity;
  }

  Result<PassWork> prepare_stream() {
    std::int64_t unit = kVector;  // bytes of what one thread handles per step
    std::int64_t unroll = 1;
    if (fits_l1()) {
      shape_.function = functions_.at("l1_load");
      shape_.grid = description_.units;
      shape_.threads = kL1Threads;
    }
    if (what_.pattern == Pattern::Update) {
      // One thread handles one register: an element, or a pair of 16-bit ones.
      unit = std::max<std::int64_t>(static_cast<std::int64_t>(size_of(what_.dtype).base()), 4);
      unroll = kChains;
      shape_.links = static_cast<std::uint32_t>(what_.flops_per_element / 2);
    }
    const std::int64_t arrays = arrays_of(what_.pattern);
    const std::int64_t step = shape_.grid * shape_.threads * unit * unroll;
    const auto share = static_cast<std::int64_t>(what_.working_set.base()) / arrays;
    const std::int64_t bytes = std::max(share / step, std::int64_t{1}) * step;
    if (bytes / unit > std::int64_t{1} << 31) {
      return unsupported(where(), "the working set is too large for 32-bit indices",
                         "set a smaller --max-working-set");
    }
    shape_.n = static_cast<std::uint32_t>(bytes / unit);
    ROOFTILE_CHECK(allocate(arrays, bytes));
    const auto total = static_cast<double>(bytes);
    const double flops =
        what_.pattern == Pattern::Triad ? 2.0 : static_cast<double>(what_.flops_per_element);
    return PassWork{
        .bytes = Bytes::from_base(total * static_cast<double>(accesses_per_element(what_.pattern))),
        .flops = Flops::from_base(total / size_of(what_.dtype).base() * flops),
        .steps = 0};
  }

  Result<PassWork> prepare_shared() {
    ROOFTILE_CHECK(allocate(2, 16384));
    const auto bytes =
        static_cast<double>(shape_.grid * shape_.threads * kVector * kSharedElements);
    return PassWork{.bytes = Bytes::from_base(bytes), .flops = {}, .steps = 0};
  }

  Result<PassWork> prepare_mma(double each) {
    ROOFTILE_CHECK(allocate(2, 256));
    const std::int64_t products = api_.vendor == "hip" ? 4 : 8;
    const std::int64_t warps = shape_.grid * shape_.threads / warp_;
    return PassWork{.bytes = {},
                    .flops = Flops::from_base(each * static_cast<double>(products * warps)),
                    .steps = 0};
  }

  Result<PassWork> prepare_chase() {
    constexpr std::size_t kLineWords = 32;  // 128 bytes, the line of every NVIDIA L2
    const auto bytes = static_cast<std::size_t>(what_.working_set.base()) /
                       static_cast<std::size_t>(fits_one_l1() ? description_.units : 1);
    const std::size_t cells = std::max<std::size_t>(bytes / (kLineWords * 4), 2);
    std::vector<std::uint32_t> next(cells * kLineWords), order(cells);
    std::iota(order.begin(), order.end(), 0U);
    std::mt19937_64 random(1);
    for (std::size_t i = cells - 1; i > 0; --i) std::swap(order[i], order[random() % i]);
    for (std::size_t i = 0; i < cells; ++i) {
      next[order[i] * kLineWords] = order[(i + 1) % cells] * static_cast<std::uint32_t>(kLineWords);
    }
    shape_.grid = shape_.threads = 1;
    ROOFTILE_CHECK(allocate(2, static_cast<std::int64_t>(next.size() * 4)));
    ROOFTILE_CHECK(done(api_.copy_in(buffers_[0], next.data(), next.size() * 4), "copying"));
    const std::uint32_t start = 0;
    ROOFTILE_CHECK(done(api_.copy_in(buffers_[1], &start, sizeof(start)), "copying"));
    return PassWork{.bytes = {}, .flops = {}, .steps = kChaseSteps};
  }

  /// One thread sees the L1 of its own multiprocessor only, but all of L2.
  [[nodiscard]] bool fits_one_l1() const {
    return what_.working_set <= description_.caches.front().capacity;
  }

  Status allocate(std::int64_t arrays, std::int64_t bytes) {
    release_buffers();
    for (std::int64_t i = 0; i < arrays; ++i) {
      DevicePointer pointer = 0;
      if (api_.allocate(&pointer, static_cast<std::size_t>(bytes)) != 0) {
        return bad_input(where(), "not enough device memory for " + characterize::describe(what_),
                         "set a smaller --max-working-set");
      }
      buffers_.push_back(pointer);
      ROOFTILE_CHECK(fill(pointer, bytes));
    }
    return done(api_.synchronize(), "filling the arrays");
  }

  /// Ones where the update kernels need them (their fixed point), zeros elsewhere.
  Status fill(DevicePointer pointer, std::int64_t bytes) const {
    std::uint32_t word = 0;
    if (what_.pattern == Pattern::Update) {
      if (what_.dtype == DType::Fp32) word = 0x3f800000U;
      if (what_.dtype == DType::Fp16) word = 0x3c003c00U;
      if (what_.dtype == DType::Bf16) word = 0x3f803f80U;
      // 0x3ff000003ff00000 is 1.00000095 in FP64: near enough to 1, and as stable.
      if (what_.dtype == DType::Fp64) word = 0x3ff00000U;
    }
    return done(api_.fill32(pointer, word, static_cast<std::size_t>(bytes / 4)), "filling");
  }

  Status launch(const Shape& shape, std::uint32_t passes) const {
    std::array<DevicePointer, 3> arrays{};
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      arrays[i] = i < buffers_.size() ? buffers_[i] : buffers_.front();
    }
    std::uint32_t n = shape.n, links = shape.links;
    std::array<void*, 6> arguments{arrays.data(), &arrays[1], &arrays[2], &n, &passes, &links};
    return done(api_.launch(shape.function, static_cast<unsigned>(shape.grid), 1, 1,
                            static_cast<unsigned>(shape.threads), 1, 1, 0, nullptr,
                            arguments.data(), nullptr),
                "launching a kernel");
  }

  Result<Seconds> do_run(std::int64_t passes) override {
    if (what_.pattern == Pattern::Launch) return run_launches(passes);
    constexpr std::int64_t kMostPasses = std::int64_t{1} << 30;
    Seconds total;
    for (std::int64_t left = passes; left > 0; left -= kMostPasses) {
      const auto now = static_cast<std::uint32_t>(std::min(left, kMostPasses));
      ROOFTILE_CHECK(done(api_.record_event(begin_, nullptr), "recording an event"));
      ROOFTILE_CHECK(launch(shape_, now));
      ROOFTILE_CHECK(done(api_.record_event(end_, nullptr), "recording an event"));
      ROOFTILE_CHECK(done(api_.wait_event(end_), "running a kernel"));
      float milliseconds = 0;
      ROOFTILE_CHECK(done(api_.event_time(&milliseconds, begin_, end_), "timing"));
      total += from_ms(milliseconds);
    }
    return max(total, Seconds::from_base(1e-9));
  }

  /// What a launch costs the host when the queue is full: launches in a row, waited for once.
  Result<Seconds> run_launches(std::int64_t passes) {
    const auto begin = std::chrono::steady_clock::now();
    for (std::int64_t i = 0; i < passes; ++i) ROOFTILE_CHECK(launch(shape_, 1));
    ROOFTILE_CHECK(done(api_.synchronize(), "running empty kernels"));
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    return max(Seconds::from_base(time.count()), Seconds::from_base(1e-9));
  }

  std::optional<Hertz> do_observe_clock() override {
    what_ = {};
    if (!allocate(1, 64)) return std::nullopt;
    const Shape shape{.function = functions_.at("observe_clock"),
                      .grid = description_.units,
                      .threads = 32,
                      .n = 0,
                      .links = 0};
    std::array<std::uint64_t, 2> counters{};
    if (!launch(shape, 100) || api_.synchronize() != 0 ||
        api_.copy_out(counters.data(), buffers_[0], sizeof(counters)) != 0 || counters[1] == 0) {
      return std::nullopt;
    }
    return Cycles::from_base(static_cast<double>(counters[0])) /
           Seconds::from_base(static_cast<double>(counters[1]) * 1e-9);
  }

  void release_buffers() {
    for (const DevicePointer pointer : buffers_) api_.release(pointer);
    buffers_.clear();
  }

  GpuApi api_;
  int index_;
  int major_ = 0, minor_ = 0, warp_ = 32;
  std::int64_t resident_blocks_ = 1;
  DeviceDescription description_;
  std::vector<hardware::Architecture> architectures_;
  std::map<std::string, Handle> functions_;
  std::vector<DevicePointer> buffers_;
  Handle begin_ = nullptr, end_ = nullptr;
  Case what_;
  Shape shape_;
};

}  // namespace

std::optional<double> product_flops(std::string_view kernel) {
  const std::size_t at = kernel.rfind("_m");
  if (!kernel.starts_with("mma_") || at == std::string_view::npos) return std::nullopt;
  const std::string_view shape = kernel.substr(at + 2);  // "16n8k16"
  const std::size_t n = shape.find('n'), k = shape.find('k');
  if (n == std::string_view::npos || k == std::string_view::npos || k < n) return std::nullopt;
  const auto rows = parse_int(shape.substr(0, n));
  const auto columns = parse_int(shape.substr(n + 1, k - n - 1));
  const auto depth = parse_int(shape.substr(k + 1));
  if (!rows || !columns || !depth) return std::nullopt;
  return 2.0 * static_cast<double>(*rows * *columns * *depth);
}

Result<std::unique_ptr<Device>> make_gpu_device(const GpuApi& api, std::string_view image,
                                                std::int64_t index, const Catalog& catalog) {
  if (image.empty()) {
    return unsupported(api.vendor, "this program was built without the GPU kernels",
                       "build it where nvcc (cuda) or hipcc (hip) is installed");
  }
  int count = 0;
  if (api.init(0) != 0 || api.device_count(&count) != 0 || count < 1) {
    return unsupported(api.vendor, "the driver finds no device");
  }
  if (index < 0 || index >= count) {
    return usage_error(fmt::format("there is no {} device {}", api.vendor, index),
                       fmt::format("0 to {}", count - 1));
  }
  auto device = std::make_unique<GpuDevice>(api, static_cast<int>(index));
  ROOFTILE_CHECK(device->open(image, catalog));
  return device;
}

Result<std::unique_ptr<Device>> make_cuda_device(std::int64_t index, const Catalog& catalog) {
  ROOFTILE_TRY(const GpuApi api, load_cuda_api());
  return make_gpu_device(api, cuda_image(), index, catalog);
}

Result<std::unique_ptr<Device>> make_hip_device(std::int64_t index, const Catalog& catalog) {
  ROOFTILE_TRY(const GpuApi api, load_hip_api());
  return make_gpu_device(api, hip_image(), index, catalog);
}

}  // namespace rooftile::characterize::gpu
