// SPDX-License-Identifier: Apache-2.0
//
// One GPU through the driver interface: its memory, launches, timing, and the other GPUs that it
// can reach. Everything that asks the driver is here; what is asked for is in gpu_device.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "characterize/gpu/gpu_api.h"
#include "core/result.h"
#include "core/units.h"

namespace rooftile::characterize::gpu {

/// What one launch looks like; the passes follow.
struct Shape {
  Handle function = nullptr;
  std::int64_t grid = 1, threads = 1;
  std::uint32_t n = 0, links = 0;
};

class Runtime {
 public:
  Runtime(const GpuApi& api, int index) : api_(api), index_(index) {}
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  Status open();
  [[nodiscard]] bool is_hip() const { return api_.vendor == "hip"; }
  [[nodiscard]] const std::string& vendor() const { return api_.vendor; }
  [[nodiscard]] const AttributeNumbers& attributes() const { return api_.attributes; }
  [[nodiscard]] std::string name() const;
  [[nodiscard]] Result<int> attribute(int number) const;
  [[nodiscard]] std::optional<int> driver_version() const;
  [[nodiscard]] std::optional<Bytes> total_memory() const;

  Result<Handle> load(const void* image);
  /// Null where the image has no such function.
  Handle find(Handle module, const char* function) const;
  /// All of the array that L1 and shared memory divide becomes L1, where the driver can do that.
  void prefer_l1(Handle function) const;

  /// Arrays of `bytes` each, filled with `word`; what was there before is released.
  Status allocate(std::int64_t arrays, std::int64_t bytes, std::uint32_t word);
  /// Pinned memory of the host, which the GPU sees under the same address.
  Result<void*> allocate_host(std::int64_t bytes);
  /// An array on the next GPU. Nothing is ever on this one.
  Result<DevicePointer> allocate_on_peer(std::int64_t bytes);
  [[nodiscard]] DevicePointer array(std::size_t i) const { return buffers_.at(i).pointer; }
  Status write(DevicePointer to, const void* from, std::size_t bytes) const;
  Status read(void* to, DevicePointer from, std::size_t bytes) const;

  Status launch(const Shape& shape, std::uint32_t passes) const;
  Status wait() const;
  /// Time on the device of what `work` enqueues.
  Result<Seconds> timed(const std::function<Status()>& work) const;

  [[nodiscard]] Seconds host_time() const { return Seconds::from_base(api_.host_seconds()); }

  Status copy_in(DevicePointer to, const void* from, std::size_t bytes) const;
  Status copy_out(void* to, DevicePointer from, std::size_t bytes) const;
  Status copy_device(DevicePointer to, DevicePointer from, std::size_t bytes) const;

  [[nodiscard]] bool has_links() const { return api_.allocate_host != nullptr; }
  /// The GPUs that can be reached from one another in a ring, this one first; alone: one.
  [[nodiscard]] const std::vector<int>& ring() const { return ring_; }
  /// One array of `bytes` on every GPU of the ring and one on its successor; then copies them all
  /// at the same time.
  Status allocate_ring(std::int64_t bytes);
  Status copy_ring(std::size_t bytes) const;

  void release();
  [[nodiscard]] Status done(int code, const char* what) const;

 private:
  struct Buffer {
    DevicePointer pointer = 0;
    int device = 0;
  };
  Status choose(int device) const;
  Status join_peers();
  Result<DevicePointer> allocate_on(int device, std::int64_t bytes);

  GpuApi api_;
  int index_;
  std::vector<Handle> contexts_;  ///< CUDA: of every device of the ring
  std::vector<int> ring_;
  std::vector<Buffer> buffers_;
  std::vector<void*> host_;
  Handle begin_ = nullptr, end_ = nullptr;
};

}  // namespace rooftile::characterize::gpu
