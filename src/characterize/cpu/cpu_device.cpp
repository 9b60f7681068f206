// SPDX-License-Identifier: Apache-2.0
#include "characterize/cpu/cpu_device.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <random>
#include <set>
#include <span>
#include <utility>

#include "characterize/cpu/clock.h"
#include "characterize/cpu/dispatch.h"
#include "characterize/cpu/microarchitecture.h"
#include "characterize/cpu/worker_pool.h"
#include "core/text.h"

namespace rooftile::characterize::cpu {

namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;
/// Distance beyond its size from one array to the next, so that equal elements of two arrays do
/// not agree in the low 12 address bits (a load behind such a store waits for it on Intel cores).
constexpr std::size_t kSkew = 1024 + kLine;

/// Anonymous memory on huge pages where the system gives them; the first touch places it.
class Memory {
 public:
  Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() { release(); }

  bool reserve(std::size_t size) {
    if (size <= size_) return true;
    release();
    const std::size_t rounded = (size + 2 * kHugePage) & ~(kHugePage - 1);
    void* raw = mmap(nullptr, rounded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (raw == MAP_FAILED) return false;
    base_ = raw;
    mapped_ = rounded;
    madvise(raw, rounded, MADV_HUGEPAGE);
    const auto address = std::bit_cast<std::uintptr_t>(raw);
    const std::size_t shift = (kHugePage - address % kHugePage) % kHugePage;
    data_ = static_cast<std::byte*>(raw) + shift;
    size_ = size;
    return true;
  }
  [[nodiscard]] std::byte* data() const { return data_; }

 private:
  void release() {
    if (base_ != nullptr) munmap(base_, mapped_);
    base_ = nullptr;
    size_ = 0;
  }
  void* base_ = nullptr;
  std::byte* data_ = nullptr;
  std::size_t mapped_ = 0, size_ = 0;
};

/// The table that runs `update` in a number format, and its kernels there.
struct Selected {
  const UpdateKernels* kernels = nullptr;
  const KernelTable* table = nullptr;
};

struct FormatKernels {
  DType dtype;
  UpdateKernels KernelTable::* member;
};
constexpr FormatKernels kUpdates[] = {{DType::Fp64, &KernelTable::update_fp64},
                                      {DType::Fp32, &KernelTable::update_fp32},
                                      {DType::Fp16, &KernelTable::update_fp16},
                                      {DType::Bf16, &KernelTable::update_bf16},
                                      {DType::Int8, &KernelTable::update_int8}};
struct PatternKernel {
  Pattern pattern;
  Kernel KernelTable::* member;
};
constexpr PatternKernel kStreams[] = {
    {Pattern::Load, &KernelTable::load},        {Pattern::Store, &KernelTable::store},
    {Pattern::StoreNt, &KernelTable::store_nt}, {Pattern::Copy, &KernelTable::copy},
    {Pattern::CopyNt, &KernelTable::copy_nt},   {Pattern::Triad, &KernelTable::triad},
    {Pattern::TriadNt, &KernelTable::triad_nt}};

/// Fills `bytes` with ones of the number format (with zeros for integers and BF16 dot products).
void fill(std::byte* to, std::size_t bytes, DType dtype) {
  if (dtype == DType::Fp64) {
    std::fill_n(reinterpret_cast<double*>(to), bytes / sizeof(double), 1.0);
  } else if (dtype == DType::Fp32) {
    std::fill_n(reinterpret_cast<float*>(to), bytes / sizeof(float), 1.0F);
  } else if (dtype == DType::Fp16) {
    std::fill_n(reinterpret_cast<std::uint16_t*>(to), bytes / 2, std::uint16_t{0x3c00});
  } else {
    std::memset(to, 0, bytes);
  }
}

/// One cycle through all lines in random order (Sattolo's algorithm), one pointer per line.
void** make_cycle(std::byte* to, std::size_t bytes, std::uint32_t seed) {
  const std::size_t lines = std::max<std::size_t>(bytes / kLine, 2);
  std::vector<std::uint32_t> order(lines);
  std::iota(order.begin(), order.end(), 0U);
  std::mt19937_64 random(seed);
  for (std::size_t i = lines - 1; i > 0; --i) {
    std::swap(order[i], order[random() % i]);
  }
  for (std::size_t i = 0; i < lines; ++i) {
    auto* cell = reinterpret_cast<void**>(to + std::size_t{order[i]} * kLine);
    *cell = to + std::size_t{order[(i + 1) % lines]} * kLine;
  }
  return reinterpret_cast<void**>(to);
}

/// Cores behind the processors: hardware threads of one core share its units.
std::int64_t count_cores(const std::vector<Processor>& processors) {
  std::set<std::pair<std::int64_t, std::int64_t>> cores;
  for (const Processor& p : processors) cores.insert({p.package, p.core});
  return static_cast<std::int64_t>(cores.size());
}

class CpuDevice final : public Device {
 public:
  CpuDevice(const Topology& topology, const std::vector<Processor>& processors,
            std::vector<CacheLevel> caches, std::vector<const KernelTable*> tables)
      : base_(*tables.front()),
        extensions_(tables.begin() + 1, tables.end()),
        pool_(processors),
        memory_(processors.size()),
        arguments_(processors.size()) {
    description_.caches = std::move(caches);
    describe(topology, processors);
    state_limits(topology, static_cast<double>(count_cores(processors)));
  }

 private:
  [[nodiscard]] const DeviceDescription& do_description() const override { return description_; }

  [[nodiscard]] std::vector<Capability> do_capabilities() const override {
    std::vector<Capability> out;
    for (const PatternKernel& p : kStreams) {
      if (base_.*p.member != nullptr) out.push_back({.pattern = p.pattern, .dtype = DType::Fp64});
    }
    for (const FormatKernels& u : kUpdates) {
      const Selected selected = update_kernels(u.dtype);
      if (selected.kernels == nullptr) continue;
      out.push_back({.pattern = Pattern::Update,
                     .dtype = u.dtype,
                     .least_flops = least_flops(*selected.kernels).value()});
    }
    out.push_back({.pattern = Pattern::Chase, .dtype = DType::Int64});
    out.push_back({.pattern = Pattern::Launch, .dtype = DType::Int64});
    return out;
  }

  /// The base table's kernels; the extensions' where it has none, and first for INT8.
  [[nodiscard]] Selected update_kernels(DType dtype) const {
    std::vector<const KernelTable*> tables = extensions_;
    tables.insert(dtype == DType::Int8 ? tables.end() : tables.begin(), &base_);
    for (const FormatKernels& u : kUpdates) {
      if (u.dtype != dtype) continue;
      for (const KernelTable* table : tables) {
        if (least_flops(table->*u.member)) return {&(table->*u.member), table};
      }
    }
    return {};
  }

  /// Chooses kernel_; gives the bytes that its arrays are multiples of, nothing without a kernel.
  [[nodiscard]] std::optional<std::int64_t> select(const Case& what) {
    kernel_ = nullptr;
    const KernelTable* table = &base_;
    if (what.pattern == Pattern::Update) {
      const Selected selected = update_kernels(what.dtype);
      if (selected.kernels == nullptr) return std::nullopt;
      kernel_ = kernel_for(*selected.kernels, what.flops_per_element);
      table = selected.table;
    }
    for (const PatternKernel& p : kStreams) {
      if (p.pattern == what.pattern && what.dtype == DType::Fp64) kernel_ = base_.*p.member;
    }
    if (kernel_ == nullptr) return std::nullopt;
    return table->granule;
  }

  Result<PassWork> do_prepare(const Case& what) override {
    what_ = what;
    if (what.pattern == Pattern::Chase) return prepare_chase(what);
    if (what.pattern == Pattern::Launch) return PassWork{.bytes = {}, .flops = {}, .steps = 1};
    const std::optional<std::int64_t> granule = select(what);
    if (!granule) {
      return unsupported("cpu:" + description_.name,
                         "no kernel for " + characterize::describe(what));
    }
    const std::int64_t arrays = arrays_of(what.pattern);
    const auto share = static_cast<std::int64_t>(what.working_set.base()) /
                       static_cast<std::int64_t>(pool_.size()) / arrays;
    const std::int64_t bytes = std::max(share / *granule * *granule, *granule);
    ROOFTILE_CHECK(place_arrays(arrays, bytes, what));
    chunk_ = std::min(bytes, chunk_bytes(what) / *granule * *granule);
    chunks_ = bytes / chunk_;
    next_chunk_ = 0;
    const auto total = static_cast<double>(chunk_ * static_cast<std::int64_t>(pool_.size()));
    const double elements = total / size_of(what.dtype).base();
    const auto accesses = static_cast<double>(accesses_per_element(what.pattern));
    const bool is_triad = what.pattern == Pattern::Triad || what.pattern == Pattern::TriadNt;
    const auto flops = static_cast<double>(is_triad ? 2 : what.flops_per_element);
    return PassWork{.bytes = Bytes::from_base(total * accesses),
                    .flops = Flops::from_base(elements * flops),
                    .steps = 0};
  }

  /// A pass over a large set is cut into chunks that are timed one by one, round and round: every
  /// access is as far from its last use as in a whole pass, but a run is short enough to fall
  /// between two interruptions.
  static std::int64_t chunk_bytes(const Case& what) {
    constexpr std::int64_t kChunk = std::int64_t{4} << 20;
    constexpr std::int64_t kChunkFlopsPerElement = 16;  // beyond, the time grows with the FLOPs
    return kChunk / std::max<std::int64_t>(what.flops_per_element / kChunkFlopsPerElement, 1) /
           arrays_of(what.pattern);
  }

  Status place_arrays(std::int64_t arrays, std::int64_t bytes, const Case& what) {
    const std::size_t distance = static_cast<std::size_t>(bytes) + kSkew;
    for (Memory& m : memory_) {
      if (!m.reserve(distance * static_cast<std::size_t>(arrays))) return out_of_memory(what);
    }
    pool_.run([&](std::size_t worker) {
      std::byte* data = memory_[worker].data();
      for (std::int64_t i = 0; i < arrays; ++i) {
        fill(data + static_cast<std::size_t>(i) * distance, static_cast<std::size_t>(bytes),
             what.dtype);
      }
      arguments_[worker] = {.a = data,
                            .b = data + (arrays > 1 ? distance : 0),
                            .c = data + (arrays > 2 ? 2 * distance : 0),
                            .bytes = bytes,
                            .passes = 0,
                            .blocks = blocks_for(what.flops_per_element)};
    });
    return {};
  }

  /// Only one thread chases: latency is a property of an otherwise idle machine.
  Result<PassWork> prepare_chase(const Case& what) {
    const auto bytes =
        static_cast<std::size_t>(what.working_set.base()) / pool_.size() / kLine * kLine;
    if (!memory_[0].reserve(std::max<std::size_t>(bytes, 2 * kLine))) return out_of_memory(what);
    cursor_ = make_cycle(memory_[0].data(), bytes, 1);
    cycle_ = static_cast<std::int64_t>(std::max<std::size_t>(bytes / kLine, 2));
    constexpr std::int64_t kSteps = 4096;  // of one pass; small cycles go round several times
    return PassWork{.bytes = {}, .flops = {}, .steps = kSteps};
  }

  [[nodiscard]] tl::unexpected<Error> out_of_memory(const Case& what) const {
    return bad_input("cpu", "not enough memory for " + characterize::describe(what),
                     "set a smaller --max-working-set");
  }

  Result<Seconds> do_run(std::int64_t passes) override {
    if (what_.pattern == Pattern::Chase) {
      constexpr std::int64_t kSteps = 4096;
      // Once round before the clock starts: what others threw out of a cache is back in it. Longer
      // cycles fit into no cache.
      constexpr std::int64_t kLongest = 1 << 18;
      if (cycle_ <= kLongest) {
        pool_.run([&](std::size_t worker) {
          if (worker == 0) cursor_ = chase(cursor_, cycle_);
        });
      }
      const auto job = [&](std::size_t worker) {
        if (worker == 0) cursor_ = chase(cursor_, passes * kSteps);
      };
      return pool_.run(job);
    }
    if (what_.pattern == Pattern::Launch) {
      const auto begin = std::chrono::steady_clock::now();
      for (std::int64_t i = 0; i < passes; ++i) pool_.run([](std::size_t) {});
      const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
      return max(Seconds::from_base(time.count()), Seconds::from_base(1e-9));
    }
    const auto job = [&](std::size_t worker) { run_chunks(arguments_[worker], passes); };
    const Seconds time = pool_.run(job);
    next_chunk_ = (next_chunk_ + passes) % chunks_;
    return time;
  }

  void run_chunks(KernelArguments arguments, std::int64_t passes) const {
    arguments.bytes = chunk_;
    if (chunks_ == 1) {
      arguments.passes = passes;
      kernel_(arguments);
      return;
    }
    arguments.passes = 1;
    const KernelArguments first = arguments;
    for (std::int64_t i = 0; i < passes; ++i) {
      const std::int64_t offset = (next_chunk_ + i) % chunks_ * chunk_;
      arguments.a = static_cast<std::byte*>(first.a) + offset;
      arguments.b = static_cast<std::byte*>(first.b) + offset;
      arguments.c = static_cast<std::byte*>(first.c) + offset;
      kernel_(arguments);
    }
  }

  std::optional<Hertz> do_observe_clock() override {
    std::vector<Hertz> clocks(pool_.size());
    pool_.run([&](std::size_t worker) { clocks[worker] = observe_core_clock(); });
    return *std::max_element(clocks.begin(), clocks.end());
  }

  void describe(const Topology& topology, const std::vector<Processor>& processors) {
    const auto units = static_cast<std::int64_t>(processors.size());
    description_.backend = "cpu";
    description_.name = topology.model;
    description_.isa = base_.isa;
    description_.units = description_.workers = units;
    description_.memory = topology.memory;
    for (const KernelTable* t : extensions_) description_.isa += fmt::format(",{}", t->isa);
    if (!pool_.pinned()) {
      description_.notes.emplace_back("threads could not be pinned to processors");
    }
    if (description_.caches.empty()) {
      description_.notes.emplace_back("the system does not report its caches");
    }
  }

  /// The units of the cores: of this microarchitecture where it is known, else of the widest.
  void state_limits(const Topology& topology, double cores) {
    const ProcessorId id = this_processor(topology.model);
    UnitLimits& limits = description_.limits;
    limits.load = most_loaded_per_cycle(base_.vector_bytes) * cores;
    limits.store = most_stored_per_cycle(base_.vector_bytes) * cores;
    for (const FormatKernels& u : kUpdates) {
      const Selected selected = update_kernels(u.dtype);
      if (selected.kernels == nullptr) continue;
      const int bytes = selected.table->vector_bytes;
      const auto links = links_per_cycle(id, selected.kernels->link, bytes);
      const double flops_per_link = 2.0 * bytes / size_of(u.dtype).base();
      limits.flops[{.dtype = u.dtype}] = {
          .value = FlopsPerCycle::from_base(links.value_or(most_links_per_cycle()) *
                                            flops_per_link * cores),
          .exact = links.has_value()};
    }
    description_.max_clock = topology.max_clock;
    if (const auto core = core_name(id)) {
      description_.notes.push_back(fmt::format("limits are those of {} cores", *core));
      return;
    }
    const auto contradicted = contradiction(id);
    description_.notes.push_back(
        (contradicted
             ? fmt::format("the processor does not state its real model (it has {})", *contradicted)
             : std::string("the units of these cores are not known")) +
        ": limits are those of the widest cores there are");
  }

  const KernelTable& base_;
  std::vector<const KernelTable*> extensions_;
  WorkerPool pool_;
  std::vector<Memory> memory_;
  std::vector<KernelArguments> arguments_;
  DeviceDescription description_;
  Case what_;
  Kernel kernel_ = nullptr;
  std::int64_t chunk_ = 0;  ///< bytes of each array that one pass of one worker covers
  std::int64_t chunks_ = 1, next_chunk_ = 0;
  void* const* cursor_ = nullptr;
  std::int64_t cycle_ = 0;  ///< lines of the chain
};

}  // namespace

std::vector<std::string> available_isas() {
  std::vector<std::string> out;
  for (const KernelTable* table : base_tables()) out.emplace_back(table->isa);
  return out;
}

namespace {

Result<std::unique_ptr<Device>> make_with(const CpuOptions& options,
                                          std::vector<const KernelTable*> tables) {
  if (options.threads && *options.threads < 1) return usage_error("--threads must be at least 1");
  const Topology topology = load_topology();
  std::vector<Processor> processors = choose_processors(topology, std::nullopt);
  if (options.parts > 1) {
    const auto n = static_cast<std::int64_t>(processors.size());
    const std::int64_t first = options.part * n / options.parts;
    const std::int64_t last = std::max((options.part + 1) * n / options.parts, first + 1);
    const std::vector<Processor> all = std::exchange(processors, {});
    for (std::int64_t i = first; i < last; ++i) {
      processors.push_back(all[static_cast<std::size_t>(i % n)]);
    }
  } else if (options.threads) {
    processors = choose_processors(topology, options.threads);
  }
  std::vector<CacheLevel> caches = cache_levels(topology, processors);
  if (options.parts > 1) {
    // Ranks that run at the same time divide the caches among them.
    caches = cache_levels(topology, choose_processors(topology, std::nullopt));
    for (CacheLevel& cache : caches) {
      cache.capacity = cache.capacity / static_cast<double>(options.parts);
      cache.instances = std::max<std::int64_t>(cache.instances / options.parts, 1);
    }
  }
  return std::make_unique<CpuDevice>(topology, processors, std::move(caches), std::move(tables));
}

}  // namespace

Result<std::unique_ptr<Device>> make_cpu_device(const CpuOptions& options) {
  const std::vector<const KernelTable*> bases = base_tables();
  if (bases.empty()) {
    return unsupported("cpu", "there are no kernels for this processor architecture",
                       "x86-64 and AArch64 are supported");
  }
  const KernelTable* base = bases.front();
  if (!options.isa.empty()) {
    const auto found = std::find_if(bases.begin(), bases.end(),
                                    [&](const KernelTable* t) { return options.isa == t->isa; });
    if (found == bases.end()) {
      return usage_error("no instruction set \"" + printable(options.isa) + "\" on this processor",
                         fmt::format("one of {}", fmt::join(available_isas(), ", ")));
    }
    base = *found;
  }
  std::vector<const KernelTable*> tables = extension_tables(*base);
  tables.insert(tables.begin(), base);
  return make_with(options, std::move(tables));
}

Result<std::unique_ptr<Device>> make_cpu_device(const CpuOptions& options,
                                                const KernelTable& kernels) {
  return make_with(options, {&kernels});
}

}  // namespace rooftile::characterize::cpu
