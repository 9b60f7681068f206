// SPDX-License-Identifier: Apache-2.0
#include "study/scale_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <variant>

#include "core/text.h"
#include "cost/conv_time.h"
#include "cost/stream_parts.h"

namespace rooftile::study {

namespace {

using execution::Launch;
using hardware::Factors;
using hardware::MachineKey;

/// The least factor, rounded up to four digits, as one types it.
std::string factor_text(double least) {
  const double unit = std::pow(10.0, std::floor(std::log10(least)) - 3);
  return fmt::format("{:.4g}", std::ceil(least / unit - 1e-9) * unit);
}

Error too_small(MachineKey key, double factor, std::string message, double least) {
  return {.code = ErrorCode::BadInput,
          .where = fmt::format("--set {}={:g}", name_of(key), factor),
          .message = std::move(message),
          .hint = fmt::format("the least factor for this GPU and workload is {}={}", name_of(key),
                              factor_text(least))};
}

/// The least that a CTA of the kernel's library tiles holds of an SM.
struct CtaMemory {
  double registers = std::numeric_limits<double>::infinity();
  double shared = std::numeric_limits<double>::infinity();  ///< bytes
};

CtaMemory smallest_cta(const Launch& kernel, const cost::TimeMachine& machine) {
  const double element = cost::element_of(kernel.work.dtype);
  CtaMemory least;
  const auto add = [&](const cost::Edges& edges) {
    const cost::StreamTile tile = cost::tile_of(machine, edges, element);
    least.registers =
        std::min(least.registers, static_cast<double>(cost::cta_registers(cost::cta_tile(tile))));
    least.shared = std::min(least.shared, cost::cta_shared(tile, element).base());
  };
  if (const auto* conv = std::get_if<ops::ConvShape>(&kernel.work.shape)) {
    add({128, cost::narrowest_tile(*conv)});
  } else {
    for (const cost::Edges& edges : cost::kGemmTiles) add(edges);
  }
  return least;
}

Status check_memory(const Launch& kernel, const cost::TimeMachine& machine, double factor) {
  const CtaMemory cta = smallest_cta(kernel, machine);
  const double registers = machine.registers;
  const double shared = machine.shared.base();
  const double by_registers = cta.registers / registers;
  const double by_shared = shared > 0 ? cta.shared / shared : 0.0;
  if (factor >= std::max(by_registers, by_shared)) return {};
  const std::string left =
      by_registers >= by_shared
          ? fmt::format("{:.0f} registers per SM; a CTA of the smallest tile needs {:.0f}",
                        registers * factor, cta.registers)
          : fmt::format("{} of shared memory per SM; a CTA of the smallest tile needs {}",
                        format_bytes(Bytes::from_base(shared * factor)),
                        format_bytes(Bytes::from_base(cta.shared)));
  return tl::unexpected(
      too_small(MachineKey::SmMemory, factor, "leaves " + left, std::max(by_registers, by_shared)));
}

}  // namespace

Status check_variant(const aggregate::ScalingStudy& study, const Factors& factors) {
  for (const Launch& kernel : study.kernels()) {
    ROOFTILE_TRY(const auto job, cost::bind(kernel.work, study.machine()));
    const cost::TimeMachine g =
        cost::make_time_machine(study.machine(), job.roof.compute, kernel.work.compute,
                                kernel.work.matrix, study.predictor().constants());
    const double sms = g.sms * factors.of(MachineKey::Sms);
    if (sms < 1) {
      return tl::unexpected(too_small(MachineKey::Sms, factors.of(MachineKey::Sms),
                                      fmt::format("leaves {:.2g} of an SM", sms), 1 / g.sms));
    }
    const double lanes = g.lanes * factors.of(MachineKey::Lanes);
    if (lanes < 1 && lanes < g.lanes) {
      return tl::unexpected(too_small(MachineKey::Lanes, factors.of(MachineKey::Lanes),
                                      fmt::format("leaves {:.2g} of a lane per SM", lanes),
                                      1 / g.lanes));
    }
    if (ops::is_product(kernel.work.shape) && factors.of(MachineKey::SmMemory) < 1) {
      ROOFTILE_CHECK(check_memory(kernel, g, factors.of(MachineKey::SmMemory)));
    }
  }
  return {};
}

}  // namespace rooftile::study
