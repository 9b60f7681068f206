// SPDX-License-Identifier: Apache-2.0
//
// The words of a Request ("train", "bf16", "flash") checked and turned into the typed options of
// the layers below.
#pragma once

#include "aggregate/memory.h"
#include "aggregate/parallel.h"
#include "aggregate/scaling.h"
#include "core/result.h"
#include "execution/launches.h"
#include "execution/stack.h"
#include "graph/import_model.h"
#include "ops/any_op.h"
#include "rooftile/request.h"
#include "study/session.h"

namespace rooftile::study {

struct StepOptions {
  execution::Stack stack;  ///< with the refinements of the request
  graph::ImportOptions import;
  execution::LaunchOptions lower;
  aggregate::MemoryOptions memory;
  aggregate::Parallelism parallelism;
};

Result<StepOptions> parse_step_options(const Request& request, const Session& session);

/// What the stack's host costs beyond what the predictor knows of steps and what was measured of
/// the machine's host.
aggregate::LaunchCosts launch_costs(const StepOptions& options, const hardware::Machine& machine,
                                    const cost::Predictor& predictor,
                                    const cost::StackCosts& costs);

/// The model of the request; options that it cannot follow are errors.
Result<graph::Graph> import_step(const Request& request, const StepOptions& options,
                                 const Session& session);

/// The kernels that the step launches on one GPU, or the one of `conv` that `conv->pass` names, with
/// the bytes that `moved` says (cost::eager_of).
struct StepKernels {
  std::vector<execution::Launch> kernels;
  StepOptions options;             ///< that they follow from
  std::vector<std::string> notes;  ///< of the graph
  std::vector<Input> model;        ///< empty for one layer
};
Result<StepKernels> step_kernels(const Request& step, const std::optional<ops::ConvShape>& conv,
                                 const Session& session, const execution::TensorsMoved& moved);

}  // namespace rooftile::study
