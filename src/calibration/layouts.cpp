// SPDX-License-Identifier: Apache-2.0
#include "calibration/layouts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "core/text.h"
#include "cost/predictor.h"
#include "hardware/system.h"

namespace rooftile::calibration {

namespace {

Result<RowOps> one(RowOp row, const Source& source, std::string_view column) {
  ROOFTILE_TRY(row.measured, source.time(column));
  RowOps rows;
  rows.push_back(std::move(row));
  return rows;
}

Result<RowOps> product_row(const Source& s) {
  ROOFTILE_TRY(const auto op, s.text("op"));
  ROOFTILE_TRY(const auto b, s.size("b"));
  ROOFTILE_TRY(const auto m, s.size("m"));
  ROOFTILE_TRY(const auto n, s.size("n"));
  ROOFTILE_TRY(const auto k, s.size("k"));
  if (op == "bmm")
    return one({.op = ops::BatchedMatmul{.batch = b, .m = m, .n = n, .k = k}}, s, "latency_ms");
  if (op != "linear")
    return unsupported(s.where("op"), fmt::format("unknown operator \"{}\"", printable(op)),
                       "files with m, n, k hold linear and bmm");
  std::int64_t rows = 0;
  if (__builtin_mul_overflow(b, m, &rows)) return bad_input(s.where("b"), "b x m is too large");
  return one({.op = ops::Linear{.rows = rows, .in = k, .out = n}}, s, "latency_ms");
}

Result<RowOps> vector_row(const Source& s) {
  ROOFTILE_TRY(const auto op, s.text("op"));
  ROOFTILE_TRY(const auto b, s.size("b"));
  ROOFTILE_TRY(const auto h, s.size("h"));
  const Shape shape{b, h};
  if (op == "softmax") return one({.op = ops::Softmax{.shape = shape}}, s, "latency_ms");
  if (op == "ln") return one({.op = ops::LayerNorm{.shape = shape}}, s, "latency_ms");
  // A trailing u: the second operand is a scalar ("relu" ends in u by itself).
  auto function = ops::parse_function(op);
  const bool scalar = !function && op.size() > 1 && op.back() == 'u';
  if (scalar) function = ops::parse_function(op.substr(0, op.size() - 1));
  if (!function) return unsupported(s.where("op"), function.error().message, function.error().hint);
  ops::Operands operands = ops::default_operands(*function);
  if (*function == ops::Function::Pow) operands = ops::Operands::Binary;
  if (scalar) operands = ops::Operands::Scalar;
  return one({.op = ops::Elementwise{.function = *function, .operands = operands, .shape = shape}},
             s, "latency_ms");
}

/// What a launched kernel of NeuSight's campaign ran: its implicit GEMMs with 128-wide tiles are
/// those of the model; Winograd in several kernels ends in a GEMM.
std::string_view neusight_algorithm(std::string_view algorithm, std::string_view kernel) {
  if (algorithm == "fft") return "fft";
  if (algorithm == "winograd")
    return kernel.find("sgemm_") != std::string_view::npos ? "winograd_nonfused" : "winograd_fused";
  const bool wide = kernel.find("scudnn_128x") != std::string_view::npos;
  return algorithm == "implicit_gemm" && wide ? "implicit_gemm" : "implicit_other";
}

Result<RowOps> neusight_conv_row(const Source& s) {
  ops::ConvShape c;
  ROOFTILE_TRY(c.n, s.size("b"));
  ROOFTILE_TRY(c.c, s.size("c_in"));
  ROOFTILE_TRY(c.k, s.size("c_out"));
  ROOFTILE_TRY(c.h, s.size("hw"));
  ROOFTILE_TRY(c.r, s.size("filter"));
  ROOFTILE_TRY(c.stride_h, s.size("stride"));
  ROOFTILE_TRY(c.pad_h, s.integer("padding"));
  c.w = c.h, c.s = c.r, c.stride_w = c.stride_h, c.pad_w = c.pad_h;
  RowOp row{.op = ops::Conv2d{.conv = c}};
  if (s.header.find("algorithm") && s.header.find("kernel")) {
    ROOFTILE_TRY(const auto algorithm, s.text("algorithm"));
    ROOFTILE_TRY(const auto kernel, s.text("kernel"));
    row.algorithm = neusight_algorithm(algorithm, kernel);
  }
  return one(std::move(row), s, "latency_ms");
}

/// An empty field, or 0, was not measured.
Result<bool> has_time(const Source& s, std::string_view column) {
  ROOFTILE_TRY(const auto text, s.text(column));
  return !text.empty() && parse_double(text) != 0.0;
}

/// DeepBench: up to three calls per line. Its times contain 15 us of the host per call.
Result<RowOps> deepbench_row(const Source& s) {
  constexpr double kHost = 15e-6;
  ROOFTILE_TRY(const auto dtype, s.text("dtype"));
  if (dtype != "fp32") return RowOps();
  ops::ConvShape c;
  const std::array<std::pair<std::string_view, std::int64_t*>, 9> sizes{
      {{"n", &c.n},
       {"c", &c.c},
       {"h", &c.h},
       {"w", &c.w},
       {"k", &c.k},
       {"r", &c.r},
       {"s", &c.s},
       {"stride_h", &c.stride_h},
       {"stride_w", &c.stride_w}}};
  for (const auto& [name, value] : sizes) {
    ROOFTILE_TRY(*value, s.size(name));
  }
  ROOFTILE_TRY(c.pad_h, s.integer("pad_h"));
  ROOFTILE_TRY(c.pad_w, s.integer("pad_w"));
  ROOFTILE_TRY(const auto ran, s.text("fwd_algorithm"));
  RowOps rows;
  struct Call {
    std::string_view column, campaign;
    ops::ConvPass pass;
  };
  constexpr std::array kCalls{
      Call{"fwd_ms", "deepbench forward", ops::ConvPass::Forward},
      Call{"bwd_data_ms", "deepbench dgrad", ops::ConvPass::DataGradient},
      Call{"bwd_filter_ms", "deepbench wgrad", ops::ConvPass::FilterGradient}};
  for (const Call& call : kCalls) {
    ROOFTILE_TRY(const bool measured, has_time(s, call.column));
    if (!measured) continue;
    RowOp row{
        .op = ops::Conv2d{.conv = c}, .pass = call.pass, .campaign = call.campaign, .host = kHost};
    ROOFTILE_TRY(row.measured, s.time(call.column));
    const bool forward = call.pass == ops::ConvPass::Forward;
    if (forward && ran.starts_with("IMPLICIT")) row.algorithm = "implicit_gemm";
    rows.push_back(std::move(row));
  }
  return rows;
}

/// bfloat16, float16, fp8; nothing for formats whose kernels are not modelled (fp8_block, nvfp4).
std::optional<DType> dtype_named(std::string_view text) {
  if (text == "bfloat16") return DType::Bf16;
  if (text == "float16") return DType::Fp16;
  if (text == "fp8") return DType::Fp8E4m3;
  return std::nullopt;
}

Result<RowOps> low_precision_row(const Source& s) {
  ROOFTILE_TRY(const auto name, s.text("gemm_dtype"));
  const auto dtype = dtype_named(name);
  if (!dtype) return RowOps();
  ROOFTILE_TRY(const auto m, s.size("m"));
  ROOFTILE_TRY(const auto n, s.size("n"));
  ROOFTILE_TRY(const auto k, s.size("k"));
  return one({.op = ops::Linear{.rows = m, .in = k, .out = n, .bias = false}, .dtype = *dtype}, s,
             "latency");
}

Result<RowOps> attention_row(const Source& s) {
  ROOFTILE_TRY(const auto compute, s.text("attn_dtype"));
  ROOFTILE_TRY(const auto cache, s.text("kv_cache_dtype"));
  const auto dtype = dtype_named(compute);
  if (!dtype || compute != cache) return RowOps();
  ops::AttentionShape shape;
  shape.causal = true;
  ROOFTILE_TRY(shape.batch, s.size("batch_size"));
  ROOFTILE_TRY(shape.queries, s.size("isl"));
  ROOFTILE_TRY(shape.heads, s.size("num_heads"));
  ROOFTILE_TRY(shape.kv_heads, s.size("num_key_value_heads"));
  ROOFTILE_TRY(shape.head_dim, s.size("head_dim"));
  ROOFTILE_TRY(const auto step, s.integer("step"));
  if (s.header.find("window_size")) {
    ROOFTILE_TRY(shape.window, s.integer("window_size"));
  }
  if (step > (std::int64_t{1} << 40) || shape.queries > (std::int64_t{1} << 40))
    return bad_input(s.where("step"), "the sequence is too long");
  shape.keys = shape.queries + step;
  return one({.op = ops::FusedAttention{.shape = shape}, .dtype = *dtype}, s, "latency");
}

/// NCCL: messages in elements. Only all-reduces of 16-bit numbers are modelled: those of
/// frameworks.
Status collective_row(const Source& s, const Place& place, Dataset& dataset) {
  ROOFTILE_TRY(const auto op, s.text("op_name"));
  ROOFTILE_TRY(const auto dtype, s.text("nccl_dtype"));
  if (op != "all_reduce" || dtype != "half") {
    ++dataset.skipped;
    return {};
  }
  constexpr std::int64_t kMostGpus = 1 << 16;
  constexpr std::int64_t kMostElements = std::int64_t{1} << 50;
  ROOFTILE_TRY(const auto gpus, s.size("num_gpus"));
  ROOFTILE_TRY(const auto elements, s.size("message_size"));
  if (gpus < 2 || gpus > kMostGpus)
    return bad_input(s.where("num_gpus"),
                     fmt::format("{} is not a number of GPUs that reduce together", gpus));
  if (elements > kMostElements)
    return bad_input(s.where("message_size"), "the message is too long");
  ROOFTILE_TRY(const double measured, s.time("latency"));
  const hardware::GpuSpec& gpu = dataset.machines[place.gpu].gpu;
  const auto system = hardware::system_of(place.catalog, gpu, gpus);
  if (!system) return unsupported(s.where("num_gpus"), system.error().message, system.error().hint);
  const auto link = hardware::link_of(*system, {.size = gpus, .stage = gpus, .total = gpus});
  if (!link) return unsupported(s.where("num_gpus"), link.error().message, link.error().hint);
  dataset.collectives.push_back({.op = std::string(op),
                                 .gpus = gpus,
                                 .bytes = Bytes::from_base(2.0 * static_cast<double>(elements)),
                                 .link = *link,
                                 .measured = measured,
                                 .gpu = place.gpu,
                                 .file = s.file,
                                 .line = s.line()});
  return {};
}

/// A traced node of a step: those without a tensor launch nothing, and show what the host takes.
Status node_row(const Source& s, const Place& place, Dataset& dataset) {
  ROOFTILE_TRY(const auto shape, s.text("output_shape"));
  if (shape != "(1,)") return {};
  HostCall call{.gpu = place.gpu, .file = s.file, .line = s.line()};
  ROOFTILE_TRY(call.measured, s.time("fw_ms"));
  dataset.host_calls.push_back(call);
  return {};
}

/// A fused mixture of experts: both products of all experts, the activation between them, tokens
/// to experts and back. Balanced routing is modelled; the experts of other GPUs are not ours.
Status moe_row(const Source& s, const Place& place, Dataset& dataset) {
  ROOFTILE_TRY(const auto name, s.text("moe_dtype"));
  ROOFTILE_TRY(const auto distribution, s.text("distribution"));
  const auto dtype = dtype_named(name);
  if (!dtype || distribution != "balanced") {
    ++dataset.skipped;
    return {};
  }
  ROOFTILE_TRY(const auto tokens, s.size("num_tokens"));
  ROOFTILE_TRY(const auto hidden, s.size("hidden_size"));
  ROOFTILE_TRY(const auto inner, s.size("inter_size"));
  ROOFTILE_TRY(const auto top_k, s.size("topk"));
  ROOFTILE_TRY(const auto experts, s.size("num_experts"));
  ROOFTILE_TRY(const auto tensor, s.size("moe_tp_size"));
  ROOFTILE_TRY(const auto expert, s.size("moe_ep_size"));
  const std::int64_t own = experts / expert;
  const std::int64_t width = inner / tensor;
  std::int64_t slots = 0;
  if (own < 1 || width < 1 || __builtin_mul_overflow(tokens, top_k, &slots))
    return bad_input(s.csv.where(), "no expert, or none of its columns, is left for a GPU");
  slots = std::max<std::int64_t>(1, slots / expert);
  const std::int64_t most = std::numeric_limits<std::int64_t>::max() / 2;
  if (width > most) return bad_input(s.where("inter_size"), "is too large");
  FusedLayer layer{.name = "moe", .gpu = place.gpu, .file = s.file, .line = s.line()};
  const ops::LowerContext context{.precision = ops::precision_of(*dtype)};
  const std::array<ops::AnyOp, 4> parts{
      ops::AnyOp(ops::ExpertLinear{.slots = slots, .experts = own, .in = hidden, .out = 2 * width}),
      ops::AnyOp(ops::Elementwise{.function = ops::Function::Mul,
                                  .operands = ops::Operands::Binary,
                                  .shape = {slots, width}}),
      ops::AnyOp(ops::ExpertLinear{.slots = slots, .experts = own, .in = width, .out = hidden}),
      ops::AnyOp(ops::MoeRouting{.step = ops::RoutingStep::Combine,
                                 .tokens = tokens,
                                 .experts = experts,
                                 .top_k = top_k,
                                 .width = hidden})};
  for (const ops::AnyOp& part : parts) {
    if (auto status = ops::check(part); !status)
      return bad_input(s.csv.where(), status.error().message, status.error().hint);
    ops::forward(part, context, layer.kernels);
  }
  for (const ops::KernelWork& work : layer.kernels) {
    if (cost::bind(work, dataset.machines[place.gpu])) continue;
    ++dataset.skipped;
    return {};
  }
  ROOFTILE_TRY(layer.measured, s.time("latency"));
  dataset.layers.push_back(std::move(layer));
  return {};
}

constexpr std::string_view kNeuSight = "MIT (NeuSight artefact)";
constexpr std::string_view kAiConfigurator = "Apache-2.0 (AIConfigurator)";

constexpr std::array kLayouts{
    Layout{.marker = "fwd_ms",
           .device = "gpu",
           .calls = deepbench_row,
           .licence = "Apache-2.0 (DeepBench)"},
    Layout{.marker = "c_in", .device = "device", .calls = neusight_conv_row, .licence = kNeuSight},
    Layout{.marker = "gemm_dtype",
           .device = "",
           .calls = low_precision_row,
           .licence = kAiConfigurator},
    Layout{
        .marker = "attn_dtype", .device = "", .calls = attention_row, .licence = kAiConfigurator},
    Layout{.marker = "moe_dtype", .device = "", .other = moe_row, .licence = kAiConfigurator},
    Layout{
        .marker = "nccl_dtype", .device = "", .other = collective_row, .licence = kAiConfigurator},
    Layout{.marker = "acc_ms", .device = "device", .other = node_row, .licence = kNeuSight},
    Layout{.marker = "n", .device = "device", .calls = product_row, .licence = kNeuSight},
    Layout{.marker = "h", .device = "device", .calls = vector_row, .licence = kNeuSight},
};

}  // namespace

Result<std::int64_t> Source::integer(std::string_view column) const {
  return at_least(0, column);
}

Result<std::int64_t> Source::size(std::string_view column) const {
  return at_least(1, column);
}

Result<std::string_view> Source::text(std::string_view column) const {
  ROOFTILE_TRY(const std::size_t index, header.column(column));
  return trim(csv[index]);
}

Result<double> Source::time(std::string_view column) const {
  ROOFTILE_TRY(const std::size_t index, header.column(column));
  ROOFTILE_TRY(const double ms, csv.number(index));
  if (!(ms > 0) || ms > 1e9)
    return bad_input(csv.where(index), fmt::format("{} ms is not a kernel time", ms),
                     "times are positive milliseconds");
  return ms * 1e-3;
}

std::string Source::where(std::string_view column) const {
  const auto index = header.find(column);
  return index ? csv.where(*index) : csv.where();
}

std::uint32_t Source::line() const {
  return static_cast<std::uint32_t>(
      std::min<std::int64_t>(csv.line(), std::numeric_limits<std::uint32_t>::max()));
}

Result<std::int64_t> Source::at_least(std::int64_t least, std::string_view column) const {
  ROOFTILE_TRY(const std::size_t index, header.column(column));
  ROOFTILE_TRY(const std::int64_t value, csv.integer(index));
  if (value < least)
    return bad_input(csv.where(index),
                     fmt::format("{} is {}, it must be at least {}", column, value, least),
                     "sizes are whole numbers");
  return value;
}

const Layout* find_layout(const CsvHeader& header) {
  for (const Layout& layout : kLayouts) {
    const bool operators = layout.device == "device" && layout.calls != nullptr;
    if (header.find(layout.marker) && (!operators || header.find("op"))) return &layout;
  }
  return nullptr;
}

}  // namespace rooftile::calibration
