// SPDX-License-Identifier: Apache-2.0
#include "study/network.h"

#include <fmt/format.h>

#include "hardware/load.h"

namespace rooftile::study {

namespace {

/// The system of the request, or one node of the GPU's own links; nothing for a single GPU.
Result<std::optional<hardware::SystemSpec>> find_system(const Request& request,
                                                        const hardware::GpuSpec& gpu,
                                                        const Catalog& catalog, std::int64_t gpus) {
  if (!request.system) {
    if (gpus == 1) return std::nullopt;
    return hardware::system_of(catalog, gpu, gpus);
  }
  ROOFTILE_TRY(hardware::SystemSpec system, hardware::load_system(catalog, *request.system));
  if (system.gpu) {
    ROOFTILE_TRY(const hardware::GpuSpec inside, hardware::load_gpu(catalog, *system.gpu));
    if (inside.id != gpu.id) {
      return bad_input({}, fmt::format("{} holds {}, not {}", system.name, inside.id, gpu.id),
                       fmt::format("use --gpu {}, or a system of {}", inside.id, gpu.id));
    }
  }
  return system;
}

/// Neighbours share layers, then come the replicas, then the stages of the pipeline.
Result<aggregate::Interconnect> links_of(const hardware::SystemSpec& system,
                                         const aggregate::Parallelism& p) {
  aggregate::Interconnect links;
  const std::int64_t stage = p.tensor * p.data;
  if (p.tensor > 1) {
    ROOFTILE_TRY(links.tensor,
                 hardware::link_of(
                     system, {.size = p.tensor, .stride = 1, .stage = stage, .total = p.gpus()}));
  }
  if (p.data > 1) {
    ROOFTILE_TRY(
        links.data,
        hardware::link_of(system,
                          {.size = p.data, .stride = p.tensor, .stage = stage, .total = p.gpus()}));
  }
  if (p.pipeline > 1) {
    ROOFTILE_TRY(links.pipeline, hardware::stage_links(system, stage, p.gpus()));
  }
  return links;
}

}  // namespace

Result<Network> find_network(const Request& request, const hardware::GpuSpec& gpu,
                             const aggregate::Parallelism& parallelism, const Catalog& catalog) {
  Network network;
  ROOFTILE_TRY(network.system, find_system(request, gpu, catalog, parallelism.gpus()));
  if (network.system) {
    ROOFTILE_TRY(network.links, links_of(*network.system, parallelism));
  }
  return network;
}

}  // namespace rooftile::study
