// SPDX-License-Identifier: Apache-2.0
#include "execution/eager.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

namespace rooftile::execution {

namespace {

constexpr double kSoftmaxTextbook = 5;  // tensors backward: 3 for the product, 2 for the softmax
constexpr double kDivBackward = 2;      // the gradient in and out: a divisor needs none

using ops::KernelList;

/// Moves `factor` times its textbook bytes. Fewer of them are also all that it has to move.
void move_times(ops::KernelWork& work, double factor) {
  if (factor >= 1) {
    work.excess = work.bytes() * (factor - 1);
    return;
  }
  for (Bytes* bytes : {&work.read, &work.written, &work.cold}) *bytes *= factor;
}

KernelList moving(KernelList kernels, double factor) {
  for (ops::KernelWork& work : kernels) move_times(work, factor);
  return kernels;
}

/// The kernels work on this share of their elements: a mean over gradients that are added and
/// others that are not.
KernelList on_share(KernelList kernels, double share) {
  for (ops::KernelWork& work : kernels) {
    if (auto* rows = std::get_if<ops::RowShape>(&work.shape)) {
      const auto columns = static_cast<double>(rows->columns);
      rows->columns = std::max<std::int64_t>(1, std::llround(columns * share));
    }
    work.flops *= share;
    for (Bytes* bytes : {&work.read, &work.written, &work.cold}) *bytes *= share;
  }
  return kernels;
}

KernelList copied(KernelList kernels, double access_efficiency) {
  for (ops::KernelWork& work : kernels) work.access_efficiency = access_efficiency;
  return kernels;
}

/// One kernel does the work of all and moves `tensors` tensors of its own size, where that is known.
KernelList one_of(KernelList kernels, double tensors) {
  if (kernels.empty()) return kernels;
  ops::KernelWork one = std::move(kernels.front());
  for (auto other = kernels.begin() + 1; other != kernels.end(); ++other) one.flops += other->flops;
  const auto* rows = std::get_if<ops::RowShape>(&one.shape);
  if (rows != nullptr && one.bytes() > Bytes{} && tensors > 0) {
    const double elements = static_cast<double>(rows->rows) * static_cast<double>(rows->columns);
    move_times(one, size_of(one.dtype) * elements * tensors / one.bytes());
  }
  return {std::move(one)};
}

/// The operators whose launched kernels differ from the textbook; all others stay as they are.
class Rules {
 public:
  Rules(Phase phase, const LaunchOptions& options, const ops::LowerContext& context,
        KernelList kernels)
      : backward_(phase == Phase::Backward),
        inference_(options.mode == Mode::Infer),
        copy_efficiency_(options.execution == Execution::Compiled ? 1.0
                                                                  : options.moved.strided_copy),
        moved_(options.moved),
        context_(context),
        kernels_(std::move(kernels)) {}

  template <typename Op>
  KernelList operator()(const Op& op) {
    if constexpr (std::is_same_v<Op, ops::Dropout>) {
      if (inference_) return {};
      return one_of(std::move(kernels_), backward_ ? moved_.dropout_backward : moved_.dropout);
    } else if constexpr (std::is_same_v<Op, ops::LayerNorm>) {
      if (backward_) return one_of(std::move(kernels_), moved_.norm_backward);
    } else if constexpr (std::is_same_v<Op, ops::Softmax>) {
      if (backward_ && moved_.softmax_backward > 0)
        return moving(std::move(kernels_), moved_.softmax_backward / kSoftmaxTextbook);
    } else if constexpr (std::is_same_v<Op, ops::Embedding>) {
      if (!backward_) return one_of(std::move(kernels_), moved_.embedding);
    } else if constexpr (std::is_same_v<Op, ops::Move>) {
      return move(op);
    } else if constexpr (std::is_same_v<Op, ops::Elementwise>) {
      if (backward_) return elementwise_backward(op);
    } else if constexpr (std::is_same_v<Op, ops::BatchedMatmul>) {
      if (!backward_) return product(op);
    }
    return std::move(kernels_);
  }

 private:
  KernelList move(const ops::Move& op) {
    switch (op.kind) {
      case ops::MoveKind::Where: return one_of(std::move(kernels_), moved_.where);
      case ops::MoveKind::Contiguous:
        if (backward_) return {};
        return copied(std::move(kernels_), copy_efficiency_);
      case ops::MoveKind::Slice: return {};
      case ops::MoveKind::Cat:
      case ops::MoveKind::Cast:
      case ops::MoveKind::Write:
      case ops::MoveKind::Scan:
      case ops::MoveKind::Reduce: break;
    }
    return std::move(kernels_);
  }

  KernelList elementwise_backward(const ops::Elementwise& op) {
    switch (op.function) {
      case ops::Function::Add:
      case ops::Function::Sub: return {};
      case ops::Function::Gelu: return one_of(std::move(kernels_), moved_.gelu_backward);
      case ops::Function::Div: return one_of(std::move(kernels_), kDivBackward);
      default: return std::move(kernels_);
    }
  }

  KernelList product(const ops::BatchedMatmul& op) {
    const auto copy = [&](std::int64_t matrices, std::int64_t rows, std::int64_t columns) {
      kernels_.push_back(
          vector_kernel(context_.precision, {.op = "contiguous",
                                             .kind = ops::KernelClass::Move,
                                             .shape = {.rows = matrices * rows, .columns = columns},
                                             .flop_per_element = 0.0,
                                             .read = matrices * rows * columns,
                                             .written = matrices * rows * columns}));
      kernels_.back().access_efficiency = copy_efficiency_;
    };
    if (op.left_permuted) copy(op.batch, op.m, op.k);
    if (op.right_permuted) copy(op.batch / op.share, op.n, op.k);  // heads share keys and values
    if (op.output_permuted) copy(op.batch, op.m, op.n);
    return std::move(kernels_);
  }

  bool backward_;
  bool inference_;
  double copy_efficiency_;
  const TensorsMoved& moved_;
  const ops::LowerContext& context_;
  KernelList kernels_;
};

}  // namespace

KernelList executed(const ops::AnyOp& op, Phase phase, const LaunchOptions& options,
                    const ops::LowerContext& context, KernelList kernels) {
  if (phase == Phase::Accumulate) return on_share(std::move(kernels), options.moved.accumulate);
  if (phase == Phase::Optimizer) return kernels;
  return std::visit(Rules(phase, options, context, std::move(kernels)), op);
}

}  // namespace rooftile::execution
