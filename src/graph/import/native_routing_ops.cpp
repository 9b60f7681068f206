// SPDX-License-Identifier: Apache-2.0
//
// Rows moved by index, and mixtures of experts, of the native graph format. Indices are tensors of
// any shape, one per row; a tensor of ... x width has as many rows as the product of its other
// axes.
#include <fmt/format.h>

#include <vector>

#include "graph/import/native_ops.h"

namespace rooftile::graph {

namespace {

/// The axes of `rows` and then `width`.
Result<Shape> rows_of_width(const NativeCall& call, const Shape& rows, std::int64_t width) {
  if (rows.rank() >= Shape::kMaxRank) {
    return call.fields.node().error(
        fmt::format("\"{}\" by indices of {} has too many axes", call.op.name, to_string(rows)),
        fmt::format("up to {}", Shape::kMaxRank - 1));
  }
  std::vector<std::int64_t> sizes(rows.sizes().begin(), rows.sizes().end());
  sizes.push_back(width);
  const Shape shape(sizes);
  if (!checked_product(shape.sizes())) {
    return call.fields.node().error(fmt::format("a tensor of {} is too large", to_string(shape)),
                                    "a tensor may have up to 2^53 elements");
  }
  return shape;
}

}  // namespace

Result<InferredOp> infer_gather(const NativeCall& call) {
  const Shape& table = call.inputs[0];
  ROOFTILE_TRY(const Shape output, rows_of_width(call, call.inputs[1], table.columns()));
  return InferredOp{.op = ops::Gather{.rows = call.inputs[1].elements(),
                                      .width = table.columns(),
                                      .from = table.rows()},
                    .output = output};
}

Result<InferredOp> infer_scatter(const NativeCall& call) {
  const Shape& source = call.inputs[0];
  const Shape& indices = call.inputs[1];
  if (indices.elements() != source.rows()) {
    return call.fields.node().error(
        fmt::format("{} indices for the {} rows of {}", indices.elements(), source.rows(),
                    to_string(source)),
        "each row of the first input has one index");
  }
  ops::Gather op{.rows = source.rows(), .width = source.columns(), .scatter = true};
  ROOFTILE_TRY(op.from, call.fields.size("rows"));
  return InferredOp{.op = op, .output = {}};
}

Result<InferredOp> infer_moe_select(const NativeCall& call) {
  const Shape& scores = call.inputs[0];
  ops::MoeRouting op{
      .step = ops::RoutingStep::Select, .tokens = scores.rows(), .experts = scores.columns()};
  ROOFTILE_TRY(op.top_k, call.fields.size("top_k"));
  return InferredOp{.op = op, .output = {}};
}

Result<InferredOp> infer_moe_dispatch(const NativeCall& call) {
  const Shape& tokens = call.inputs[0];
  const Shape& choice = call.inputs[1];
  ROOFTILE_CHECK(expect_rank(call, 1, 2, "a choice of tokens x top_k (moe_select)"));
  if (choice[0] != tokens.rows()) {
    return call.fields.node().error(fmt::format("a choice of {} does not match tokens of {}",
                                                to_string(choice), to_string(tokens)),
                                    "both have the same number of tokens");
  }
  return InferredOp{.op = ops::MoeRouting{.step = ops::RoutingStep::Dispatch,
                                          .tokens = choice[0],
                                          .experts = choice[1],  // at least; not read here
                                          .top_k = choice[1],
                                          .width = tokens.columns()},
                    .output = {}};
}

Result<InferredOp> infer_moe_combine(const NativeCall& call) {
  const Shape& slots = call.inputs[0];
  const Shape& choice = call.inputs[1];
  ROOFTILE_CHECK(expect_rank(call, 1, 2, "a choice of tokens x top_k (moe_select)"));
  if (choice.elements() != slots.rows()) {
    return call.fields.node().error(fmt::format("a choice of {} does not match slots of {}",
                                                to_string(choice), to_string(slots)),
                                    "the first input has tokens * top_k rows");
  }
  return InferredOp{.op = ops::MoeRouting{.step = ops::RoutingStep::Combine,
                                          .tokens = choice[0],
                                          .experts = choice[1],  // at least; not read here
                                          .top_k = choice[1],
                                          .width = slots.columns()},
                    .output = {}};
}

Result<InferredOp> infer_expert_linear(const NativeCall& call) {
  const Shape& slots = call.inputs[0];
  ops::ExpertLinear op{.slots = slots.rows(), .in = slots.columns()};
  ROOFTILE_TRY(op.experts, call.fields.size("experts"));
  ROOFTILE_TRY(op.out, call.fields.size("out"));
  ROOFTILE_TRY(op.bias, call.fields.flag("bias", false));
  return InferredOp{.op = op, .output = {}};
}

}  // namespace rooftile::graph
