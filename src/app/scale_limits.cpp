// SPDX-License-Identifier: Apache-2.0
#include "app/scale_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <variant>

#include "core/text.h"
#include "latency/conv_time.h"
#include "latency/gemm_time.h"

namespace rooftile::app {

namespace {

using latency::Factors;
using latency::Resource;
using latency::ScalingKernel;
using latency::StreamTile;

/// The least factor, rounded up to four digits, as one types it.
std::string factor_text(double least) {
  const double unit = std::pow(10.0, std::floor(std::log10(least)) - 3);
  return fmt::format("{:.4g}", std::ceil(least / unit - 1e-9) * unit);
}

Error too_small(Resource resource, double factor, std::string message, double least) {
  return {.code = ErrorCode::BadInput,
          .where = fmt::format("--set {}={:g}", name_of(resource), factor),
          .message = std::move(message),
          .hint = fmt::format("the least factor for this GPU and workload is {}={}",
                              name_of(resource), factor_text(least))};
}

bool is_product(const ScalingKernel& kernel) {
  return std::holds_alternative<ops::ConvShape>(kernel.work.shape) ||
         std::holds_alternative<ops::GemmShape>(kernel.work.shape);
}

/// What a CTA holds of an SM.
struct CtaMemory {
  double registers = std::numeric_limits<double>::infinity();
  double shared = std::numeric_limits<double>::infinity();  ///< bytes
};

CtaMemory memory_of(const StreamTile& tile, const ScalingKernel& kernel) {
  const double element = latency::element_of(kernel.work.dtype);
  return {.registers = static_cast<double>(latency::cta_registers(latency::cta_tile(tile))),
          // Two buffers of a slice of both operands.
          .shared = 2 * (tile.m + tile.n) * tile.k * element};
}

/// Of the smallest tile of a matrix product.
CtaMemory smallest_cta(const ScalingKernel& kernel) {
  CtaMemory least;
  for (const latency::Edges& edges : latency::kGemmTiles) {
    const CtaMemory cta = memory_of(
        latency::tile_of(kernel.machine, edges, latency::element_of(kernel.work.dtype)), kernel);
    least.registers = std::min(least.registers, cta.registers);
    least.shared = std::min(least.shared, cta.shared);
  }
  return least;
}

Status check_memory(const ScalingKernel& kernel, double factor) {
  const CtaMemory cta = smallest_cta(kernel);
  const double registers = kernel.machine.registers;
  const double shared = kernel.machine.shared.base();
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
      too_small(Resource::SmMemory, factor, "leaves " + left, std::max(by_registers, by_shared)));
}

/// The GEMM tile with which the time model runs the kernel; nothing where it has none.
std::optional<StreamTile> chosen_tile(const ScalingKernel& kernel, const Factors& factors) {
  const latency::TimeMachine machine = latency::scaled(kernel.machine, factors);
  if (const auto* gemm = std::get_if<ops::GemmShape>(&kernel.work.shape)) {
    return latency::gemm_candidate(*gemm, kernel.work.dtype, machine).time.tile;
  }
  const auto* conv = std::get_if<ops::ConvShape>(&kernel.work.shape);
  if (conv == nullptr) return std::nullopt;
  const latency::ConvCandidate best =
      latency::conv_candidates(*conv, kernel.work.dtype, machine, {}).front();
  switch (best.algorithm) {
    case latency::ConvAlgorithm::ImplicitGemm:
    case latency::ConvAlgorithm::ImplicitSmallTile:
    case latency::ConvAlgorithm::WinogradNonfused:
    case latency::ConvAlgorithm::ExplicitGemm: return best.time.tile;
    case latency::ConvAlgorithm::WinogradFused:
    case latency::ConvAlgorithm::Fft:
    case latency::ConvAlgorithm::Direct:
    case latency::ConvAlgorithm::Depthwise: return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

Status check_variant(std::span<const ScalingKernel> kernels, const Factors& factors) {
  for (const ScalingKernel& kernel : kernels) {
    const latency::TimeMachine& g = kernel.machine;
    const double sms = g.sms * factors.of(Resource::Sms);
    if (sms < 1) {
      return tl::unexpected(too_small(Resource::Sms, factors.of(Resource::Sms),
                                      fmt::format("leaves {:.2g} of an SM", sms), 1 / g.sms));
    }
    const double lanes = g.lanes * factors.of(Resource::Lanes);
    if (lanes < 1 && lanes < g.lanes) {
      return tl::unexpected(too_small(Resource::Lanes, factors.of(Resource::Lanes),
                                      fmt::format("leaves {:.2g} of a lane per SM", lanes),
                                      1 / g.lanes));
    }
    if (is_product(kernel) && factors.of(Resource::SmMemory) < 1) {
      ROOFTILE_CHECK(check_memory(kernel, factors.of(Resource::SmMemory)));
    }
  }
  return {};
}

std::optional<std::string> tile_note(std::span<const ScalingKernel> kernels,
                                     const Factors& factors) {
  if (factors.of(Resource::SmMemory) >= 1) return std::nullopt;
  const auto too_large = std::count_if(kernels.begin(), kernels.end(), [&](const auto& kernel) {
    const auto tile = chosen_tile(kernel, factors);
    if (!tile) return false;
    const CtaMemory cta = memory_of(*tile, kernel);
    const latency::TimeMachine machine = latency::scaled(kernel.machine, factors);
    return cta.registers > machine.registers ||
           (machine.shared.base() > 0 && cta.shared > machine.shared.base());
  });
  if (too_large == 0) return std::nullopt;
  return fmt::format(
      "sm_memory x{:g}: {} of {} distinct kernels {} timed with a tile that does not fit into an "
      "SM "
      "then; smaller tiles would be slower",
      factors.of(Resource::SmMemory), too_large, kernels.size(), too_large == 1 ? "is" : "are");
}

}  // namespace rooftile::app
