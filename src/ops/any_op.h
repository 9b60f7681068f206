// SPDX-License-Identifier: Apache-2.0
//
// The closed list of operators. A new operator is one file and one line here; the compiler names
// everything it forgot to define (concept Operator). Layers above see KernelWork, not these types.
#pragma once

#include <type_traits>
#include <variant>

#include "ops/attention.h"
#include "ops/conv2d.h"
#include "ops/elementwise.h"
#include "ops/embedding.h"
#include "ops/fused.h"
#include "ops/head_linear.h"
#include "ops/linear.h"
#include "ops/moe.h"
#include "ops/move.h"
#include "ops/norm.h"
#include "ops/operator.h"
#include "ops/optimizer.h"
#include "ops/pool.h"
#include "ops/recurrent.h"
#include "ops/softmax.h"

namespace rooftile::ops {

using AnyOp =
    std::variant<Linear, BatchedMatmul, Conv2d, Elementwise, Softmax, LayerNorm, RmsNorm, BatchNorm,
                 Pool, Embedding, Parameter, Gather, Rotary, Dropout, Move, View, CrossEntropy,
                 OptimizerUpdate, FusedAttention, MoeRouting, ExpertLinear, FusedVector, HeadLinear,
                 ShortConv, ChunkedScan, StateUpdate>;

template <typename T>
struct AllOperators : std::false_type {};
template <Operator... Ts>
struct AllOperators<std::variant<Ts...>> : std::true_type {};
static_assert(AllOperators<AnyOp>::value, "an alternative of AnyOp is not an Operator");

/// The operator's kind: "linear", "bmm", "elementwise", ...
std::string_view name_of(const AnyOp& op);
Status check(const AnyOp& op);
Shape output_of(const AnyOp& op);
std::int64_t parameters_of(const AnyOp& op);
/// Its parameters are those of matrix products: the ones that quantization stores narrower.
bool holds_matrix(const AnyOp& op);
Saved saved_for_backward(const AnyOp& op, const LowerContext& context);
void forward(const AnyOp& op, const LowerContext& context, KernelList& kernels);
void backward(const AnyOp& op, const LowerContext& context, KernelList& kernels);
void accumulate(const AnyOp& op, const LowerContext& context, KernelList& kernels);

}  // namespace rooftile::ops
