// SPDX-License-Identifier: Apache-2.0
#include "profile/counting.h"

#include <algorithm>

#include "profile/metric_table.h"

namespace rooftile::profile {

Result<Counting> counting_of(const Catalog& catalog, std::string_view isa) {
  constexpr std::string_view kPacked = "sm__sass_thread_inst_executed_op_ffma2_pred_on";
  Counting counting;
  counting.isa = isa;
  ROOFTILE_TRY(const auto arch, hardware::nearest_architecture(catalog, isa));
  if (!arch) return counting;
  counting.facts = arch->counters;
  // "gfx9" is not the name of a chip but what the counters of an export say about it.
  if (!arch->isa.starts_with(isa)) counting.relative = arch->isa;
  if (arch->isa != isa && arch->isa.starts_with(isa) && counting.facts) {
    ROOFTILE_TRY(const auto all, hardware::list_architectures(catalog));
    for (const hardware::Architecture& other : all) {
      const bool differs = other.isa.starts_with(isa) && other.counters &&
                           other.counters->request != counting.facts->request;
      counting.request_unknown = counting.request_unknown || differs;
    }
    if (counting.request_unknown) counting.facts->request.reset();
  }
  const auto metrics = metrics_of(isa);
  counting.packed_fp32 = std::any_of(metrics.begin(), metrics.end(), [&](const ChipMetric& metric) {
    return metric.name == kPacked;
  });
  return counting;
}

}  // namespace rooftile::profile
