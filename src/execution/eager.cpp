// SPDX-License-Identifier: Apache-2.0
#include "execution/eager.h"

#include <type_traits>
#include <utility>

namespace rooftile::execution {

namespace {

// Tensors of the operator's own size that each kernel moves; see the header.
constexpr double kDropoutForward = 2.25;
constexpr double kDropoutBackward = 6.5;
constexpr double kLayerNormBackward = 7.5;
constexpr double kSoftmaxBackward = 5.9;  // of 5 counted: 3 for the product, 2 for the softmax
constexpr double kGeluBackward = 3.0;
constexpr double kEmbeddingForward = 5.0;
constexpr double kWhere = 2.4;
// Copies with a stride move the same bytes at a lower rate.
constexpr double kStridedCopy = 1.35;
constexpr double kAccumulate = 0.5;

using Works = std::vector<ExecutedWork>;

Works with_factor(ops::KernelList kernels, double factor) {
  Works works;
  for (ops::KernelWork& kernel : kernels) {
    works.push_back({.work = std::move(kernel), .memory_factor = factor});
  }
  return works;
}

/// Kernels of the textbook that nobody launches stay in the list with no time.
Works not_launched(ops::KernelList kernels) {
  return with_factor(std::move(kernels), 0.0);
}

/// Only the first kernel runs and moves `tensors` tensors of its own size.
Works one_of(ops::KernelList kernels, double tensors) {
  Works works = not_launched(std::move(kernels));
  if (works.empty()) return works;
  const ops::KernelWork& first = works.front().work;
  const auto* rows = std::get_if<ops::RowShape>(&first.shape);
  if (rows == nullptr || first.bytes() <= Bytes{}) {
    works.front().memory_factor = 1.0;
    return works;
  }
  const double elements = static_cast<double>(rows->rows) * static_cast<double>(rows->columns);
  works.front().memory_factor = size_of(first.dtype) * elements * tensors / first.bytes();
  return works;
}

/// The operators whose launched kernels differ from the textbook; all others stay as they are.
class Rules {
 public:
  Rules(Phase phase, const LaunchOptions& options, const ops::LowerContext& context,
        ops::KernelList kernels)
      : backward_(phase == Phase::Backward),
        inference_(options.mode == Mode::Infer),
        copy_factor_(options.execution == Execution::Compiled ? 1.0 : kStridedCopy),
        context_(context),
        kernels_(std::move(kernels)) {}

  template <typename Op>
  Works operator()(const Op& op) {
    if constexpr (std::is_same_v<Op, ops::Dropout>) {
      if (inference_) return not_launched(std::move(kernels_));
      return one_of(std::move(kernels_), backward_ ? kDropoutBackward : kDropoutForward);
    } else if constexpr (std::is_same_v<Op, ops::LayerNorm>) {
      if (backward_) return one_of(std::move(kernels_), kLayerNormBackward);
    } else if constexpr (std::is_same_v<Op, ops::Softmax>) {
      if (backward_) return with_factor(std::move(kernels_), kSoftmaxBackward / 5.0);
    } else if constexpr (std::is_same_v<Op, ops::Embedding>) {
      if (!backward_) return one_of(std::move(kernels_), kEmbeddingForward);
    } else if constexpr (std::is_same_v<Op, ops::Move>) {
      return move(op);
    } else if constexpr (std::is_same_v<Op, ops::Elementwise>) {
      if (backward_) return elementwise_backward(op);
    } else if constexpr (std::is_same_v<Op, ops::BatchedMatmul>) {
      if (!backward_) return product(op);
    }
    return with_factor(std::move(kernels_), 1.0);
  }

 private:
  Works move(const ops::Move& op) {
    switch (op.kind) {
      case ops::MoveKind::Where: return one_of(std::move(kernels_), kWhere);
      case ops::MoveKind::Contiguous:
        if (backward_) return not_launched(std::move(kernels_));
        return with_factor(std::move(kernels_), copy_factor_);
      case ops::MoveKind::Slice: return not_launched(std::move(kernels_));
      case ops::MoveKind::Cat:
      case ops::MoveKind::Cast:
      case ops::MoveKind::Write:
      case ops::MoveKind::Scan:
      case ops::MoveKind::Reduce: break;
    }
    return with_factor(std::move(kernels_), 1.0);
  }

  Works elementwise_backward(const ops::Elementwise& op) {
    switch (op.function) {
      case ops::Function::Add:
      case ops::Function::Sub: return not_launched(std::move(kernels_));
      case ops::Function::Gelu: return one_of(std::move(kernels_), kGeluBackward);
      case ops::Function::Div: return one_of(std::move(kernels_), 2.0);
      default: return with_factor(std::move(kernels_), 1.0);
    }
  }

  Works product(const ops::BatchedMatmul& op) {
    Works works = with_factor(std::move(kernels_), 1.0);
    const auto copy = [&](std::int64_t matrices, std::int64_t rows, std::int64_t columns) {
      works.push_back(
          {.work = vector_kernel(context_.precision,
                                 {.op = "contiguous",
                                  .kind = ops::KernelClass::Move,
                                  .shape = {.rows = matrices * rows, .columns = columns},
                                  .flop_per_element = 0.0,
                                  .read = matrices * rows * columns,
                                  .written = matrices * rows * columns}),
           .memory_factor = copy_factor_});
    };
    if (op.left_permuted) copy(op.batch, op.m, op.k);
    if (op.right_permuted) copy(op.batch / op.share, op.n, op.k);  // heads share keys and values
    if (op.output_permuted) copy(op.batch, op.m, op.n);
    return works;
  }

  bool backward_;
  bool inference_;
  double copy_factor_;
  const ops::LowerContext& context_;
  ops::KernelList kernels_;
};

}  // namespace

std::vector<ExecutedWork> executed(const ops::AnyOp& op, Phase phase, const LaunchOptions& options,
                                   const ops::LowerContext& context, ops::KernelList kernels) {
  if (phase == Phase::Accumulate) return with_factor(std::move(kernels), kAccumulate);
  if (phase == Phase::Optimizer) return with_factor(std::move(kernels), 1.0);
  return std::visit(Rules(phase, options, context, std::move(kernels)), op);
}

}  // namespace rooftile::execution
