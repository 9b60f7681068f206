// SPDX-License-Identifier: Apache-2.0
//
// What one thread of a kernel did when its code was executed: not what the host counts, but what is
// in the text. The modelled GPU (gpu_model.h) turns it into time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace rooftile::characterize::gpu {

struct KernelWork {
  double instructions = 0;
  double through_l1 = 0, past_l1 = 0, stored = 0, streamed = 0, shared = 0;  ///< bytes
  double loads = 0, waits = 0;          ///< a wait is for all loads in flight
  std::map<std::string, double> flops;  ///< by rate: "fp32", "fp16_tensor"; of this thread
  std::uint64_t lowest = ~std::uint64_t{0},
                highest = 0;  ///< addresses of what was loaded or stored

  void touch(std::uint64_t address, unsigned bytes) {
    lowest = std::min(lowest, address);
    highest = std::max(highest, address + bytes);
  }
  void each(KernelWork& other, const std::function<void(double&, double&)>& apply) {
    apply(instructions, other.instructions);
    apply(through_l1, other.through_l1);
    apply(past_l1, other.past_l1);
    apply(stored, other.stored);
    apply(streamed, other.streamed);
    apply(shared, other.shared);
    apply(loads, other.loads);
    apply(waits, other.waits);
    for (auto& [name, value] : flops) apply(value, other.flops[name]);
  }
};

/// How a thread is launched, and what it finds in memory.
struct ThreadLaunch {
  std::uint32_t thread = 0, block = 0, blocks = 1, threads = 1;
  std::uint64_t arrays[3] = {};
  std::uint32_t n = 0, passes = 0, links = 0;
  std::function<std::uint64_t(std::uint64_t)> read64;  ///< of global memory
  std::function<void(std::uint64_t, std::uint64_t)> write64;
};

/// Executes one thread of a kernel of a PTX module. Throws std::runtime_error on anything that it
/// does not know: a test must not count less than there is.
KernelWork run_ptx(std::string_view module, const std::string& kernel, const ThreadLaunch& launch);
bool has_ptx_kernel(std::string_view module, const std::string& kernel);

/// Executes one thread of kernels.hip, compiled for this processor with counting loads.
KernelWork run_hip(const std::string& kernel, const ThreadLaunch& launch);
bool has_hip_kernel(const std::string& kernel);

}  // namespace rooftile::characterize::gpu
