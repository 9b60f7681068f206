// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "profile/traced_arguments.h"

namespace rooftile::profile {

std::optional<DType> traced_dtype(std::string_view type) {
  constexpr std::array<std::pair<std::string_view, DType>, 13> kTypes{{
      {"float", DType::Fp32},
      {"double", DType::Fp64},
      {"c10::Half", DType::Fp16},
      {"c10::BFloat16", DType::Bf16},
      {"c10::Float8_e4m3fn", DType::Fp8E4m3},
      {"c10::Float8_e4m3fnuz", DType::Fp8E4m3},
      {"c10::Float8_e5m2", DType::Fp8E5m2},
      {"c10::Float8_e5m2fnuz", DType::Fp8E5m2},
      {"int", DType::Int32},
      {"long", DType::Int64},
      {"long int", DType::Int64},
      {"signed char", DType::Int8},
      {"bool", DType::Bool},
  }};
  for (const auto& [name, dtype] : kTypes) {
    if (name == type) return dtype;
  }
  if (type == "unsigned char") return DType::Int8;
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
  bool target = false;   ///< copy_, fill_, zero_: the first argument is the result
  bool reduces = false;  ///< sums and means: the result is small
};

ops::KernelList stream(const Arguments& at, const Stream& what) {
  Dims result;
  std::optional<DType> dtype;
  for (const TracedInput& input : at.inputs()) {
    for (const Dims& dims : input.shapes) {
      if (dims.empty()) continue;
      if (Arguments::elements(dims) == 0) return {};
      const auto own = traced_dtype(input.type);
      if (!dtype && own != DType::Bool) dtype = own;
      if (input.shapes.size() == 1) result = result.empty() ? dims : broadcast(result, dims);
      if (input.shapes.size() == 1 && result.empty()) return {};
    }
  }
  auto bytes = at.bytes();
  if (!dtype || result.empty() || !bytes || *dtype == DType::Int32 || *dtype == DType::Int64 ||
      *dtype == DType::Int8 || *dtype == DType::Bool) {
    return {};
  }
  const std::int64_t elements = Arguments::elements(result);
  if (elements == 0) return {};
  const double written =
      what.reduces ? 0.0 : static_cast<double>(elements) * size_of(*dtype).base();
  if (what.target) *bytes -= written;
  ops::KernelWork work = ops::vector_kernel(ops::precision_of(*dtype),
                                            {.op = what.op,
                                             .kind = what.reduces     ? ops::KernelClass::Reduction
                                                     : what.flop == 0 ? ops::KernelClass::Move
                                                                      : ops::KernelClass::Pointwise,
                                             .shape = ops::rows_of(shape_of(result)),
                                             .flop_per_element = what.flop,
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

}  // namespace

bool is_streaming(std::string_view name) {
  return stream_named(name) != nullptr;
}

ops::KernelList streaming_work(std::string_view name, const Arguments& at) {
  const Stream* what = stream_named(name);
  return what == nullptr ? ops::KernelList{} : stream(at, *what);
}

}  // namespace rooftile::profile
