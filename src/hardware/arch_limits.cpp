// SPDX-License-Identifier: Apache-2.0
#include "hardware/arch_limits.h"

#include <algorithm>
#include <array>

namespace rooftile::hardware {

namespace {

constexpr std::array<ArchLimits, 19> kArchitectures{{
    {"5.2", "maxwell", 65536, 2048, 32, 1, 3},
    {"6.0", "pascal", 65536, 2048, 32, 3, 4},
    {"6.1", "pascal", 65536, 2048, 32, 0.5, 3},
    {"7.0", "volta", 65536, 2048, 32, 4.5, 6},
    {"7.5", "turing", 65536, 1024, 16, 1, 6},
    {"8.0", "ampere", 65536, 2048, 32, 24, 48},
    {"8.6", "ampere", 65536, 1536, 16, 2, 6},
    {"8.9", "ada", 65536, 1536, 24, 12, 96},
    {"9.0", "hopper", 65536, 2048, 32, 50, 60},
    {"10.0", "blackwell", 65536, 2048, 32, 100, 132},
    {"10.3", "blackwell", 65536, 2048, 32, 100, 132},
    {"12.0", "blackwell", 65536, 1536, 24, 24, 128},
    {"gfx906", "gcn5", 65536, 2560, {}, 4, 4},
    {"gfx908", "cdna1", 131072, 2560, {}, 8, 8},
    {"gfx90a", "cdna2", 131072, 2048, {}, 8, 16},
    {"gfx942", "cdna3", 131072, 2048, {}, 4, 32},  // 4 MiB per XCD
    {"gfx950", "cdna4", 131072, 2048, {}, 4, 32},
    {"PVC", "xe_hpc", {}, {}, {}, 108, 408},
    {"BMG", "xe2_hpg", {}, {}, {}, 13, 18},
}};

constexpr std::array<DramType, 12> kDramTypes{{
    {"GDDR5", 3.6, 9, 32, 0.25, 2},
    {"GDDR5X", 10, 12, 32, 0.5, 2},
    {"GDDR6", 10, 20, 32, 0.5, 4},
    {"GDDR6X", 14, 24, 32, 1, 4},
    {"GDDR7", 20, 36, 32, 1, 6},
    {"HBM2", 1, 2.45, 1024, 2, 16},
    {"HBM2e", 2.8, 3.7, 1024, 8, 24},
    {"HBM3", 4.8, 5.9, 1024, 16, 24},
    {"HBM3e", 5.95, 9.8, 1024, 22, 48},
    {"HBM4", 6, 13, 2048, 24, 64},
    {"LPDDR5", 4.2, 6.5, 32, 1, 16},
    {"LPDDR5X", 6.4, 10.7, 32, 1, 16},
}};

}  // namespace

std::span<const ArchLimits> known_architectures() {
  return kArchitectures;
}

std::span<const DramType> known_dram_types() {
  return kDramTypes;
}

std::optional<ArchLimits> arch_limits(std::string_view isa) {
  const auto* it = std::find_if(kArchitectures.begin(), kArchitectures.end(),
                                [isa](const ArchLimits& arch) { return arch.isa == isa; });
  return it == kArchitectures.end() ? std::nullopt : std::optional(*it);
}

std::optional<DramType> dram_type(std::string_view name) {
  const auto* it = std::find_if(kDramTypes.begin(), kDramTypes.end(),
                                [name](const DramType& type) { return type.name == name; });
  return it == kDramTypes.end() ? std::nullopt : std::optional(*it);
}

}  // namespace rooftile::hardware
