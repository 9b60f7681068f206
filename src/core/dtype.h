// SPDX-License-Identifier: Apache-2.0
//
// Number formats. One spelling of each everywhere: files, options, reports.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/result.h"
#include "core/units.h"

namespace rooftile {

enum class DType : std::uint8_t {
  Fp64,
  Fp32,
  Tf32,
  Fp16,
  Bf16,
  Fp8E4m3,
  Fp8E5m2,
  Fp4,
  Int32,
  Int64,
  Int8,
  Bool
};

inline constexpr std::array kAllDTypes{DType::Fp64,  DType::Fp32,    DType::Tf32,    DType::Fp16,
                                       DType::Bf16,  DType::Fp8E4m3, DType::Fp8E5m2, DType::Fp4,
                                       DType::Int32, DType::Int64,   DType::Int8,    DType::Bool};

/// The one spelling: fp64 fp32 tf32 fp16 bf16 fp8_e4m3 fp8_e5m2 fp4 int32 int64 int8 bool.
std::string_view name_of(DType dtype);

/// Storage of one element. TF32 is stored as FP32; FP4 takes half a byte.
Bytes size_of(DType dtype);

/// Accepts the spelling above and the usual synonyms (float32, half, bfloat16, fp8, int8, ...).
Result<DType> parse_dtype(std::string_view text);

}  // namespace rooftile
