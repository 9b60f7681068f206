// SPDX-License-Identifier: Apache-2.0
#include "profile/traced_operator.h"

#include <algorithm>
#include <array>
#include <optional>

#include "core/text.h"
#include "ops/any_op.h"
#include "profile/traced_arguments.h"

namespace rooftile::profile {

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

ops::KernelList main_of(ops::KernelList works) {
  if (works.size() < 2) return works;
  const auto most = std::max_element(works.begin(), works.end(), [](const auto& a, const auto& b) {
    return a.flops != b.flops ? a.flops < b.flops : a.bytes() < b.bytes();
  });
  return {*most};
}

std::optional<std::array<std::int64_t, 2>> pair_of(const Dims& numbers, bool flat,
                                                   std::int64_t neutral) {
  if (numbers.size() == 2 && !flat) return std::array{numbers[0], numbers[1]};
  if (numbers.size() != 1) return std::nullopt;
  return std::array{flat ? neutral : numbers[0], numbers[0]};
}

namespace {

constexpr std::size_t kNone = 99;

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

/// grouped_mm(A[tokens, k], B[experts, k, n], ...): every token meets the weights of one expert.
ops::KernelList grouped_product(const Arguments& at) {
  const Dims a = at.dims(0), b = at.dims(1);
  const auto dtype = at.type(0), weights = at.type(1);
  if (!dtype || !weights || a.size() != 2 || b.size() != 3 || a[1] != b[1]) return {};
  ops::KernelList works = main_of(
      lowered(ops::Linear{.rows = a[0], .in = a[1], .out = b[2], .bias = false}, *dtype, false));
  for (ops::KernelWork& work : works) {  // all experts' weights are read
    work.read =
        Bytes::from_base(static_cast<double>(Arguments::elements(a))) * size_of(*dtype).base() +
        Bytes::from_base(static_cast<double>(Arguments::elements(b))) * size_of(*weights).base();
  }
  return works;
}

/// te_gemm(A, ., ., ., transposed A, B, ., ., ., transposed B): B A, as columns are stored.
ops::KernelList transformer_engine_product(const Arguments& at) {
  const Dims a = at.dims(0), b = at.dims(5);
  const auto dtype = at.type(0);
  if (!dtype || a.size() != 2 || b.size() != 2 || !at.states(4) || !at.states(9)) return {};
  const bool left = at.flag(9), right = at.flag(4);
  const std::int64_t m = b[left ? 1 : 0], depth = b[left ? 0 : 1];
  const std::int64_t k = a[right ? 1 : 0], n = a[right ? 0 : 1];
  if (depth != k) return {};
  return main_of(lowered(ops::Linear{.rows = m, .in = k, .out = n, .bias = false}, *dtype, false));
}

/// Queries, keys and values from argument `first` on; `heads_first`: [b, heads, tokens, width].
struct AttentionArguments {
  std::size_t first, causal;
  bool heads_first, backward;
};

/// Sequences of any length, one after the other: [tokens, heads, width] and, behind the values, where
/// each begins ([sequences + 1]). The trace has no lengths, only their sum.
TracedWorks packed_attention(const Arguments& at, const AttentionArguments& where) {
  const Dims q = at.dims(where.first), k = at.dims(where.first + 1), v = at.dims(where.first + 2);
  const auto dtype = at.type(where.first);
  if (!dtype || k.size() != 3 || v.size() != 3 || q[2] != k[2] || k[0] != v[0]) return {};
  std::int64_t sequences = 0;
  for (std::size_t i = where.first + 3; i < at.inputs().size() && sequences == 0; ++i) {
    const Dims begins = at.dims(i);
    const auto type = at.type(i);
    const bool whole = type == DType::Int32 || type == DType::Int64;
    if (begins.size() == 1 && whole) sequences = begins[0] - 1;
  }
  if (sequences < 1 || sequences > q[0] || sequences > k[0]) return {};
  const ops::FusedAttention op{.shape = {.batch = sequences,
                                         .heads = q[1],
                                         .kv_heads = k[1],
                                         .queries = q[0] / sequences,
                                         .keys = k[0] / sequences,
                                         .head_dim = q[2],
                                         .causal = at.flag(where.causal),
                                         .value_dim = v[2] != q[2] ? v[2] : 0}};
  return {.kernels = main_of(lowered(op, *dtype, where.backward)),
          .assumed = "the sequences of packed attention are taken as equally long"};
}

TracedWorks attention(const Arguments& at, const AttentionArguments& where) {
  const Dims q = at.dims(where.first), k = at.dims(where.first + 1), v = at.dims(where.first + 2);
  const auto dtype = at.type(where.first);
  if (q.size() == 3 && !where.heads_first) return packed_attention(at, where);
  if (!dtype || q.size() != 4 || k.size() != 4 || q[0] != k[0] || q[3] != k[3]) return {};
  const std::size_t heads = where.heads_first ? 1 : 2, tokens = where.heads_first ? 2 : 1;
  // Either a flag, or the number of a kind of mask: 0 means no mask.
  const Dims kind = at.numbers(where.causal);
  const bool causal = at.flag(where.causal) || (kind.size() == 1 && kind[0] > 0);
  const ops::FusedAttention op{.shape = {.batch = q[0],
                                         .heads = q[heads],
                                         .kv_heads = k[heads],
                                         .queries = q[tokens],
                                         .keys = k[tokens],
                                         .head_dim = q[3],
                                         .causal = causal,
                                         .value_dim = v.size() == 4 && v[3] != q[3] ? v[3] : 0}};
  return {.kernels = main_of(lowered(op, *dtype, where.backward)),
          .assumed = at.states(where.causal)
                         ? std::string_view()
                         : "attention is counted without a mask: traces do not record one"};
}

enum class Norm : std::uint8_t { Layer, Rms, Batch };

/// `training`: where a batch norm says whether it counts statistics; kNone: it always does.
struct NormArguments {
  Norm kind;
  std::size_t input, training;
  bool backward;
};

TracedWorks norm(const Arguments& at, const NormArguments& where) {
  const Dims x = at.dims(where.input);
  const auto dtype = at.type(where.input);
  if (!dtype || x.empty()) return {};
  if (where.kind == Norm::Layer) {
    return {.kernels = main_of(lowered(ops::LayerNorm{shape_of(x)}, *dtype, where.backward))};
  }
  if (where.kind == Norm::Rms) {
    return {.kernels = main_of(lowered(ops::RmsNorm{shape_of(x)}, *dtype, where.backward))};
  }
  if (x.size() < 2) return {};
  ops::BatchNorm op{
      .n = x[0], .c = x[1], .spatial = Arguments::elements(x) / x[0] / x[1], .shape = shape_of(x)};
  const bool always = where.backward || where.training == kNone;
  op.training = always || at.flag(where.training);
  return {.kernels = main_of(lowered(op, *dtype, where.backward)),
          .assumed =
              always || at.states(where.training)
                  ? std::string_view()
                  : "batch norms are counted without their statistics, which traces do not record"};
}

ops::KernelList softmax(const Arguments& at, bool backward) {
  const Dims x = at.dims(0);
  const auto dtype = at.type(0);
  if (!dtype || x.empty()) return {};
  return main_of(lowered(ops::Softmax{shape_of(x)}, *dtype, backward));
}

/// max_pool2d_with_indices(x, window, stride, padding, ...), avg_pool2d(x, window, stride, padding);
/// backward has the gradient before them.
ops::KernelList pooling(const Arguments& at, bool maximum, bool backward) {
  const std::size_t first = backward ? 1 : 0;
  const Dims x = at.dims(first);
  const auto dtype = at.type(first);
  const auto window = pair_of(at.numbers(first + 1), false, 1);
  const auto padding = pair_of(at.numbers(first + 3), false, 0);
  auto stride = pair_of(at.numbers(first + 2), false, 1);
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
                         *dtype, backward));
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

enum class Rule : std::uint8_t {
  Product,      ///< A and B at `first` and behind it
  Linear,       ///< x of any rank and W[out, in]
  Grouped,      ///< products of experts
  Transformer,  ///< Transformer Engine
  Attention,    ///< heads first: [b, heads, tokens, width]
  AttentionTokens,
  LayerNorm,
  RmsNorm,
  BatchNorm,
  Softmax,
  MaxPool,
  AveragePool,
  Embedding,
  Concatenation,
};

struct KnownOperator {
  std::string_view name;
  Rule rule;
  std::size_t first = 0;  ///< argument that the work begins with
  std::size_t flag =
      kNone;  ///< products: 1 = with a bias; attention, batch norms: where their flag is
  bool backward = false;
};

constexpr std::array kOperators{
    KnownOperator{"aten::mm", Rule::Product},
    KnownOperator{"aten::_scaled_mm", Rule::Product},
    KnownOperator{"aten::_int_mm", Rule::Product},
    KnownOperator{"aten::addmm", Rule::Product, 1, 1},
    KnownOperator{"aten::addmm_", Rule::Product, 1, 1},
    KnownOperator{"aten::_addmm_activation", Rule::Product, 1, 1},
    KnownOperator{"aten::bmm", Rule::Product},
    KnownOperator{"aten::baddbmm", Rule::Product, 1},
    KnownOperator{"aten::baddbmm_", Rule::Product, 1},
    KnownOperator{"aten::mv", Rule::Product},
    KnownOperator{"aten::addmv", Rule::Product, 1},
    KnownOperator{"aten::addmv_", Rule::Product, 1},
    KnownOperator{"_C::cutlass_scaled_mm", Rule::Product, 1},
    KnownOperator{"trtllm::cublas_mm", Rule::Product},
    KnownOperator{"trtllm::cublas_scaled_mm", Rule::Product},
    KnownOperator{"sgl_kernel::fp8_scaled_mm", Rule::Product},
    KnownOperator{"sgl_kernel::int8_scaled_mm", Rule::Product},
    KnownOperator{"aten::linear", Rule::Linear},
    KnownOperator{"aiter::gemm_a8w8", Rule::Linear},
    KnownOperator{"aiter::gemm_a8w8_bpreshuffle", Rule::Linear},
    KnownOperator{"aiter::gemm_a8w8_blockscale", Rule::Linear},
    KnownOperator{"vllm::rocm_unquantized_gemm", Rule::Linear},
    KnownOperator{"aten::_weight_int8pack_mm", Rule::Linear},
    KnownOperator{"aiter::gemm_a16w16", Rule::Linear},
    KnownOperator{"bitsandbytes::int8_linear_matmul", Rule::Linear},
    KnownOperator{"aten::_grouped_mm", Rule::Grouped},
    KnownOperator{"aten::_scaled_grouped_mm", Rule::Grouped},
    KnownOperator{"tex_ts::te_gemm_ts", Rule::Transformer},
    KnownOperator{"aten::_flash_attention_forward", Rule::AttentionTokens, 0, 8},
    KnownOperator{"aten::_flash_attention_backward", Rule::AttentionTokens, 1, 11, true},
    KnownOperator{"aten::_efficient_attention_forward", Rule::AttentionTokens, 0, 9},
    KnownOperator{"aten::_efficient_attention_backward", Rule::AttentionTokens, 1, 14, true},
    KnownOperator{"aten::_cudnn_attention_forward", Rule::Attention, 0, 10},
    KnownOperator{"aten::_cudnn_attention_backward", Rule::Attention, 1, 14, true},
    KnownOperator{"aten::_scaled_dot_product_flash_attention", Rule::Attention, 0, 4},
    KnownOperator{"aten::_scaled_dot_product_flash_attention_backward", Rule::Attention, 1, 11,
                  true},
    KnownOperator{"aten::_scaled_dot_product_efficient_attention", Rule::Attention, 0, 6},
    KnownOperator{"aten::_scaled_dot_product_efficient_attention_backward", Rule::Attention, 1, 11,
                  true},
    KnownOperator{"aten::_scaled_dot_product_cudnn_attention", Rule::Attention, 0, 6},
    KnownOperator{"aten::_scaled_dot_product_cudnn_attention_backward", Rule::Attention, 1, 14,
                  true},
    KnownOperator{"aten::_scaled_dot_product_fused_attention_overrideable", Rule::Attention, 0, 5},
    KnownOperator{"flash_attn::_flash_attn_forward", Rule::AttentionTokens, 0, 5},
    KnownOperator{"flash_attn::_flash_attn_backward", Rule::AttentionTokens, 1, 11, true},
    KnownOperator{"FlashAttnFunc", Rule::AttentionTokens, 0, 5},
    KnownOperator{"flash_attn::_flash_attn_varlen_forward", Rule::AttentionTokens, 0, 9},
    KnownOperator{"flash_attn::_flash_attn_varlen_backward", Rule::AttentionTokens, 1, 15, true},
    KnownOperator{"FlashAttnVarlenFunc", Rule::AttentionTokens, 0, 9},
    KnownOperator{"aiter::_flash_attn_varlen_forward", Rule::AttentionTokens},
    KnownOperator{"aiter::_flash_attn_forward", Rule::AttentionTokens, 0, 5},
    KnownOperator{"aiter::_flash_attn_backward", Rule::AttentionTokens, 1, 12, true},
    KnownOperator{"aiter::fmha_v3_fwd", Rule::AttentionTokens, 0, 5},
    KnownOperator{"aiter::fmha_v3_bwd", Rule::AttentionTokens, 1, 8, true},
    KnownOperator{"xformers::efficient_attention_forward_cutlass", Rule::AttentionTokens},
    KnownOperator{"aten::native_layer_norm", Rule::LayerNorm},
    KnownOperator{"aten::native_layer_norm_backward", Rule::LayerNorm, 1, kNone, true},
    KnownOperator{"aten::native_group_norm", Rule::LayerNorm},
    KnownOperator{"aten::native_group_norm_backward", Rule::LayerNorm, 1, kNone, true},
    KnownOperator{"aten::rms_norm", Rule::RmsNorm},
    KnownOperator{"aten::_fused_rms_norm", Rule::RmsNorm},
    KnownOperator{"aten::_fused_rms_norm_backward", Rule::RmsNorm, 1, kNone, true},
    KnownOperator{"aten::native_batch_norm", Rule::BatchNorm, 0, 5},
    KnownOperator{"aten::_native_batch_norm_legit", Rule::BatchNorm, 0, 5},
    KnownOperator{"aten::_batch_norm_with_update", Rule::BatchNorm},
    KnownOperator{"aten::cudnn_batch_norm", Rule::BatchNorm, 0, 5},
    KnownOperator{"aten::miopen_batch_norm", Rule::BatchNorm, 0, 5},
    KnownOperator{"aten::native_batch_norm_backward", Rule::BatchNorm, 1, kNone, true},
    KnownOperator{"aten::batch_norm_backward", Rule::BatchNorm, 1, kNone, true},
    KnownOperator{"aten::cudnn_batch_norm_backward", Rule::BatchNorm, 0, kNone, true},
    KnownOperator{"aten::miopen_batch_norm_backward", Rule::BatchNorm, 0, kNone, true},
    KnownOperator{"aten::_softmax", Rule::Softmax},
    KnownOperator{"aten::_log_softmax", Rule::Softmax},
    KnownOperator{"aten::_softmax_backward_data", Rule::Softmax, 0, kNone, true},
    KnownOperator{"aten::_log_softmax_backward_data", Rule::Softmax, 0, kNone, true},
    KnownOperator{"aten::max_pool2d_with_indices", Rule::MaxPool},
    KnownOperator{"aten::max_pool2d_with_indices_backward", Rule::MaxPool, 1, kNone, true},
    KnownOperator{"aten::avg_pool2d", Rule::AveragePool},
    KnownOperator{"aten::avg_pool2d_backward", Rule::AveragePool, 1, kNone, true},
    KnownOperator{"aten::embedding", Rule::Embedding, 1},
    KnownOperator{"aten::index_select", Rule::Embedding, 2},
    KnownOperator{"aten::cat", Rule::Concatenation},
};

TracedWorks by_rule(const KnownOperator& known, const Arguments& at) {
  switch (known.rule) {
    case Rule::Product: return {.kernels = product(at, known.first, known.flag == 1)};
    case Rule::Linear: return {.kernels = linear(at)};
    case Rule::Grouped: return {.kernels = grouped_product(at)};
    case Rule::Transformer: return {.kernels = transformer_engine_product(at)};
    case Rule::Attention: return attention(at, {known.first, known.flag, true, known.backward});
    case Rule::AttentionTokens:
      return attention(at, {known.first, known.flag, false, known.backward});
    case Rule::LayerNorm: return norm(at, {Norm::Layer, known.first, kNone, known.backward});
    case Rule::RmsNorm: return norm(at, {Norm::Rms, known.first, kNone, known.backward});
    case Rule::BatchNorm: return norm(at, {Norm::Batch, known.first, known.flag, known.backward});
    case Rule::Softmax: return {.kernels = softmax(at, known.backward)};
    case Rule::MaxPool: return {.kernels = pooling(at, true, known.backward)};
    case Rule::AveragePool: return {.kernels = pooling(at, false, known.backward)};
    case Rule::Embedding: return {.kernels = embedding(at, known.first)};
    case Rule::Concatenation: return {.kernels = concatenation(at)};
  }
  return {};
}

}  // namespace

bool is_known_operator(std::string_view name) {
  return is_streaming(name) || is_convolution(name) ||
         std::any_of(kOperators.begin(), kOperators.end(),
                     [name](const KnownOperator& known) { return known.name == name; });
}

TracedWorks works_of(const TracedOperator& traced) {
  if (traced.message) return message_work(*traced.message);
  if (is_convolution(traced.name)) return convolution_work(traced);
  const Arguments at(traced);
  for (const KnownOperator& known : kOperators) {
    if (known.name == traced.name) return by_rule(known, at);
  }
  return {.kernels = streaming_work(traced.name, at)};
}

}  // namespace rooftile::profile
