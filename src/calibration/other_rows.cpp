// SPDX-License-Identifier: Apache-2.0
#include "calibration/other_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "calibration/nodes.h"
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
    return bad_input(s.where("num_gpus"), fmt::format("{} GPUs cannot all-reduce", gpus));
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

namespace {

/// A kernel that is launched otherwise than the textbook says (execution/eager.h).
struct NodeKernel {
  std::string_view kind;    ///< kind_of_target()
  std::string_view target;  ///< a part of it, where the kind has others; else empty
  std::string_view column;
  std::string_view kernel;
  bool training = false;  ///< only there
};
constexpr std::array kNodeKernels{NodeKernel{"dropout", "", "fw_ms", "dropout", true},
                                  NodeKernel{"dropout", "", "bw_ms", "dropout_backward", true},
                                  NodeKernel{"layernorm", "", "bw_ms", "norm_backward", true},
                                  NodeKernel{"softmax", "", "bw_ms", "softmax_backward", true},
                                  NodeKernel{"gelu", "", "bw_ms", "gelu_backward", true},
                                  NodeKernel{"embedding", "", "fw_ms", "embedding"},
                                  NodeKernel{"where", "where", "fw_ms", "where"},
                                  NodeKernel{"move", "contiguous", "fw_ms", kStridedCopy}};

}  // namespace

/// A traced node of a step in FP32: those without a tensor launch nothing, and show what the host
/// takes.
Status node_row(const Source& s, const Place& place, Dataset& dataset) {
  ROOFTILE_TRY(const auto shape, s.text("output_shape"));
  ROOFTILE_TRY(const auto target, s.text("target"));
  ROOFTILE_TRY(const auto step, s.text("case"));
  const std::string kind = kind_of_target(target);
  const bool training = step.find("-train-") != std::string_view::npos;
  for (const NodeKernel& known : kNodeKernels) {
    if (kind != known.kind || target.find(known.target) == std::string_view::npos) continue;
    if (known.training && !training) continue;
    ROOFTILE_TRY(const std::size_t column, s.header.column(known.column));
    ROOFTILE_TRY(const double ms, s.csv.number(column));
    const double bytes = size_of(DType::Fp32).base() * static_cast<double>(elements_of(shape));
    if (!(ms > 0) || bytes <= 0) continue;  // nothing was launched
    ROOFTILE_TRY(const double seconds, s.time(known.column));
    dataset.eager_nodes.push_back({.kernel = known.kernel,
                                   .bytes = bytes,
                                   .measured = seconds,
                                   .gpu = place.gpu,
                                   .file = s.file,
                                   .line = s.line()});
  }
  if (shape != "(1,)") return {};
  HostCall call{.gpu = place.gpu, .file = s.file, .line = s.line()};
  ROOFTILE_TRY(call.measured, s.time("fw_ms"));
  dataset.host_calls.push_back(call);
  return {};
}

namespace {

/// A row of a balanced campaign of mixtures of experts, as one GPU sees it.
struct ExpertRow {
  std::string_view source;  ///< library and kernel; empty where the file has no such column
  std::int64_t tokens = 1, hidden = 1, width = 1, top_k = 1, experts = 1, gpus = 1;
  std::int64_t all = 1;    ///< token slots of all GPUs
  std::int64_t slots = 1;  ///< those of this one
  std::int64_t hit = 1;    ///< its experts that are hit
};

/// Token slots that a GPU of a balanced campaign works on. vLLM spreads all of them evenly over the
/// GPUs. SGLang's campaign gives a token's experts to one GPU after another, and times the first:
/// its times stay the same up to as many GPUs as a token has experts, and halve with each doubling
/// from there on (a100-sxm-80gb, 16384 tokens, every model of the file).
std::int64_t own_slots(const ExpertRow& row) {
  const bool evenly = !row.source.starts_with("sglang");
  if (!evenly && row.gpus <= row.top_k) return row.all;
  const double share =
      (evenly ? 1.0 : static_cast<double>(row.top_k)) / static_cast<double>(row.gpus);
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(row.all) * share));
}

/// Nemotron-H's experts have no gate. Rows do not say so, but those of vLLM run in up to 0.62 of the
/// time in which gated weights could be read; SGLang's do not (its campaign gates every model).
bool plain_experts(const ExpertRow& row, std::int64_t inner) {
  if (row.source.starts_with("sglang")) return false;
  return (row.hidden == 2688 && inner == 1856 && row.experts == 128) ||
         (row.hidden == 2048 && inner == 5120 && row.experts == 512);
}

/// Both products of all experts, the activation between them, tokens to experts and back. Every GPU
/// holds all tokens: what is not a product runs over the slots of other GPUs too.
Result<ops::KernelList> expert_kernels(const ExpertRow& row, const ops::LowerContext& context,
                                       bool plain) {
  const std::int64_t up = plain ? row.width : 2 * row.width;
  const std::array<ops::AnyOp, 4> parts{
      ops::AnyOp(
          ops::ExpertLinear{.slots = row.slots, .experts = row.hit, .in = row.hidden, .out = up}),
      ops::AnyOp(ops::Elementwise{.function = ops::Function::Mul,
                                  .operands = plain ? ops::Operands::Unary : ops::Operands::Binary,
                                  .shape = {row.all, row.width}}),
      ops::AnyOp(ops::ExpertLinear{
          .slots = row.slots, .experts = row.hit, .in = row.width, .out = row.hidden}),
      ops::AnyOp(ops::MoeRouting{.step = ops::RoutingStep::Combine,
                                 .tokens = row.tokens,
                                 .experts = row.experts,
                                 .top_k = row.top_k,
                                 .width = row.hidden})};
  ops::KernelList kernels;
  for (const ops::AnyOp& part : parts) {
    ROOFTILE_CHECK(ops::check(part));
    ops::forward(part, context, kernels);
  }
  // vLLM's Triton kernels write zeros for the slots of other GPUs' experts, in both products.
  const bool zeros =
      row.source.starts_with("vllm") && row.source.find("triton") < row.source.size();
  if (zeros && row.all > row.slots) {
    const std::int64_t others = row.all - row.slots;
    ROOFTILE_CHECK(ops::check_sizes("zeros", {others, up, row.hidden}));
    kernels.insert(kernels.begin() + 1,
                   ops::vector_kernel(context.precision,
                                      {.op = "fill",
                                       .kind = ops::KernelClass::Move,
                                       .shape = {.rows = others, .columns = up + row.hidden},
                                       .flop_per_element = 0.0,
                                       .read = 0,
                                       .written = others * (up + row.hidden)}));
  }
  return kernels;
}

/// How a campaign stores its experts, and what its rows are called.
struct ExpertFormat {
  std::string_view name;
  DType dtype = DType::Bf16;
  double weight_bytes = 0;  ///< Precision::weight_bytes
  std::string_view campaign;
};

const ExpertFormat* expert_format(std::string_view name) {
  // Four bits and a 16-bit scale for 128 weights, or an 8-bit one for 32.
  static constexpr std::array kFormats{
      ExpertFormat{.name = "bfloat16", .dtype = DType::Bf16, .campaign = "bf16"},
      ExpertFormat{.name = "float16", .dtype = DType::Fp16, .campaign = "fp16"},
      ExpertFormat{.name = "fp8", .dtype = DType::Fp8E4m3, .campaign = "fp8_e4m3"},
      ExpertFormat{.name = "fp8_block", .dtype = DType::Fp8E4m3, .campaign = "fp8_block"},
      ExpertFormat{.name = "int4_wo", .weight_bytes = 0.515625, .campaign = "int4"},
      ExpertFormat{.name = "w4a16_mxfp4", .weight_bytes = 0.53125, .campaign = "mxfp4"}};
  const auto it = std::find_if(kFormats.begin(), kFormats.end(),
                               [&](const ExpertFormat& format) { return format.name == name; });
  return it == kFormats.end() ? nullptr : &*it;
}

/// Experts that are hit where their shares of the tokens follow a power law. Assumed, as the files
/// state the exponent alone: each lies between 1 and 0.8 of the tokens, or 0.01 and 2 where there are
/// fewer slots than experts, and is scaled to the number of slots and rounded. Here they are the
/// law's quantiles.
std::int64_t hit_by_power_law(const ExpertRow& row, double exponent) {
  const auto slots = static_cast<double>(row.all);
  const auto experts = static_cast<double>(row.experts);
  const bool many = slots > experts;
  const double low = many ? 1.0 : 0.01;
  const double high = many ? std::max(1.0, 0.8 * static_cast<double>(row.tokens)) : 2.0;
  const double power = 1 - exponent;  // 1.01 and 1.2 in the files: not 0
  const auto quantile = [&](std::int64_t i) {
    const double u = (static_cast<double>(i) + 0.5) / experts;
    return std::pow(std::pow(low, power) + u * (std::pow(high, power) - std::pow(low, power)),
                    1 / power);
  };
  double sum = 0;
  for (std::int64_t i = 0; i < row.experts; ++i) sum += quantile(i);
  std::int64_t hit = 0;
  for (std::int64_t i = 0; i < row.experts; ++i) hit += quantile(i) / sum * slots >= 0.5 ? 1 : 0;
  return std::clamp<std::int64_t>(hit, 1, std::min(row.all, row.experts));
}

}  // namespace

/// A fused mixture of experts; the experts of other GPUs are not ours. Of power laws the rows of one
/// GPU are read: which experts share a GPU is drawn anew for every row.
Status moe_row(const Source& s, const Place& place, Dataset& dataset) {
  constexpr std::string_view kPowerLaw = "power_law_";
  ROOFTILE_TRY(const auto name, s.text("moe_dtype"));
  ROOFTILE_TRY(const auto distribution, s.text("distribution"));
  const ExpertFormat* format = expert_format(name);
  std::optional<double> exponent;
  if (distribution.starts_with(kPowerLaw))
    exponent = parse_double(distribution.substr(kPowerLaw.size()));
  const bool spread = exponent && *exponent > 0 && *exponent < 10 && *exponent != 1;
  if (format == nullptr || (distribution != "balanced" && !spread)) {
    ++dataset.skipped;
    return {};
  }
  ExpertRow row;
  if (s.header.find("kernel_source")) {
    ROOFTILE_TRY(row.source, s.text("kernel_source"));
  }
  ROOFTILE_TRY(row.tokens, s.size("num_tokens"));
  ROOFTILE_TRY(row.hidden, s.size("hidden_size"));
  ROOFTILE_TRY(const auto inner, s.size("inter_size"));
  ROOFTILE_TRY(row.top_k, s.size("topk"));
  ROOFTILE_TRY(row.experts, s.size("num_experts"));
  ROOFTILE_TRY(const auto tensor, s.size("moe_tp_size"));
  ROOFTILE_TRY(row.gpus, s.size("moe_ep_size"));
  const std::int64_t own = row.experts / row.gpus;
  row.width = inner / tensor;
  if (own < 1 || row.width < 1 || __builtin_mul_overflow(row.tokens, row.top_k, &row.all))
    return bad_input(s.csv.where(), "a GPU would get no expert, or no column of one");
  constexpr std::int64_t kMost = std::int64_t{1} << 50;
  if (row.width > kMost) return bad_input(s.where("inter_size"), "is too large");
  if (row.hidden > kMost) return bad_input(s.where("hidden_size"), "is too large");
  if (spread && row.gpus > 1) {
    ++dataset.skipped;
    return {};
  }
  constexpr std::int64_t kMostExperts = 1 << 16;
  if (row.experts > kMostExperts) return bad_input(s.where("num_experts"), "is too large");
  row.slots = own_slots(row);
  row.hit = std::min(own, std::max<std::int64_t>(1, row.all / row.gpus));
  if (spread) row.hit = hit_by_power_law(row, *exponent);
  ops::LowerContext context{.precision = ops::precision_of(format->dtype)};
  context.precision.weight_bytes = format->weight_bytes;
  auto kernels = expert_kernels(row, context, plain_experts(row, inner));
  if (!kernels) return bad_input(s.csv.where(), kernels.error().message, kernels.error().hint);
  FusedLayer layer{.name = "moe",
                   .campaign = fmt::format("{}{}", format->campaign, spread ? " power law" : ""),
                   .gpu = place.gpu,
                   .file = s.file,
                   .line = s.line()};
  layer.kernels = *std::move(kernels);
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
