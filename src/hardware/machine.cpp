// SPDX-License-Identifier: Apache-2.0
#include "hardware/machine.h"

#include <fmt/format.h>

#include "core/text.h"
#include "hardware/catalog_files.h"
#include "hardware/load.h"
#include "hardware/plausible.h"

namespace rooftile::hardware {

namespace {

const Source kDatasheet{SourceKind::Datasheet, {}};
const Source kMeasured{SourceKind::Measured, {}};

/// Of a number of GpuSpec::measured.
Source published(const GpuSpec& gpu, std::string_view key) {
  const auto it = gpu.measured.sibling.find(key);
  if (it == gpu.measured.sibling.end()) return {SourceKind::Published, {}};
  return {SourceKind::Sibling, it->second};
}

std::optional<Sourced<BytesPerSecond>> l1_bandwidth(const GpuSpec& gpu) {
  const auto whole_gpu = [&gpu](BytesPerCycle per_sm) {
    return per_sm * static_cast<double>(gpu.sm.count) * gpu.clock.boost;
  };
  if (gpu.l1.bandwidth_per_sm)
    return Sourced<BytesPerSecond>{whole_gpu(*gpu.l1.bandwidth_per_sm), kDatasheet};
  if (gpu.measured.l1_per_sm)
    return Sourced<BytesPerSecond>{whole_gpu(*gpu.measured.l1_per_sm), published(gpu, "l1_per_sm")};
  return std::nullopt;
}

std::optional<Sourced<BytesPerSecond>> l2_bandwidth(const GpuSpec& gpu) {
  if (gpu.measured.l2_read)
    return Sourced<BytesPerSecond>{*gpu.measured.l2_read, published(gpu, "l2_read")};
  if (gpu.l2.bandwidth) return Sourced<BytesPerSecond>{*gpu.l2.bandwidth, kDatasheet};
  return std::nullopt;
}

}  // namespace

std::optional<Sourced<FlopsPerSecond>> Machine::rate_ceiling(RateKey key) const {
  if (ceilings) {
    if (const auto it = ceilings->rate.find(key); it != ceilings->rate.end())
      return Sourced<FlopsPerSecond>{it->second.value, kMeasured};
  }
  if (const auto it = gpu.peak.find(key); it != gpu.peak.end())
    return Sourced<FlopsPerSecond>{it->second, kDatasheet};
  return std::nullopt;
}

std::optional<FlopsPerSecond> Machine::rate(DType dtype, Pipe pipe) const {
  const auto ceiling = rate_ceiling({.dtype = dtype, .pipe = pipe});
  return ceiling ? std::optional(ceiling->value) : std::nullopt;
}

std::optional<RateKey> Machine::best_units(DType compute, bool matrix) const {
  if (matrix && rate(compute, Pipe::Tensor)) return RateKey{compute, Pipe::Tensor};
  const auto own = rate(compute, Pipe::Vector);
  if (!own) return std::nullopt;
  const bool half = compute == DType::Fp16 || compute == DType::Bf16;
  const auto converted = half ? rate(DType::Fp32, Pipe::Vector) : std::nullopt;
  return RateKey{converted && *converted > *own ? DType::Fp32 : compute, Pipe::Vector};
}

std::optional<FlopsPerSecond> Machine::best_rate(DType compute, bool matrix) const {
  const auto units = best_units(compute, matrix);
  return units ? rate(units->dtype, units->pipe) : std::nullopt;
}

std::optional<Sourced<BytesPerSecond>> Machine::bandwidth(MemoryLevel level) const {
  if (ceilings) {
    if (const auto it = ceilings->bandwidth.find(level); it != ceilings->bandwidth.end())
      return Sourced<BytesPerSecond>{it->second.value, kMeasured};
  }
  switch (level) {
    case MemoryLevel::L1: return l1_bandwidth(gpu);
    case MemoryLevel::L2: return l2_bandwidth(gpu);
    case MemoryLevel::Dram:
      if (!gpu.dram.bandwidth) return std::nullopt;
      return Sourced<BytesPerSecond>{*gpu.dram.bandwidth, kDatasheet};
  }
  return std::nullopt;
}

std::optional<FlopsPerByte> Machine::ridge(MemoryLevel level, RateKey key) const {
  const auto peak = rate_ceiling(key);
  const auto bytes = bandwidth(level);
  if (!peak || !bytes) return std::nullopt;
  return peak->value / bytes->value;
}

std::vector<Input> inputs_of(const Machine& machine) {
  std::vector<Input> inputs{machine.gpu.input, machine.gpu.arch.input};
  if (machine.ceilings) inputs.push_back(machine.ceilings->input);
  return inputs;
}

std::optional<std::string> device_note(const GpuSpec& gpu) {
  if (gpu.devices == 1) return std::nullopt;
  return fmt::format(
      "{} is {} devices to software and no kernel runs on more than one of them: predict one of "
      "them, with --dp {} or --tp {} for all",
      gpu.id, gpu.devices, gpu.devices, gpu.devices);
}

void name_gpu(const Catalog& catalog, Ceilings& ceilings) {
  const bool path =
      ceilings.device.find('/') != std::string::npos || ceilings.device.ends_with(kExtension);
  if (ceilings.gpu || path || ceilings.of_processor()) return;
  if (const auto gpu = load_gpu(catalog, ceilings.device)) ceilings.gpu = gpu->id;
}

Result<Machine> load_machine(const Catalog& catalog, std::string_view gpu,
                             const std::optional<std::string>& machine_file) {
  Machine machine;
  if (!machine_file) {
    ROOFTILE_TRY(machine.gpu, load_gpu(catalog, gpu));
    ROOFTILE_CHECK(check_plausible(machine));
    return machine;
  }
  ROOFTILE_TRY(machine.ceilings, load_ceilings(*machine_file));
  if (machine.ceilings->of_processor()) {
    return bad_input(*machine_file + ":/environment/backend",
                     fmt::format("the ceilings were measured on a processor ({}), not on a GPU",
                                 machine.ceilings->device),
                     "measure the GPU: rooftile characterize --backend cuda, hip or opencl");
  }
  name_gpu(catalog, *machine.ceilings);
  const auto& measured_on = machine.ceilings->gpu;
  if (gpu.empty() && !measured_on)
    return bad_input(*machine_file + ":/gpu", "the file names no GPU of the catalogue",
                     "say which one with --gpu");
  ROOFTILE_TRY(machine.gpu, load_gpu(catalog, gpu.empty() ? *measured_on : gpu));
  if (measured_on) {
    ROOFTILE_TRY(const GpuSpec other, load_gpu(catalog, *measured_on));
    if (other.id != machine.gpu.id)
      return bad_input(
          *machine_file + ":/gpu",
          fmt::format("the ceilings were measured on {}, not on {}", other.id, machine.gpu.id),
          "leave out --gpu, or measure the machine you ask about");
  }
  ROOFTILE_CHECK(check_plausible(machine));
  return machine;
}

}  // namespace rooftile::hardware
