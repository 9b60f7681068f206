// SPDX-License-Identifier: Apache-2.0
#include "characterize/opencl/opencl_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <utility>

#include "characterize/child_probe.h"
#include "characterize/cpu/clock.h"
#include "characterize/cpu/microarchitecture.h"
#include "characterize/cpu/topology.h"
#include "characterize/opencl/kernels.h"
#include "characterize/opencl/opencl_api.h"
#include "core/text.h"
#include "hardware/architecture.h"

namespace rooftile::characterize::opencl {

namespace {

constexpr std::int64_t kUnroll = 8;  // of the update kernel; the load kernel needs 4

tl::unexpected<Error> failed(std::string_view what, std::int32_t code) {
  return unsupported("opencl", fmt::format("{} failed: {}", what, error_name(code)));
}

std::string text_fact(const Api& api, Handle device, std::uint32_t what) {
  std::size_t size = 0;
  if (api.clGetDeviceInfo(device, what, 0, nullptr, &size) != 0 || size == 0 || size > 1 << 20) {
    return {};
  }
  std::string text(size, '\0');
  if (api.clGetDeviceInfo(device, what, size, text.data(), nullptr) != 0) return {};
  return std::string(trim(text.substr(0, text.find('\0'))));
}

template <typename T>
T number_fact(const Api& api, Handle device, std::uint32_t what) {
  T value{};
  return api.clGetDeviceInfo(device, what, sizeof(value), &value, nullptr) == 0 ? value : T{};
}

Result<std::vector<Handle>> find_devices(const Api& api) {
  std::uint32_t count = 0;
  const std::int32_t status = api.clGetPlatformIDs(0, nullptr, &count);
  if (status != 0 || count == 0) {
    return unsupported("opencl", "there is no OpenCL platform",
                       "install the driver of your device, e.g. pocl-opencl-icd");
  }
  std::vector<Handle> platforms(count), out;
  if (const auto code = api.clGetPlatformIDs(count, platforms.data(), nullptr); code != 0) {
    return failed("clGetPlatformIDs", code);
  }
  for (const Handle platform : platforms) {
    std::uint32_t devices = 0;
    if (api.clGetDeviceIDs(platform, kDeviceTypeAll, 0, nullptr, &devices) != 0) continue;
    std::vector<Handle> found(devices);
    if (api.clGetDeviceIDs(platform, kDeviceTypeAll, devices, found.data(), nullptr) != 0) continue;
    out.insert(out.end(), found.begin(), found.end());
  }
  if (out.empty()) return unsupported("opencl", "no platform has a device");
  return out;
}

/// A vector type for a number format: 32 bytes wide, as AVX2 and the L1 of most GPUs like it.
struct Format {
  DType dtype;
  const char* options;
  const char* extension;  ///< that the device must have; empty: part of the standard
};
constexpr Format kFormats[] = {
    {DType::Fp64, "-DVEC=double4 -DLANES=4 -DONE=1.0 -DFORMAT_FP64", "cl_khr_fp64"},
    {DType::Fp32, "-DVEC=float8 -DLANES=8 -DONE=1.0f", ""},
    {DType::Fp16, "-DVEC=half16 -DLANES=16 -DONE=1.0h -DFORMAT_FP16", "cl_khr_fp16"}};
constexpr std::int64_t kVectorBytes = 32;

const char* kernel_name(Pattern pattern) {
  switch (pattern) {
    case Pattern::Load: return "load_kernel";
    case Pattern::Store: return "store_kernel";
    case Pattern::Copy: return "copy_kernel";
    case Pattern::Triad: return "triad_kernel";
    case Pattern::Update: return "update_kernel";
    case Pattern::Chase: return "chase_kernel";
    case Pattern::Launch: return "launch_kernel";
    default: return nullptr;
  }
  return nullptr;
}

class OpenClDevice final : public Device {
 public:
  OpenClDevice(const Api& api, Handle device) : api_(api), device_(device) {}
  ~OpenClDevice() override {
    release_buffers();
    for (const auto& [key, kernel] : kernels_) api_.clReleaseKernel(kernel);
    for (const auto& [dtype, program] : programs_) api_.clReleaseProgram(program);
    if (queue_ != nullptr) api_.clReleaseCommandQueue(queue_);
    if (context_ != nullptr) api_.clReleaseContext(context_);
  }
  OpenClDevice(const OpenClDevice&) = delete;
  OpenClDevice& operator=(const OpenClDevice&) = delete;

  Status open(const Catalog& catalog) {
    ROOFTILE_TRY(architectures_, hardware::list_architectures(catalog));
    std::int32_t code = 0;
    context_ = api_.clCreateContext(nullptr, 1, &device_, nullptr, nullptr, &code);
    if (code != 0) return failed("clCreateContext", code);
    queue_ = api_.clCreateCommandQueue(context_, device_, kQueueProfilingEnable, &code);
    if (code != 0) return failed("clCreateCommandQueue", code);
    describe();
    for (const Format& format : kFormats) {
      if (format.extension[0] != '\0' && extensions_.find(format.extension) == std::string::npos) {
        continue;
      }
      if (auto built = build(format); !built) {
        description_.notes.push_back(fmt::format("{} kernels do not compile: {}",
                                                 name_of(format.dtype), built.error().message));
      }
    }
    if (programs_.empty()) {
      return unsupported("opencl:" + description_.name, "no kernel compiles on this device");
    }
    state_limits();
    return {};
  }

 private:
  [[nodiscard]] const DeviceDescription& do_description() const override { return description_; }

  [[nodiscard]] std::vector<Capability> do_capabilities() const override {
    std::vector<Capability> out;
    const DType widest = programs_.contains(DType::Fp64) ? DType::Fp64 : DType::Fp32;
    for (const Pattern pattern : {Pattern::Load, Pattern::Store, Pattern::Copy, Pattern::Triad}) {
      out.push_back({.pattern = pattern, .dtype = widest});
    }
    for (const auto& [dtype, program] : programs_) {
      out.push_back({.pattern = Pattern::Update, .dtype = dtype});
    }
    out.push_back({.pattern = Pattern::Chase, .dtype = DType::Int64});
    out.push_back({.pattern = Pattern::Launch, .dtype = DType::Int64});
    return out;
  }

  void describe() {
    description_.backend = "opencl";
    description_.name = text_fact(api_, device_, kDeviceName);
    description_.isa = text_fact(api_, device_, kDeviceVersion);
    description_.driver = text_fact(api_, device_, kDriverVersion);
    extensions_ = text_fact(api_, device_, kDeviceExtensions);
    const auto units = number_fact<std::uint32_t>(api_, device_, kDeviceMaxComputeUnits);
    description_.units = std::max<std::int64_t>(units, 1);
    const auto clock = number_fact<std::uint32_t>(api_, device_, kDeviceMaxClockFrequency);
    if (clock > 0) description_.max_clock = Hertz::from_base(clock * 1e6);
    const auto memory = number_fact<std::uint64_t>(api_, device_, kDeviceGlobalMemSize);
    if (memory > 0) description_.memory = Bytes::from_base(static_cast<double>(memory));
    largest_buffer_ = number_fact<std::uint64_t>(api_, device_, kDeviceMaxMemAllocSize);
    is_cpu_ = (number_fact<Bitfield>(api_, device_, kDeviceType) & kDeviceTypeCpu) != 0;
    // A processor runs one work-group per core with one work-item: the vectors are in the code.
    local_size_ = is_cpu_
                      ? 1
                      : std::min<std::size_t>(
                            number_fact<std::size_t>(api_, device_, kDeviceMaxWorkGroupSize), 256);
    groups_ = static_cast<std::size_t>(description_.units) * (is_cpu_ ? 1 : 8);
    description_.workers = static_cast<std::int64_t>(groups_ * local_size_);
    description_.set_granule = Bytes::from_base(static_cast<double>(kVectorBytes * kUnroll * 24) *
                                                static_cast<double>(description_.workers) /
                                                static_cast<double>(description_.units));
    description_.set_granule = max(description_.set_granule, 4_KiB);
    if (is_cpu_) {
      const cpu::Topology host = cpu::load_topology();
      description_.caches = cpu::cache_levels(host, cpu::choose_processors(host, std::nullopt));
      description_.notes.emplace_back("OpenCL does not pin the threads of a processor");
    } else if (const auto cache =
                   number_fact<std::uint64_t>(api_, device_, kDeviceGlobalMemCacheSize);
               cache > 0) {
      description_.caches = {{.name = "L2",
                              .capacity = Bytes::from_base(static_cast<double>(cache)),
                              .instances = 1,
                              .line = std::nullopt}};
    }
  }

  /// OpenCL tells neither the architecture nor what a compute unit is: the widest of all count.
  void state_limits() {
    // Units of some vendors are made of several multiprocessors.
    constexpr double kMultiprocessors = 4;
    constexpr double kWidestPath = 256;  // bytes per clock of a multiprocessor (gpu_device.cpp)
    constexpr int kWidestVector = 64;
    const auto units = static_cast<double>(description_.units);
    UnitLimits& limits = description_.limits;
    limits.load = is_cpu_ ? cpu::most_loaded_per_cycle(kWidestVector) * units
                          : BytesPerCycle::from_base(kMultiprocessors * kWidestPath * units);
    limits.store = is_cpu_ ? cpu::most_stored_per_cycle(kWidestVector) * units : limits.load;
    for (const auto& [dtype, program] : programs_) {
      const double lanes = kWidestVector / size_of(dtype).base();
      const double flops = is_cpu_ ? 2.0 * cpu::most_links_per_cycle() * lanes
                                   : kMultiprocessors * hardware::widest_flop_per_clock(
                                                            architectures_, {.dtype = dtype});
      limits.flops[{.dtype = dtype}] = {.value = FlopsPerCycle::from_base(flops * units),
                                        .exact = false};
    }
  }

  Status build(const Format& format) {
    std::int32_t code = 0;
    const char* source = kSource;
    Handle program = api_.clCreateProgramWithSource(context_, 1, &source, nullptr, &code);
    if (code != 0) return failed("clCreateProgramWithSource", code);
    const std::string options = fmt::format("{} -DBLOCKED={}", format.options, is_cpu_ ? 1 : 0);
    code = api_.clBuildProgram(program, 1, &device_, options.c_str(), nullptr, nullptr);
    if (code != 0) {
      std::string log(4096, '\0');
      std::size_t size = 0;
      api_.clGetProgramBuildInfo(program, device_, kProgramBuildLog, log.size(), log.data(), &size);
      api_.clReleaseProgram(program);
      return unsupported("opencl", printable(trim(log.substr(0, log.find('\0')))));
    }
    programs_[format.dtype] = program;
    return {};
  }

  Result<Handle> kernel_of(const Case& what) {
    const char* name = kernel_name(what.pattern);
    const bool any_format = what.pattern == Pattern::Chase || what.pattern == Pattern::Launch;
    const DType dtype = any_format ? programs_.begin()->first : what.dtype;
    const auto program = programs_.find(dtype);
    if (name == nullptr || program == programs_.end()) {
      return unsupported("opencl:" + description_.name,
                         "no kernel for " + characterize::describe(what));
    }
    const auto key = std::pair(dtype, std::string(name));
    if (const auto found = kernels_.find(key); found != kernels_.end()) return found->second;
    std::int32_t code = 0;
    Handle kernel = api_.clCreateKernel(program->second, name, &code);
    if (code != 0) return failed("clCreateKernel", code);
    kernels_[key] = kernel;
    return kernel;
  }

  Result<PassWork> do_prepare(const Case& what) override {
    what_ = what;
    ROOFTILE_TRY(kernel_, kernel_of(what));
    if (what.pattern == Pattern::Launch) {
      ROOFTILE_CHECK(allocate(1, kVectorBytes));
      ROOFTILE_CHECK(set_arguments(0, 0));
      return PassWork{.bytes = {}, .flops = {}, .steps = 1};
    }
    if (what.pattern == Pattern::Chase) return prepare_chase(what);
    const std::int64_t arrays = arrays_of(what.pattern);
    const std::int64_t step =
        static_cast<std::int64_t>(groups_ * local_size_) * kUnroll * kVectorBytes;
    const auto share = static_cast<std::int64_t>(what.working_set.base()) / arrays;
    const std::int64_t bytes = std::max(share / step, std::int64_t{1}) * step;
    ROOFTILE_CHECK(allocate(arrays, bytes));
    ROOFTILE_CHECK(fill(arrays, bytes, what.dtype));
    const bool triad = what.pattern == Pattern::Triad;
    ROOFTILE_CHECK(set_arguments(static_cast<std::uint64_t>(bytes / kVectorBytes),
                                 static_cast<std::uint32_t>(what.flops_per_element / 2)));
    const auto total = static_cast<double>(bytes);
    const double elements = total / size_of(what.dtype).base();
    return PassWork{
        .bytes = Bytes::from_base(total * static_cast<double>(accesses_per_element(what.pattern))),
        .flops =
            Flops::from_base(elements * static_cast<double>(triad ? 2 : what.flops_per_element)),
        .steps = 0};
  }

  Result<PassWork> prepare_chase(const Case& what) {
    const auto cells = std::max<std::size_t>(static_cast<std::size_t>(what.working_set.base()) /
                                                 64 / static_cast<std::size_t>(description_.units),
                                             2);
    std::vector<std::uint64_t> next(cells * 8), order(cells);
    std::iota(order.begin(), order.end(), 0U);
    std::mt19937_64 random(1);
    for (std::size_t i = cells - 1; i > 0; --i) std::swap(order[i], order[random() % i]);
    for (std::size_t i = 0; i < cells; ++i) next[order[i] * 8] = order[(i + 1) % cells] * 8;
    ROOFTILE_CHECK(allocate(2, static_cast<std::int64_t>(cells * 64)));
    std::uint64_t start = 0;
    for (const auto& [buffer, data, size] : {std::tuple(buffers_[0], next.data(), cells * 64),
                                             std::tuple(buffers_[1], &start, sizeof(start))}) {
      const auto code =
          api_.clEnqueueWriteBuffer(queue_, buffer, 1, 0, size, data, 0, nullptr, nullptr);
      if (code != 0) return failed("clEnqueueWriteBuffer", code);
    }
    ROOFTILE_CHECK(set_arguments(cells, 0));
    return PassWork{.bytes = {}, .flops = {}, .steps = 4096};
  }

  Status allocate(std::int64_t arrays, std::int64_t bytes) {
    release_buffers();
    if (largest_buffer_ > 0 && static_cast<std::uint64_t>(bytes) > largest_buffer_) {
      return unsupported("opencl", "the working set is larger than the device's largest buffer",
                         "set a smaller --max-working-set");
    }
    for (std::int64_t i = 0; i < arrays; ++i) {
      std::int32_t code = 0;
      Handle buffer = api_.clCreateBuffer(context_, kMemReadWrite, static_cast<std::size_t>(bytes),
                                          nullptr, &code);
      if (code != 0) return failed("clCreateBuffer", code);
      buffers_.push_back(buffer);
    }
    return {};
  }

  Status fill(std::int64_t arrays, std::int64_t bytes, DType dtype) {
    const double one64 = 1.0;
    const float one32 = 1.0F;
    const std::uint16_t one16 = 0x3c00;
    const void* pattern = dtype == DType::Fp64   ? static_cast<const void*>(&one64)
                          : dtype == DType::Fp32 ? static_cast<const void*>(&one32)
                                                 : static_cast<const void*>(&one16);
    const auto size = static_cast<std::size_t>(size_of(dtype).base());
    for (std::int64_t i = 0; i < arrays; ++i) {
      const auto code =
          api_.clEnqueueFillBuffer(queue_, buffers_[static_cast<std::size_t>(i)], pattern, size, 0,
                                   static_cast<std::size_t>(bytes), 0, nullptr, nullptr);
      if (code != 0) return failed("clEnqueueFillBuffer", code);
    }
    const auto code = api_.clFinish(queue_);
    return code == 0 ? Status{} : failed("clFinish", code);
  }

  /// The kernels all take (a, b, c, n, passes, links); unused arrays repeat the first.
  Status set_arguments(std::uint64_t n, std::uint32_t links) {
    std::int32_t code = 0;
    for (std::uint32_t i = 0; i < 3; ++i) {
      const Handle buffer = i < buffers_.size() ? buffers_[i] : buffers_[0];
      code |= api_.clSetKernelArg(kernel_, i, sizeof(Handle), static_cast<const void*>(&buffer));
    }
    code |= api_.clSetKernelArg(kernel_, 3, sizeof(n), &n);
    code |= api_.clSetKernelArg(kernel_, 5, sizeof(links), &links);
    return code == 0 ? Status{} : failed("clSetKernelArg", code);
  }

  Result<Seconds> do_run(std::int64_t passes) override {
    if (what_.pattern == Pattern::Launch) return run_launches(passes);
    const auto count = static_cast<std::uint64_t>(passes);
    if (const auto code = api_.clSetKernelArg(kernel_, 4, sizeof(count), &count); code != 0) {
      return failed("clSetKernelArg", code);
    }
    Handle event = nullptr;
    ROOFTILE_CHECK(enqueue(&event));
    if (const auto code = api_.clFinish(queue_); code != 0) return failed("clFinish", code);
    std::uint64_t begin = 0, end = 0;
    const auto first =
        api_.clGetEventProfilingInfo(event, kProfilingCommandStart, sizeof(begin), &begin, nullptr);
    const auto second =
        api_.clGetEventProfilingInfo(event, kProfilingCommandEnd, sizeof(end), &end, nullptr);
    api_.clReleaseEvent(event);
    if (first != 0 || second != 0) return failed("clGetEventProfilingInfo", first | second);
    return Seconds::from_base(std::max(static_cast<double>(end - begin), 1.0) * 1e-9);
  }

  /// Launch overhead includes the host: one launch after the other, each waited for.
  Result<Seconds> run_launches(std::int64_t passes) {
    const std::uint64_t one = 1;
    api_.clSetKernelArg(kernel_, 4, sizeof(one), &one);
    const auto begin = std::chrono::steady_clock::now();
    for (std::int64_t i = 0; i < passes; ++i) {
      ROOFTILE_CHECK(enqueue(nullptr));
      if (const auto code = api_.clFinish(queue_); code != 0) return failed("clFinish", code);
    }
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    return Seconds::from_base(std::max(time.count(), 1e-9));
  }

  Status enqueue(Handle* event) {
    const bool single = what_.pattern == Pattern::Chase || what_.pattern == Pattern::Launch;
    const std::size_t local = single ? 1 : local_size_;
    const std::size_t global = single ? 1 : groups_ * local_size_;
    const auto code = api_.clEnqueueNDRangeKernel(queue_, kernel_, 1, nullptr, &global, &local, 0,
                                                  nullptr, event);
    return code == 0 ? Status{} : failed("clEnqueueNDRangeKernel", code);
  }

  /// OpenCL has no counter of cycles, but a processor can be asked without it.
  std::optional<Hertz> do_observe_clock() override {
    if (!is_cpu_) return std::nullopt;
    return cpu::observe_core_clock();
  }

  void release_buffers() {
    for (const Handle buffer : buffers_) api_.clReleaseMemObject(buffer);
    buffers_.clear();
  }

  Api api_;
  Handle device_;
  Handle context_ = nullptr, queue_ = nullptr, kernel_ = nullptr;
  std::vector<hardware::Architecture> architectures_;
  std::map<DType, Handle> programs_;
  std::map<std::pair<DType, std::string>, Handle> kernels_;
  std::vector<Handle> buffers_;
  DeviceDescription description_;
  std::string extensions_;
  std::uint64_t largest_buffer_ = 0;
  bool is_cpu_ = false;
  std::size_t local_size_ = 1, groups_ = 1;
  Case what_;
};

}  // namespace

Result<std::vector<std::string>> list_devices() {
  const auto probe = []() -> Result<std::string> {
    ROOFTILE_TRY(const Api api, load_api());
    ROOFTILE_TRY(const std::vector<Handle> devices, find_devices(api));
    std::string names;
    for (const Handle device : devices) names += text_fact(api, device, kDeviceName) + "\n";
    return names;
  };
  ROOFTILE_TRY(const std::string names, run_in_child(probe, "opencl"));
  std::vector<std::string> out;
  for (const std::string_view line : split(names, '\n')) {
    if (!line.empty()) out.emplace_back(line);
  }
  return out;
}

Result<std::unique_ptr<Device>> make_opencl_device(std::int64_t index, const Catalog& catalog) {
  ROOFTILE_TRY(const std::vector<std::string> names, list_devices());
  if (index < 0 || index >= static_cast<std::int64_t>(names.size())) {
    return usage_error(fmt::format("there is no OpenCL device {}", index),
                       fmt::format("0 to {}: {}", names.size() - 1, fmt::join(names, ", ")));
  }
  ROOFTILE_TRY(const Api api, load_api());
  ROOFTILE_TRY(const std::vector<Handle> devices, find_devices(api));
  auto device = std::make_unique<OpenClDevice>(api, devices[static_cast<std::size_t>(index)]);
  ROOFTILE_CHECK(device->open(catalog));
  return device;
}

}  // namespace rooftile::characterize::opencl
