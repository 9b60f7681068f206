// SPDX-License-Identifier: Apache-2.0
//
// The kernels of any operator of a graph, explained as those of a KernelRequest are.
#pragma once

#include "core/result.h"
#include "ops/any_op.h"
#include "rooftile/kernel.h"
#include "study/session.h"

namespace rooftile::study {

/// Session::kernel() with an operator instead of request.op.
Result<KernelsReport> kernels_of(const ops::AnyOp& op, const KernelRequest& request,
                                 const Session& session);

}  // namespace rooftile::study
