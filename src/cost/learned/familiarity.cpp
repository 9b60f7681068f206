// SPDX-License-Identifier: Apache-2.0
#include "cost/learned/familiarity.h"

#include <algorithm>

#include "cost/attained.h"

namespace rooftile::cost::learned {

namespace {

/// The kernels that a library runs there; empty where nothing says.
const std::string& family_of(const hardware::GpuSpec& gpu, std::string_view kernel_class) {
  static const std::string kUnknown;
  const hardware::LibraryFacts& library = gpu.arch.library;
  if (kernel_class == "prefill" || kernel_class == "decode")
    return library.attention ? library.attention->family : kUnknown;
  if (kernel_class == "linear_16bit" || kernel_class == "linear_8bit") return library.tensor_family;
  return library.kernel_family;
}

/// What the class demands of the board's power at the data sheet's rate, over that power; kernels
/// that stream demand too little to matter.
double demand_of(const hardware::GpuSpec& gpu, std::string_view kernel_class,
                 const ClockConstants& clock) {
  const hardware::RateKey fp32{DType::Fp32, hardware::Pipe::Vector};
  const bool eight_bit = kernel_class == "linear_8bit";
  std::optional<double> demand;
  if (eight_bit || kernel_class == "linear_16bit" || kernel_class == "prefill") {
    demand = tensor_demand(gpu, {eight_bit ? DType::Fp8E4m3 : DType::Bf16, hardware::Pipe::Tensor},
                           clock);
  } else if (kernel_class == "linear" || kernel_class == "bmm" || kernel_class == "conv") {
    if (const auto peak = gpu.peak.find(fp32); peak != gpu.peak.end())
      demand = power_demand(gpu, peak->second.base(), 1.0, clock);
  }
  return std::max(1.0, demand.value_or(1.0));
}

bool lists(const std::vector<std::string>& sorted, const std::string& name) {
  return !name.empty() && std::binary_search(sorted.begin(), sorted.end(), name);
}

void insert(const std::string& name, std::vector<std::string>& sorted) {
  const auto place = std::lower_bound(sorted.begin(), sorted.end(), name);
  if (!name.empty() && (place == sorted.end() || *place != name)) sorted.insert(place, name);
}

}  // namespace

void add_kin(const hardware::GpuSpec& gpu, std::string_view kernel_class,
             const ClockConstants& clock, Kin& kin) {
  insert(gpu.chip, kin.chips);
  insert(gpu.isa, kin.architectures);
  insert(family_of(gpu, kernel_class), kin.families);
  kin.demand = std::max(kin.demand, demand_of(gpu, kernel_class, clock));
}

Familiarity familiarity(const hardware::GpuSpec& gpu, std::string_view kernel_class,
                        const ClockConstants& clock, const Kin& kin) {
  constexpr double kFurther = 1.15;
  const bool limited = demand_of(gpu, kernel_class, clock) > kFurther * kin.demand;
  Familiarity known = Familiarity::Nothing;
  if (lists(kin.chips, gpu.chip)) {
    known = Familiarity::Chip;
  } else if (lists(kin.architectures, gpu.isa)) {
    known = Familiarity::Architecture;
  } else if (lists(kin.families, family_of(gpu, kernel_class))) {
    known = Familiarity::Family;
  }
  if (!limited || known == Familiarity::Nothing) return known;
  return static_cast<Familiarity>(static_cast<int>(known) + 1);
}

}  // namespace rooftile::cost::learned
