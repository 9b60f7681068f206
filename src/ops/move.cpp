// SPDX-License-Identifier: Apache-2.0
#include "ops/move.h"

#include <algorithm>

namespace rooftile::ops {

std::string_view name_of(MoveKind kind) {
  switch (kind) {
    case MoveKind::Contiguous: return "contiguous";
    case MoveKind::Cat: return "cat";
    case MoveKind::Where: return "where";
    case MoveKind::Cast: return "cast";
    case MoveKind::Slice: return "slice";
    case MoveKind::Write: return "write";
    case MoveKind::Scan: return "scan";
    case MoveKind::Reduce: return "reduce";
  }
  return "?";
}

namespace {

KernelWork move_kernel(const Precision& precision, std::string_view op, const Shape& shape,
                       std::int64_t read, std::int64_t written) {
  return vector_kernel(precision, {.op = op,
                                   .kind = KernelClass::Move,
                                   .shape = rows_of(shape),
                                   .flop_per_element = 0.0,
                                   .read = read,
                                   .written = written});
}

}  // namespace

Status Move::check() const {
  ROOFTILE_CHECK(check_shape(name_of(kind), input));
  if (others < 0 || others > Shape::kMaxElements) {
    return bad_input({}, "a memory move reads an impossible number of elements", {});
  }
  return result.rank() == 0 ? Status{} : check_shape(name_of(kind), result);
}

Saved Move::saved(const LowerContext&) const {
  if (kind != MoveKind::Where) return {};
  return {.inputs = 0, .output = false, .extra = bytes_of(others, DType::Bool)};
}

void Move::forward(const LowerContext& context, KernelList& kernels) const {
  const std::int64_t in = input.elements();
  const std::int64_t out = output().elements();
  // A slice reads only what it keeps, a write touches only what it writes.
  const std::int64_t read = kind == MoveKind::Slice ? out : in + others;
  const std::int64_t written = kind == MoveKind::Write ? in : out;
  kernels.push_back(
      move_kernel(context.precision, name_of(kind), in >= out ? input : output(), read, written));
  if (to_cache && context.precision.cache) {
    kernels.back().written = bytes_of(written, *context.precision.cache);
  }
}

void Move::backward(const LowerContext& context, KernelList& kernels) const {
  const std::int64_t in = input.elements();
  const std::int64_t out = output().elements();
  // The gradient of the result comes in, that of the input goes out; a slice's is mostly zeros.
  const std::int64_t read = kind == MoveKind::Write ? in : std::min(in, out) + others;
  kernels.push_back(
      move_kernel(context.precision, name_of(kind), in >= out ? input : output(), read, in));
}

void Dropout::forward(const LowerContext& context, KernelList& kernels) const {
  kernels.push_back(
      move_kernel(context.precision, kName, shape, shape.elements(), shape.elements()));
}

void Dropout::backward(const LowerContext& context, KernelList& kernels) const {
  forward(context, kernels);  // the gradient times the mask
}

}  // namespace rooftile::ops
