// SPDX-License-Identifier: Apache-2.0
//
// The back ends by name. Each is found at run time: a program built on a machine with a GPU runs on
// one without, and says what is missing.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "characterize/device.h"
#include "core/catalog.h"
#include "core/result.h"

namespace rooftile::characterize {

inline constexpr std::array<std::string_view, 4> kBackends{"cpu", "opencl", "cuda", "hip"};

struct BackendOptions {
  std::string backend = "cpu";
  std::int64_t device = 0;              ///< which one, for opencl, cuda and hip
  std::optional<std::int64_t> threads;  ///< cpu: default is one per physical core
  std::string isa;                      ///< cpu: empty means the best one
  std::int64_t part = 0, parts = 1;     ///< cpu: which share of the cores this rank takes
};

/// The catalogue holds the architectures of GPUs.
Result<std::unique_ptr<Device>> make_device(const BackendOptions& options, const Catalog& catalog);

}  // namespace rooftile::characterize
