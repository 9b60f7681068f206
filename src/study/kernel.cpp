// SPDX-License-Identifier: Apache-2.0
#include "study/kernel.h"

#include <fmt/format.h>

#include "aggregate/step.h"
#include "core/provenance.h"
#include "core/text.h"
#include "cost/learned/calibrated.h"
#include "cost/predictor.h"
#include "hardware/machine.h"
#include "hardware/plausible.h"
#include "report/breakdown.h"
#include "report/make.h"

namespace rooftile::study {

namespace {

std::string arithmetic(cost::Resource limiter, const cost::Job& job,
                       const traffic::Traffic& traffic) {
  switch (limiter) {
    case cost::Resource::Compute:
      return fmt::format("{} at {}{}", format_flops(cost::least_flops(job.work)),
                         format_rate(job.roof.compute),
                         cost::least_flops(job.work) < job.work.flops ? " (Winograd or FFT)" : "");
    case cost::Resource::L1:
      return fmt::format("{} at {}", format_bytes(traffic.l1), format_rate(*job.roof.l1));
    case cost::Resource::L2:
      return fmt::format("{} at {}", format_bytes(traffic.l2), format_rate(*job.roof.l2));
    case cost::Resource::Dram:
      return fmt::format("{} at {} ({} may be in L2 already)",
                         format_bytes(traffic.dram() - traffic.dram_avoidable),
                         format_rate(job.roof.dram), format_bytes(traffic.dram_avoidable));
    case cost::Resource::Launch: return "shortest kernel seen";
    case cost::Resource::Shared:
    case cost::Resource::Link:
    case cost::Resource::Latency:
    case cost::Resource::Host: break;  // no roofs of a kernel
  }
  return {};
}

KernelReport explain(const execution::Launch& kernel, const cost::Job& job,
                     const cost::Estimate& estimate, const hardware::Machine& machine) {
  KernelReport report;
  report.row = report::make_operator({.kernel = kernel, .estimate = estimate}, machine);
  const traffic::Traffic least = traffic::compulsory(job.work, machine.gpu);
  const cost::BoundTerms terms = cost::bound_terms(job.work, least, job.roof);
  for (const cost::Resource limiter : cost::kRoofs) {
    if (const auto& term = terms[static_cast<std::size_t>(limiter)]) {
      report.terms.push_back({.limiter = std::string(name_of(limiter)),
                              .ms = to_ms(*term),
                              .arithmetic = arithmetic(limiter, job, least)});
    } else {
      report.unknown.emplace_back(name_of(limiter));
    }
  }
  return report;
}

/// The kernels of a pass; one gradient alone exists for convolutions.
Result<ops::KernelList> works_of(const ops::AnyOp& op, const std::string& pass, DType dtype) {
  const ops::LowerContext context{.precision = ops::precision_of(dtype)};
  const bool gradient = pass == "dgrad" || pass == "wgrad";
  const bool conv = std::holds_alternative<ops::Conv2d>(op);
  if (pass != "forward" && pass != "backward" && !(gradient && conv)) {
    return usage_error(fmt::format("unknown --pass \"{}\"", printable(pass)),
                       conv ? "--pass is one of forward, backward, dgrad, wgrad"
                            : "--pass is one of forward, backward");
  }
  ops::KernelList works;
  if (pass == "forward") {
    ops::forward(op, context, works);
  } else {
    ops::backward(op, context, works);
  }
  if (!gradient) return works;
  const ops::ConvPass wanted =
      pass == "dgrad" ? ops::ConvPass::DataGradient : ops::ConvPass::FilterGradient;
  std::erase_if(works, [wanted](const ops::KernelWork& work) {
    return std::get<ops::ConvShape>(work.shape).pass != wanted;
  });
  return works;
}

Result<ops::AnyOp> vector_op(const VectorOperator& op) {
  const Shape shape{op.shape.rows, op.shape.columns};
  if (op.kind == "softmax") return ops::Softmax{.shape = shape};
  if (op.kind == "layernorm") return ops::LayerNorm{.shape = shape};
  if (op.kind == "rmsnorm") return ops::RmsNorm{.shape = shape};
  if (op.kind != "elementwise") {
    return usage_error(fmt::format("unknown vector operator \"{}\"", printable(op.kind)),
                       "elementwise, softmax, layernorm or rmsnorm");
  }
  const auto function = ops::parse_function(op.function);
  if (!function) return usage_error(function.error().message, function.error().hint);
  return ops::Elementwise{
      .function = *function, .operands = ops::default_operands(*function), .shape = shape};
}

Result<ops::AnyOp> op_of(const KernelRequest& request) {
  if (const auto* gemm = std::get_if<GemmShape>(&request.op)) {
    if (gemm->batch == 1)
      return ops::Linear{.rows = gemm->m, .in = gemm->k, .out = gemm->n, .bias = false};
    return ops::BatchedMatmul{.batch = gemm->batch, .m = gemm->m, .n = gemm->n, .k = gemm->k};
  }
  if (const auto* conv = std::get_if<ConvShape>(&request.op)) return ops::Conv2d{.conv = *conv};
  if (const auto* attention = std::get_if<AttentionShape>(&request.op))
    return ops::FusedAttention{.shape = *attention};
  return vector_op(std::get<VectorOperator>(request.op));
}

/// cost::Job::copies.
Result<double> copies_of(const std::string& residency, const ops::AnyOp& op) {
  if (residency == "cold") return 0.0;
  if (residency != "warm")
    return usage_error(fmt::format("unknown --residency \"{}\"", printable(residency)),
                       "--residency is cold or warm");
  const bool modelled = std::holds_alternative<ops::Linear>(op) ||
                        std::holds_alternative<ops::BatchedMatmul>(op) ||
                        std::holds_alternative<ops::FusedAttention>(op);
  if (!modelled)
    return unsupported("--residency", "a warm L2 is modelled for gemm and attention only",
                       "leave --residency out: the operands come from DRAM");
  return 1.0;
}

}  // namespace

Result<KernelsReport> Session::kernel(const KernelRequest& request) const {
  ROOFTILE_TRY(const ops::AnyOp op, op_of(request));
  return kernels_of(op, request, *this);
}

Result<KernelsReport> kernels_of(const ops::AnyOp& op, const KernelRequest& request,
                                 const Session& session) {
  auto dtype = parse_dtype(request.dtype);
  if (!dtype) return usage_error(dtype.error().message, dtype.error().hint);
  ROOFTILE_CHECK(ops::check(op));
  ROOFTILE_TRY(const auto loaded, session.machine(request.gpu, request.machine));
  const hardware::Machine& machine = *loaded;
  ROOFTILE_TRY(const auto predictor, session.predictor(request.predictor));
  ROOFTILE_CHECK(predictor->check(machine));

  ROOFTILE_TRY(const ops::KernelList works, works_of(op, request.pass, *dtype));
  for (const ops::KernelWork& work : works) {
    if (!work.matrix && work.dtype != *dtype) {
      return usage_error(fmt::format("{} does not run in {}", work.op, name_of(*dtype)),
                         fmt::format("{} is a format of matrix products; choose --dtype {}",
                                     name_of(*dtype), name_of(work.dtype)));
    }
  }
  ROOFTILE_TRY(const double copies, copies_of(request.residency, op));
  const bool backward = request.pass != "forward";
  KernelsReport report;
  report.warnings = hardware::warnings_of(machine);
  for (std::string& warning : cost::learned::calibration_warnings(machine, *predictor))
    report.warnings.push_back(std::move(warning));
  for (const ops::KernelWork& work : works) {
    ROOFTILE_TRY(auto job, cost::bind(work, machine));
    job.copies = copies;
    const execution::Launch launch{
        .name = work.op,
        .phase = backward ? execution::Phase::Backward : execution::Phase::Forward,
        .work = work};
    auto one = explain(launch, job, predictor->estimate(job, machine), machine);
    job.setting = cost::Setting::Isolated, job.burst = true;
    const cost::Estimate alone = predictor->estimate(job, machine);
    one.isolated = {.latency_ms = to_ms(alone.time),
                    .low_ms = to_ms(alone.low),
                    .high_ms = to_ms(alone.high),
                    .host_ms = to_ms(alone.breakdown.of(cost::Resource::Host))};
    report::add_rates(work, machine, report.rates);
    one.gpu_name = machine.gpu.name;
    one.predictor = predictor->name();
    one.residency = request.residency;
    report.kernels.push_back(std::move(one));
  }
  std::vector<Input> inputs = inputs_of(machine);
  add_inputs(hardware::lint_inputs(machine.gpu, session.catalog()), inputs);
  add_inputs(predictor->inputs(), inputs);
  set_provenance(inputs, report);
  return report;
}

}  // namespace rooftile::study
