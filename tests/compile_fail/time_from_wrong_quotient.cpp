// SPDX-License-Identifier: Apache-2.0
// expect: conversion from|no viable conversion
#include "core/units.h"

using namespace rooftile;

// Bytes over bandwidth is time; the inverse is a frequency and does not pass for it.
#if defined(MISUSE)
constexpr Seconds kTime = 1555_GBps / 50_MiB;
#else
constexpr Seconds kTime = 50_MiB / 1555_GBps;
#endif
