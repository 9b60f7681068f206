// SPDX-License-Identifier: Apache-2.0
//
// A generation from its steps: one prefill and decode steps at the first, a middle and the last
// context. What Session::generate reports and what fit_stacks() compares with measured servers.
#pragma once

#include <array>
#include <cstdint>

#include "aggregate/step.h"
#include "core/result.h"
#include "cost/predictor.h"
#include "cost/stack_costs.h"
#include "rooftile/generate.h"
#include "study/session.h"

namespace rooftile::study {

/// The steps of a generation whose decode steps have `batch` sequences.
struct GenerationSteps {
  Request prefill;
  std::array<Request, 3> decode;  ///< over the prompt, halfway, before the last token
};
GenerationSteps steps_of(const GenerateRequest& request, std::int64_t batch);

/// Their times; decode in the order of GenerationSteps::decode.
struct StepTimes {
  Interval prefill;
  std::array<Interval, 3> decode;
  double shared = 0;  ///< milliseconds of a prefill that a decode step which takes it along saves
};

/// A prompt that rides along with a decode step: weights are read once for both, the time of the
/// shorter of each pair of products, and kernels of one hide the host's launches of the other.
double shared_ms(const aggregate::StepEstimate& prefill, const aggregate::StepEstimate& decode);

struct GenerationTimes {
  Interval ttft, tpot, request;  ///< milliseconds, as the steps'
};
/// `running` of request.concurrency requests are decoded at once, the others wait; `share` of the
/// prefills shows (cost::StackForm::prefill_share).
GenerationTimes times_of(const GenerateRequest& request, std::int64_t running,
                         const StepTimes& steps, double share);

/// Sequences in a decode step: the batch, or as many of the requests in flight as the memory
/// holds at full length (all of them where it holds not even one).
Result<std::int64_t> running_batch(const GenerateRequest& request, const Session& session,
                                   const cost::Predictor& predictor, const cost::StackCosts& costs);

}  // namespace rooftile::study
