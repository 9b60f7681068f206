// SPDX-License-Identifier: Apache-2.0
#include "cost/time_machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace rooftile::cost {

namespace {

constexpr double kDefaultRegisters = 65536;

/// A scheduler that must feed a whole warp's lanes every clock has no slot left for shared-memory
/// loads.
bool wide_scheduler(const hardware::GpuSpec& gpu) {
  return gpu.sm.fp32_lanes >= gpu.arch.sm.schedulers * gpu.arch.sm.warp_size;
}

}  // namespace

bool is_fitted(const hardware::Architecture& arch, const TimeModel& model) {
  const auto& known = model.architectures;
  return std::find(known.begin(), known.end(), arch.name) != known.end();
}

TimeMachine make_time_machine(const hardware::Machine& machine, FlopsPerSecond rate, DType compute,
                              bool matrix, const Constants& constants) {
  const TimeConstants& fitted = constants.convolution.constants;
  const hardware::GpuSpec& gpu = machine.gpu;
  const Attained reached = attained(machine, constants);
  const auto units = machine.best_units(compute, matrix);
  TimeMachine m;
  m.constants = fitted;
  m.sms = static_cast<double>(gpu.sm.count);
  m.tensor = units && units->pipe == hardware::Pipe::Tensor;
  m.vector_lanes = static_cast<double>(gpu.sm.fp32_lanes);
  m.issue = fitted.issue + (!m.tensor && wide_scheduler(gpu) ? fitted.issue_wide : 0.0);
  m.clock = gpu.clock.boost * reached.clock;
  const bool sustained = units && machine.rate_ceiling(*units)->is_measured();
  m.lanes = (rate / (sustained ? m.clock : gpu.clock.boost)).base() / 2.0 / m.sms;
  m.registers = gpu.sm.registers ? static_cast<double>(*gpu.sm.registers) : kDefaultRegisters;
  m.shared = gpu.sm.shared.value_or(Bytes{});
  m.l1_size = gpu.l1.size.value_or(Bytes{});
  m.l1_includes_shared = gpu.l1.includes_shared;
  m.l2_size = gpu.l2.size.value_or(Bytes{});
  m.access = traffic::access_of(gpu);
  m.shared_bandwidth = gpu.sm.shared_bandwidth;
  const auto per_sm = [&m](BytesPerSecond whole, Hertz clock) { return whole / clock / m.sms; };
  if (const auto l1 = machine.bandwidth(hardware::MemoryLevel::L1)) {
    m.l1_bandwidth = per_sm(l1->value, l1->is_measured() ? m.clock : gpu.clock.boost);
  }
  if (machine.ceilings && machine.ceilings->shared) {
    m.shared_bandwidth = per_sm(machine.ceilings->shared->value, m.clock);
  }
  m.launch = reached.launch;
  m.l2_bandwidth = reached.l2;
  if (const auto dram = machine.bandwidth(hardware::MemoryLevel::Dram)) {
    m.dram_bandwidth = dram->value * reached.convolutions;
  }
  m.one_winograd_shape = gpu.arch.library.one_winograd_shape;
  m.winograd_filter_gradient = gpu.arch.library.winograd_filter_gradient;
  m.calibrated = !m.tensor && compute == DType::Fp32 && is_fitted(gpu.arch, constants.convolution);
  return m;
}

Status check_time_fields(const hardware::GpuSpec& gpu) {
  struct Field {
    bool present;
    std::string_view pointer, name;
  };
  const std::array fields{Field{gpu.l1.size.has_value(), "/memory/l1/size", "L1 size"},
                          Field{gpu.l2.size.has_value(), "/memory/l2/size", "L2 size"},
                          Field{gpu.sm.registers.has_value(), "/sm/registers", "register count"},
                          Field{gpu.sm.shared.has_value(), "/sm/shared", "shared memory size"}};
  for (const Field& field : fields) {
    if (field.present) continue;
    return unsupported(
        fmt::format("{}:{}", gpu.file, field.pointer),
        fmt::format("{} states no {}, which traffic per memory level needs", gpu.name, field.name),
        "add the field to a copy of the GPU's file and pass that file to --gpu");
  }
  return traffic::check_access(gpu);
}

}  // namespace rooftile::cost
