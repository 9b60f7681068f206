// SPDX-License-Identifier: Apache-2.0
#include "profile/traced_operator.h"

#include <algorithm>
#include <array>
#include <optional>

#include "core/text.h"
#include "ops/any_op.h"
#include "profile/traced_arguments.h"

namespace rooftile::profile {

namespace {

ops::KernelList lowered(const ops::AnyOp& op, DType dtype, bool backward) {
  ops::KernelList works;
  if (!ops::check(op)) return works;
  const ops::LowerContext context{.precision = ops::precision_of(dtype)};
  if (backward) {
    ops::backward(op, context, works);
  } else {
    ops::forward(op, context, works);
  }
  return works;
}

/// The kernel with the most FLOPs, else bytes.
ops::KernelList main_of(ops::KernelList works) {
  if (works.size() < 2) return works;
  const auto most = std::max_element(works.begin(), works.end(), [](const auto& a, const auto& b) {
    return a.flops != b.flops ? a.flops < b.flops : a.bytes() < b.bytes();
  });
  return {*most};
}

/// mm(A, B), addmm(C, A, B), bmm(A, B), baddbmm(C, A, B), mv(A, x)
ops::KernelList product(const Arguments& at, std::size_t first, bool bias) {
  const Dims a = at.dims(first), b = at.dims(first + 1);
  const auto dtype = at.type(first);
  const std::size_t rank = a.size();
  if (!dtype || (rank != 2 && rank != 3) || b.size() > rank || b.empty()) return {};
  const bool vector = b.size() == 1;
  if (vector && rank != 2) return {};
  if (!vector && (b.size() != rank || a[rank - 1] != b[rank - 2])) return {};
  if (vector && a[1] != b[0]) return {};
  if (rank == 3 && a[0] != b[0]) return {};
  const std::int64_t m = a[rank - 2], k = a[rank - 1], n = vector ? 1 : b[rank - 1];
  if (rank == 2) {
    return main_of(lowered(ops::Linear{.rows = m, .in = k, .out = n, .bias = bias}, *dtype, false));
  }
  return main_of(lowered(ops::BatchedMatmul{.batch = a[0], .m = m, .n = n, .k = k}, *dtype, false));
}

/// linear(x, W, b) with x of any rank: rows times W[out, in].
ops::KernelList linear(const Arguments& at) {
  const Dims x = at.dims(0), w = at.dims(1);
  const auto dtype = at.type(0);
  if (!dtype || x.empty() || w.size() != 2 || x.back() != w[1]) return {};
  const std::int64_t rows = Arguments::elements(x) / x.back();
  return main_of(
      lowered(ops::Linear{.rows = rows, .in = w[1], .out = w[0], .bias = !at.dims(2).empty()},
              *dtype, false));
}

/// Where a convolution keeps its arguments.
struct ConvArguments {
  std::size_t input, weight, stride, padding, dilation, transposed, groups, mask;
  bool backward;
};
constexpr std::size_t kNone = 99;

/// One number stands for both directions; a 1-d convolution has the height 1.
std::optional<std::array<std::int64_t, 2>> pair_of(const Dims& numbers, bool flat,
                                                   std::int64_t neutral) {
  if (numbers.size() == 2 && !flat) return std::array{numbers[0], numbers[1]};
  if (numbers.size() != 1) return std::nullopt;
  return std::array{flat ? neutral : numbers[0], numbers[0]};
}

ops::KernelList convolution(const Arguments& at, const ConvArguments& where) {
  Dims x = at.dims(where.input), w = at.dims(where.weight);
  const auto dtype = at.type(where.input);
  const bool flat = x.size() == 3 && w.size() == 3;
  if (flat) {
    x.insert(x.begin() + 2, 1);
    w.insert(w.begin() + 2, 1);
  }
  const auto stride = pair_of(at.numbers(where.stride), flat, 1);
  const auto padding = pair_of(at.numbers(where.padding), flat, 0);
  const auto dilation = pair_of(at.numbers(where.dilation), flat, 1);
  if (!dtype || x.size() != 4 || w.size() != 4 || !stride || !padding || !dilation) return {};
  const bool transposed = where.transposed != kNone && at.flag(where.transposed);
  const Dims groups = at.numbers(where.groups);
  const std::int64_t g = groups.size() == 1 ? groups[0] : 1;
  if (g < 1 || g > 1'000'000) return {};
  // The filter of a transposed convolution is [c, k / groups, r, s].
  const ops::Conv2d conv{.conv = {.n = x[0],
                                  .c = x[1],
                                  .h = x[2],
                                  .w = x[3],
                                  .k = transposed ? w[1] * g : w[0],
                                  .r = w[2],
                                  .s = w[3],
                                  .stride_h = (*stride)[0],
                                  .stride_w = (*stride)[1],
                                  .pad_h = (*padding)[0],
                                  .pad_w = (*padding)[1],
                                  .dilation_h = (*dilation)[0],
                                  .dilation_w = (*dilation)[1],
                                  .groups = g},
                         .bias = false,
                         .transposed = transposed};
  if (!where.backward) return main_of(lowered(conv, *dtype, false));
  ops::KernelList works = lowered(conv, *dtype, true);
  std::erase_if(works, [](const ops::KernelWork& work) {
    return !std::holds_alternative<ops::ConvShape>(work.shape);
  });
  // "[True, True, False]": gradients of the input, the filter and the bias.
  const std::string mask = where.mask < at.inputs().size() ? at.inputs()[where.mask].text : "";
  const std::vector<std::string_view> wanted = split(mask, ',');
  if (wanted.size() == 3) {
    std::erase_if(works, [&](const ops::KernelWork& work) {
      const bool data = std::get<ops::ConvShape>(work.shape).pass != ops::ConvPass::FilterGradient;
      return wanted[data ? 0 : 1].find("True") == std::string_view::npos;
    });
  }
  return works;
}

/// Queries, keys and values from argument `first` on; `heads_first`: [b, heads, tokens, width].
struct AttentionArguments {
  std::size_t first, causal;
  bool heads_first, backward;
};

ops::KernelList attention(const Arguments& at, const AttentionArguments& where) {
  const Dims q = at.dims(where.first), k = at.dims(where.first + 1);
  const auto dtype = at.type(where.first);
  if (!dtype || q.size() != 4 || k.size() != 4 || q[0] != k[0] || q[3] != k[3]) return {};
  const std::size_t heads = where.heads_first ? 1 : 2, tokens = where.heads_first ? 2 : 1;
  const ops::FusedAttention op{.shape = {.batch = q[0],
                                         .heads = q[heads],
                                         .kv_heads = k[heads],
                                         .queries = q[tokens],
                                         .keys = k[tokens],
                                         .head_dim = q[3],
                                         .causal = at.flag(where.causal)}};
  return main_of(lowered(op, *dtype, where.backward));
}

enum class Norm : std::uint8_t { Layer, Rms, Batch };

ops::KernelList norm(const Arguments& at, Norm kind, std::size_t input, bool backward) {
  const Dims x = at.dims(input);
  const auto dtype = at.type(input);
  if (!dtype || x.empty()) return {};
  if (kind == Norm::Layer) return main_of(lowered(ops::LayerNorm{shape_of(x)}, *dtype, backward));
  if (kind == Norm::Rms) return main_of(lowered(ops::RmsNorm{shape_of(x)}, *dtype, backward));
  if (x.size() < 2) return {};
  ops::BatchNorm op{
      .n = x[0], .c = x[1], .spatial = Arguments::elements(x) / x[0] / x[1], .shape = shape_of(x)};
  constexpr std::size_t kTraining = 5;
  op.training = backward || at.flag(kTraining);
  return main_of(lowered(op, *dtype, backward));
}

ops::KernelList softmax(const Arguments& at, bool backward) {
  const Dims x = at.dims(0);
  const auto dtype = at.type(0);
  if (!dtype || x.empty()) return {};
  return main_of(lowered(ops::Softmax{shape_of(x)}, *dtype, backward));
}

/// max_pool2d_with_indices(x, window, stride, padding, ...), avg_pool2d(x, window, stride, padding)
ops::KernelList pooling(const Arguments& at, bool maximum) {
  const Dims x = at.dims(0);
  const auto dtype = at.type(0);
  const auto window = pair_of(at.numbers(1), false, 1), padding = pair_of(at.numbers(3), false, 0);
  auto stride = pair_of(at.numbers(2), false, 1);
  if (!stride) stride = window;
  if (!dtype || x.size() != 4 || !window || !padding) return {};
  return main_of(lowered(ops::Pool{.n = x[0],
                                   .c = x[1],
                                   .h = x[2],
                                   .w = x[3],
                                   .window_h = (*window)[0],
                                   .window_w = (*window)[1],
                                   .stride_h = (*stride)[0],
                                   .stride_w = (*stride)[1],
                                   .pad_h = (*padding)[0],
                                   .pad_w = (*padding)[1],
                                   .maximum = maximum},
                         *dtype, false));
}

/// embedding(table, tokens), index_select(table, dim, tokens)
ops::KernelList embedding(const Arguments& at, std::size_t tokens) {
  const Dims table = at.dims(0), index = at.dims(tokens);
  const auto dtype = at.type(0);
  if (!dtype || table.size() != 2 || index.empty()) return {};
  return main_of(
      lowered(ops::Embedding{.tokens = shape_of(index), .entries = table[0], .width = table[1]},
              *dtype, false));
}

/// cat(tensors): all that is read is written.
ops::KernelList concatenation(const Arguments& at) {
  const auto bytes = at.bytes();
  if (at.inputs().empty() || at.inputs()[0].shapes.size() < 2 || !bytes) return {};
  std::int64_t elements = 0;
  for (const Dims& dims : at.inputs()[0].shapes) elements += Arguments::elements(dims);
  const auto dtype = at.type(0).value_or(DType::Fp32);
  if (elements < 1) return {};
  return main_of(lowered(
      ops::Move{
          .kind = ops::MoveKind::Contiguous, .input = rooftile::Shape{elements}, .result = {}},
      dtype, false));
}

using Lower = ops::KernelList (*)(const Arguments&);
struct KnownOperator {
  std::string_view name;
  Lower lower;
};

constexpr ConvArguments kConv{0, 1, 3, 4, 5, 6, 8, kNone, false};
constexpr ConvArguments kConv2d{0, 1, 3, 4, 5, kNone, 6, kNone, false};
constexpr ConvArguments kConvBackward{1, 2, 4, 5, 6, 7, 9, 10, true};

constexpr std::array kOperators{
    KnownOperator{"aten::mm", [](const Arguments& at) { return product(at, 0, false); }},
    KnownOperator{"aten::_scaled_mm", [](const Arguments& at) { return product(at, 0, false); }},
    KnownOperator{"aten::_int_mm", [](const Arguments& at) { return product(at, 0, false); }},
    KnownOperator{"aten::addmm", [](const Arguments& at) { return product(at, 1, true); }},
    KnownOperator{"aten::addmm_", [](const Arguments& at) { return product(at, 1, true); }},
    KnownOperator{"aten::_addmm_activation",
                  [](const Arguments& at) { return product(at, 1, true); }},
    KnownOperator{"aten::bmm", [](const Arguments& at) { return product(at, 0, false); }},
    KnownOperator{"aten::baddbmm", [](const Arguments& at) { return product(at, 1, false); }},
    KnownOperator{"aten::baddbmm_", [](const Arguments& at) { return product(at, 1, false); }},
    KnownOperator{"aten::mv", [](const Arguments& at) { return product(at, 0, false); }},
    KnownOperator{"aten::linear", [](const Arguments& at) { return linear(at); }},
    KnownOperator{"aten::convolution", [](const Arguments& at) { return convolution(at, kConv); }},
    KnownOperator{"aten::_convolution", [](const Arguments& at) { return convolution(at, kConv); }},
    KnownOperator{"aten::conv2d", [](const Arguments& at) { return convolution(at, kConv2d); }},
    KnownOperator{"aten::conv1d", [](const Arguments& at) { return convolution(at, kConv2d); }},
    KnownOperator{"aten::convolution_backward",
                  [](const Arguments& at) { return convolution(at, kConvBackward); }},
    KnownOperator{"aten::_flash_attention_forward",
                  [](const Arguments& at) { return attention(at, {0, 8, false, false}); }},
    KnownOperator{"aten::_efficient_attention_forward",
                  [](const Arguments& at) { return attention(at, {0, kNone, false, false}); }},
    KnownOperator{"aten::_scaled_dot_product_flash_attention",
                  [](const Arguments& at) { return attention(at, {0, 4, true, false}); }},
    KnownOperator{"aten::_scaled_dot_product_efficient_attention",
                  [](const Arguments& at) { return attention(at, {0, 6, true, false}); }},
    KnownOperator{"aten::_scaled_dot_product_cudnn_attention",
                  [](const Arguments& at) { return attention(at, {0, 6, true, false}); }},
    KnownOperator{"aten::_scaled_dot_product_fused_attention_overrideable",
                  [](const Arguments& at) { return attention(at, {0, 5, true, false}); }},
    KnownOperator{"aten::_flash_attention_backward",
                  [](const Arguments& at) { return attention(at, {1, 11, false, true}); }},
    KnownOperator{"aten::_scaled_dot_product_flash_attention_backward",
                  [](const Arguments& at) { return attention(at, {1, 11, true, true}); }},
    KnownOperator{"aten::native_layer_norm",
                  [](const Arguments& at) { return norm(at, Norm::Layer, 0, false); }},
    KnownOperator{"aten::native_layer_norm_backward",
                  [](const Arguments& at) { return norm(at, Norm::Layer, 1, true); }},
    KnownOperator{"aten::native_group_norm",
                  [](const Arguments& at) { return norm(at, Norm::Layer, 0, false); }},
    KnownOperator{"aten::rms_norm",
                  [](const Arguments& at) { return norm(at, Norm::Rms, 0, false); }},
    KnownOperator{"aten::_fused_rms_norm",
                  [](const Arguments& at) { return norm(at, Norm::Rms, 0, false); }},
    KnownOperator{"aten::native_batch_norm",
                  [](const Arguments& at) { return norm(at, Norm::Batch, 0, false); }},
    KnownOperator{"aten::cudnn_batch_norm",
                  [](const Arguments& at) { return norm(at, Norm::Batch, 0, false); }},
    KnownOperator{"aten::miopen_batch_norm",
                  [](const Arguments& at) { return norm(at, Norm::Batch, 0, false); }},
    KnownOperator{"aten::native_batch_norm_backward",
                  [](const Arguments& at) { return norm(at, Norm::Batch, 1, true); }},
    KnownOperator{"aten::cudnn_batch_norm_backward",
                  [](const Arguments& at) { return norm(at, Norm::Batch, 0, true); }},
    KnownOperator{"aten::miopen_batch_norm_backward",
                  [](const Arguments& at) { return norm(at, Norm::Batch, 0, true); }},
    KnownOperator{"aten::_softmax", [](const Arguments& at) { return softmax(at, false); }},
    KnownOperator{"aten::_log_softmax", [](const Arguments& at) { return softmax(at, false); }},
    KnownOperator{"aten::_softmax_backward_data",
                  [](const Arguments& at) { return softmax(at, true); }},
    KnownOperator{"aten::_log_softmax_backward_data",
                  [](const Arguments& at) { return softmax(at, true); }},
    KnownOperator{"aten::max_pool2d_with_indices",
                  [](const Arguments& at) { return pooling(at, true); }},
    KnownOperator{"aten::avg_pool2d", [](const Arguments& at) { return pooling(at, false); }},
    KnownOperator{"aten::embedding", [](const Arguments& at) { return embedding(at, 1); }},
    KnownOperator{"aten::index_select", [](const Arguments& at) { return embedding(at, 2); }},
    KnownOperator{"aten::cat", [](const Arguments& at) { return concatenation(at); }},
};

}  // namespace

bool is_known_operator(std::string_view name) {
  return is_streaming(name) ||
         std::any_of(kOperators.begin(), kOperators.end(),
                     [name](const KnownOperator& known) { return known.name == name; });
}

ops::KernelList works_of(const TracedOperator& traced) {
  const Arguments at(traced);
  for (const KnownOperator& known : kOperators) {
    if (known.name == traced.name) return known.lower(at);
  }
  return streaming_work(traced.name, at);
}

}  // namespace rooftile::profile
