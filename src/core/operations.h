// SPDX-License-Identifier: Apache-2.0
//
// How arithmetic is called: a multiply and an add of floating-point numbers are 2 FLOP, of integers
// 2 OP. Both are held as Flops, since every model treats them alike; only what people read differs.
#pragma once

#include <string>
#include <string_view>

#include "core/dtype.h"
#include "core/units.h"

namespace rooftile {

[[nodiscard]] bool is_integer(DType dtype);

/// "FLOP", or "OP" for integer formats.
[[nodiscard]] std::string_view operation_name(DType dtype);

/// "312 TFLOP/s", "624 TOP/s".
[[nodiscard]] std::string format_rate(FlopsPerSecond rate, DType dtype, int digits);

}  // namespace rooftile
