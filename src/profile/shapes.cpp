// SPDX-License-Identifier: Apache-2.0
#include "profile/shapes.h"

#include "core/text.h"

namespace rooftile::profile {

using hardware::Pipe;

hardware::RateKey traced_units(const ops::KernelWork& work, std::string_view kernel) {
  if (!work.matrix) return {work.compute, Pipe::Vector};
  if (work.compute != DType::Fp32 && work.compute != DType::Fp64) {
    return {work.compute, Pipe::Tensor};
  }
  const std::string name = to_lower(kernel);
  const bool rounded =
      name.find("tf32") != std::string::npos || name.find("xf32") != std::string::npos ||
      name.find("s1688") != std::string::npos || name.find("s161616") != std::string::npos;
  if (work.compute == DType::Fp32 && rounded) return {DType::Tf32, Pipe::Tensor};
  return {work.compute, Pipe::Vector};
}

bool count_shapes(const KernelSeries& kernel, const std::vector<TracedWork>& works,
                  KernelRecord& record) {
  if (record.flops || works.empty()) return false;
  std::map<hardware::RateKey, Flops> flops_by;
  Flops flops;
  Bytes bytes;
  std::int64_t known = 0;
  for (const Launch& launch : kernel.launch_list) {
    if (launch.work == 0 || launch.work > works.size()) continue;
    const TracedWork& traced = works[launch.work - 1];
    const Flops done = traced.work.flops * traced.share;
    flops_by[traced_units(traced.work, kernel.name)] += done;
    flops += done;
    bytes += traced.work.bytes() * traced.share;
    known += 1;
  }
  // Copies next to launches that nobody knows do not make a kernel without FLOPs.
  if (known == 0 || (flops.base() == 0.0 && known < record.launches)) return false;
  record.flops_by = std::move(flops_by);
  record.flops = flops;
  record.flops_complete = known == record.launches;
  record.from_shapes = true;
  auto& dram = record.bytes[static_cast<std::size_t>(hardware::MemoryLevel::Dram)];
  if (!dram) dram = bytes;
  return true;
}

}  // namespace rooftile::profile
