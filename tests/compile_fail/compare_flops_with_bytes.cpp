// SPDX-License-Identifier: Apache-2.0
// expect: no match for .operator<.|invalid operands to binary expression
#include "core/units.h"

using namespace rooftile;

// FLOPs and bytes cannot be compared.
#if defined(MISUSE)
constexpr bool kLess = 10_FLOP < 20_B;
#else
constexpr bool kLess = 10_FLOP < 20_FLOP;
#endif
