// SPDX-License-Identifier: Apache-2.0
#include "study/options.h"

#include <fmt/format.h>

#include <array>
#include <set>

#include "core/text.h"

namespace rooftile::study {

namespace {

constexpr std::string_view kAuto = "auto";
constexpr std::array<std::string_view, 3> kFusions{kAuto, "none", "compile"};
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
        std::pair("--ep", request.ep), std::pair("--microbatches", request.microbatches)}) {
    if (value < 1 || value > kMost) {
      return usage_error(fmt::format("{} must be between 1 and {}, not {}", option, kMost, value));
    }
  }
  if (request.dp * request.tp > kMost || request.dp * request.tp * request.pp > kMost) {
    return usage_error(fmt::format("--dp {} x --tp {} x --pp {} are too many GPUs", request.dp,
                                   request.tp, request.pp),
                       fmt::format("up to {}", kMost));
  }
  if (request.tp % request.ep != 0) {
    return usage_error(
        fmt::format("--tp {} is not divisible by --ep {}", request.tp, request.ep),
        "experts are dealt out to GPUs that share every layer; tokens that are sent to experts of "
        "other replicas are not modelled");
  }
  if (request.ep > 1 && request.phase == "train") {
    return usage_error("--ep cannot be combined with --phase train",
                       "training sends tokens between GPUs, which is not modelled");
  }
  if (request.batch % request.dp != 0) {
    return usage_error(
        fmt::format("a batch of {} is not divisible by --dp {}", request.batch, request.dp),
        "--batch counts the sequences of all replicas together");
  }
  if (request.batch / request.dp % request.microbatches != 0) {
    return usage_error(
        fmt::format("{} sequences per replica are not divisible by --microbatches {}",
                    request.batch / request.dp, request.microbatches),
        "--batch counts the sequences of all replicas together");
  }
  return aggregate::Parallelism{.data = request.dp,
                                .tensor = request.tp,
                                .pipeline = request.pp,
                                .microbatches = request.microbatches,
                                .experts = request.ep};
}

/// Errors of the word parsers are about the command line, not about a file.
template <typename T>
Result<T> as_usage(Result<T> result) {
  if (!result) result.error().code = ErrorCode::Usage;
  return result;
}

/// Formats of the cache and of the weights that replace those of the file.
Status set_formats(const Request& request, graph::ImportOptions& step) {
  if (request.kv_dtype != kAuto) {
    ROOFTILE_TRY(step.kv_dtype, as_usage(parse_dtype(request.kv_dtype)));
  }
  if (request.weight_dtype != kAuto) step.weight_format = request.weight_dtype;
  return {};
}

/// What the request says, or what a user would choose: the file's own dtype, else BF16 for language
/// models, else FP32; a format that the GPU has a rate for.
Result<DType> resolved_dtype(const Request& request, const Session& session) {
  if (request.dtype != kAuto) return as_usage(parse_dtype(request.dtype));
  if (request.model.empty()) return DType::Fp32;
  ROOFTILE_TRY(const auto model, session.model(request.model));
  const DType wanted = model->dtype().value_or(model->is_language() ? DType::Bf16 : DType::Fp32);
  if (wanted == DType::Fp32 || request.gpu.empty()) return wanted;
  ROOFTILE_TRY(const auto machine, session.machine(request.gpu, request.machine));
  for (const DType dtype : {wanted, DType::Fp16}) {
    if (machine->rate(dtype, hardware::Pipe::Tensor)) return dtype;
  }
  return DType::Fp32;
}

/// What people run: 16 bits and less in a serving engine, trained by a compiled framework; FP32 in
/// an eager one.
std::string_view usual_stack(graph::Step step, DType dtype, bool language) {
  if (dtype == DType::Fp32 || dtype == DType::Tf32 || dtype == DType::Fp64) return "eager";
  return step == graph::Step::Train || !language ? "compile" : "serving";
}

/// The stack of the request with --attention and --fusion in it.
Result<execution::Stack> refined_stack(const Request& request, const graph::ImportOptions& step,
                                       const Session& session) {
  std::string name = request.stack;
  if (name == kAuto && request.model.empty()) name = "eager";
  if (name == kAuto) {
    ROOFTILE_TRY(const auto model, session.model(request.model));
    name = usual_stack(step.step, step.dtype, model->is_language());
  }
  ROOFTILE_TRY(const auto named, session.stack(name));
  execution::Stack stack = *named;
  if (request.attention != kAuto) {
    ROOFTILE_TRY(stack.attention, as_usage(graph::parse_attention(request.attention)));
    stack.attention_by_phase.clear();
  }
  ROOFTILE_CHECK(check_word("--fusion", request.fusion, kFusions));
  if (request.fusion == "none") {
    stack.fusions = {};
    stack.execution = execution::Execution::Eager;
  } else if (request.fusion == "compile") {
    stack.fusions.vector = true;
    stack.execution = execution::Execution::Compiled;
  }
  return stack;
}

}  // namespace

Result<StepOptions> parse_step_options(const Request& request, const Session& session) {
  StepOptions options;
  ROOFTILE_TRY(options.import.step, as_usage(graph::parse_step(request.phase)));
  ROOFTILE_TRY(options.import.dtype, resolved_dtype(request, session));
  ROOFTILE_TRY(options.stack, refined_stack(request, options.import, session));
  options.import.attention = options.stack.attention_of(options.import.step);
  ROOFTILE_CHECK(set_formats(request, options.import));
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
  options.lower.execution = options.stack.execution;
  options.lower.recompute = request.recompute;
  options.memory.optimizer = options.lower.optimizer;
  options.memory.activations = {.compiled = options.stack.fusions.vector,
                                .recompute = request.recompute};
  return options;
}

namespace {

aggregate::LaunchCosts usual_costs(const StepOptions& options, const cost::Predictor& predictor,
                                   const cost::StackCosts& costs) {
  const cost::StepConstants& constants = predictor.constants().step;
  const cost::StackForm& form = costs.of(options.stack.id);
  const bool captured = options.stack.captures(options.import.step);
  aggregate::LaunchCosts launch{.step = aggregate::step_costs(constants, form, captured)};
  const graph::Step step = options.import.step;
  if (step == graph::Step::Decode || step == graph::Step::Prefill)
    launch.step.host.step +=
        Seconds::from_base(form.sequence) * static_cast<double>(options.import.batch);
  if (options.stack.execution == execution::Execution::Eager) {
    // Kernel by kernel from Python: what the predictor was fitted with.
    const aggregate::StepCosts eager = aggregate::step_costs(constants);
    launch.step.host.launch = eager.host.launch;
    launch.step.host_spread = eager.host_spread;
    return launch;
  }
  launch.gap = Seconds::from_base(captured ? form.replay_gap : form.gap);
  return launch;
}

}  // namespace

aggregate::LaunchCosts launch_costs(const StepOptions& options, const hardware::Machine& machine,
                                    const cost::Predictor& predictor,
                                    const cost::StackCosts& costs) {
  aggregate::LaunchCosts launch = usual_costs(options, predictor, costs);
  const bool measured = machine.ceilings && machine.ceilings->calibration &&
                        machine.ceilings->calibration->steps &&
                        machine.ceilings->calibration->predictor == predictor.name();
  if (!measured) return launch;
  const double factor = machine.ceilings->calibration->steps->host;
  aggregate::HostCosts& host = launch.step.host;
  for (Seconds* cost : {&host.launch, &host.sync, &host.step}) *cost *= factor;
  return launch;
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
  if (request.attention == "flash" && graph.family == "cnn") {
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

/// Products in a format that the GPU has no rate for: its engines keep the weights narrow and expand
/// them to the model's own format (FP8 on Ampere by Marlin kernels, FP4 on Hopper).
void expand_weights(const hardware::Machine& machine, graph::Graph& graph) {
  std::set<DType> missing;
  for (graph::Block& block : graph.blocks) {
    for (graph::Node& node : block.nodes) {
      if (!node.weights || !node.weights->compute) continue;
      if (machine.best_rate(*node.weights->compute, true)) continue;
      missing.insert(*node.weights->compute);
      node.weights->compute.reset();
    }
  }
  for (const DType dtype : missing) {
    graph.notes.push_back(
        fmt::format("quantization: {} has no {} products; weights stay narrow and are expanded to "
                    "{} (weight-only)",
                    machine.gpu.name, name_of(dtype), name_of(graph.dtype)));
  }
}

}  // namespace

Result<graph::Graph> import_step(const Request& request, const StepOptions& options,
                                 const Session& session) {
  ROOFTILE_TRY(const auto model, session.model(request.model));
  ROOFTILE_TRY(auto graph, model->import(options.import));
  ROOFTILE_CHECK(check_applies(request, graph));
  if (!request.gpu.empty()) {
    ROOFTILE_TRY(const auto machine, session.machine(request.gpu, request.machine));
    expand_weights(*machine, graph);
  }
  return graph;
}

Result<StepKernels> step_kernels(const Request& step, const std::optional<ops::ConvShape>& conv,
                                 const Session& session, const execution::TensorsMoved& moved) {
  ROOFTILE_TRY(StepOptions options, parse_step_options(step, session));
  if (!conv) {
    ROOFTILE_TRY(graph::Graph graph, import_step(step, options, session));
    StepKernels launched{
        .kernels = {}, .options = options, .notes = graph.notes, .model = graph.inputs};
    graph = execution::fused_by(options.stack, graph);
    launched.options.lower.moved = moved;
    launched.kernels = execution::launches(graph, launched.options.lower);
    return launched;
  }
  ROOFTILE_TRY(ops::KernelWork work, conv_work(*conv, options.import.dtype));
  const auto phase =
      conv->pass == ops::ConvPass::Forward ? execution::Phase::Forward : execution::Phase::Backward;
  return StepKernels{.kernels = {{.name = "conv", .phase = phase, .work = std::move(work)}},
                     .options = options,
                     .notes = {},
                     .model = {}};
}

}  // namespace rooftile::study
