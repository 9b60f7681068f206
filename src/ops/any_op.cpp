// SPDX-License-Identifier: Apache-2.0
#include "ops/any_op.h"

namespace rooftile::ops {

std::string_view name_of(const AnyOp& op) {
  return std::visit(
      [](const auto& o) -> std::string_view { return std::remove_cvref_t<decltype(o)>::kName; },
      op);
}

Status check(const AnyOp& op) {
  return std::visit([](const auto& o) { return o.check(); }, op);
}

Shape output_of(const AnyOp& op) {
  return std::visit([](const auto& o) { return o.output(); }, op);
}

std::int64_t parameters_of(const AnyOp& op) {
  return std::visit([](const auto& o) { return o.parameters(); }, op);
}

bool holds_matrix(const AnyOp& op) {
  return std::holds_alternative<Linear>(op) || std::holds_alternative<Conv2d>(op) ||
         std::holds_alternative<ExpertLinear>(op) || std::holds_alternative<HeadLinear>(op);
}

Saved saved_for_backward(const AnyOp& op, const LowerContext& context) {
  return std::visit([&](const auto& o) { return o.saved(context); }, op);
}

void forward(const AnyOp& op, const LowerContext& context, KernelList& kernels) {
  std::visit([&](const auto& o) { o.forward(context, kernels); }, op);
}

void backward(const AnyOp& op, const LowerContext& context, KernelList& kernels) {
  std::visit([&](const auto& o) { o.backward(context, kernels); }, op);
}

void accumulate(const AnyOp& op, const LowerContext& context, KernelList& kernels) {
  std::visit([&](const auto& o) { o.accumulate(context, kernels); }, op);
}

}  // namespace rooftile::ops
