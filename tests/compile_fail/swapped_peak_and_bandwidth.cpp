// SPDX-License-Identifier: Apache-2.0
// expect: could not convert|no known conversion|no matching function
#include "core/units.h"

using namespace rooftile;

constexpr Seconds bound(BytesPerSecond bandwidth, FlopsPerSecond peak) {
  return max(50_MiB / bandwidth, 1000_FLOP / peak);
}

// Peak and bandwidth cannot be swapped in a call.
#if defined(MISUSE)
constexpr Seconds kBound = bound(19.5_TFLOPps, 1555_GBps);
#else
constexpr Seconds kBound = bound(1555_GBps, 19.5_TFLOPps);
#endif
