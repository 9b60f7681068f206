// SPDX-License-Identifier: Apache-2.0
//
// Bytes that a kernel moves through each level of the memory hierarchy. A level's number counts
// what crosses its upper boundary: l1 = bytes the SMs request, l2 = bytes L1 misses, dram = bytes
// L2 misses. Every level is at least the compulsory traffic of KernelWork (inputs once, outputs
// once) except DRAM, where data that the previous kernel left in L2 need not be fetched again.
#pragma once

#include "core/units.h"
#include "hardware/gpu_spec.h"
#include "mapping/tile_plan.h"
#include "ops/kernel_work.h"
#include "traffic/product.h"

namespace rooftile::traffic {

struct Traffic {
  Bytes l1;
  Bytes l2;
  Bytes dram_read;
  Bytes dram_written;
  /// The part of the DRAM traffic that the L2 could have kept from kernels before: at most its
  /// size, and of a model's weights no more than the share of them that fits it. A lower bound on
  /// time must not count it.
  Bytes dram_avoidable;

  [[nodiscard]] Bytes dram() const { return dram_read + dram_written; }
  bool operator==(const Traffic&) const = default;
};

/// Compulsory traffic: the same bytes at every level.
Traffic compulsory(const ops::KernelWork& work, const hardware::GpuSpec& gpu);

/// The model of the bytes a real kernel moves: closed forms per class of kernel (product.h for
/// matrix products, closed.h for the others), below a microsecond. `dram_avoidable` stays that of
/// the compulsory bytes. A lower bound on time takes compulsory(): a better kernel than the
/// modelled one may move less. `copies` is ProductWork::copies.
Traffic model(const ops::KernelWork& work, const mapping::TilePlan& plan,
              const hardware::GpuSpec& gpu, const PanelMisses& misses = {}, double copies = 0);

}  // namespace rooftile::traffic
