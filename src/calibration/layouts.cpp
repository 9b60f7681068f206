// SPDX-License-Identifier: Apache-2.0
#include "calibration/layouts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "calibration/other_rows.h"
#include "calibration/plain_rows.h"
#include "core/text.h"

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

/// Rows with the board's power were repeated until it could be measured.
std::string_view sustained_if_powered(const Source& s) {
  return s.header.find("power_w") ? kSustainedCampaign : std::string_view();
}

Result<RowOps> low_precision_row(const Source& s) {
  ROOFTILE_TRY(const auto name, s.text("gemm_dtype"));
  const auto dtype = dtype_named(name);
  if (!dtype) return RowOps();
  ROOFTILE_TRY(const auto m, s.size("m"));
  ROOFTILE_TRY(const auto n, s.size("n"));
  ROOFTILE_TRY(const auto k, s.size("k"));
  return one({.op = ops::Linear{.rows = m, .in = k, .out = n, .bias = false},
              .dtype = *dtype,
              .campaign = sustained_if_powered(s)},
             s, "latency");
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
  return one({.op = ops::FusedAttention{.shape = shape},
              .dtype = *dtype,
              .campaign = sustained_if_powered(s)},
             s, "latency");
}

/// SimuMax: kernels of training under sustained load, in microseconds.
Result<RowOps> training_kernel(RowOp row, const Source& s) {
  constexpr double kMilli = 1e-3;
  ROOFTILE_TRY(row.measured, s.time("time_us"));
  row.measured *= kMilli;
  row.campaign = kSustainedCampaign;
  RowOps rows;
  rows.push_back(std::move(row));
  return rows;
}

/// Products, b or `groups` of them, each of m x n x k.
Result<RowOps> training_product(const Source& s, std::string_view count) {
  ROOFTILE_TRY(const auto name, s.text("dtype"));
  const auto dtype = parse_dtype(name);
  if (!dtype) return RowOps();
  ROOFTILE_TRY(const auto b, s.size(count));
  ROOFTILE_TRY(const auto m, s.size("m"));
  ROOFTILE_TRY(const auto n, s.size("n"));
  ROOFTILE_TRY(const auto k, s.size("k"));
  if (b == 1)
    return training_kernel(
        {.op = ops::Linear{.rows = m, .in = k, .out = n, .bias = false}, .dtype = *dtype}, s);
  return training_kernel(
      {.op = ops::BatchedMatmul{.batch = b, .m = m, .n = n, .k = k}, .dtype = *dtype}, s);
}

Result<RowOps> training_product_row(const Source& s) {
  return training_product(s, "b");
}

Result<RowOps> training_group_row(const Source& s) {
  return training_product(s, "groups");
}

/// Forward passes of heads whose keys and values are equally wide.
Result<RowOps> training_attention_row(const Source& s) {
  ROOFTILE_TRY(const auto pass, s.text("pass"));
  ROOFTILE_TRY(const auto width, s.size("qk_head_dim"));
  ROOFTILE_TRY(const auto values, s.size("v_head_dim"));
  if (pass != "fwd" || width != values) return RowOps();
  ops::AttentionShape shape;
  shape.causal = true;
  shape.head_dim = width;
  ROOFTILE_TRY(shape.batch, s.size("batch"));
  ROOFTILE_TRY(shape.queries, s.size("seq_len"));
  ROOFTILE_TRY(shape.heads, s.size("heads"));
  ROOFTILE_TRY(shape.kv_heads, s.size("kv_heads"));
  shape.keys = shape.queries;
  return training_kernel({.op = ops::FusedAttention{.shape = shape}, .dtype = DType::Bf16}, s);
}

/// Timed within a stream of its like (plain_rows.h).
Result<RowOps> plain_row(const Source& s) {
  ROOFTILE_TRY(const auto kernel, s.text("kernel"));
  ROOFTILE_TRY(const auto shape, s.text("shape"));
  ROOFTILE_TRY(const auto name, s.text("dtype"));
  auto op = plain_operator(kernel, shape);
  if (!op) {
    op.error().where = s.where(op.error().code == ErrorCode::Unsupported ? "kernel" : "shape");
    return tl::unexpected(op.error());
  }
  const auto dtype = parse_dtype(name);
  if (!dtype) return bad_input(s.where("dtype"), dtype.error().message, dtype.error().hint);
  return one({.op = *std::move(op), .dtype = *dtype, .host = 0.0}, s, "latency_ms");
}

constexpr std::string_view kNeuSight = "MIT (NeuSight artefact)";
constexpr std::string_view kSimuMax = "Apache-2.0 (SimuMax)";
constexpr std::string_view kAiConfigurator = "Apache-2.0 (AIConfigurator)";

constexpr std::array kLayouts{
    Layout{.marker = "shape", .device = "", .calls = plain_row, .licence = "unknown"},
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
    Layout{.marker = "groups", .device = "", .calls = training_group_row, .licence = kSimuMax},
    Layout{
        .marker = "accumulate", .device = "", .calls = training_product_row, .licence = kSimuMax},
    Layout{.marker = "qkv_contiguous",
           .device = "",
           .calls = training_attention_row,
           .licence = kSimuMax},
    Layout{.marker = "moe_dtype", .device = "", .other = moe_row, .licence = kAiConfigurator},
    Layout{
        .marker = "nccl_dtype", .device = "", .other = collective_row, .licence = kAiConfigurator},
    Layout{.marker = "acc_ms", .device = "device", .other = node_row, .licence = kNeuSight},
    Layout{.marker = "model_name", .device = "device", .other = step_row, .licence = kNeuSight},
    Layout{.marker = "l2_bytes", .device = "gpu", .other = counter_row, .licence = ""},
    Layout{.marker = "sim_L1_if_MB", .device = kNoDevice, .other = simulated_row, .licence = ""},
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
