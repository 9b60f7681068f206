// SPDX-License-Identifier: Apache-2.0
//
// From typed results to the plain public Report: the place where units leave the type system.
#pragma once

#include <string>

#include "aggregate/memory.h"
#include "aggregate/parallel.h"
#include "aggregate/step.h"
#include "graph/graph.h"
#include "hardware/machine.h"
#include "rooftile/report.h"

namespace rooftile::report {

OperatorReport make_operator(const aggregate::OperatorEstimate& op,
                             const hardware::Machine& machine);

Report make(const Request& resolved, const graph::Graph& graph, const hardware::Machine& machine,
            const aggregate::StepEstimate& step, const aggregate::MemoryEstimate& memory);

/// The step in users' units; `gpus` run it.
ThroughputReport make_throughput(const Report& report, const graph::Graph& graph,
                                 const hardware::Machine& machine, std::int64_t gpus);

/// How the GPUs share the step; `system` is empty for one GPU with micro-batches.
ParallelReport make_parallel(const aggregate::Parallelism& parallelism,
                             const aggregate::Interconnect& links, const std::string& system,
                             const aggregate::StepEstimate& step);

}  // namespace rooftile::report
