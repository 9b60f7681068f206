// SPDX-License-Identifier: Apache-2.0
//
// The picture of `rooftile traffic`: how much of each level's bandwidth the blocks of a model take,
// under the roof, those first that take the most time. Models of few blocks show their layers.
#pragma once

#include "report/document.h"
#include "rooftile/traffic.h"

namespace rooftile::report {

BarChart traffic_chart(const TrafficReport& report);

}  // namespace rooftile::report
