// SPDX-License-Identifier: Apache-2.0
#include "cost/delta/delta.h"

#include <algorithm>
#include <variant>
#include <vector>

#include "core/integer.h"
#include "cost/conv_estimate.h"
#include "cost/delta/product.h"

namespace rooftile::cost::delta {

namespace {

// Bytes per clock that one SM receives from L2 (and sends), on NVIDIA parts since Volta [public:
// NVIDIA's tuning guides]: a grid of few CTAs cannot draw more however fast the memory is.
constexpr double kFillBytes = 64;

/// Products within convolutions run as the baseline's own do, which know no operands in L2.
ConvTimeOptions options_for(DType dtype, const TimeMachine& machine) {
  return {.product = [dtype, &machine](const ops::GemmShape& gemm, Operands /*operands*/) {
    const Product run = fastest_product(gemm, dtype, machine);
    return LibraryProduct{.breakdown = run.time.breakdown(),
                          .seconds = run.time.total(),
                          .plan = plan_of(run.time),
                          .read = run.read,
                          .written = run.written};
  }};
}

KernelTime product_time(const ops::KernelWork& work, const ops::GemmShape& gemm,
                        const TimeMachine& machine, const hardware::GpuSpec& gpu) {
  const Product best = fastest_product(gemm, work.dtype, machine);
  return {.breakdown = best.time.breakdown(),
          .algorithm = {},
          .plan = plan_of(best.time),
          .traffic = traffic_of(work, best.read, best.written, gpu),
          .calibrated = machine.calibrated};
}

/// Streams through memory: the slowest level, each at its attainable share.
KernelTime vector_time(const ops::KernelWork& work, const TimeMachine& machine,
                       const hardware::GpuSpec& gpu) {
  KernelTime out;
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

KernelTime kernel_time(const ops::KernelWork& work, const TimeMachine& machine,
                       const hardware::GpuSpec& gpu) {
  if (const auto* conv = std::get_if<ops::ConvShape>(&work.shape))
    return conv_time(work, *conv, machine, gpu, options_for(work.dtype, machine));
  if (const auto* gemm = std::get_if<ops::GemmShape>(&work.shape))
    return product_time(work, *gemm, machine, gpu);
  return vector_time(work, machine, gpu);
}

class DeltaPredictor final : public Predictor {
 private:
  [[nodiscard]] Status do_check(const hardware::Machine& machine) const override {
    return check_time_fields(machine.gpu);
  }
  [[nodiscard]] Estimate do_estimate(const Job& job, const hardware::Machine& machine,
                                     MachineFacts& /*facts*/) const override {
    const TimeMachine timing = time_machine(job, machine);
    KernelTime result = kernel_time(job.work, timing, machine.gpu);
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
  [[nodiscard]] std::vector<ConvCandidate> do_convolutions(const Job& job,
                                                           const hardware::Machine& machine,
                                                           MachineFacts& /*facts*/) const override {
    const TimeMachine timing = time_machine(job, machine);
    return conv_candidates(std::get<ops::ConvShape>(job.work.shape), job.work.dtype, timing,
                           options_for(job.work.dtype, timing));
  }
  [[nodiscard]] std::string_view do_name() const override { return "delta"; }
  [[nodiscard]] TimeMachine time_machine(const Job& job, const hardware::Machine& machine) const {
    return make_time_machine(machine, job.roof.compute, job.work.compute, job.work.matrix,
                             constants());
  }
};

}  // namespace

std::unique_ptr<Predictor> make_delta() {
  return std::make_unique<DeltaPredictor>();
}

}  // namespace rooftile::cost::delta
