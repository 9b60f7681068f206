// SPDX-License-Identifier: Apache-2.0
//
// Generation from its steps: prefill and decode as predict() gives them, the growing cache by
// Simpson's rule over the first, a middle and the last decode step (a step's time is nearly linear
// in its context). In-flight batching: while a request produces its tokens, as many prompts arrive
// as there are requests in flight; each rides along with a decode step, which it makes longer by
// what the two do not share (shared_ms()), and of that the stack's share shows
// (cost::StackForm::prefill_share):
//
//   time per token = decode step + batch / osl x share x (prefill of one prompt - shared)
//
// Requests that the memory does not hold wait for others to end: with R of N running, a request
// waits (N - R) / R times as long as it runs (Little's law).
#include "study/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "core/provenance.h"
#include "core/text.h"
#include "hardware/machine.h"
#include "study/options.h"
#include "study/predict.h"

namespace rooftile::study {

namespace {

Interval interval_of(const LatencyReport& latency) {
  return {.value = latency.total_ms, .low = latency.low_ms, .high = latency.high_ms};
}
Interval operator+(const Interval& a, const Interval& b) {
  return {.value = a.value + b.value, .low = a.low + b.low, .high = a.high + b.high};
}
Interval operator*(const Interval& a, double factor) {
  return {.value = a.value * factor, .low = a.low * factor, .high = a.high * factor};
}
/// `amount` in each of these times.
Interval rate_of(double amount, const Interval& time) {
  return {.value = amount / time.value, .low = amount / time.high, .high = amount / time.low};
}

Status check_generate(const GenerateRequest& request) {
  constexpr std::int64_t kMostTokens = 100'000'000;
  for (const auto& [option, value] :
       {std::pair("--isl", request.isl), std::pair("--osl", request.osl),
        std::pair("--batch", request.batch.value_or(1)),
        std::pair("--concurrency", request.concurrency.value_or(1))}) {
    if (value < 1 || value > kMostTokens) {
      return usage_error(
          fmt::format("{} must be between 1 and {}, not {}", option, kMostTokens, value));
    }
  }
  if (request.batch && request.concurrency) {
    return usage_error("--batch and --concurrency cannot be combined",
                       "--batch: sequences that start and end together; --concurrency: requests "
                       "in flight on a server");
  }
  return {};
}

/// What holds the cache of a batch holds the larger of the two steps' activations as well.
MemoryReport memory_at_full_length(const Report& prefill, const Report& decode) {
  MemoryReport memory = decode.memory;
  const double more = prefill.memory.activations_bytes - memory.activations_bytes;
  if (more > 0) {
    memory.activations_bytes += more;
    memory.total_bytes += more;
    if (memory.capacity_bytes) memory.fits = memory.total_bytes <= *memory.capacity_bytes;
  }
  return memory;
}

std::optional<std::int64_t> largest_batch(const MemoryReport& memory, std::int64_t batch) {
  if (!memory.capacity_bytes || memory.kv_cache_bytes <= 0) return std::nullopt;
  const double each = memory.kv_cache_bytes / static_cast<double>(batch);
  const double left = *memory.capacity_bytes - (memory.total_bytes - memory.kv_cache_bytes);
  return std::max<std::int64_t>(0, static_cast<std::int64_t>(left / each));
}

std::int64_t stated_batch(const GenerateRequest& request) {
  return request.concurrency ? *request.concurrency : request.batch.value_or(1);
}

std::int64_t gpus_of(const Report& report) {
  return report.parallel ? report.parallel->gpus : 1;
}

/// Tensor parallelism that would hold the request, in words; empty where none of one node does.
std::string wider(const GenerateRequest& request, const Session& session,
                  const cost::Predictor& predictor, const cost::StackCosts& costs) {
  constexpr std::int64_t kWidest = 8;
  for (std::int64_t tp = request.step.tp * 2; tp <= kWidest; tp *= 2) {
    GenerateRequest other = request;
    other.step.tp = tp;
    const GenerationSteps steps = steps_of(other, stated_batch(request));
    const auto prefill = session.predict(steps.prefill, predictor, costs);
    const auto last = session.predict(steps.decode.back(), predictor, costs);
    if (!prefill || !last) continue;
    if (memory_at_full_length(*prefill, *last).fits.value_or(false))
      return fmt::format("--tp {} holds all of them", tp);
  }
  return {};
}

Result<aggregate::StepEstimate> estimated(const Request& request, const Session& session,
                                          const cost::Predictor& predictor,
                                          const cost::StackCosts& costs) {
  ROOFTILE_TRY(const auto machine, session.machine(request.gpu, request.machine));
  ROOFTILE_TRY(const PreparedStep step, prepare_step(request, *machine, session, predictor));
  return step.step(*machine, predictor, costs, 1.0);
}

/// The words that a reader of the numbers has to know.
void add_assumptions(const GenerateRequest& request, double share, const std::string& way_on,
                     GenerateReport& report) {
  if (request.concurrency && !request.disaggregated) {
    report.warnings.push_back(fmt::format(
        "assumed: requests arrive evenly; a prompt rides along with a decode step, and {:.0f} % of "
        "what the two do not share delays the other requests; no prefix caching, no speculative "
        "decoding",
        share * 100));
  }
  const std::string hint = way_on.empty() ? std::string() : "; " + way_on;
  if (request.concurrency && report.batch < *request.concurrency) {
    report.warnings.push_back(
        fmt::format("the memory holds {} of {} requests at full length; the others wait for their "
                    "first token{}",
                    report.batch, *request.concurrency, hint));
  } else if (report.memory.fits && !*report.memory.fits) {
    report.warnings.push_back(
        fmt::format("needs {} of memory at full length, the GPU has {}{}{}",
                    format_bytes(Bytes::from_base(report.memory.total_bytes)),
                    format_bytes(Bytes::from_base(*report.memory.capacity_bytes)),
                    report.largest_batch && *report.largest_batch > 0
                        ? fmt::format("; {} sequences fit", *report.largest_batch)
                        : std::string(),
                    hint));
  }
}

}  // namespace

GenerationSteps steps_of(const GenerateRequest& request, std::int64_t batch) {
  GenerationSteps steps{.prefill = request.step, .decode = {}};
  steps.prefill.phase = "prefill";
  // A server processes the prompt of one replica alone.
  steps.prefill.batch = request.concurrency ? request.step.dp : batch;
  steps.prefill.sequence = request.isl;
  steps.prefill.context.reset();
  const std::int64_t isl = request.isl, osl = request.osl;
  const std::array contexts{isl, isl + (osl - 1) / 2, isl + std::max<std::int64_t>(osl - 2, 0)};
  for (std::size_t i = 0; i < contexts.size(); ++i) {
    Request& step = steps.decode[i];
    step = request.step;
    step.phase = "decode";
    step.batch = batch;
    step.sequence.reset();
    step.context = contexts[i];
  }
  return steps;
}

double shared_ms(const aggregate::StepEstimate& prefill, const aggregate::StepEstimate& decode) {
  const auto products = [](const aggregate::StepEstimate& step) {
    std::map<std::string_view, Seconds> times;
    for (const aggregate::OperatorEstimate& op : step.operators) {
      const std::string& kind = op.kernel.work.op;
      if (kind == ops::Linear::kName || kind == ops::ExpertLinear::kName ||
          kind == ops::HeadLinear::kName) {
        times[op.kernel.name] += op.estimate.time * static_cast<double>(op.kernel.count);
      }
    }
    return times;
  };
  const auto ours = products(prefill), theirs = products(decode);
  Seconds shared = prefill.parts.host;
  for (const auto& [node, time] : ours) {
    if (const auto other = theirs.find(node); other != theirs.end())
      shared += min(time, other->second);
  }
  return to_ms(min(shared, decode.total));
}

GenerationTimes times_of(const GenerateRequest& request, std::int64_t running,
                         const StepTimes& steps, double share) {
  const auto osl = static_cast<double>(request.osl);
  const Interval decode = (steps.decode[0] + steps.decode[1] * 4.0 + steps.decode[2]) * (1.0 / 6.0);
  GenerationTimes times{.ttft = steps.prefill, .tpot = decode, .request = {}};
  if (request.concurrency && !request.disaggregated) {
    const double prompts =
        static_cast<double>(running) / static_cast<double>(request.step.dp) / osl;
    const double alone = 1 - std::min(steps.shared / steps.prefill.value, 1.0);
    times.tpot = decode + steps.prefill * (prompts * share * alone);
    times.ttft = steps.prefill + decode * 0.5;  // half of the step that is running
  }
  times.request = times.ttft + times.tpot * (osl - 1);
  if (request.concurrency && running < *request.concurrency) {
    const auto waiting = static_cast<double>(*request.concurrency - running);
    const Interval wait = times.request * (waiting / static_cast<double>(running));
    times.ttft = times.ttft + wait;
    times.request = times.request + wait;
  }
  return times;
}

Result<std::int64_t> running_batch(const GenerateRequest& request, const Session& session,
                                   const cost::Predictor& predictor,
                                   const cost::StackCosts& costs) {
  const std::int64_t batch = stated_batch(request);
  if (!request.concurrency || request.step.dp > 1) return batch;
  const GenerationSteps steps = steps_of(request, batch);
  ROOFTILE_TRY(const Report prefill, session.predict(steps.prefill, predictor, costs));
  ROOFTILE_TRY(const Report last, session.predict(steps.decode.back(), predictor, costs));
  const auto largest = largest_batch(memory_at_full_length(prefill, last), batch);
  return largest && *largest > 0 ? std::min(batch, *largest) : batch;
}

Result<GenerateReport> Session::generate(const GenerateRequest& request,
                                         const cost::Predictor& predictor,
                                         const cost::StackCosts& costs) const {
  ROOFTILE_CHECK(check_generate(request));
  GenerateReport report;
  report.request = request;
  ROOFTILE_TRY(report.batch, running_batch(request, *this, predictor, costs));
  const GenerationSteps steps = steps_of(request, report.batch);
  ROOFTILE_TRY(report.prefill, predict(steps.prefill, predictor, costs));
  ROOFTILE_TRY(const Report first, predict(steps.decode[0], predictor, costs));
  ROOFTILE_TRY(report.decode, predict(steps.decode[1], predictor, costs));
  ROOFTILE_TRY(const Report last, predict(steps.decode[2], predictor, costs));
  report.request.step = report.decode.request;
  report.model_name = report.decode.model_name;
  report.gpu_name = report.decode.gpu_name;
  report.gpus = gpus_of(report.decode);

  const double share = costs.of(report.decode.request.stack).prefill_share;
  double shared = 0;
  if (request.concurrency && !request.disaggregated) {
    ROOFTILE_TRY(const auto prompt, estimated(steps.prefill, *this, predictor, costs));
    ROOFTILE_TRY(const auto decode, estimated(steps.decode[1], *this, predictor, costs));
    shared = shared_ms(prompt, decode);
  }
  const GenerationTimes times =
      times_of(request, report.batch,
               {.prefill = interval_of(report.prefill.latency),
                .decode = {interval_of(first.latency), interval_of(report.decode.latency),
                           interval_of(last.latency)},
                .shared = shared},
               share);
  report.ttft_ms = times.ttft;
  report.tpot_ms = times.tpot;
  report.request_ms = times.request;
  report.tokens_per_s =
      rate_of(static_cast<double>(stated_batch(request)) * static_cast<double>(request.osl) * 1e3,
              report.request_ms);
  report.tokens_per_s_per_gpu = report.tokens_per_s.value / static_cast<double>(report.gpus);
  ROOFTILE_TRY(const auto machine, this->machine(request.step.gpu, request.step.machine));
  if (machine->gpu.power_watt) {
    report.energy_per_token_j =
        *machine->gpu.power_watt * static_cast<double>(report.gpus) / report.tokens_per_s.value;
  }
  report.memory = memory_at_full_length(report.prefill, last);
  report.largest_batch = largest_batch(report.memory, report.batch);
  report.provenance = report.decode.provenance;
  for (const Report* step : {&report.prefill, &report.decode}) {
    for (const std::string& warning : step->warnings) {
      const bool about_memory = warning.starts_with("needs ");
      const auto& known = report.warnings;
      if (!about_memory && std::find(known.begin(), known.end(), warning) == known.end())
        report.warnings.push_back(warning);
    }
  }
  const bool holds_all = report.memory.fits.value_or(true) && report.batch == stated_batch(request);
  add_assumptions(request, share,
                  holds_all ? std::string() : wider(request, *this, predictor, costs), report);
  return report;
}

Result<GenerateReport> Session::generate(const GenerateRequest& request) const {
  ROOFTILE_TRY(const auto predictor, this->predictor(request.step.predictor));
  ROOFTILE_TRY(const auto costs, stack_costs());
  return generate(request, *predictor, *costs);
}

}  // namespace rooftile::study
