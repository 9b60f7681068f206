// SPDX-License-Identifier: Apache-2.0
//
// The words that files and models share: vendors, execution units, memory levels, and the key of a
// rate ("bf16_tensor").
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/dtype.h"
#include "core/result.h"

namespace rooftile::hardware {

enum class Vendor : std::uint8_t { Nvidia, Amd, Intel, Other };

/// Which execution units a rate belongs to: the vector lanes, or the matrix (tensor) units.
enum class Pipe : std::uint8_t { Vector, Tensor };

enum class MemoryLevel : std::uint8_t { L1, L2, Dram };
inline constexpr std::array kMemoryLevels{MemoryLevel::L1, MemoryLevel::L2, MemoryLevel::Dram};

struct RateKey {
  DType dtype = DType::Fp32;
  Pipe pipe = Pipe::Vector;
  auto operator<=>(const RateKey&) const = default;
};

/// "nvidia", "vector" or "tensor", "l1".
std::string_view name_of(Vendor vendor);
std::string_view name_of(Pipe pipe);
std::string_view name_of(MemoryLevel level);
/// As the files write it: "fp32", "bf16_tensor". The only spelling that parse_rate_key() takes.
std::string name_of(RateKey key);
Result<RateKey> parse_rate_key(std::string_view text);
/// As the Empirical Roofline Toolkit writes it: "GFLOPs" (FP64, before 2019), "FP32 GFLOPs"; and as
/// our own export does: "FP16 TC GFLOPs".
std::optional<RateKey> parse_ert_rate(std::string_view text);

}  // namespace rooftile::hardware
