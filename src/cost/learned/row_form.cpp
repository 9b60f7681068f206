// SPDX-License-Identifier: Apache-2.0
#include "cost/learned/row_form.h"

#include <algorithm>
#include <cmath>

#include "ops/norm.h"

namespace rooftile::cost::learned {

namespace {

/// A warp holds 32 elements in each of its 32 lanes [PyTorch's softmax: "persistent" up to 1024].
constexpr double kWarpRow = 32.0 * 32.0;

/// RMS norms have no kernel of an eager library, which would give every row a block: compiled ones
/// and those of engines keep a narrow row (the norm of each head's queries and keys) in a warp.
double resident_columns(const ops::KernelWork& work, const RowModel& model) {
  return work.op == ops::RmsNorm::kName ? std::max(model.resident_row, kWarpRow)
                                        : model.resident_row;
}

}  // namespace

RowGeometry row_geometry(const ops::KernelWork& work, const ops::RowShape& shape, const Chip& chip,
                         const RowModel& model) {
  constexpr double kMaxBlocks = 32;
  constexpr double kElementsPerLoad = 4;
  const auto rows = static_cast<double>(shape.rows);
  const auto columns = static_cast<double>(shape.columns);
  const bool resident = columns <= resident_columns(work, model);
  const double block = columns <= model.short_row ? model.block_short : model.block_long;
  const double blocks = resident ? 1.0 : std::clamp(chip.threads / block, 1.0, kMaxBlocks);
  const double cache = std::max(chip.l2 + chip.sms * chip.l1, 1.0);

  RowGeometry geometry;
  geometry.stream_seconds = work.moved().base() / (chip.bandwidth * chip.streaming);
  geometry.rounds = resident ? 0.0 : rows / (chip.sms * blocks) * work.passes();
  geometry.iterations = std::ceil(columns / (kElementsPerLoad * block));
  geometry.pressure =
      std::min(rows, chip.sms * blocks) * columns * size_of(work.dtype).base() / cache;
  geometry.reread = resident ? 0.0 : model.reread;
  geometry.clock_ratio = kReferenceClock / chip.clock;
  return geometry;
}

Breakdown row_time(const RowGeometry& g, const RowParameters& p) {
  const double missed = 1.0 / (1.0 + std::exp((p.mid - g.pressure) / p.width));
  Breakdown breakdown{.join = p.norm};
  breakdown.of(Resource::Dram) =
      Seconds::from_base(g.stream_seconds * p.traffic * (1.0 + g.reread * missed));
  breakdown.of(Resource::Latency) =
      Seconds::from_base(g.rounds * (p.start + p.iteration * g.iterations) * g.clock_ratio);
  return breakdown;
}

Breakdown pointwise_time(const ops::KernelWork& work, const Chip& chip,
                         const PointwiseModel& model) {
  Breakdown breakdown;
  breakdown.of(Resource::Dram) = Seconds::from_base(
      work.moved().base() / (chip.bandwidth * chip.streaming) / work.access_efficiency);
  const auto flop = model.flop_per_element.find(work.op);
  const auto* shape = std::get_if<ops::RowShape>(&work.shape);
  if (flop == model.flop_per_element.end() || shape == nullptr) return breakdown;
  const double elements = static_cast<double>(shape->rows) * static_cast<double>(shape->columns);
  breakdown.of(Resource::Compute) = Seconds::from_base(elements * flop->second / chip.peak);
  return breakdown;
}

double pointwise_floor(const ops::KernelWork& work, const PointwiseModel& model) {
  if (const auto it = model.floor.find(work.op); it != model.floor.end()) return it->second;
  if (model.floor.empty()) return model.host;
  double sum = 0;
  for (const auto& [op, floor] : model.floor) sum += floor;
  return sum / static_cast<double>(model.floor.size());
}

}  // namespace rooftile::cost::learned
