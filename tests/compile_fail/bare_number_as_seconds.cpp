// SPDX-License-Identifier: Apache-2.0
// expect: conversion from .double. to non-scalar|no viable conversion from .double.
#include "core/units.h"

using namespace rooftile;

// A plain number has no unit and does not become a quantity by itself.
#if defined(MISUSE)
constexpr Seconds kTime = 1.0;
#else
constexpr Seconds kTime = Seconds::from_base(1.0);
#endif
