// SPDX-License-Identifier: Apache-2.0
//
// The host processor as a Device: the kernels of the best instruction set it has, on one pinned
// thread per core, each with memory that it touched first (so it lies on its own NUMA node).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "characterize/cpu/topology.h"
#include "characterize/device.h"
#include "core/result.h"

namespace rooftile::characterize::cpu {

struct CpuOptions {
  std::optional<std::int64_t> threads;  ///< default: one per physical core
  std::string isa;                      ///< "sse2", "avx2+fma", ...; empty: the best one
  /// The i-th of n equal parts of the allowed cores (ranks of one node that share them all).
  std::int64_t part = 0, parts = 1;
};

struct KernelTable;

/// Names of the base instruction sets this build has and this processor can run, best first.
std::vector<std::string> available_isas();

Result<std::unique_ptr<Device>> make_cpu_device(const CpuOptions& options);
/// With the kernels of this table alone, whatever options.isa says; tests hand in broken ones.
Result<std::unique_ptr<Device>> make_cpu_device(const CpuOptions& options,
                                                const KernelTable& kernels);

}  // namespace rooftile::characterize::cpu
