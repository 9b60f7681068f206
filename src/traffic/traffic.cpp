// SPDX-License-Identifier: Apache-2.0
#include "traffic/traffic.h"

#include <algorithm>
#include <variant>

#include "traffic/closed.h"

namespace rooftile::traffic {

namespace {

/// What the L2 may still hold: anything that an earlier kernel of the pass has touched, and of the
/// bytes that every pass touches once as much as the L2 can hold of all of them, evenly spread.
Bytes avoidable(const ops::KernelWork& work, const hardware::GpuSpec& gpu) {
  const Bytes l2 = gpu.l2.size.value_or(Bytes{});
  const double kept = work.cold_pass > l2 ? l2 / work.cold_pass : 1.0;
  return min(work.bytes() - work.cold * (1.0 - kept), l2);
}

ReadBytes read_bytes(const ops::KernelWork& work, const mapping::TilePlan& plan,
                     const ClosedMachine& machine) {
  const ClosedCut cut{.tile = {.m = plan.tile_m, .n = plan.tile_n, .k = plan.tile_k},
                      .split_k = plan.split_k};
  if (const auto* conv = std::get_if<ops::ConvShape>(&work.shape)) {
    return closed_conv(*conv, work.dtype, cut, machine);
  }
  if (const auto* attention = std::get_if<ops::AttentionShape>(&work.shape)) {
    return closed_attention(work, *attention, plan.tile_m, machine);
  }
  return closed_rows(work, std::get<ops::RowShape>(work.shape), machine);
}

}  // namespace

Traffic compulsory(const ops::KernelWork& work, const hardware::GpuSpec& gpu) {
  return {.l1 = work.bytes(),
          .l2 = work.bytes(),
          .dram_read = work.read,
          .dram_written = work.written,
          .dram_avoidable = avoidable(work, gpu)};
}

namespace {

Traffic product_traffic(const ops::KernelWork& work, const ops::GemmShape& shape,
                        const mapping::TilePlan& plan, const hardware::GpuSpec& gpu,
                        const PanelMisses& misses, double copies) {
  const auto real = [](std::int64_t value) { return static_cast<double>(value); };
  const ProductBytes bytes = product_bytes(product_work(work, shape, copies),
                                           {.tile_m = real(plan.tile_m),
                                            .tile_n = real(plan.tile_n),
                                            .split = real(plan.split_k),
                                            .cluster = real(plan.cluster)},
                                           {.sms = real(std::max<std::int64_t>(1, gpu.sm.count)),
                                            .l2_bytes = gpu.l2.size.value_or(Bytes{}).base()});
  const Bytes written = work.written + Bytes::from_base(bytes.partial);
  return {.l1 = Bytes::from_base(bytes.l1),
          .l2 = Bytes::from_base(bytes.l2),
          .dram_read = max(Bytes::from_base(bytes.dram(misses)) - written, Bytes{}),
          .dram_written = min(written, Bytes::from_base(bytes.dram(misses))),
          .dram_avoidable = avoidable(work, gpu)};
}

}  // namespace

Traffic model(const ops::KernelWork& work, const mapping::TilePlan& plan,
              const hardware::GpuSpec& gpu, const PanelMisses& misses, double copies) {
  if (const auto* gemm = std::get_if<ops::GemmShape>(&work.shape))
    return product_traffic(work, *gemm, plan, gpu, misses, copies);
  const ClosedMachine machine{.concurrent = plan.concurrent,
                              .sms = std::max<std::int64_t>(1, gpu.sm.count),
                              .l2_bytes = gpu.l2.size.value_or(Bytes{}).base(),
                              .access = access_of(gpu)};
  const ReadBytes read = read_bytes(work, plan, machine);
  const Bytes partial =
      Bytes::from_base(partial_sums(work.written.base(), static_cast<double>(plan.split_k)));
  const Bytes l1 = max(Bytes::from_base(read.l1), work.read) + partial;
  const Bytes l2 = max(Bytes::from_base(read.l2), work.read) + partial;
  const double passes = work.passes();
  return {.l1 = (l1 + work.written + partial) * passes,
          .l2 = (l2 + work.written + partial) * passes,
          .dram_read = (max(Bytes::from_base(read.dram), work.read) + partial) * passes,
          .dram_written = (work.written + partial) * passes,
          .dram_avoidable = avoidable(work, gpu)};
}

}  // namespace rooftile::traffic
