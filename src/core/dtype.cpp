// SPDX-License-Identifier: Apache-2.0
#include "core/dtype.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "core/text.h"

namespace rooftile {

std::string_view name_of(DType dtype) {
  switch (dtype) {
    case DType::Fp64: return "fp64";
    case DType::Fp32: return "fp32";
    case DType::Tf32: return "tf32";
    case DType::Fp16: return "fp16";
    case DType::Bf16: return "bf16";
    case DType::Fp8E4m3: return "fp8_e4m3";
    case DType::Fp8E5m2: return "fp8_e5m2";
    case DType::Fp4: return "fp4";
    case DType::Int32: return "int32";
    case DType::Int64: return "int64";
    case DType::Int8: return "int8";
    case DType::Bool: return "bool";
  }
  return "?";
}

Bytes size_of(DType dtype) {
  switch (dtype) {
    case DType::Fp64:
    case DType::Int64: return Bytes::from_base(8);
    case DType::Fp32:
    case DType::Tf32:
    case DType::Int32: return Bytes::from_base(4);
    case DType::Fp16:
    case DType::Bf16: return Bytes::from_base(2);
    case DType::Fp8E4m3:
    case DType::Fp8E5m2:
    case DType::Int8:
    case DType::Bool: return Bytes::from_base(1);
    case DType::Fp4: return Bytes::from_base(0.5);
  }
  return Bytes{};
}

Result<DType> parse_dtype(std::string_view text) {
  static constexpr std::array<std::pair<std::string_view, DType>, 14> kSynonyms{{
      {"float64", DType::Fp64},
      {"double", DType::Fp64},
      {"float32", DType::Fp32},
      {"float", DType::Fp32},
      {"tensorfloat32", DType::Tf32},
      {"float16", DType::Fp16},
      {"half", DType::Fp16},
      {"bfloat16", DType::Bf16},
      {"fp8", DType::Fp8E4m3},
      {"float8_e4m3fn", DType::Fp8E4m3},
      {"float8_e5m2", DType::Fp8E5m2},
      {"nvfp4", DType::Fp4},
      {"mxfp4", DType::Fp4},
      {"boolean", DType::Bool},
  }};
  const std::string key = to_lower(text);
  std::vector<std::string_view> known;
  for (const DType dtype : kAllDTypes) {
    if (key == name_of(dtype)) return dtype;
    known.push_back(name_of(dtype));
  }
  for (const auto& [synonym, dtype] : kSynonyms) {
    if (key == synonym) return dtype;
  }
  return unsupported({}, fmt::format("unknown dtype \"{}\"", printable(text)),
                     did_you_mean(key, known, "dtypes are"));
}

}  // namespace rooftile
