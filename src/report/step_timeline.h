// SPDX-License-Identifier: Apache-2.0
//
// A predicted step as a timeline: every launch of a mean GPU where it runs, under the layer and the
// phase that it belongs to. Kernels follow one another in the order of the report, each with the
// collective that waits for it; collectives that hide behind kernels have a stream of their own.
// The layers of a block come one after another, backwards in the backward pass; micro-batches too.
// What the GPU waits (host, other stages) is added up at the end, where the model of the step does
// not say when it happens.
#pragma once

#include "report/timeline.h"
#include "rooftile/report.h"

namespace rooftile::report {

/// Tracks of the timeline, in this order.
enum class Track : std::uint8_t { Phase, Layer, Kernels, Communication, Hidden, Waiting };

/// More launches than this are drawn as one slice per operator.
inline constexpr double kMostLaunches = 100'000;

Timeline step_timeline(const Report& report);

}  // namespace rooftile::report
