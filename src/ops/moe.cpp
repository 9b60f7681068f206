// SPDX-License-Identifier: Apache-2.0
#include "ops/moe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace rooftile::ops {

Status MoeRouting::check() const {
  ROOFTILE_CHECK(check_sizes("router scores", {tokens, experts}));
  ROOFTILE_CHECK(check_sizes("routed tokens", {tokens, top_k, width}));
  if (top_k > experts) {
    return bad_input({}, fmt::format("a token cannot go to {} of {} experts", top_k, experts), {});
  }
  return {};
}

Shape MoeRouting::output() const {
  switch (step) {
    case RoutingStep::Select: return {tokens, top_k};
    case RoutingStep::Dispatch: return {slots(), width};
    case RoutingStep::Combine: return {tokens, width};
  }
  return {};
}

Saved MoeRouting::saved(const LowerContext&) const {
  switch (step) {
    case RoutingStep::Select: return {.inputs = 0, .output = true, .extra = {}};
    case RoutingStep::Dispatch:
      return {.inputs = 0, .output = false, .extra = bytes_of(slots(), DType::Int64)};
    case RoutingStep::Combine: return {.inputs = 3, .output = false, .extra = {}};
  }
  return {};
}

void MoeRouting::forward(const LowerContext& context, KernelList& kernels) const {
  const std::int64_t here = slots();
  switch (step) {
    case RoutingStep::Select:
      kernels.push_back(
          vector_kernel(context.precision, {.op = "topk_softmax",
                                            .kind = KernelClass::Softmax,
                                            .shape = {.rows = tokens, .columns = experts},
                                            .flop_per_element = 5.0,
                                            .read = tokens * experts,
                                            .written = 2 * tokens * top_k}));
      return;
    case RoutingStep::Dispatch:
      kernels.push_back(vector_kernel(context.precision, {.op = "moe_permute",
                                                          .kind = KernelClass::Gather,
                                                          .shape = {.rows = here, .columns = width},
                                                          .flop_per_element = 0.0,
                                                          .read = std::min(tokens, here) * width,
                                                          .written = here * width}));
      return;
    case RoutingStep::Combine:
      kernels.push_back(vector_kernel(context.precision, {.op = "moe_unpermute",
                                                          .kind = KernelClass::Gather,
                                                          .shape = {.rows = here, .columns = width},
                                                          .flop_per_element = 2.0,
                                                          .read = here * width + here,
                                                          .written = tokens * width}));
      return;
  }
}

void MoeRouting::backward(const LowerContext& context, KernelList& kernels) const {
  MoeRouting mirrored = *this;
  switch (step) {
    case RoutingStep::Select: break;  // the softmax's gradient, over the same rows
    case RoutingStep::Dispatch: mirrored.step = RoutingStep::Combine; break;
    case RoutingStep::Combine: mirrored.step = RoutingStep::Dispatch; break;
  }
  mirrored.forward(context, kernels);
}

std::int64_t ExpertLinear::touched() const {
  if (hit > 0) return hit;
  if (top_k <= 0 || top_k >= experts) return std::min(slots, experts);
  const auto all = static_cast<double>(experts);
  const double tokens = static_cast<double>(slots) / static_cast<double>(top_k);
  const double expected = all * (1.0 - std::pow(1.0 - static_cast<double>(top_k) / all, tokens));
  return std::clamp(std::llround(expected), 1LL, static_cast<long long>(std::min(slots, experts)));
}

Status ExpertLinear::check() const {
  ROOFTILE_CHECK(check_sizes("expert weights", {experts, in, out}));
  ROOFTILE_CHECK(check_sizes("expert input", {slots, in}));
  return check_sizes("expert output", {slots, out});
}

namespace {

/// The batch of products as launched; FLOPs and bytes count the real rows, which the shape rounds
/// up to the same number for every expert.
KernelWork expert_kernel(const Precision& p, const ExpertLinear& op, const GemmShape& shape) {
  KernelWork work = gemm_kernel(p, ExpertLinear::kName, shape, false);
  work.kind = KernelClass::BatchedGemm;
  work.flops = Flops::from_base(2.0 * static_cast<double>(op.slots) * static_cast<double>(op.in) *
                                static_cast<double>(op.out));
  return work;
}

}  // namespace

void ExpertLinear::forward(const LowerContext& context, KernelList& kernels) const {
  const Precision& p = context.precision;
  KernelWork work = expert_kernel(p, *this, {.batch = touched(), .m = rows(), .n = out, .k = in});
  work.read = bytes_of(slots * in + touched() * in * out, p.matrix_storage) +
              bytes_of(bias ? touched() * out : 0, p.storage);
  work.written = bytes_of(slots * out, p.storage);
  reads_weights(work, touched() * in * out, p);
  kernels.push_back(std::move(work));
}

void ExpertLinear::backward(const LowerContext& context, KernelList& kernels) const {
  const Precision& p = context.precision;
  KernelWork data = expert_kernel(p, *this, {.batch = touched(), .m = rows(), .n = in, .k = out});
  data.read = bytes_of(slots * out + touched() * in * out, p.matrix_storage);
  data.written = bytes_of(slots * in, p.storage);
  reads_weights(data, touched() * in * out, p);
  kernels.push_back(std::move(data));
  KernelWork weight = expert_kernel(p, *this, {.batch = touched(), .m = out, .n = in, .k = rows()});
  weight.read = bytes_of(slots * (in + out), p.matrix_storage);
  weight.written = bytes_of(touched() * in * out, p.storage);
  kernels.push_back(std::move(weight));
}

void ExpertLinear::accumulate(const LowerContext& context, KernelList& kernels) const {
  kernels.push_back(gradient_add(context.precision, touched() * in * out));
  if (bias) kernels.push_back(gradient_add(context.precision, touched() * out));
}

}  // namespace rooftile::ops
