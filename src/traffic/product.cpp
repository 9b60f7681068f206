// SPDX-License-Identifier: Apache-2.0
#include "traffic/product.h"

#include <algorithm>
#include <cmath>

namespace rooftile::traffic {

double PanelMisses::left_cache(double distance) const {
  return 1.0 / (1.0 + std::exp((reuse_mid - distance) / reuse_width));
}

double ProductBytes::dram(const PanelMisses& misses) const {
  const double lost = 1.0 / (1.0 + std::exp((misses.mid - panels) / misses.width));
  double once = activations + weights;
  if (near < kNever)
    once = activations * misses.left_cache(near) + weights * misses.left_cache(far);
  if (partial > 0) once += 2 * partial * misses.left_cache(partial_distance);
  return once + std::max(0.0, l2 - compulsory) * lost;
}

ProductWork product_work(const ops::KernelWork& work, const ops::GemmShape& shape, double copies) {
  const auto outputs = static_cast<double>(shape.batch) * static_cast<double>(shape.m) *
                       static_cast<double>(shape.n);
  return {.shape = shape,
          .bytes = work.moved().base(),
          .in_bytes = size_of(work.dtype).base(),
          .out_bytes = std::max(work.written.base() / outputs, 0.5),
          .right_bytes = work.right_bytes,
          .copies = copies};
}

ProductBytes product_bytes(const ProductWork& work, const ProductCut& cut,
                           const ProductMachine& machine) {
  const auto m = static_cast<double>(work.shape.m);
  const auto n = static_cast<double>(work.shape.n);
  const auto k = static_cast<double>(work.shape.k);
  const auto batch = static_cast<double>(work.shape.batch);
  const double rows = std::ceil(m / cut.tile_m);
  const double columns = std::ceil(n / cut.tile_n);
  const double outputs = batch * m * n;
  constexpr double kPartialBytes = 4;  // partial sums are FP32
  ProductBytes out;
  out.partial = cut.split > 1 ? kPartialBytes * cut.split * outputs : 0.0;
  out.compulsory = work.bytes + 2 * out.partial;
  const double results = work.out_bytes * outputs + 2 * out.partial;
  const double a = work.in_bytes * batch * k * m * columns;
  const double right = work.right_bytes > 0 ? work.right_bytes : work.in_bytes;
  const double b = right * batch * k * n;
  out.l2 = std::max(out.compulsory, a + b * std::ceil(rows / cut.cluster) + results);
  out.l1 = std::max(out.l2, a + b * rows + results);
  const double running = std::min(batch * rows * columns, machine.sms);
  const double wave_columns = std::min(columns, std::sqrt(running));
  const double wave_rows = std::min(rows, running / wave_columns);
  const double shared = k / cut.split *
                        (right * wave_columns * std::min(n, cut.tile_n) +
                         work.in_bytes * wave_rows * std::min(m, cut.tile_m));
  constexpr double kNoMisses = -60;
  const bool known = machine.l2_bytes > 0;
  out.panels = known ? std::log2(shared / machine.l2_bytes) : kNoMisses;
  out.weights = std::min(b, work.bytes);
  out.activations = work.bytes - out.weights;
  if (out.partial > 0)
    out.partial_distance = known ? std::log2(2 * out.partial / machine.l2_bytes) : kNoMisses;
  if (work.copies > 0 && known) {
    out.near = std::log2(work.bytes / machine.l2_bytes);
    out.far = std::log2((out.activations + work.copies * out.weights) / machine.l2_bytes);
  }
  return out;
}

}  // namespace rooftile::traffic
