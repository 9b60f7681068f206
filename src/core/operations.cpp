// SPDX-License-Identifier: Apache-2.0
#include "core/operations.h"

#include "core/text.h"

namespace rooftile {

bool is_integer(DType dtype) {
  switch (dtype) {
    case DType::Int8:
    case DType::Int32:
    case DType::Int64:
    case DType::Bool: return true;
    case DType::Fp64:
    case DType::Fp32:
    case DType::Tf32:
    case DType::Fp16:
    case DType::Bf16:
    case DType::Fp8E4m3:
    case DType::Fp8E5m2:
    case DType::Fp4: return false;
  }
  return false;
}

std::string_view operation_name(DType dtype) {
  return is_integer(dtype) ? "OP" : "FLOP";
}

std::string format_rate(FlopsPerSecond rate, DType dtype, int digits) {
  std::string text = format_rate(rate, digits);
  constexpr std::string_view kFloating = "FLOP/s";
  if (is_integer(dtype)) text.replace(text.size() - kFloating.size(), kFloating.size(), "OP/s");
  return text;
}

}  // namespace rooftile
