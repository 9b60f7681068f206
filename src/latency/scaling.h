// SPDX-License-Identifier: Apache-2.0
//
// What-if machines: each resource of a GPU multiplied by a factor, and the time of a set of kernels
// on them with the analytical model. Everything here is closed-form: a network on a variant takes
// tens of microseconds.
//
//   key        what is multiplied
//   sms        number of SMs (with their lanes, registers, L1); L2 and DRAM stay
//   lanes      multiply-adds per clock and SM (or the matrix units' rate)
//   sm_memory  registers and shared memory per SM: more co-resident CTAs
//   shared_bw, l1_bw  bytes per clock and SM
//   l2_bw, dram_bw    bytes per second
//   l2_size
//   clock      of the SMs; L2 and DRAM bandwidths stay
//
// A bandwidth that the GPU's file does not state cannot become the bottleneck, so its factor has no
// effect. Tiles are chosen anew for every variant from today's list: wider tiles that a machine
// with more registers could use are not invented.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "latency/analytical.h"

namespace rooftile::latency {

enum class Resource : std::uint8_t {
  Sms,
  Lanes,
  SmMemory,
  SharedBandwidth,
  L1Bandwidth,
  L2Bandwidth,
  L2Size,
  DramBandwidth,
  Clock
};
inline constexpr std::size_t kResources = 9;
inline constexpr std::array kAllResources{
    Resource::Sms,         Resource::Lanes,       Resource::SmMemory, Resource::SharedBandwidth,
    Resource::L1Bandwidth, Resource::L2Bandwidth, Resource::L2Size,   Resource::DramBandwidth,
    Resource::Clock};

/// sms lanes sm_memory shared_bw l1_bw l2_bw l2_size dram_bw clock
std::string_view name_of(Resource resource);
Result<Resource> parse_resource(std::string_view text);

/// A factor per resource.
class Factors {
 public:
  Factors() { values_.fill(1.0); }
  [[nodiscard]] double of(Resource r) const { return values_[static_cast<std::size_t>(r)]; }
  void set(Resource r, double factor) { values_[static_cast<std::size_t>(r)] = factor; }
  bool operator==(const Factors&) const = default;

 private:
  std::array<double, kResources> values_{};
};

TimeMachine scaled(const TimeMachine& machine, const Factors& factors);

/// A kernel, how often it runs, and the machine of its arithmetic.
struct ScalingKernel {
  ops::KernelWork work;
  double count = 1;
  TimeMachine machine;
};

struct KernelOutcome {
  double seconds = 0;  ///< of one launch
  Bottleneck bottleneck = Bottleneck::Compute;
  std::string_view algorithm;  ///< of a convolution
};

struct StepOutcome {
  double seconds = 0;
  std::array<double, 7> share{};                ///< fraction of the time per Bottleneck
  [[nodiscard]] Bottleneck bottleneck() const;  ///< with the largest share
};

/// The kernels of a step on a base GPU, ready for many variants.
class ScalingStudy {
 public:
  ScalingStudy(std::vector<ScalingKernel> kernels, hardware::GpuSpec gpu);
  [[nodiscard]] KernelOutcome kernel(std::size_t index, const Factors& factors) const;
  [[nodiscard]] StepOutcome step(const Factors& factors) const;
  [[nodiscard]] std::span<const ScalingKernel> kernels() const { return kernels_; }

 private:
  [[nodiscard]] hardware::GpuSpec scaled_gpu(const Factors& factors) const;
  std::vector<ScalingKernel> kernels_;
  hardware::GpuSpec gpu_;  ///< sizes only; names and sources are dropped
};

/// Cost of a variant in units of the base GPU: the sum of weight * (factor - 1), for the clock
/// weight * (factor^3 - 1), as dynamic power grows with the cube of the frequency. The weights are
/// assumptions about area, pins and power, not measurements.
struct CostModel {
  std::array<double, kResources> weight{0.50, 0.25, 0.12, 0.03, 0.03, 0.06, 0.10, 0.25, 0.30};
  [[nodiscard]] double cost(const Factors& factors) const;
};

/// Beyond `factor` of one resource alone nothing is gained to speak of: twice as much of it makes
/// the time less than 5 % shorter. Overlap is smooth in this model, so that a little always is.
struct BalancePoint {
  Resource resource = Resource::Sms;
  double factor = 1;   ///< up to 16
  double speedup = 1;  ///< at that factor
};
/// Of the whole step.
BalancePoint balance_point(const ScalingStudy& study, Resource resource);
/// Of one of its kernels.
BalancePoint balance_point(const ScalingStudy& study, std::size_t kernel, Resource resource);

struct Optimum {
  Factors factors;
  double cost = 0, speedup = 1;
  std::int64_t variants = 0;  ///< machines tried
};
/// The cheapest factors found (steps of 1.1 to 8) that reach `target`; nothing when all resources
/// at 8 do not. A descent from several starts with exchanges between two resources: a
/// local optimum, no proof of the global one.
std::optional<Optimum> optimize(const ScalingStudy& study, double target, const CostModel& cost);

}  // namespace rooftile::latency
