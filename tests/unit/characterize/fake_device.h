// SPDX-License-Identifier: Apache-2.0
//
// A device with known rates: every pass takes exactly what its level and peak allow, plus noise
// that only ever slows down, as on a real machine.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "characterize/device.h"

namespace rooftile::characterize::testing {

struct FakeLevel {
  Bytes capacity;
  BytesPerSecond bandwidth;
};

class FakeDevice final : public Device {
 public:
  FakeDevice() {
    description_.backend = "fake";
    description_.name = "fake machine";
    description_.isa = "none";
    description_.caches = {{.name = "L1", .capacity = 64_KiB, .instances = 2, .line = {}},
                           {.name = "L2", .capacity = 1_MiB, .instances = 2, .line = {}}};
    description_.units = 2;
    description_.workers = 2;
    description_.memory = Bytes::from_base(1e9);
    const auto limit = [this](DType dtype, double flops, bool exact) {
      description_.limits.flops[{.dtype = dtype}] = {.value = FlopsPerCycle::from_base(flops),
                                                     .exact = exact};
    };
    limit(DType::Fp64, 32, true);
    limit(DType::Fp32, 64, false);
    limit(DType::Bf16, 128, false);
    description_.limits.load = BytesPerCycle::from_base(256);
    description_.limits.store = BytesPerCycle::from_base(128);
  }

  DeviceDescription description_;
  std::vector<FakeLevel> levels{
      {64_KiB, 400_GBps}, {1_MiB, 200_GBps}, {Bytes::from_base(1e18), 40_GBps}};
  FlopsPerSecond peak = FlopsPerSecond::from_base(96e9);
  double noise = 0.0;            ///< mean of the exponential slow-down, as a fraction
  std::int64_t prepared = 0;     ///< how many cases were prepared
  std::int64_t fail_after = -1;  ///< prepare fails after so many cases; negative: never
  /// Cases whose kernel returns at once, although its work is counted; called once per preparation.
  std::function<bool(const Case&)> does_nothing;

 private:
  [[nodiscard]] const DeviceDescription& do_description() const override { return description_; }
  [[nodiscard]] std::vector<Capability> do_capabilities() const override {
    return {{.pattern = Pattern::Load, .dtype = DType::Fp64},
            {.pattern = Pattern::Update, .dtype = DType::Fp64},
            {.pattern = Pattern::Update, .dtype = DType::Fp32},
            {.pattern = Pattern::Update, .dtype = DType::Bf16, .least_flops = 2},
            {.pattern = Pattern::Launch, .dtype = DType::Int64}};
  }
  Result<PassWork> do_prepare(const Case& what) override {
    if (fail_after >= 0 && prepared >= fail_after) return bad_input("fake", "broken");
    if (what.dtype == DType::Bf16 && what.flops_per_element < 2)
      return bad_input("fake", "no kernel");
    ++prepared;
    what_ = what;
    empty_ = does_nothing && does_nothing(what);
    const double elements = what.working_set.base() / size_of(what.dtype).base();
    work_ = {.bytes = what.working_set * static_cast<double>(accesses_per_element(what.pattern)),
             .flops = Flops::from_base(elements * static_cast<double>(what.flops_per_element)),
             .steps = what.pattern == Pattern::Launch ? 1 : 0};
    return work_;
  }
  Result<Seconds> do_run(std::int64_t passes) override {
    if (empty_) return Seconds::from_base(1e-9);
    const auto level = std::find_if(levels.begin(), levels.end(), [&](const FakeLevel& l) {
      return what_.working_set <= l.capacity;
    });
    Seconds pass = max(work_.bytes / level->bandwidth, work_.flops / peak);
    if (what_.pattern == Pattern::Launch) pass = Seconds::from_base(5e-6);
    const double slow = noise > 0 ? std::exponential_distribution<double>(1.0 / noise)(random_) : 0;
    return pass * static_cast<double>(passes) * (1.0 + slow);
  }
  std::optional<Hertz> do_observe_clock() override { return 3000_MHz; }

  Case what_;
  PassWork work_;
  bool empty_ = false;
  std::mt19937 random_{3};
};

}  // namespace rooftile::characterize::testing
