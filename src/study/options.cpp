// SPDX-License-Identifier: Apache-2.0
#include "study/options.h"

#include <fmt/format.h>

#include <array>

#include "core/text.h"
#include "execution/fuse.h"

namespace rooftile::study {

namespace {

constexpr std::array<std::string_view, 2> kFusions{"none", "compile"};
constexpr std::array<std::string_view, 5> kOptimizers{"none", "sgd", "sgd_momentum", "adam",
                                                      "adamw"};

Status check_word(std::string_view option, const std::string& word,
                  std::span<const std::string_view> known) {
  for (const std::string_view name : known) {
    if (word == name) return {};
  }
  return usage_error(fmt::format("unknown {} \"{}\"", option, printable(word)),
                     did_you_mean(word, known, fmt::format("{} is one of", option)));
}

Status check_size(std::string_view option, std::int64_t value) {
  constexpr std::int64_t kMost = 1'000'000'000;
  if (value >= 1 && value <= kMost) return {};
  return usage_error(fmt::format("{} must be between 1 and {}, not {}", option, kMost, value));
}

Result<aggregate::Parallelism> parse_parallelism(const Request& request) {
  constexpr std::int64_t kMost = 1 << 16;
  for (const auto& [option, value] :
       {std::pair("--dp", request.dp), std::pair("--tp", request.tp), std::pair("--pp", request.pp),
        std::pair("--microbatches", request.microbatches)}) {
    if (value < 1 || value > kMost) {
      return usage_error(fmt::format("{} must be between 1 and {}, not {}", option, kMost, value));
    }
  }
  if (request.dp * request.tp > kMost || request.dp * request.tp * request.pp > kMost) {
    return usage_error(fmt::format("--dp {} x --tp {} x --pp {} are too many GPUs", request.dp,
                                   request.tp, request.pp),
                       fmt::format("up to {}", kMost));
  }
  if (request.batch % request.dp != 0) {
    return usage_error(
        fmt::format("a batch of {} is not divisible by --dp {}", request.batch, request.dp),
        "the batch is that of all replicas together");
  }
  if (request.batch / request.dp % request.microbatches != 0) {
    return usage_error(
        fmt::format("{} sequences per replica are not divisible by --microbatches {}",
                    request.batch / request.dp, request.microbatches),
        "the batch is that of all replicas together");
  }
  return aggregate::Parallelism{.data = request.dp,
                                .tensor = request.tp,
                                .pipeline = request.pp,
                                .microbatches = request.microbatches};
}

/// Errors of the word parsers are about the command line, not about a file.
template <typename T>
Result<T> as_usage(Result<T> result) {
  if (!result) result.error().code = ErrorCode::Usage;
  return result;
}

}  // namespace

Result<StepOptions> parse_step_options(const Request& request) {
  StepOptions options;
  ROOFTILE_TRY(options.import.step, as_usage(graph::parse_step(request.phase)));
  ROOFTILE_TRY(options.import.attention, as_usage(graph::parse_attention(request.attention)));
  ROOFTILE_TRY(options.import.dtype, as_usage(parse_dtype(request.dtype)));
  ROOFTILE_CHECK(check_size("--batch", request.batch));
  ROOFTILE_TRY(options.parallelism, parse_parallelism(request));
  // Every replica works through its share of the batch in equal pieces.
  options.import.batch =
      request.batch / (options.parallelism.data * options.parallelism.microbatches);
  if (request.sequence) {
    ROOFTILE_CHECK(check_size("--seq", *request.sequence));
    options.import.sequence = *request.sequence;
  }
  if (request.context) {
    ROOFTILE_CHECK(check_size("--context", *request.context));
    if (options.import.step != graph::Step::Decode) {
      return usage_error("--context is for --phase decode", "remove it, or add --phase decode");
    }
    options.import.context = *request.context;
  }
  const bool train = options.import.step == graph::Step::Train;
  const DType dtype = options.import.dtype;
  if (train && (dtype == DType::Int8 || dtype == DType::Fp4)) {
    return unsupported({}, fmt::format("training in {} is not modelled", name_of(dtype)),
                       "train in fp32, tf32, fp16, bf16 or fp8_e4m3");
  }
  options.lower.mode = train ? execution::Mode::Train : execution::Mode::Infer;

  ROOFTILE_CHECK(check_word("--optimizer", request.optimizer, kOptimizers));
  if (!train && (request.optimizer != "none" || request.recompute)) {
    return usage_error("--optimizer and --recompute are for --phase train", "add --phase train");
  }
  if (request.optimizer != "none") {
    ROOFTILE_TRY(options.lower.optimizer, ops::parse_optimizer(request.optimizer));
  }
  ROOFTILE_CHECK(check_word("--fusion", request.fusion, kFusions));
  options.fuse = request.fusion == "compile";
  options.lower.execution =
      options.fuse ? execution::Execution::Compiled : execution::Execution::Eager;
  options.lower.recompute = request.recompute;
  options.memory.optimizer = options.lower.optimizer;
  options.memory.activations = {.compiled = options.fuse, .recompute = request.recompute};
  return options;
}

namespace {

/// Options that a model cannot follow are errors: an image decides its own number of tokens.
Status check_applies(const Request& request, const graph::Graph& graph) {
  const bool decode = graph.step == graph::Step::Decode;  // there --seq sets the context
  if (request.sequence && !decode && *request.sequence != graph.sequence) {
    return usage_error(
        fmt::format("--seq {} does not apply to {}", *request.sequence, graph.name),
        graph.sequence == 0
            ? "its input has no tokens; remove --seq"
            : fmt::format("it always works on {} tokens; remove --seq", graph.sequence));
  }
  if (request.attention != "eager" && graph.family == "cnn") {
    return usage_error(
        fmt::format("--attention {} does not apply to {}", request.attention, graph.name),
        "it has no attention; remove --attention");
  }
  return {};
}

Result<ops::KernelWork> conv_work(const ops::ConvShape& conv, DType dtype) {
  const ops::Conv2d op{.conv = conv};
  ROOFTILE_CHECK(op.check());
  ops::KernelList works;
  const ops::LowerContext context{.precision = ops::precision_of(dtype)};
  op.forward(context, works);
  op.backward(context, works);
  for (const ops::KernelWork& work : works) {
    if (std::get<ops::ConvShape>(work.shape).pass == conv.pass) return work;
  }
  return usage_error("the layer has no such pass", {});
}

}  // namespace

Result<graph::Graph> import_step(const Request& request, const StepOptions& options,
                                 const Session& session) {
  ROOFTILE_TRY(const auto model, session.model(request.model));
  ROOFTILE_TRY(auto graph, model->import(options.import));
  ROOFTILE_CHECK(check_applies(request, graph));
  return graph;
}

Result<StepKernels> step_kernels(const Request& step, const std::optional<ops::ConvShape>& conv,
                                 const Session& session) {
  ROOFTILE_TRY(const StepOptions options, parse_step_options(step));
  if (!conv) {
    ROOFTILE_TRY(graph::Graph graph, import_step(step, options, session));
    StepKernels launched{.kernels = {}, .notes = graph.notes, .model = graph.input};
    if (options.fuse) graph = execution::fuse(graph);
    launched.kernels = execution::launches(graph, options.lower);
    return launched;
  }
  ROOFTILE_TRY(ops::KernelWork work, conv_work(*conv, options.import.dtype));
  const auto phase =
      conv->pass == ops::ConvPass::Forward ? execution::Phase::Forward : execution::Phase::Backward;
  return StepKernels{.kernels = {{.name = "conv", .phase = phase, .work = std::move(work)}},
                     .notes = {},
                     .model = {}};
}

}  // namespace rooftile::study
