// SPDX-License-Identifier: Apache-2.0
// expect: no match for .operator\+.|invalid operands to binary expression
#include "core/units.h"

using namespace rooftile;

// Quantities of different dimension cannot be added.
#if defined(MISUSE)
constexpr auto kSum = 1.0_us + 50_MiB;
#else
constexpr Seconds kSum = 1.0_us + 2.0_us;
#endif
