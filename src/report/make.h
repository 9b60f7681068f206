// SPDX-License-Identifier: Apache-2.0
//
// From typed results to the plain public Report: the place where units leave the type system.
#pragma once

#include <string>

#include "aggregate/memory.h"
#include "aggregate/step.h"
#include "graph/graph.h"
#include "hardware/machine.h"
#include "rooftile/report.h"

namespace rooftile::report {

OperatorReport make_operator(const aggregate::OperatorEstimate& op,
                             const hardware::Machine& machine);

Report make(const Request& resolved, const graph::Graph& graph, const hardware::Machine& machine,
            const aggregate::StepEstimate& step, const aggregate::MemoryEstimate& memory);

}  // namespace rooftile::report
