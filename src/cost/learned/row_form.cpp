// SPDX-License-Identifier: Apache-2.0
#include "cost/learned/row_form.h"

#include <algorithm>
#include <cmath>

#include "ops/norm.h"

namespace rooftile::cost::learned {

namespace {

constexpr double kElementsPerLoad = 4;
constexpr double kWarp = 32;

/// RMS norms are kernels of engines and compilers, not of an eager library, which gives every row a
/// block of one size: a narrow row (the norm of each head's queries and keys) has as many warps as
/// one load of every thread takes.
double threads_per_row(const ops::KernelWork& work, double columns, const RowModel& model) {
  const double library = columns <= model.short_row ? model.block_short : model.block_long;
  if (work.op != ops::RmsNorm::kName) return library;
  return std::min(library, kWarp * std::ceil(columns / (kElementsPerLoad * kWarp)));
}

}  // namespace

RowGeometry row_geometry(const ops::KernelWork& work, const ops::RowShape& shape, const Chip& chip,
                         const RowModel& model) {
  constexpr double kMaxBlocks = 32;
  const auto rows = static_cast<double>(shape.rows);
  const auto columns = static_cast<double>(shape.columns);
  const bool resident = columns <= model.resident_row;
  const double block = threads_per_row(work, columns, model);
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
