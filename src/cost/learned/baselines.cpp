// SPDX-License-Identifier: Apache-2.0
// The baselines `roofline` and `trivial`.
#include <string>
#include <utility>

#include "cost/learned/classes.h"
#include "cost/learned/learned.h"

namespace rooftile::cost::learned {

namespace {

/// The grid and the bytes that nothing was fitted for.
Estimate unplanned(const Job& job, const hardware::Machine& machine) {
  Estimate estimate;
  estimate.plan = mapping::decompose(job.work, machine.gpu);
  estimate.traffic = traffic::model(job.work, estimate.plan, machine.gpu, {}, job.copies);
  return estimate;
}

class RooflinePredictor final : public Predictor {
 private:
  [[nodiscard]] Estimate do_estimate(const Job& job, const hardware::Machine& machine,
                                     MachineFacts& /*facts*/) const override {
    Estimate estimate = unplanned(job, machine);
    set_time(job.work, job.roof, machine.gpu, roofline_breakdown(job, dram_roofline(job)),
             estimate);
    estimate.provenance = Provenance::Analytical;
    return estimate;
  }
  [[nodiscard]] std::string_view do_name() const override { return "roofline"; }
};

class TrivialPredictor final : public Predictor {
 public:
  explicit TrivialPredictor(Weights weights) : weights_(std::move(weights)) {}

 private:
  [[nodiscard]] Estimate do_estimate(const Job& job, const hardware::Machine& machine,
                                     MachineFacts& /*facts*/) const override {
    Estimate estimate = unplanned(job, machine);
    std::string key(name_of(machine.gpu.vendor));
    key += '/';
    key += class_of(job.work);
    const auto line = weights_.trivial.find(key);
    estimate.extrapolated = line == weights_.trivial.end();
    const TrivialLine fitted = estimate.extrapolated ? TrivialLine{} : line->second;
    Breakdown breakdown = roofline_breakdown(job, dram_roofline(job) / fitted.utilization);
    if (job.setting == Setting::Isolated)
      breakdown.of(Resource::Host) = Seconds::from_base(fitted.overhead);
    set_time(job.work, job.roof, machine.gpu, breakdown, estimate);
    estimate.provenance = Provenance::Learned;
    return estimate;
  }
  [[nodiscard]] std::string_view do_name() const override { return "trivial"; }

  Weights weights_;
};

}  // namespace

double dram_roofline(const Job& job) {
  return max(job.work.flops / job.roof.compute, job.work.moved() / job.roof.dram).base();
}

Breakdown roofline_breakdown(const Job& job, double seconds) {
  Breakdown breakdown{.residual = seconds / dram_roofline(job)};
  breakdown.of(Resource::Compute) = job.work.flops / job.roof.compute;
  breakdown.of(Resource::Dram) = job.work.moved() / job.roof.dram;
  return breakdown;
}

std::unique_ptr<Predictor> make_roofline() {
  return std::make_unique<RooflinePredictor>();
}
std::unique_ptr<Predictor> make_trivial(Weights weights) {
  Constants constants = weights.constants;
  auto made = std::make_unique<TrivialPredictor>(std::move(weights));
  made->set_constants(std::move(constants));
  return made;
}

}  // namespace rooftile::cost::learned
