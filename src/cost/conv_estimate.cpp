// SPDX-License-Identifier: Apache-2.0
#include "cost/conv_estimate.h"

#include <algorithm>

namespace rooftile::cost {

namespace {

mapping::TilePlan plan_of(const ConvCandidate& candidate) {
  return candidate.product ? candidate.product->plan : plan_of(candidate.time);
}

}  // namespace

mapping::TilePlan plan_of(const StreamTime& time) {
  return {.tile_m = static_cast<std::int64_t>(time.tile.m),
          .tile_n = static_cast<std::int64_t>(time.tile.n),
          .tile_k = static_cast<std::int64_t>(time.tile.k),
          .split_k = static_cast<std::int64_t>(time.split),
          .tiles = static_cast<std::int64_t>(std::max(1.0, time.ctas)),
          .concurrent = static_cast<std::int64_t>(std::max(1.0, time.concurrent))};
}

traffic::Traffic traffic_of(const ops::KernelWork& work, const traffic::ReadBytes& read,
                            double written, const hardware::GpuSpec& gpu) {
  traffic::Traffic t = traffic::compulsory(work, gpu);
  t.dram_written = max(work.written, Bytes::from_base(written));
  t.dram_read = max(work.read, Bytes::from_base(read.dram));
  t.l2 = max(Bytes::from_base(read.l2), t.dram_read) + t.dram_written;
  t.l1 = max(Bytes::from_base(read.l1) + t.dram_written, t.l2);
  return t;
}

KernelTime conv_time(const ops::KernelWork& work, const ops::ConvShape& conv,
                     const TimeMachine& machine, const hardware::GpuSpec& gpu,
                     const ConvTimeOptions& options) {
  const ConvCandidate best = fastest_conv(conv, work.dtype, machine, options);
  return {.breakdown = best.breakdown(),
          .algorithm = name_of(best.algorithm),
          .plan = plan_of(best),
          .traffic = traffic_of(work, best.read, best.written, gpu),
          .calibrated = machine.calibrated && conv.groups == 1 &&
                        best.algorithm != ConvAlgorithm::ExplicitGemm};
}

Estimate conv_estimate(const Job& job, const hardware::Machine& machine,
                       const ConvCandidate& candidate, const StepConstants& constants) {
  Estimate estimate;
  set_time(job.work, job.roof, machine.gpu, candidate.breakdown(), estimate);
  estimate.provenance = Provenance::Analytical;
  estimate.algorithm = name_of(candidate.algorithm);
  estimate.plan = plan_of(candidate);
  estimate.traffic = traffic_of(job.work, candidate.read, candidate.written, machine.gpu);
  add_launch_gap(launch_gap(machine, constants), estimate);
  return estimate;
}

}  // namespace rooftile::cost
