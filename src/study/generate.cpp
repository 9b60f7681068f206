// SPDX-License-Identifier: Apache-2.0
//
// Generation from its steps: prefill and decode as predict() gives them, the growing cache by
// Simpson's rule over the first, a middle and the last decode step (a step's time is nearly linear
// in its context). In-flight batching: while a request produces its tokens, as many prompts arrive
// as there are requests in flight; each adds its prefill once, spread over the tokens, of which the
// stack's share shows (cost::StackForm::prefill_share):
//
//   time per token = decode step + batch / osl x share x prefill of one prompt
#include "rooftile/generate.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/provenance.h"
#include "core/text.h"
#include "hardware/machine.h"
#include "study/options.h"

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

/// The steps of a generation.
class Steps {
 public:
  Steps(const GenerateRequest& request, const Session& session, const cost::Predictor& predictor,
        const cost::StackCosts& costs)
      : request_(request), session_(session), predictor_(predictor), costs_(costs) {}

  [[nodiscard]] Result<Report> prefill(std::int64_t batch) const {
    Request step = request_.step;
    step.phase = "prefill";
    step.batch = batch;
    step.sequence = request_.isl;
    step.context.reset();
    return session_.predict(step, predictor_, costs_);
  }
  [[nodiscard]] Result<Report> decode(std::int64_t batch, std::int64_t context) const {
    Request step = request_.step;
    step.phase = "decode";
    step.batch = batch;
    step.sequence.reset();
    step.context = context;
    return session_.predict(step, predictor_, costs_);
  }
  /// The mean step over all tokens behind the first.
  [[nodiscard]] Result<Interval> mean_decode(std::int64_t batch, Report& middle,
                                             Report& last) const {
    const std::int64_t isl = request_.isl, osl = request_.osl;
    ROOFTILE_TRY(const Report first, decode(batch, isl));
    ROOFTILE_TRY(middle, decode(batch, isl + (osl - 1) / 2));
    ROOFTILE_TRY(last, decode(batch, isl + std::max<std::int64_t>(osl - 2, 0)));
    return (interval_of(first.latency) + interval_of(middle.latency) * 4.0 +
            interval_of(last.latency)) *
           (1.0 / 6.0);
  }

 private:
  const GenerateRequest& request_;
  const Session& session_;
  const cost::Predictor& predictor_;
  const cost::StackCosts& costs_;
};

/// What holds the cache of a batch holds the larger of the two steps' activations beside it.
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

std::int64_t gpus_of(const Report& report) {
  return report.parallel ? report.parallel->gpus : 1;
}

/// The words that a reader of the numbers has to know.
void add_assumptions(const GenerateRequest& request, double share, GenerateReport& report) {
  if (request.concurrency && !request.disaggregated) {
    report.warnings.push_back(fmt::format(
        "assumed: requests arrive evenly, a prompt is processed alone and {:.0f} % of that shows "
        "in the decode steps of the others; no prefix is cached, nothing is speculated",
        share * 100));
  }
  if (report.memory.fits && !*report.memory.fits) {
    report.warnings.push_back(
        fmt::format("needs {} of memory at full length, the GPU has {}{}",
                    format_bytes(Bytes::from_base(report.memory.total_bytes)),
                    format_bytes(Bytes::from_base(*report.memory.capacity_bytes)),
                    report.largest_batch ? fmt::format("; {} sequences fit", *report.largest_batch)
                                         : std::string()));
  }
}

}  // namespace

Result<GenerateReport> Session::generate(const GenerateRequest& request,
                                         const cost::Predictor& predictor,
                                         const cost::StackCosts& costs) const {
  ROOFTILE_CHECK(check_generate(request));
  const bool server = request.concurrency.has_value();
  const std::int64_t batch = server ? *request.concurrency : request.batch.value_or(1);
  const Steps steps(request, *this, predictor, costs);
  GenerateReport report;
  report.request = request;
  // A server processes the prompt of one replica alone.
  ROOFTILE_TRY(report.prefill, steps.prefill(server ? request.step.dp : batch));
  Report last;
  ROOFTILE_TRY(const Interval decode, steps.mean_decode(batch, report.decode, last));
  Request middle = report.decode.request;
  report.request.step = std::move(middle);
  report.model_name = report.decode.model_name;
  report.gpu_name = report.decode.gpu_name;
  report.gpus = gpus_of(report.decode);
  report.batch = batch;

  const Interval prefill = interval_of(report.prefill.latency);
  const auto osl = static_cast<double>(request.osl);
  const auto sequences = static_cast<double>(batch);
  const double share = costs.of(report.decode.request.stack).prefill_share;
  report.tpot_ms = decode;
  report.ttft_ms = prefill;
  if (server && !request.disaggregated) {
    const double prompts = sequences / static_cast<double>(request.step.dp) / osl;
    report.tpot_ms = decode + prefill * (prompts * share);
    report.ttft_ms = prefill + decode * 0.5;  // half of the step that is running
  }
  report.request_ms = report.ttft_ms + report.tpot_ms * (osl - 1);
  report.tokens_per_s = rate_of(sequences * osl * 1e3, report.request_ms);
  report.tokens_per_s_per_gpu = report.tokens_per_s.value / static_cast<double>(report.gpus);
  ROOFTILE_TRY(const auto machine, this->machine(request.step.gpu, request.step.machine));
  if (machine->gpu.power_watt) {
    report.energy_per_token_j =
        *machine->gpu.power_watt * static_cast<double>(report.gpus) / report.tokens_per_s.value;
  }
  report.memory = memory_at_full_length(report.prefill, last);
  report.largest_batch = largest_batch(report.memory, batch);
  report.provenance = report.decode.provenance;
  for (const Report* step : {&report.prefill, &report.decode}) {
    for (const std::string& warning : step->warnings) {
      const bool about_memory = warning.starts_with("needs ");
      const auto& known = report.warnings;
      if (!about_memory && std::find(known.begin(), known.end(), warning) == known.end())
        report.warnings.push_back(warning);
    }
  }
  add_assumptions(request, share, report);
  return report;
}

Result<GenerateReport> Session::generate(const GenerateRequest& request) const {
  ROOFTILE_TRY(const auto predictor, this->predictor(request.step.predictor));
  ROOFTILE_TRY(const auto costs, stack_costs());
  return generate(request, *predictor, *costs);
}

}  // namespace rooftile::study
