// SPDX-License-Identifier: Apache-2.0
#include "characterize/gpu/gpu_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "characterize/gpu/gpu_kernels.h"
#include "characterize/gpu/gpu_runtime.h"
#include "characterize/gpu/image.h"
#include "characterize/gpu/kernel_names.h"
#include "characterize/gpu/ptx.h"
#include "hardware/architecture.h"
#include "hardware/load.h"

namespace rooftile::characterize::gpu {

namespace {

using hardware::Pipe;

constexpr Bytes kUsualL1 = 128_KiB;  // where the architecture states none
constexpr std::int64_t kLine = 128;  // of every NVIDIA L2, and of AMD's since MI200

/// Bytes that a multiprocessor moves per clock, in either direction: 128 on NVIDIA (one line), 256
/// at most on AMD (the local data share of CDNA 4; L1: 64 to 128).
double widest_path(const Runtime& runtime) {
  return runtime.is_hip() ? 256.0 : 128.0;
}

/// The value at which the update kernels stay (1 in their format); bits that are a small number in
/// every format for the operands of products; zeros elsewhere.
std::uint32_t fill_word(const Case& what) {
  if (is_product(what.pattern)) return 0x38383838U;
  if (what.pattern != Pattern::Update) return 0;
  switch (what.dtype) {
    case DType::Fp32: return 0x3f800000U;
    case DType::Fp16: return 0x3c003c00U;
    case DType::Bf16: return 0x3f803f80U;
    // 0x3ff000003ff00000 is 1.00000095 in FP64: near enough to 1, and as stable.
    case DType::Fp64: return 0x3ff00000U;
    default: return 0;
  }
}

/// One cycle through all lines in random order; a line begins with the address of the next one.
std::vector<std::uint64_t> make_cycle(std::int64_t bytes, std::uint64_t base) {
  constexpr std::size_t kLineWords = kLine / 8;
  const std::size_t cells = std::max<std::size_t>(static_cast<std::size_t>(bytes / kLine), 2);
  std::vector<std::uint64_t> next(cells * kLineWords);
  std::vector<std::uint32_t> order(cells);
  std::iota(order.begin(), order.end(), 0U);
  std::mt19937_64 random(1);
  for (std::size_t i = cells - 1; i > 0; --i) std::swap(order[i], order[random() % i]);
  for (std::size_t i = 0; i < cells; ++i) {
    next[order[i] * kLineWords] = base + std::uint64_t{order[(i + 1) % cells]} * kLine;
  }
  return next;
}

class GpuDevice final : public Device {
 public:
  GpuDevice(const GpuApi& api, int index) : runtime_(api, index) {}

  Status open(std::string_view image, const Catalog& catalog) {
    ROOFTILE_TRY(architectures_, hardware::list_architectures(catalog));
    ROOFTILE_CHECK(runtime_.open());
    ROOFTILE_CHECK(describe(catalog));
    ROOFTILE_TRY(const Handle module, load(image));
    for (const KernelName& k : kernel_names()) {
      if (Handle function = runtime_.find(module, k.name)) functions_[k.name] = function;
    }
    functions_["observe_clock"] = runtime_.find(module, "observe_clock");
    if (functions_["observe_clock"] == nullptr || !functions_.contains("l1_load")) {
      return unsupported(where(), "the module lacks kernels that every device has");
    }
    runtime_.prefer_l1(functions_["l1_load"]);
    state_limits();
    return {};
  }

 private:
  [[nodiscard]] const DeviceDescription& do_description() const override { return description_; }

  Result<Handle> load(std::string_view image) {
    if (runtime_.is_hip()) {
      auto module = runtime_.load(image.data());
      if (module) return *module;
      return unsupported(where(), "the runtime does not accept the kernels",
                         "this program was built for other architectures; set "
                         "ROOFTILE_HIP_ARCHITECTURES and build it again");
    }
    const ComputeCapability capability{major_, minor_};
    const std::string text = ptx_module(capability);
    if (text.empty()) {
      return unsupported(where(), fmt::format("compute capability {} is not supported", isa_),
                         "the kernels need 7.0 (Volta) or newer; --backend opencl may work");
    }
    auto module = runtime_.load(text.c_str());
    if (module) return *module;
    return unsupported(
        where(),
        fmt::format("the driver does not accept the kernels for {}", ptx_target(capability)),
        "is it older than the device needs? A driver of CUDA 12.9 or newer knows all of them");
  }

  [[nodiscard]] std::vector<Capability> do_capabilities() const override {
    std::vector<Capability> out;
    for (const KernelName& k : kernel_names()) {
      if (!functions_.contains(k.name) || !is_reachable(k.pattern)) continue;
      Capability c{.pattern = k.pattern, .dtype = k.dtype, .pipe = k.pipe};
      if (std::find(out.begin(), out.end(), c) != out.end()) {
        if (k.pattern != Pattern::Mma) continue;
        c.pattern = Pattern::MmaSync;
        if (std::find(out.begin(), out.end(), c) != out.end()) continue;
      }
      out.push_back(c);
    }
    for (const Pattern copy :
         {Pattern::CopyIn, Pattern::CopyOut, Pattern::CopyPeer, Pattern::CopyRing}) {
      if (is_reachable(copy)) out.push_back({.pattern = copy, .dtype = DType::Int8});
    }
    return out;
  }

  /// What goes over a link needs the link.
  [[nodiscard]] bool is_reachable(Pattern pattern) const {
    const bool needs_peer = pattern == Pattern::CopyPeer || pattern == Pattern::CopyRing ||
                            pattern == Pattern::ChasePeer;
    if (needs_peer) return runtime_.ring().size() > 1;
    return runtime_.has_links() || !(is_link_copy(pattern) || pattern == Pattern::ChaseHost);
  }

  /// The first kernel of the table that the module has (mma_sync: the second); null: none.
  [[nodiscard]] const KernelName* find_kernel(const Case& what) const {
    const bool second = what.pattern == Pattern::MmaSync;
    const Pattern pattern = second ? Pattern::Mma : what.pattern;
    bool found_one = false;
    for (const KernelName& k : kernel_names()) {
      if (k.pattern != pattern || k.dtype != what.dtype || k.pipe != what.pipe) continue;
      if (!functions_.contains(k.name)) continue;
      if (!second || found_one) return &k;
      found_one = true;
    }
    return nullptr;
  }

  /// FLOP per clock from the files of the architectures; of AMD's the driver tells only the family.
  void state_limits() {
    UnitLimits& limits = description_.limits;
    const auto units = static_cast<double>(description_.units);
    limits.load = limits.store = limits.shared =
        BytesPerCycle::from_base(widest_path(runtime_) * units);
    for (const Capability& c : do_capabilities()) {
      if (c.pattern != Pattern::Update && !is_product(c.pattern)) continue;
      const hardware::RateKey key{.dtype = c.dtype, .pipe = c.pipe};
      const auto known = hardware::flop_per_clock(architectures_, isa_, key);
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
    return fmt::format("{}:{}", runtime_.vendor(), description_.name);
  }

  Status describe(const Catalog& catalog) {
    description_.backend = runtime_.vendor();
    description_.name = runtime_.name();
    const AttributeNumbers& numbers = runtime_.attributes();
    ROOFTILE_TRY(const int units, runtime_.attribute(numbers.units));
    ROOFTILE_TRY(const int threads, runtime_.attribute(numbers.threads_per_unit));
    ROOFTILE_TRY(const int l2, runtime_.attribute(numbers.l2_bytes));
    ROOFTILE_TRY(const int clock, runtime_.attribute(numbers.clock_khz));
    ROOFTILE_TRY(major_, runtime_.attribute(numbers.major));
    ROOFTILE_TRY(minor_, runtime_.attribute(numbers.minor));
    ROOFTILE_TRY(warp_, runtime_.attribute(numbers.warp_size));
    if (units < 1 || threads < static_cast<int>(kL1Threads) || warp_ < 1) {
      return unsupported(where(), "the driver describes a device without multiprocessors");
    }
    if (const auto version = runtime_.driver_version()) {
      description_.driver = std::to_string(*version);
    }
    description_.units = units;
    description_.workers = std::int64_t{units} * threads;
    description_.set_granule = Bytes::from_base(kChunk);
    if (clock > 0) description_.max_clock = Hertz::from_base(clock * 1e3);
    description_.memory = runtime_.total_memory();
    return describe_caches(catalog, Bytes::from_base(l2));
  }

  /// The gfx name of an AMD chip as far as the driver tells it; NVIDIA's compute capability. A
  /// device that the catalogue knows by name has the caches of its file.
  Status describe_caches(const Catalog& catalog, Bytes l2) {
    isa_ = runtime_.is_hip() ? fmt::format("gfx{}{:x}", major_, minor_)
                             : fmt::format("{}.{}", major_, minor_);
    ROOFTILE_TRY(const auto arch, hardware::nearest_architecture(catalog, isa_));
    Bytes l1 = arch ? arch->memory.l1.value_or(kUsualL1) : kUsualL1;
    std::optional<Bytes> last;
    if (const auto gpu = hardware::load_gpu(catalog, description_.name)) {
      // A board of several devices, or a part of one (MIG), is not what its file describes.
      if (gpu->sm.count == description_.units && gpu->devices == 1) {
        isa_ = gpu->isa;
        l1 = gpu->arch.memory.l1.value_or(l1);
        l2 = max(l2, gpu->l2.size.value_or(l2));
        if (gpu->last_level) last = gpu->last_level->size;
      }
    }
    description_.isa = isa_;
    const std::int64_t units = description_.units;
    description_.caches.push_back({.name = "L1",
                                   .capacity = l1 * static_cast<double>(units),
                                   .instances = units,
                                   .line = {},
                                   .apart = true});
    if (l2 > Bytes{}) description_.caches.push_back({.name = "L2", .capacity = l2, .line = {}});
    if (last) description_.caches.push_back({.name = "L3", .capacity = *last, .line = {}});
    description_.notes.emplace_back("L1 size as the architecture has it");
    return {};
  }

  Result<PassWork> do_prepare(const Case& what) override {
    what_ = what;
    if (is_link_copy(what.pattern)) return prepare_link_copy();
    const KernelName* kernel = find_kernel(what);
    if (kernel == nullptr) {
      return unsupported(where(), "no kernel for " + characterize::describe(what));
    }
    shape_ = {.function = functions_.at(kernel->name)};
    if (is_product(what.pattern)) return prepare_product(product_of(kernel->name).value());
    if (is_chase(what.pattern)) return prepare_chase();
    if (is_stepping(what.pattern)) {
      ROOFTILE_CHECK(runtime_.allocate(1, kVector, 0));
      return PassWork{.bytes = {}, .flops = {}, .steps = 1};
    }
    if (what.pattern == Pattern::Shared) return prepare_shared();
    if (what.pattern == Pattern::LoadL1) return prepare_l1();
    return prepare_stream();
  }

  /// A block takes chunks of 16 KiB of each array. Small sets get one block per multiprocessor.
  Result<PassWork> prepare_stream() {
    const std::int64_t arrays = arrays_of(what_.pattern), units = description_.units;
    const auto share = static_cast<std::int64_t>(what_.working_set.base()) / arrays;
    std::int64_t chunks = std::max<std::int64_t>(share / (units * kChunk), 1);
    const std::int64_t blocks = std::min<std::int64_t>(chunks, kBlocksPerUnit);
    chunks = chunks / blocks * blocks;
    const std::int64_t bytes = chunks * units * kChunk;
    if (bytes / kVector > std::int64_t{1} << 31) {
      return unsupported(where(), "the working set is too large for 32-bit indices",
                         "set a smaller --max-working-set");
    }
    shape_.grid = blocks * units;
    shape_.threads = kThreads;
    shape_.n = static_cast<std::uint32_t>(bytes / kVector);
    if (what_.pattern == Pattern::Update) {
      shape_.links = static_cast<std::uint32_t>(what_.flops_per_element / 2);
    }
    ROOFTILE_CHECK(runtime_.allocate(arrays, bytes, fill_word(what_)));
    const auto total = static_cast<double>(bytes);
    const bool is_triad = what_.pattern == Pattern::Triad || what_.pattern == Pattern::TriadNt;
    const auto flops = static_cast<double>(is_triad ? 2 : what_.flops_per_element);
    return PassWork{
        .bytes = Bytes::from_base(total * static_cast<double>(accesses_per_element(what_.pattern))),
        .flops = Flops::from_base(total / size_of(what_.dtype).base() * flops),
        .steps = 0};
  }

  /// One block per multiprocessor; its slice is a power of two and read as often as the loads of
  /// its threads go round it.
  Result<PassWork> prepare_l1() {
    constexpr std::uint64_t kMost = kL1Threads * kL1Loads * kVector;
    const std::int64_t units = description_.units;
    const auto share =
        static_cast<std::uint64_t>(what_.working_set.base() / static_cast<double>(units));
    const std::uint64_t slice = std::clamp<std::uint64_t>(std::bit_floor(share), 1024, kMost);
    shape_.grid = units;
    shape_.threads = kL1Threads;
    shape_.n = static_cast<std::uint32_t>(slice / kVector);
    ROOFTILE_CHECK(runtime_.allocate(2, static_cast<std::int64_t>(slice) * units, 0));
    return PassWork{
        .bytes = Bytes::from_base(static_cast<double>(kMost) * static_cast<double>(units)),
        .flops = {},
        .steps = 0};
  }

  Result<PassWork> prepare_shared() {
    constexpr std::int64_t kBlockBytes = std::int64_t{kSharedThreads} * kVectors * kVector;
    shape_.grid = description_.units * kSharedBlocks;
    shape_.threads = kSharedThreads;
    ROOFTILE_CHECK(runtime_.allocate(2, kBlockBytes, 0));
    return PassWork{.bytes = Bytes::from_base(static_cast<double>(shape_.grid * kBlockBytes)),
                    .flops = {},
                    .steps = 0};
  }

  Result<PassWork> prepare_product(const Product& product) {
    ROOFTILE_CHECK(runtime_.allocate(2, 256, fill_word(what_)));
    shape_.grid = description_.units * product.blocks_per_unit;
    shape_.threads = kThreads;
    const std::int64_t together = product.threads > 0 ? product.threads : warp_;
    const auto groups = static_cast<double>(shape_.grid * shape_.threads / together);
    return PassWork{.bytes = {},
                    .flops = Flops::from_base(product.flops * product.per_pass * groups),
                    .steps = 0};
  }

  /// The chain is as long as the working set says: one thread sees the L1 of its multiprocessor.
  Result<PassWork> prepare_chase() {
    const std::int64_t bytes =
        std::max(static_cast<std::int64_t>(what_.working_set.base()) / kLine * kLine, 2 * kLine);
    std::uint64_t base = 0;
    void* host = nullptr;
    if (what_.pattern == Pattern::Chase) {
      ROOFTILE_CHECK(runtime_.allocate(2, bytes, 0));
      base = runtime_.array(0);
    } else {
      ROOFTILE_CHECK(runtime_.allocate(2, kLine, 0));
      if (what_.pattern == Pattern::ChaseHost) {
        ROOFTILE_TRY(host, runtime_.allocate_host(bytes));
        base = std::bit_cast<std::uint64_t>(host);
      } else {
        ROOFTILE_TRY(base, runtime_.allocate_on_peer(bytes));
      }
    }
    const std::vector<std::uint64_t> next = make_cycle(bytes, base);
    if (host != nullptr) {
      std::copy(next.begin(), next.end(), static_cast<std::uint64_t*>(host));
    } else {
      ROOFTILE_CHECK(runtime_.write(base, next.data(), next.size() * 8));
    }
    ROOFTILE_CHECK(runtime_.write(runtime_.array(1), &base, sizeof(base)));
    return PassWork{.bytes = {}, .flops = {}, .steps = kChaseSteps};
  }

  Result<PassWork> prepare_link_copy() {
    const auto bytes = static_cast<std::int64_t>(what_.working_set.base());
    double count = 1;
    if (what_.pattern == Pattern::CopyRing) {
      ROOFTILE_CHECK(runtime_.allocate_ring(bytes));
      count = static_cast<double>(runtime_.ring().size());
    } else {
      ROOFTILE_CHECK(runtime_.allocate(1, bytes, 0));
      if (what_.pattern == Pattern::CopyPeer) {
        ROOFTILE_TRY(far_, runtime_.allocate_on_peer(bytes));
      } else {
        ROOFTILE_TRY(host_, runtime_.allocate_host(bytes));
      }
    }
    return PassWork{
        .bytes = Bytes::from_base(static_cast<double>(bytes) * count), .flops = {}, .steps = 0};
  }

  Result<Seconds> do_run(std::int64_t passes) override {
    const bool host_timed = what_.pattern == Pattern::Launch ||
                            what_.pattern == Pattern::LaunchWait ||
                            what_.pattern == Pattern::CopyRing;
    if (host_timed) return run_by_host_clock(passes);
    if (is_link_copy(what_.pattern)) {
      return runtime_.timed([&]() -> Status {
        for (std::int64_t i = 0; i < passes; ++i) ROOFTILE_CHECK(copy_once());
        return {};
      });
    }
    constexpr std::int64_t kMostPasses = std::int64_t{1} << 30;
    Seconds total;
    for (std::int64_t left = passes; left > 0; left -= kMostPasses) {
      const auto now = static_cast<std::uint32_t>(std::min(left, kMostPasses));
      ROOFTILE_TRY(const Seconds time,
                   runtime_.timed([&] { return runtime_.launch(shape_, now); }));
      total += time;
    }
    return max(total, Seconds::from_base(1e-9));
  }

  Status copy_once() const {
    const auto bytes = static_cast<std::size_t>(what_.working_set.base());
    switch (what_.pattern) {
      case Pattern::CopyIn: return runtime_.copy_in(runtime_.array(0), host_, bytes);
      case Pattern::CopyOut: return runtime_.copy_out(host_, runtime_.array(0), bytes);
      case Pattern::CopyRing: return runtime_.copy_ring(bytes);
      default: return runtime_.copy_device(far_, runtime_.array(0), bytes);
    }
  }

  /// Launches in a row, waited for once (what a launch costs when the queue is full) or each; and
  /// what happens on several devices at the same time.
  Result<Seconds> run_by_host_clock(std::int64_t passes) {
    const Seconds begin = runtime_.host_time();
    for (std::int64_t i = 0; i < passes; ++i) {
      if (what_.pattern == Pattern::CopyRing) {
        ROOFTILE_CHECK(copy_once());
        continue;
      }
      ROOFTILE_CHECK(runtime_.launch(shape_, 1));
      if (what_.pattern == Pattern::LaunchWait) ROOFTILE_CHECK(runtime_.wait());
    }
    ROOFTILE_CHECK(runtime_.wait());
    return max(runtime_.host_time() - begin, Seconds::from_base(1e-9));
  }

  std::optional<Hertz> do_observe_clock() override {
    what_ = {};
    if (!runtime_.allocate(1, 64, 0)) return std::nullopt;
    const Shape shape{
        .function = functions_.at("observe_clock"), .grid = description_.units, .threads = 32};
    std::array<std::uint64_t, 2> counters{};
    const bool ok = runtime_.launch(shape, 4096) && runtime_.wait() &&
                    runtime_.read(counters.data(), runtime_.array(0), sizeof(counters));
    if (!ok || counters[0] == 0 || counters[1] == 0) return std::nullopt;
    return Cycles::from_base(static_cast<double>(counters[0])) /
           Seconds::from_base(static_cast<double>(counters[1]) * 1e-9);
  }

  Runtime runtime_;
  int major_ = 0, minor_ = 0, warp_ = 32;
  std::string isa_;
  DeviceDescription description_;
  std::vector<hardware::Architecture> architectures_;
  std::map<std::string, Handle> functions_;
  Case what_;
  Shape shape_;
  void* host_ = nullptr;
  DevicePointer far_ = 0;
};

}  // namespace

Result<std::unique_ptr<Device>> make_gpu_device(const GpuApi& api, std::string_view image,
                                                std::int64_t index, const Catalog& catalog) {
  if (api.vendor == "hip" && image.empty()) {
    return unsupported(api.vendor, "this program was built without the HIP kernels",
                       "build it where hipcc, or clang-19 and lld-19, are installed");
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
  return make_gpu_device(api, {}, index, catalog);
}

Result<std::unique_ptr<Device>> make_hip_device(std::int64_t index, const Catalog& catalog) {
  ROOFTILE_TRY(const GpuApi api, load_hip_api());
  return make_gpu_device(api, hip_image(), index, catalog);
}

}  // namespace rooftile::characterize::gpu
