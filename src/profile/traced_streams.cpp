// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string>

#include "profile/traced_arguments.h"

namespace rooftile::profile {

std::optional<DType> traced_dtype(std::string_view type) {
  // Tensors are "c10::BFloat16", messages "BFloat16".
  constexpr std::array<std::pair<std::string_view, DType>, 17> kTypes{{
      {"float", DType::Fp32},
      {"double", DType::Fp64},
      {"half", DType::Fp16},
      {"bfloat16", DType::Bf16},
      {"float8_e4m3fn", DType::Fp8E4m3},
      {"float8_e4m3fnuz", DType::Fp8E4m3},
      {"float8_e5m2", DType::Fp8E5m2},
      {"float8_e5m2fnuz", DType::Fp8E5m2},
      {"int", DType::Int32},
      {"long", DType::Int64},
      {"long int", DType::Int64},
      {"signed char", DType::Int8},
      {"unsigned char", DType::Int8},
      {"char", DType::Int8},
      {"byte", DType::Int8},
      {"bool", DType::Bool},
      {"int64_t", DType::Int64},
  }};
  if (type.starts_with("c10::")) type.remove_prefix(5);
  const std::string word = to_lower(type);
  for (const auto& [name, dtype] : kTypes) {
    if (name == word) return dtype;
  }
  return std::nullopt;
}

rooftile::Shape shape_of(const Dims& dims) {
  return rooftile::Shape(std::span<const std::int64_t>(dims));
}

namespace {

/// The shape of operands that are broadcast against each other; empty where they do not fit.
Dims broadcast(const Dims& a, const Dims& b) {
  Dims out(std::max(a.size(), b.size()), 1);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const std::int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) return {};
    out[out.size() - 1 - i] = std::max(x, y);
  }
  return out;
}

/// What streams: every element of every input is read once, and every element of the result is
/// written once. `flop` per element of the result; `target`: the first input is only written.
struct Stream {
  std::string_view op;
  double flop = 1.0;
  bool target = false;    ///< copy_, fill_, zero_: the first argument is the result
  bool reduces = false;   ///< sums and means: the result is small
  bool compares = false;  ///< the result is true or false, in bytes
};

bool is_whole(DType dtype) {
  return dtype == DType::Int32 || dtype == DType::Int64 || dtype == DType::Int8 ||
         dtype == DType::Bool;
}

ops::KernelList stream(const Arguments& at, const Stream& what) {
  Dims result;
  std::optional<DType> dtype, masks;
  for (const TracedInput& input : at.inputs()) {
    for (const Dims& dims : input.shapes) {
      if (dims.empty()) continue;
      if (Arguments::elements(dims) == 0) return {};
      const auto own = traced_dtype(input.type);
      if (own == DType::Bool) masks = own;
      if (!dtype && own != DType::Bool) dtype = own;
      if (input.shapes.size() == 1) result = result.empty() ? dims : broadcast(result, dims);
      if (input.shapes.size() == 1 && result.empty()) return {};
    }
  }
  auto bytes = at.bytes();
  if (!dtype) dtype = masks;
  if (!dtype || result.empty() || !bytes) return {};
  const std::int64_t elements = Arguments::elements(result);
  if (elements == 0) return {};
  const double size = what.compares ? 1.0 : size_of(*dtype).base();
  const double written = what.reduces ? 0.0 : static_cast<double>(elements) * size;
  if (what.target) *bytes -= written;
  // Whole numbers are moved as floating-point ones are, but make no FLOPs.
  const double flop = is_whole(*dtype) ? 0.0 : what.flop;
  ops::Precision precision = ops::precision_of(*dtype);
  if (is_whole(*dtype)) precision = {.storage = *dtype, .vector_compute = DType::Fp32};
  ops::KernelWork work =
      ops::vector_kernel(precision, {.op = what.op,
                                     .kind = what.reduces ? ops::KernelClass::Reduction
                                             : flop == 0  ? ops::KernelClass::Move
                                                          : ops::KernelClass::Pointwise,
                                     .shape = ops::rows_of(shape_of(result)),
                                     .flop_per_element = flop,
                                     .read = elements,
                                     .written = what.reduces ? 0 : elements});
  work.read = Bytes::from_base(std::max(*bytes, 0.0));
  work.written = Bytes::from_base(written);
  return {work};
}

/// Streaming operators by their name without "aten::" and without the "_" of those in place.
constexpr std::array kStreams{
    Stream{"add"},
    Stream{"sub"},
    Stream{"rsub"},
    Stream{"mul"},
    Stream{"div"},
    Stream{"pow"},
    Stream{"neg"},
    Stream{"abs"},
    Stream{"relu"},
    Stream{"clamp"},
    Stream{"clamp_min"},
    Stream{"clamp_max"},
    Stream{"maximum"},
    Stream{"minimum"},
    Stream{"sqrt"},
    Stream{"rsqrt"},
    Stream{"exp"},
    Stream{"log"},
    Stream{"sin"},
    Stream{"cos"},
    Stream{"tanh"},
    Stream{"sigmoid"},
    Stream{"gelu"},
    Stream{"silu"},
    Stream{"addcmul", 2.0},
    Stream{"addcdiv", 2.0},
    Stream{"lerp", 2.0},
    Stream{"threshold_backward"},
    Stream{"gelu_backward"},
    Stream{"silu_backward"},
    Stream{"sigmoid_backward"},
    Stream{"tanh_backward"},
    Stream{"native_dropout"},
    Stream{"native_dropout_backward"},
    Stream{"dropout"},
    Stream{"nan_to_num"},
    Stream{"square"},
    Stream{"reciprocal"},
    Stream{"remainder"},
    Stream{"floor"},
    Stream{"round"},
    Stream{"sign"},
    Stream{"erf"},
    Stream{"log1p"},
    Stream{"log2"},
    Stream{"expm1"},
    Stream{"atan2"},
    Stream{"elu"},
    Stream{"elu_backward"},
    Stream{"hardtanh"},
    Stream{"hardtanh_backward"},
    Stream{"hardswish"},
    Stream{"hardswish_backward"},
    Stream{"hardsigmoid"},
    Stream{"hardsigmoid_backward"},
    Stream{"leaky_relu"},
    Stream{"leaky_relu_backward"},
    Stream{"mish"},
    Stream{"mish_backward"},
    Stream{"softplus"},
    Stream{"softplus_backward"},
    Stream{"log_sigmoid_forward"},
    Stream{"mse_loss", 2.0},
    Stream{"mse_loss_backward", 2.0},
    Stream{"smooth_l1_loss", 2.0},
    Stream{"smooth_l1_loss_backward", 2.0},
    Stream{"binary_cross_entropy", 4.0},
    Stream{"binary_cross_entropy_backward", 4.0},
    Stream{"eq", 1.0, false, false, true},
    Stream{"ne", 1.0, false, false, true},
    Stream{"lt", 1.0, false, false, true},
    Stream{"le", 1.0, false, false, true},
    Stream{"gt", 1.0, false, false, true},
    Stream{"ge", 1.0, false, false, true},
    Stream{"isnan", 1.0, false, false, true},
    Stream{"isfinite", 1.0, false, false, true},
    Stream{"logical_and", 0.0, false, false, true},
    Stream{"logical_or", 0.0, false, false, true},
    Stream{"logical_not", 0.0, false, false, true},
    Stream{"bitwise_and", 0.0},
    Stream{"bitwise_or", 0.0},
    Stream{"bitwise_not", 0.0},
    Stream{"triu", 0.0},
    Stream{"tril", 0.0},
    Stream{"flip", 0.0},
    Stream{"roll", 0.0},
    Stream{"cumsum"},
    Stream{"where", 0.0},
    Stream{"masked_fill", 0.0},
    Stream{"copy", 0.0, true},
    Stream{"fill", 0.0, true},
    Stream{"zero", 0.0, true},
    Stream{"sum", 1.0, false, true},
    Stream{"mean", 1.0, false, true},
    Stream{"max", 1.0, false, true},
    Stream{"norm", 2.0, false, true},
    Stream{"linalg_vector_norm", 2.0, false, true},
    Stream{"min", 1.0, false, true},
    Stream{"amax", 1.0, false, true},
    Stream{"amin", 1.0, false, true},
    Stream{"argmax", 1.0, false, true},
    Stream{"argmin", 1.0, false, true},
    Stream{"prod", 1.0, false, true},
    Stream{"std", 3.0, false, true},
    Stream{"var", 3.0, false, true},
    Stream{"var_mean", 3.0, false, true},
    Stream{"any", 0.0, false, true},
    Stream{"all", 0.0, false, true},
    Stream{"_adaptive_avg_pool2d", 1.0, false, true},
};

const Stream* stream_named(std::string_view name) {
  constexpr std::string_view kPrefix = "aten::";
  if (!name.starts_with(kPrefix)) return nullptr;
  name.remove_prefix(kPrefix.size());
  if (name.size() > 1 && name.ends_with('_')) name.remove_suffix(1);
  for (const Stream& one : kStreams) {
    if (one.op == name) return &one;
  }
  return nullptr;
}

/// Kernels that a compiler fused ("triton_poi_fused_add_mul_3"): their name lists the operators,
/// their operands are all tensors that they read or write, each once.
constexpr std::string_view kFused = "triton_";

/// "triton_red_fused__to_copy_mean_mul_1" -> the FLOPs of an element: operators by name, the longest
/// that fits first, as they are joined by the same sign that is in their names.
double fused_flop(std::string_view name) {
  const std::size_t list = name.find("fused_");
  if (list == std::string_view::npos) return 0.0;
  name.remove_prefix(list + 6);
  double flop = 0.0;
  while (!name.empty()) {
    const Stream* best = nullptr;
    for (const Stream& one : kStreams) {
      const bool fits =
          name.starts_with(one.op) && (name.size() == one.op.size() || name[one.op.size()] == '_');
      if (fits && (best == nullptr || one.op.size() > best->op.size())) best = &one;
    }
    if (best != nullptr) flop += best->flop;
    const std::size_t next =
        best != nullptr && best->op.size() < name.size() ? best->op.size() : name.find('_');
    if (next == std::string_view::npos || (best != nullptr && best->op.size() == name.size()))
      break;
    name.remove_prefix(next + 1);
  }
  return flop;
}

ops::KernelList fused_work(std::string_view name, const Arguments& at) {
  std::int64_t elements = 0;
  std::optional<DType> dtype;
  for (const TracedInput& input : at.inputs()) {
    for (const Dims& dims : input.shapes) {
      const auto own = traced_dtype(input.type);
      if (dims.empty() || !own || is_whole(*own) || Arguments::elements(dims) <= elements) continue;
      elements = Arguments::elements(dims);
      dtype = own;
    }
  }
  const auto bytes = at.bytes();
  if (!dtype || !bytes || elements == 0) return {};
  const bool reduces = name.starts_with("triton_red") || name.starts_with("triton_per");
  ops::KernelWork work = ops::vector_kernel(
      ops::precision_of(*dtype),
      {.op = "fused",
       .kind = reduces ? ops::KernelClass::Reduction : ops::KernelClass::Pointwise,
       .shape = {.rows = 1, .columns = elements},
       .flop_per_element = fused_flop(name),
       .read = 0,
       .written = elements});
  work.written = size_of(*dtype) * static_cast<double>(elements);
  work.read = Bytes::from_base(std::max(*bytes - work.written.base(), 0.0));
  return {work};
}

/// "triton_tem_fused_addmm_0(A, B, result)" and "triton_mm": the first operands that fit.
ops::KernelList template_work(const Arguments& at) {
  for (std::size_t i = 0; i + 1 < at.inputs().size(); ++i) {
    const Dims a = at.dims(i), b = at.dims(i + 1);
    const auto dtype = at.type(i);
    if (!dtype || a.size() != b.size() || (a.size() != 2 && a.size() != 3)) continue;
    const std::size_t last = a.size() - 1;
    if (a[last] != b[last - 1] || (last == 2 && a[0] != b[0])) continue;
    return main_of(lowered(
        ops::BatchedMatmul{
            .batch = last == 2 ? a[0] : 1, .m = a[last - 1], .n = b[last], .k = a[last]},
        *dtype, false));
  }
  return {};
}

bool is_template(std::string_view name) {
  const bool product = name.find("mm") != std::string_view::npos;
  return name.starts_with("triton_mm") || name.starts_with("triton_bmm") ||
         (name.starts_with("triton_tem_") && product);
}

}  // namespace

bool is_streaming(std::string_view name) {
  return name.starts_with(kFused) || stream_named(name) != nullptr;
}

ops::KernelList streaming_work(std::string_view name, const Arguments& at) {
  if (is_template(name)) return template_work(at);
  if (name.starts_with("triton_tem_")) return {};  // attention and others whose rules are not known
  if (name.starts_with(kFused)) return fused_work(name, at);
  const Stream* what = stream_named(name);
  return what == nullptr ? ops::KernelList{} : stream(at, *what);
}

}  // namespace rooftile::profile
