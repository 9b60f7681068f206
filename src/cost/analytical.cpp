// SPDX-License-Identifier: Apache-2.0
#include "cost/analytical.h"

#include <algorithm>
#include <cmath>
#include <variant>

#include "core/integer.h"
#include "cost/gemm_time.h"

namespace rooftile::cost {

namespace {

// Bytes per clock that one SM receives from L2 (and sends), on NVIDIA parts since Volta [public:
// NVIDIA's tuning guides]: a grid of few CTAs cannot draw more however fast the memory is.
constexpr double kFillBytes = 64;

mapping::TilePlan plan_of(const StreamTime& time) {
  return {.tile_m = static_cast<std::int64_t>(time.tile.m),
          .tile_n = static_cast<std::int64_t>(time.tile.n),
          .tile_k = static_cast<std::int64_t>(time.tile.k),
          .split_k = static_cast<std::int64_t>(time.split),
          .tiles = static_cast<std::int64_t>(std::max(1.0, time.ctas)),
          .concurrent = static_cast<std::int64_t>(std::max(1.0, time.concurrent))};
}

/// At least the compulsory bytes at each level, and ordered.
traffic::Traffic traffic_of(const ops::KernelWork& work, const traffic::ReadBytes& read,
                            double written, const hardware::GpuSpec& gpu) {
  traffic::Traffic t = traffic::compulsory(work, gpu);
  t.dram_written = max(work.written, Bytes::from_base(written));
  t.dram_read = max(work.read, Bytes::from_base(read.dram));
  t.l2 = max(Bytes::from_base(read.l2), t.dram_read) + t.dram_written;
  t.l1 = max(Bytes::from_base(read.l1) + t.dram_written, t.l2);
  return t;
}

AnalyticalTime conv_time(const ops::KernelWork& work, const ops::ConvShape& conv,
                         const TimeMachine& machine, const hardware::GpuSpec& gpu) {
  const ConvCandidate best = fastest_conv(conv, work.dtype, machine);
  return {.breakdown = best.time.breakdown(),
          .algorithm = name_of(best.algorithm),
          .plan = plan_of(best.time),
          .traffic = traffic_of(work, best.read, best.written, gpu),
          .calibrated = machine.calibrated && conv.groups == 1 &&
                        best.algorithm != ConvAlgorithm::ExplicitGemm};
}

AnalyticalTime gemm_time(const ops::KernelWork& work, const ops::GemmShape& gemm,
                         const TimeMachine& machine, const hardware::GpuSpec& gpu) {
  const GemmCandidate best = gemm_candidate(gemm, work.dtype, machine);
  return {.breakdown = best.time.breakdown(),
          .algorithm = {},
          .plan = plan_of(best.time),
          .traffic = traffic_of(work, best.read, best.written, gpu),
          .calibrated = machine.calibrated};
}

/// Streams through memory: the slowest level, each at its attainable share.
AnalyticalTime vector_time(const ops::KernelWork& work, const TimeMachine& machine,
                           const hardware::GpuSpec& gpu) {
  AnalyticalTime out;
  out.plan = mapping::decompose(work, gpu);
  out.traffic = traffic::model(work, out.plan, gpu);
  const auto consider = [&](Resource resource, double seconds) {
    const double reached = resource == Resource::Compute ? 1.0 : work.access_efficiency;
    out.breakdown.of(resource) = Seconds::from_base(seconds / reached);
  };
  const double clock = machine.clock.base();
  const double busy = std::min(machine.sms, real(out.plan.tiles));
  consider(Resource::Compute,
           work.flops.base() / (2 * busy * machine.lanes * clock) * machine.issue);
  consider(Resource::Dram, out.traffic.dram().base() / machine.dram_bandwidth.base());
  if (machine.l2_bandwidth) {
    consider(Resource::L2, out.traffic.l2.base() / machine.l2_bandwidth->base());
  }
  if (machine.l1_bandwidth) {
    consider(Resource::L1, out.traffic.l1.base() / (busy * clock * machine.l1_bandwidth->base()));
  }
  consider(Resource::Latency, out.traffic.l2.base() / (busy * clock * kFillBytes));
  return out;
}

class DeltaPredictor final : public Predictor {
 public:
  explicit DeltaPredictor(const Constants& constants) { set_constants(constants); }

 private:
  [[nodiscard]] Status do_check(const hardware::Machine& machine) const override {
    return check_time_fields(machine.gpu);
  }
  [[nodiscard]] Estimate do_estimate(const Job& job, const hardware::Machine& machine,
                                     MachineFacts& /*facts*/) const override {
    AnalyticalTime result = analytical_time(job, machine, constants());
    if (job.setting == Setting::Isolated) {  // all that it knows of a call
      result.breakdown.of(Resource::Launch) = launch_gap(machine, constants().step);
    }
    Estimate estimate;
    set_time(job.work, job.roof, machine.gpu, result.breakdown, estimate);
    const TimeConstants& fitted = constants().convolution.constants;
    const double spread = result.calibrated ? fitted.spread : fitted.spread_uncalibrated;
    estimate.low = max(estimate.bound, estimate.time / spread);
    estimate.high = estimate.time * spread;
    estimate.provenance = Provenance::Analytical;
    estimate.extrapolated = !result.calibrated;
    estimate.algorithm = result.algorithm;
    estimate.plan = result.plan;
    estimate.traffic = result.traffic;
    return estimate;
  }
  [[nodiscard]] std::string_view do_name() const override { return "delta"; }
};

}  // namespace

AnalyticalTime analytical_time(const ops::KernelWork& work, const TimeMachine& machine,
                               const hardware::GpuSpec& gpu) {
  if (const auto* conv = std::get_if<ops::ConvShape>(&work.shape)) {
    return conv_time(work, *conv, machine, gpu);
  }
  if (const auto* gemm = std::get_if<ops::GemmShape>(&work.shape)) {
    return gemm_time(work, *gemm, machine, gpu);
  }
  return vector_time(work, machine, gpu);
}

AnalyticalTime analytical_time(const Job& job, const hardware::Machine& machine,
                               const Constants& constants) {
  const TimeMachine timing =
      make_time_machine(machine, job.roof.compute, job.work.compute, job.work.matrix, constants);
  return analytical_time(job.work, timing, machine.gpu);
}

Estimate conv_estimate(const Job& job, const hardware::Machine& machine,
                       const ConvCandidate& candidate, const StepConstants& constants) {
  Estimate estimate;
  set_time(job.work, job.roof, machine.gpu, candidate.time.breakdown(), estimate);
  estimate.provenance = Provenance::Analytical;
  estimate.algorithm = name_of(candidate.algorithm);
  estimate.plan = plan_of(candidate.time);
  estimate.traffic = traffic_of(job.work, candidate.read, candidate.written, machine.gpu);
  add_launch_gap(launch_gap(machine, constants), estimate);
  return estimate;
}

std::unique_ptr<Predictor> make_delta_predictor(const Constants& constants) {
  return std::make_unique<DeltaPredictor>(constants);
}

}  // namespace rooftile::cost
