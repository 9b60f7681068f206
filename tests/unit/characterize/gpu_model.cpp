// SPDX-License-Identifier: Apache-2.0
#include "unit/characterize/gpu_model.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "source_folder.h"
#include "unit/characterize/kernel_work.h"

namespace rooftile::characterize::gpu {
namespace {

enum class Place { Device, Peer, Host };
struct Buffer {
  std::size_t bytes = 0;
  Place place = Place::Device;
};

struct Driver {
  GpuModel model;
  DriverLog log;
  std::set<std::string> names;  ///< owns the handles of the functions
  std::map<DevicePointer, Buffer> buffers;
  std::map<std::uint64_t, std::uint64_t> words;  ///< what was written, 8 bytes each
  std::map<std::string, std::pair<KernelWork, KernelWork>> known;
  std::map<std::string, std::map<std::string, double>> products;  ///< HIP: FLOPs of a wave and pass
  DevicePointer next = 1ULL << 32U;
  double now = 0, begin = 0, end = 0;  ///< seconds
  double host_done = 0;                ///< until when the device is busy
  int device = 0;
} driver;

/// 1 while a set fits, 0 from twice the capacity on.
double hits(double set, double capacity) {
  return std::clamp(2.0 - set / (0.95 * capacity), 0.0, 1.0);
}

/// FLOPs per wave and pass of the products of a gfx architecture, from the summary of its code.
std::map<std::string, std::map<std::string, double>> read_products(const std::string& isa) {
  std::map<std::string, std::map<std::string, double>> out;
  std::ifstream file(rooftile::testing::source_folder() / "tests/gpu/machine_code" /
                     (isa + ".txt"));
  static const std::vector<std::pair<std::string, std::string>> kTypes{
      {"fp8_fp8", "fp8_e4m3"}, {"xf32", "tf32"}, {"bf16", "bf16"}, {"f16", "fp16"},
      {"i8", "int8"},          {"f64", "fp64"},  {"f32", "fp32"}};
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string kernel, total, item;
    words >> kernel >> total;
    while (words >> item) {
      const std::size_t equals = item.find('=');
      const std::string name = item.substr(0, equals);
      const std::size_t x = name.find('x');  // "v_mfma_f32_32x32x8f16"
      if (!name.starts_with("v_mfma") && !name.starts_with("v_smfmac")) continue;
      const std::size_t begin = name.rfind('_', x) + 1;
      double m = 0, n = 0, k = 0;
      char by = 0;
      std::istringstream(name.substr(begin)) >> m >> by >> n >> by >> k;
      const std::string types = name.substr(name.find('x', x + 1) + 1);
      for (const auto& [type, rate] : kTypes) {
        if (types.find(type) == std::string::npos) continue;
        out[kernel][rate + "_tensor"] += 2 * m * n * k * std::stod(item.substr(equals + 1));
        break;
      }
    }
  }
  return out;
}

bool has_kernel(const std::string& name) {
  if (name == driver.model.missing) return false;
  if (driver.model.vendor == "cuda") return has_ptx_kernel(driver.log.module, name);
  return has_hip_kernel(name) || driver.products.contains(name);
}

struct Launch {
  std::string kernel;
  unsigned grid = 1, threads = 1;
  ThreadLaunch thread;
};

KernelWork run_thread(const Launch& launch, std::uint32_t block, std::uint32_t thread,
                      std::uint32_t passes) {
  ThreadLaunch t = launch.thread;
  t.block = block;
  t.thread = thread;
  t.passes = passes;
  if (driver.model.vendor == "cuda") return run_ptx(driver.log.module, launch.kernel, t);
  const auto product = driver.products.find(launch.kernel);
  if (product == driver.products.end()) return run_hip(launch.kernel, t);
  KernelWork work;
  for (const auto& [rate, flops] : product->second) {
    work.flops[rate] = flops * passes / driver.model.warp;
  }
  return work;
}

/// Work of all threads in the first pass (with what precedes it) and in every further one, from
/// the first and the last thread of the grid.
std::pair<KernelWork, KernelWork> work_of(const Launch& launch) {
  std::ostringstream key;
  key << launch.kernel << ' ' << launch.grid << ' ' << launch.thread.n << ' ' << launch.thread.links
      << ' ' << launch.thread.arrays[0];
  const auto found = driver.known.find(key.str());
  if (found != driver.known.end()) return found->second;
  KernelWork once = run_thread(launch, 0, 0, 1), twice = run_thread(launch, 0, 0, 2);
  KernelWork last = run_thread(launch, launch.grid - 1, launch.threads - 1, 1);
  const double threads = launch.grid * launch.threads;
  const std::uint64_t lowest = once.lowest;
  // Tensor memory: one thread of a block issues for all, the last one does nothing.
  const bool one_issues = !once.flops.empty() && last.flops.empty();
  once.each(last, [&](double& a, double& b) {
    if (a != b && !one_issues) throw std::runtime_error("threads differ in their work");
  });
  const double issuers = one_issues ? launch.grid : threads;
  twice.each(once, [&](double& a, double& b) { a = (a - b) * issuers; });
  once.each(once, [&](double& a, double&) { a *= issuers; });
  once.lowest = twice.lowest = std::min(lowest, last.lowest);
  once.highest = twice.highest = std::max(once.highest, last.highest);
  return driver.known[key.str()] = {once, twice};
}

const Buffer* buffer_at(std::uint64_t address) {
  auto after = driver.buffers.upper_bound(address);
  return after == driver.buffers.begin() ? nullptr : &std::prev(after)->second;
}

/// Bytes of all arrays that the kernel goes through: its set.
double set_of(const Launch& launch) {
  double bytes = launch.thread.n * 16.0;
  if (launch.kernel.find("copy") != std::string::npos) return 2 * bytes;
  if (launch.kernel.find("triad") != std::string::npos) return 3 * bytes;
  return bytes;
}

/// Seconds of a load that a thread waits for.
double wait_for(const Launch& launch, double set) {
  const GpuModel& m = driver.model;
  const double below_l2 =
      m.l3 > 0 ? hits(set, m.l3) * m.l3_wait + (1 - hits(set, m.l3)) * m.dram_wait : m.dram_wait;
  const double l2 = hits(set, m.l2) * m.l2_wait + (1 - hits(set, m.l2)) * below_l2;
  if (launch.kernel == "l1_load") {
    const double hit = hits(set, m.l1);
    return hit * m.l1_wait + (1 - hit) * l2;
  }
  return launch.kernel == "shared_load" ? m.l1_wait : l2;
}

/// Time of `work` on the device: the slowest of its parts.
double seconds(const Launch& launch, const KernelWork& work) {
  const GpuModel& m = driver.model;
  const double set = set_of(launch), threads = launch.grid * launch.threads;
  const double l1_hits = launch.kernel == "l1_load" ? hits(launch.thread.n * 16.0, m.l1) : 1.0;
  const double stores = work.stored + work.streamed;
  const double l2 = work.past_l1 + stores + work.through_l1 * (1 - l1_hits);
  const double beyond = l2 * (1 - hits(set, m.l2));
  // The line that is stored to is loaded first, unless the store streams.
  const double fetched = m.write_allocate ? work.stored * (1 - hits(set, m.l2)) : 0;
  const double dram = (beyond + fetched) * (m.l3 > 0 ? 1 - hits(set, m.l3) : 1.0);
  double time = std::max({work.through_l1 / m.l1_rate, work.shared / m.shared_rate, l2 / m.l2_rate,
                          dram / m.dram_rate});
  if (m.l3 > 0) time = std::max(time, beyond / m.l3_rate);
  for (const auto& [rate, flops] : work.flops) {
    const double sparse =
        launch.kernel.find("sparse") != std::string::npos || launch.kernel.starts_with("smfmac")
            ? 2.0
            : 1.0;
    const auto known = m.rates.find(rate);
    if (known == m.rates.end()) throw std::runtime_error("the model has no rate " + rate);
    time = std::max(time, flops / (known->second * sparse));
  }
  // Four instructions of a warp (wavefront) per unit and clock.
  time = std::max(time, work.instructions / m.warp / (4.0 * m.units * m.clock));
  return std::max(time, work.waits / threads * wait_for(launch, set));
}

/// A chain: where it is, and how long it is.
double chase_seconds(const Launch& launch, const KernelWork& work) {
  const GpuModel& m = driver.model;
  const std::uint64_t first = driver.words.at(launch.thread.arrays[1]);
  const Buffer* buffer = buffer_at(first);
  if (buffer == nullptr) throw std::runtime_error("the chain is nowhere");
  if (buffer->place == Place::Host) return work.waits * m.host_wait;
  if (buffer->place == Place::Peer) return work.waits * m.peer_wait;
  const double chain = static_cast<double>(buffer->bytes), hit = hits(chain, m.l1);
  return work.waits * (hit * m.l1_wait + (1 - hit) * wait_for(launch, chain));
}

int run_kernel(const std::string& kernel, unsigned grid, unsigned threads, void** arguments) {
  Launch launch{.kernel = kernel, .grid = grid, .threads = threads, .thread = {}};
  for (int i = 0; i < 3; ++i) launch.thread.arrays[i] = *static_cast<DevicePointer*>(arguments[i]);
  launch.thread.blocks = grid;
  launch.thread.threads = threads;
  launch.thread.n = *static_cast<std::uint32_t*>(arguments[3]);
  launch.thread.links = *static_cast<std::uint32_t*>(arguments[5]);
  const auto passes = *static_cast<std::uint32_t*>(arguments[4]);
  launch.thread.read64 = [](std::uint64_t at) -> std::uint64_t {
    const Buffer* buffer = buffer_at(at);
    if (buffer != nullptr && buffer->place == Place::Host) {
      return *reinterpret_cast<const std::uint64_t*>(at);
    }
    const auto word = driver.words.find(at);
    return word == driver.words.end() ? 0 : word->second;
  };
  launch.thread.write64 = [](std::uint64_t at, std::uint64_t v) { driver.words[at] = v; };
  DriverLog& log = driver.log;
  ++log.launches[kernel];
  log.grid = grid, log.threads = threads, log.n = launch.thread.n, log.links = launch.thread.links;
  driver.now += driver.model.launch;
  driver.host_done = driver.now;
  if (driver.model.does_nothing) return 0;
  auto [first, further] = work_of(launch);
  const auto time = [&](const KernelWork& w) {
    return kernel == "chase" ? chase_seconds(launch, w) : seconds(launch, w);
  };
  driver.now += time(first) + time(further) * (passes - 1.0);
  return 0;
}

void set_up_queries(GpuApi& api) {
  api.attributes = {.units = 1,
                    .threads_per_unit = 2,
                    .l2_bytes = 3,
                    .clock_khz = 4,
                    .major = 5,
                    .minor = 6,
                    .warp_size = 7};
  api.init = [](unsigned) { return 0; };
  api.driver_version = [](int* v) { return *v = 13000, 0; };
  api.device_count = [](int* n) { return *n = driver.model.devices, 0; };
  api.device_name = [](char* name, int size, int) {
    std::strncpy(name, driver.model.name.c_str(), static_cast<std::size_t>(size));
    return 0;
  };
  api.device_attribute = [](int* value, int number, int) {
    const GpuModel& m = driver.model;
    const int facts[] = {0,
                         m.units,
                         m.threads_per_unit,
                         static_cast<int>(m.stated_l2),
                         static_cast<int>(m.clock / 1e3),
                         m.major,
                         m.minor,
                         m.warp};
    return *value = facts[number], 0;
  };
  api.total_memory = [](std::size_t* bytes, int) {
    return *bytes = static_cast<std::size_t>(driver.model.memory), 0;
  };
  if (driver.model.vendor == "hip") {
    api.set_device = [](int device) { return driver.device = device, 0; };
    api.enable_peer_device = [](int, unsigned) { return 0; };
  } else {
    api.retain_context = [](Handle* context, int device) {
      return *context = reinterpret_cast<Handle>(std::uintptr_t{1} + static_cast<unsigned>(device)),
             0;
    };
    api.set_context = [](Handle context) {
      driver.device = static_cast<int>(reinterpret_cast<std::uintptr_t>(context)) - 1;
      return 0;
    };
    api.enable_peer_context = [](Handle, unsigned) { return 0; };
    api.set_function_attribute = [](Handle, int, int) { return 0; };
  }
  api.can_access_peer = [](int* can, int, int) { return *can = 1, 0; };
  api.load_module = [](Handle* module, const void* image) {
    *module = &driver;
    driver.log.module = static_cast<const char*>(image);
    return driver.model.refuses_module ? 200 : 0;
  };
  api.find_function = [](Handle* function, Handle, const char* name) {
    if (!has_kernel(name)) return 500;
    *function = const_cast<std::string*>(&*driver.names.insert(name).first);
    return 0;
  };
}

void set_up_memory(GpuApi& api) {
  api.allocate = [](DevicePointer* pointer, std::size_t bytes) {
    *pointer = driver.next;
    driver.next += (bytes + 0xfffff) & ~std::size_t{0xfffff};
    driver.buffers[*pointer] = {bytes, driver.device == 0 ? Place::Device : Place::Peer};
    driver.log.buffers = driver.buffers.size();
    return 0;
  };
  api.release = [](DevicePointer pointer) {
    const Buffer buffer = driver.buffers.at(pointer);
    driver.words.erase(driver.words.lower_bound(pointer),
                       driver.words.lower_bound(pointer + buffer.bytes));
    driver.buffers.erase(pointer);
    driver.log.buffers = driver.buffers.size();
    return 0;
  };
  api.fill32 = [](DevicePointer pointer, unsigned, std::size_t words) {
    return driver.buffers.at(pointer).bytes == words * 4 ? 0 : 1;
  };
  api.copy_in = [](DevicePointer to, const void* from, std::size_t bytes) {
    // Of a chain only the beginning is kept: work_of() goes four passes of 4096 steps of it.
    const auto* cells = static_cast<const std::uint64_t*>(from);
    std::uint64_t at = to;
    for (int i = 0; i < 20000 && (at - to) / 8 < bytes / 8; ++i) {
      driver.words[at] = cells[(at - to) / 8];
      at = driver.words[at];
      if (at < to || at >= to + bytes) break;
    }
    return 0;
  };
  api.copy_out = [](void* out, DevicePointer from, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes / 8; ++i) {
      static_cast<std::uint64_t*>(out)[i] = driver.words[from + 8 * i];
    }
    return 0;
  };
  api.allocate_host = [](void** pointer, std::size_t bytes, unsigned) {
    auto* cells = new std::uint64_t[bytes / 8];
    *pointer = cells;
    driver.buffers[reinterpret_cast<DevicePointer>(cells)] = {bytes, Place::Host};
    return 0;
  };
  api.release_host = [](void* pointer) {
    driver.buffers.erase(reinterpret_cast<DevicePointer>(pointer));
    delete[] static_cast<std::uint64_t*>(pointer);
    return 0;
  };
}

void set_up_running(GpuApi& api) {
  api.launch = [](Handle function, unsigned grid, unsigned, unsigned, unsigned threads, unsigned,
                  unsigned, unsigned, Handle, void** arguments, void**) {
    return run_kernel(*static_cast<std::string*>(function), grid, threads, arguments);
  };
  api.create_event = [](Handle* event, unsigned) {
    static int made = 0;
    return *event = made++ % 2 == 0 ? &driver.begin : &driver.end, 0;
  };
  api.record_event = [](Handle event, Handle) {
    return *static_cast<double*>(event) = driver.now, 0;
  };
  api.wait_event = [](Handle) { return 0; };
  api.event_time = [](float* ms, Handle begin, Handle end) {
    *ms = static_cast<float>((*static_cast<double*>(end) - *static_cast<double*>(begin)) * 1e3);
    return 0;
  };
  api.synchronize = [] {
    driver.now += driver.model.launch_wait - driver.model.launch;
    return 0;
  };
  api.host_seconds = [] { return driver.now; };
  api.copy_in_async = [](DevicePointer, const void*, std::size_t bytes, Handle) {
    return driver.now += static_cast<double>(bytes) / driver.model.copy_in, 0;
  };
  api.copy_out_async = [](void*, DevicePointer, std::size_t bytes, Handle) {
    return driver.now += static_cast<double>(bytes) / driver.model.copy_out, 0;
  };
  // Copies of several devices run at the same time: each pays for its share.
  api.copy_device_async = [](DevicePointer, DevicePointer, std::size_t bytes, Handle) {
    const bool ring = driver.buffers.size() > 2;
    const double time = static_cast<double>(bytes) / driver.model.copy_peer;
    return driver.now += ring ? time / driver.model.devices : time, 0;
  };
}

}  // namespace

GpuModel model_of(const hardware::GpuSpec& gpu) {
  GpuModel m;
  const bool amd = gpu.vendor == hardware::Vendor::Amd;
  m.vendor = amd ? "hip" : "cuda";
  m.name = gpu.name;
  m.isa = gpu.isa;
  const std::string digits = amd ? gpu.isa.substr(3) : gpu.isa;
  m.major = std::stoi(amd ? digits.substr(0, 1) : digits);
  m.minor = std::stoi(amd ? digits.substr(1, 1) : digits.substr(digits.find('.') + 1));
  m.units = static_cast<int>(gpu.sm.count);
  m.warp = amd ? 64 : 32;
  m.clock = gpu.clock.boost.base();
  const double per_clock = m.units * m.clock;
  m.l1 = gpu.arch.memory.l1.value().base();
  m.l2 = m.stated_l2 = gpu.l2.size.value().base();
  m.l1_rate = (amd ? 64 : 128) * per_clock * 0.9;
  m.shared_rate = 128 * per_clock * 0.95;
  m.dram_rate = gpu.dram.bandwidth.value().base() * 0.91;
  m.l2_rate = std::min(m.dram_rate * 2.3, m.l1_rate * 0.5);
  if (gpu.last_level && gpu.last_level->size) {
    m.l3 = gpu.last_level->size->base();
    m.l3_rate = m.dram_rate * 1.6;
    m.l2_rate = m.dram_rate * 2.6;
  }
  m.memory = gpu.dram.size.value().base();
  m.l1_wait = 35 / m.clock;
  m.l2_wait = 230 / m.clock;
  m.l3_wait = 420 / m.clock;
  m.dram_wait = 640 / m.clock;
  m.write_allocate = amd;
  for (const auto& [key, flop] : gpu.arch.sm.flop_per_clock) {
    m.rates[hardware::name_of(key)] = flop * per_clock * 0.97;
  }
  m.rates.try_emplace("fp16", m.rates["fp32"] * 2);
  m.rates.try_emplace("bf16", m.rates["fp16"]);
  return m;
}

GpuApi model_driver(const GpuModel& model) {
  driver = {};
  driver.model = model;
  driver.products = model.vendor == "hip" ? read_products(model.isa) : decltype(driver.products){};
  GpuApi api;
  api.vendor = model.vendor;
  set_up_queries(api);
  set_up_memory(api);
  set_up_running(api);
  return api;
}

const DriverLog& driver_log() {
  return driver.log;
}

}  // namespace rooftile::characterize::gpu
