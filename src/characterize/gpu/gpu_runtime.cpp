// SPDX-License-Identifier: Apache-2.0
#include "characterize/gpu/gpu_runtime.h"

#include <fmt/format.h>

#include <algorithm>

namespace rooftile::characterize::gpu {

Runtime::~Runtime() {
  release();
}

Status Runtime::done(int code, const char* what) const {
  if (code == 0) return {};
  return unsupported(fmt::format("{}:{}", api_.vendor, name()),
                     fmt::format("{} failed with driver error {}", what, code));
}

Status Runtime::open() {
  ring_ = {index_};
  if (api_.set_device == nullptr) {
    Handle context = nullptr;
    ROOFTILE_CHECK(done(api_.retain_context(&context, index_), "creating a context"));
    contexts_ = {context};
  }
  ROOFTILE_CHECK(choose(index_));
  ROOFTILE_CHECK(done(api_.create_event(&begin_, 0), "creating an event"));
  ROOFTILE_CHECK(done(api_.create_event(&end_, 0), "creating an event"));
  return has_links() ? join_peers() : Status{};
}

Status Runtime::choose(int device) const {
  if (api_.set_device != nullptr) return done(api_.set_device(device), "choosing the device");
  const auto at = std::find(ring_.begin(), ring_.end(), device) - ring_.begin();
  return done(api_.set_context(contexts_.at(static_cast<std::size_t>(at))), "choosing the context");
}

/// The other devices, in order after this one, as long as each can reach the one before.
Status Runtime::join_peers() {
  int count = 0;
  ROOFTILE_CHECK(done(api_.device_count(&count), "counting the devices"));
  for (int i = 1; i < count; ++i) {
    const int device = (index_ + i) % count;
    int from = 0, to = 0;
    const bool asked = api_.can_access_peer(&from, ring_.back(), device) == 0 &&
                       api_.can_access_peer(&to, device, index_) == 0;
    if (!asked || from == 0 || to == 0) continue;
    if (api_.set_device == nullptr) {
      Handle context = nullptr;
      ROOFTILE_CHECK(done(api_.retain_context(&context, device), "creating a context"));
      contexts_.push_back(context);
    }
    ring_.push_back(device);
  }
  for (std::size_t i = 0; ring_.size() > 1 && i < ring_.size(); ++i) {
    const std::size_t next = (i + 1) % ring_.size();
    ROOFTILE_CHECK(choose(ring_[i]));
    // An error means that it is enabled already, or that copies go through the host: both work.
    if (api_.enable_peer_device != nullptr) {
      api_.enable_peer_device(ring_[next], 0);
    } else {
      api_.enable_peer_context(contexts_[next], 0);
    }
  }
  return choose(index_);
}

std::string Runtime::name() const {
  std::array<char, 256> text{};
  if (api_.device_name(text.data(), static_cast<int>(text.size()) - 1, index_) != 0) return "?";
  return text.data();
}

Result<int> Runtime::attribute(int number) const {
  int value = 0;
  ROOFTILE_CHECK(done(api_.device_attribute(&value, number, index_), "asking for an attribute"));
  return value;
}

std::optional<int> Runtime::driver_version() const {
  int version = 0;
  return api_.driver_version(&version) == 0 ? std::optional(version) : std::nullopt;
}

std::optional<Bytes> Runtime::total_memory() const {
  std::size_t bytes = 0;
  if (api_.total_memory(&bytes, index_) != 0) return std::nullopt;
  return Bytes::from_base(static_cast<double>(bytes));
}

Result<Handle> Runtime::load(const void* image) {
  Handle module = nullptr;
  ROOFTILE_CHECK(done(api_.load_module(&module, image), "loading the kernels"));
  return module;
}

Handle Runtime::find(Handle module, const char* function) const {
  Handle found = nullptr;
  return api_.find_function(&found, module, function) == 0 ? found : nullptr;
}

void Runtime::prefer_l1(Handle function) const {
  constexpr int kCarveout = 9;  // CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, in percent
  if (api_.set_function_attribute != nullptr) api_.set_function_attribute(function, kCarveout, 0);
}

Result<DevicePointer> Runtime::allocate_on(int device, std::int64_t bytes) {
  ROOFTILE_CHECK(choose(device));
  DevicePointer pointer = 0;
  const int code = api_.allocate(&pointer, static_cast<std::size_t>(bytes));
  ROOFTILE_CHECK(choose(index_));
  if (code != 0) {
    return bad_input(fmt::format("{}:{}", api_.vendor, name()),
                     fmt::format("there are no {} bytes of device memory left", bytes),
                     "set a smaller --max-working-set");
  }
  buffers_.push_back({.pointer = pointer, .device = device});
  return pointer;
}

Status Runtime::allocate(std::int64_t arrays, std::int64_t bytes, std::uint32_t word) {
  release();
  for (std::int64_t i = 0; i < arrays; ++i) {
    ROOFTILE_TRY(const DevicePointer pointer, allocate_on(index_, bytes));
    ROOFTILE_CHECK(
        done(api_.fill32(pointer, word, static_cast<std::size_t>(bytes / 4)), "filling"));
  }
  return wait();
}

Result<void*> Runtime::allocate_host(std::int64_t bytes) {
  constexpr unsigned kPortableAndMapped = 3;  // the same numbers in CUDA and HIP
  void* pointer = nullptr;
  ROOFTILE_CHECK(
      done(api_.allocate_host(&pointer, static_cast<std::size_t>(bytes), kPortableAndMapped),
           "allocating memory of the host"));
  host_.push_back(pointer);
  return pointer;
}

Result<DevicePointer> Runtime::allocate_on_peer(std::int64_t bytes) {
  return allocate_on(ring_.at(1), bytes);
}

Status Runtime::allocate_ring(std::int64_t bytes) {
  release();
  for (std::size_t i = 0; i < ring_.size(); ++i) {
    ROOFTILE_TRY(const DevicePointer from, allocate_on(ring_[i], bytes));
    ROOFTILE_TRY(const DevicePointer to, allocate_on(ring_[(i + 1) % ring_.size()], bytes));
    static_cast<void>(from);
    static_cast<void>(to);
  }
  return {};
}

Status Runtime::copy_ring(std::size_t bytes) const {
  for (std::size_t i = 0; i < ring_.size(); ++i) {
    ROOFTILE_CHECK(choose(ring_[i]));
    ROOFTILE_CHECK(copy_device(buffers_[2 * i + 1].pointer, buffers_[2 * i].pointer, bytes));
  }
  for (const int device : ring_) {
    ROOFTILE_CHECK(choose(device));
    ROOFTILE_CHECK(wait());
  }
  return choose(index_);
}

Status Runtime::write(DevicePointer to, const void* from, std::size_t bytes) const {
  return done(api_.copy_in(to, from, bytes), "copying");
}

Status Runtime::read(void* to, DevicePointer from, std::size_t bytes) const {
  return done(api_.copy_out(to, from, bytes), "copying");
}

Status Runtime::launch(const Shape& shape, std::uint32_t passes) const {
  std::array<DevicePointer, 3> arrays{};
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    arrays[i] = (i < buffers_.size() ? buffers_[i] : buffers_.front()).pointer;
  }
  std::uint32_t n = shape.n, links = shape.links;
  std::array<void*, 6> arguments{arrays.data(), &arrays[1], &arrays[2], &n, &passes, &links};
  return done(api_.launch(shape.function, static_cast<unsigned>(shape.grid), 1, 1,
                          static_cast<unsigned>(shape.threads), 1, 1, 0, nullptr, arguments.data(),
                          nullptr),
              "launching a kernel");
}

Status Runtime::wait() const {
  return done(api_.synchronize(), "waiting for the device");
}

Result<Seconds> Runtime::timed(const std::function<Status()>& work) const {
  ROOFTILE_CHECK(done(api_.record_event(begin_, nullptr), "recording an event"));
  ROOFTILE_CHECK(work());
  ROOFTILE_CHECK(done(api_.record_event(end_, nullptr), "recording an event"));
  ROOFTILE_CHECK(done(api_.wait_event(end_), "running a kernel"));
  float milliseconds = 0;
  ROOFTILE_CHECK(done(api_.event_time(&milliseconds, begin_, end_), "timing"));
  return from_ms(milliseconds);
}

Status Runtime::copy_in(DevicePointer to, const void* from, std::size_t bytes) const {
  return done(api_.copy_in_async(to, from, bytes, nullptr), "copying from the host");
}

Status Runtime::copy_out(void* to, DevicePointer from, std::size_t bytes) const {
  return done(api_.copy_out_async(to, from, bytes, nullptr), "copying to the host");
}

Status Runtime::copy_device(DevicePointer to, DevicePointer from, std::size_t bytes) const {
  return done(api_.copy_device_async(to, from, bytes, nullptr), "copying between devices");
}

void Runtime::release() {
  for (const Buffer& buffer : buffers_) api_.release(buffer.pointer);
  for (void* pointer : host_) api_.release_host(pointer);
  buffers_.clear();
  host_.clear();
}

}  // namespace rooftile::characterize::gpu
