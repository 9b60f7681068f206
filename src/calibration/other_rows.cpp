// SPDX-License-Identifier: Apache-2.0
#include "calibration/other_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>

#include "core/text.h"
#include "cost/predictor.h"
#include "hardware/system.h"
#include "traffic/implicit_gemm.h"

namespace rooftile::calibration {

std::optional<DType> dtype_named(std::string_view text) {
  if (text == "bfloat16") return DType::Bf16;
  if (text == "float16") return DType::Fp16;
  if (text == "fp8") return DType::Fp8E4m3;
  return std::nullopt;
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
    return bad_input(s.where("num_gpus"), fmt::format("{} GPUs do not reduce", gpus));
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
  // Every GPU holds all tokens: what is not a product runs over the slots of other GPUs too.
  const std::int64_t all = slots;
  slots = std::max<std::int64_t>(1, slots / expert);
  const std::int64_t most = std::numeric_limits<std::int64_t>::max() / 2;
  if (width > most) return bad_input(s.where("inter_size"), "is too large");
  FusedLayer layer{.name = "moe", .gpu = place.gpu, .file = s.file, .line = s.line()};
  const ops::LowerContext context{.precision = ops::precision_of(*dtype)};
  const std::array<ops::AnyOp, 4> parts{
      ops::AnyOp(ops::ExpertLinear{.slots = slots, .experts = own, .in = hidden, .out = 2 * width}),
      ops::AnyOp(ops::Elementwise{.function = ops::Function::Mul,
                                  .operands = ops::Operands::Binary,
                                  .shape = {all, width}}),
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

namespace {

constexpr std::array<std::string_view, 9> kStepColumns{
    "device", "model_name",  "mode",           "seqlen",        "batch",
    "option", "measured_ms", "measured_fw_ms", "measured_bw_ms"};
constexpr std::string_view kMilliseconds = "_ms";

/// Every further column NAME_ms holds the predictions of a method NAME; others have no meaning.
bool is_published(std::string_view column) {
  return column.size() > kMilliseconds.size() && column.ends_with(kMilliseconds);
}

bool is_step_column(std::string_view column) {
  return std::find(kStepColumns.begin(), kStepColumns.end(), column) != kStepColumns.end();
}

void keep_unread_columns(const Source& s, Dataset& dataset) {
  for (const std::string& name : s.header.names()) {
    if (!is_step_column(name) && !is_published(name)) dataset.unread_columns.push_back(name);
  }
}

Result<std::int64_t> positive(const Source& s, std::string_view column) {
  ROOFTILE_TRY(const std::size_t index, s.header.column(column));
  ROOFTILE_TRY(const std::int64_t value, s.csv.integer(index));
  if (value < 1) return bad_input(s.where(column), fmt::format("{} is {}", column, value));
  return value;
}

}  // namespace

/// NeuSight's labels; what an option means is labels.h's business.
Status step_row(const Source& s, const Place& place, Dataset& dataset) {
  if (dataset.steps.empty() || dataset.steps.back().file != s.file) keep_unread_columns(s, dataset);
  MeasuredStep step{.gpu = place.gpu, .file = s.file, .line = s.line()};
  ROOFTILE_TRY(step.model, s.text("model_name"));
  ROOFTILE_TRY(step.mode, s.text("mode"));
  ROOFTILE_TRY(step.option, s.text("option"));
  if (step.mode != "inf" && step.mode != "train") {
    return bad_input(s.where("mode"), fmt::format("unknown mode \"{}\"", printable(step.mode)),
                     "mode is inf or train");
  }
  ROOFTILE_TRY(step.sequence, positive(s, "seqlen"));
  ROOFTILE_TRY(step.batch, positive(s, "batch"));
  ROOFTILE_TRY(const std::size_t measured, s.header.column("measured_ms"));
  ROOFTILE_TRY(step.measured_ms, s.csv.number(measured));
  if (!(step.measured_ms > 0)) return bad_input(s.csv.where(measured), "a time must be positive");
  for (std::size_t i = 0; i < s.header.size(); ++i) {
    const std::string& name = s.header.names()[i];
    if (is_step_column(name) || !is_published(name) || trim(s.csv[i]).empty()) continue;
    ROOFTILE_TRY(step.published_ms[name.substr(0, name.size() - kMilliseconds.size())],
                 s.csv.number(i));
  }
  dataset.steps.push_back(std::move(step));
  return {};
}

namespace {

Result<Bytes> counted_bytes(const Source& s, std::string_view column) {
  ROOFTILE_TRY(const std::size_t index, s.header.column(column));
  ROOFTILE_TRY(const double bytes, s.csv.number(index));
  if (!(bytes > 0) || bytes > 1e18)
    return bad_input(s.csv.where(index), fmt::format("{} bytes cannot be compared", bytes),
                     "counters are positive bytes");
  return Bytes::from_base(bytes);
}

Result<DType> counted_dtype(const Source& s) {
  ROOFTILE_TRY(const auto text, s.text("dtype"));
  auto dtype = parse_dtype(text);
  if (!dtype) return bad_input(s.where("dtype"), dtype.error().message, dtype.error().hint);
  return dtype;
}

Result<ops::AnyOp> counted_product(const Source& s) {
  ops::Linear linear{.bias = false};
  ROOFTILE_TRY(linear.rows, s.size("m"));
  ROOFTILE_TRY(linear.out, s.size("n"));
  ROOFTILE_TRY(linear.in, s.size("k"));
  return linear;
}

/// Padding as a number, or "same": that of TensorFlow for this filter and stride.
Result<std::int64_t> padding_of(const Source& s, std::int64_t size, std::int64_t filter,
                                std::int64_t stride) {
  ROOFTILE_TRY(const auto text, s.text("pad"));
  if (text != "same") return s.integer("pad");
  const std::int64_t outputs = (size + stride - 1) / stride;
  return std::max<std::int64_t>(0, (outputs - 1) * stride + filter - size + 1) / 2;
}

Result<ops::AnyOp> counted_convolution(const Source& s) {
  ops::ConvShape c;
  ROOFTILE_TRY(c.n, s.size("n"));
  ROOFTILE_TRY(c.c, s.size("c"));
  ROOFTILE_TRY(c.h, s.size("h"));
  ROOFTILE_TRY(c.w, s.size("w"));
  ROOFTILE_TRY(c.k, s.size("k"));
  ROOFTILE_TRY(c.r, s.size("r"));
  ROOFTILE_TRY(c.s, s.size("s"));
  ROOFTILE_TRY(c.stride_h, s.size("stride"));
  c.stride_w = c.stride_h;
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  if (std::max({c.h, c.w, c.r, c.s, c.stride_h}) > kMost)
    return bad_input(s.csv.where(), "the layer is too large");
  ROOFTILE_TRY(c.pad_h, padding_of(s, c.h, c.r, c.stride_h));
  ROOFTILE_TRY(c.pad_w, padding_of(s, c.w, c.s, c.stride_w));
  return ops::Conv2d{.conv = c};
}

}  // namespace

/// Products (m, n, k; by phase) and convolutions (n, c, h, ...; by framework). Of convolutions the
/// forward passes are read: what the files call backward is another set of kernels in each
/// framework.
Status counter_row(const Source& s, const Place& place, Dataset& dataset) {
  const bool product = s.header.find("m").has_value();
  if (!product) {
    ROOFTILE_TRY(const auto pass, s.text("pass"));
    if (pass != "forward") {
      ++dataset.skipped;
      return {};
    }
  }
  CountedKernel row{.gpu = place.gpu, .file = s.file, .line = s.line()};
  ROOFTILE_TRY(row.group, s.text(product ? "phase" : "framework"));
  ROOFTILE_TRY(const ops::AnyOp op, product ? counted_product(s) : counted_convolution(s));
  ROOFTILE_TRY(const DType dtype, counted_dtype(s));
  ROOFTILE_TRY(row.l2, counted_bytes(s, "l2_bytes"));
  ROOFTILE_TRY(row.dram, counted_bytes(s, "dram_bytes"));
  if (auto status = ops::check(op); !status)
    return bad_input(s.csv.where(), status.error().message, status.error().hint);
  ops::KernelList works;
  ops::forward(op, {.precision = ops::precision_of(dtype)}, works);
  row.work = std::move(works.front());
  if (const auto job = cost::bind(row.work, dataset.machines[place.gpu]); !job)
    return unsupported(s.csv.where(), job.error().message, job.error().hint);
  dataset.counted.push_back(std::move(row));
  return {};
}

/// One row of lru_reference.csv.
Status simulated_row(const Source& s, const Place& /*place*/, Dataset& dataset) {
  const auto number = [&](const char* name) -> Result<double> {
    ROOFTILE_TRY(const std::size_t column, s.header.column(name));
    return s.csv.number(column);
  };
  std::map<std::string, double> v;
  for (const char* name : {"B",
                           "C",
                           "H",
                           "W",
                           "K",
                           "R",
                           "S",
                           "stride",
                           "pad",
                           "blkM",
                           "blkN",
                           "blkK",
                           "nSM",
                           "actCTA",
                           "L1KB",
                           "L2KB",
                           "sim_L1_if_MB",
                           "sim_L1_f_MB",
                           "sim_L2_if_MB",
                           "sim_L2_f_MB",
                           "sim_DRAM_if_passes_colwise",
                           "sim_DRAM_f_passes_colwise"}) {
    ROOFTILE_TRY(v[name], number(name));
    if (!(v[name] >= 0 && v[name] < 1e6))
      return bad_input(s.csv.where(), "a value is out of range");
  }
  const auto whole = [&v](const char* name) { return static_cast<std::int64_t>(v.at(name)); };
  SimulatedLayer row;
  ROOFTILE_TRY(row.machine, s.text("gpu"));
  row.conv = {.n = whole("B"),
              .c = whole("C"),
              .h = whole("H"),
              .w = whole("W"),
              .k = whole("K"),
              .r = whole("R"),
              .s = whole("S")};
  row.conv.stride_h = row.conv.stride_w = whole("stride");
  row.conv.pad_h = row.conv.pad_w = whole("pad");
  ROOFTILE_CHECK(ops::Conv2d{.conv = row.conv}.check());
  row.tile = {.m = whole("blkM"), .n = whole("blkN"), .k = whole("blkK")};
  row.caches.sm_count = whole("nSM");
  row.caches.active_ctas = whole("actCTA");
  row.caches.l1_bytes = whole("L1KB") * 1024;
  row.caches.l2_bytes = whole("L2KB") * 1024;
  if (row.tile.m < 1 || row.tile.n < 1 || row.tile.k < 1 || row.caches.wave() < 1) {
    return bad_input(s.csv.where(), "tile and machine sizes must be positive");
  }
  const traffic::ImplicitGemm g =
      traffic::make_conv_problem(row.conv, DType::Fp32, {.tile = row.tile});
  row.bytes = {1e6 * (v["sim_L1_if_MB"] + v["sim_L1_f_MB"]),
               1e6 * (v["sim_L2_if_MB"] + v["sim_L2_f_MB"]),
               4.0 * (static_cast<double>(g.a.elements) * v["sim_DRAM_if_passes_colwise"] +
                      static_cast<double>(g.b.elements) * v["sim_DRAM_f_passes_colwise"])};
  dataset.simulated.push_back(std::move(row));
  return {};
}

}  // namespace rooftile::calibration
