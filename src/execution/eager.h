// SPDX-License-Identifier: Apache-2.0
//
// What an eager framework really launches for an operator. The operators give the textbook kernels
// (the multiset of [Lee25], kernel by kernel); measured nodes differ from them in known ways:
//
//   dropout      inference: nothing; training: reads, writes and a mask, and a slow backward
//   add, sub     backward hands the gradient on without a copy
//   contiguous   strided copy forward, nothing backward; slices are views
//   layer norm, softmax, gelu: fused backward kernels that re-read their inputs
//   batched products of permuted operands copy them first
//   gradients are accumulated in place, some of them by no kernel of their own
//
// How many times such a kernel moves a tensor of its own size is fitted to the traced nodes of
// PyTorch 2.1 (TensorsMoved). These are properties of the kernels, not of a GPU. A compiler writes
// the copies of permuted operands itself, at the full rate of a copy (fusion rows of the same
// campaign).
#pragma once

#include "execution/launches.h"
#include "ops/any_op.h"

namespace rooftile::execution {

/// `kernels` are the textbook kernels of `op` in `phase`; those that come back are launched, with
/// the bytes that they move and the rate of their accesses.
ops::KernelList executed(const ops::AnyOp& op, Phase phase, const LaunchOptions& options,
                         const ops::LowerContext& context, ops::KernelList kernels);

}  // namespace rooftile::execution
