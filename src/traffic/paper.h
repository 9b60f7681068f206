// SPDX-License-Identifier: Apache-2.0
//
// The closed forms of DeLTA for FP32 forward layers: S. Lym, D. Lee, M. O'Connor, N. Chatterjee,
// M. Erez, "DeLTA: GPU Performance Model for Deep Learning Applications with In-depth Memory System
// Traffic Analysis", ISPASS 2019 [Lym19], and next to them the corrected forms and the exact
// intervals they were checked with. The published text was not at hand: the paper forms follow a
// transcription, with the tile re-load factors and the filter tile's size put right
// (docs/theory/traffic.md lists the changes). Square images and strides are assumed by the paper
// forms; dilation, groups and other passes are outside them.
#pragma once

#include "traffic/implicit_gemm.h"

namespace rooftile::traffic {

/// In elements of 4 bytes; 8 of them are a sector.
struct PaperForms {
  double mli_ifmap = 0;               ///< "memory load inefficiency": addresses spanned / requested
  double mli_ifmap_closed = 0;        ///< corrected: sectors of a warp load, per tap column
  double mli_filter_unaligned = 0;    ///< the paper's
  double mli_filter = 0;              ///< with the alignment of the filter rows
  double dist_v = 0, dist_h = 0;      ///< vertical and horizontal span of a tile
  double a_dist_v = 0, a_dist_h = 0;  ///< the same, amortised
  double unique_paper = 0;            ///< IFmap elements per iteration: signed sum
  double unique_closed = 0;           ///< corrected closed form
  double unique_reuse = 0,
         unique_no_reuse = 0;  ///< exact intervals: L1 keeps a channel, or nothing
};

struct PaperTraffic {
  double l1 = 0, l2 = 0, dram_read = 0, dram_written = 0;  ///< bytes
};

PaperForms paper_forms(const ops::ConvShape& conv, const CtaTile& tile);

/// `--traffic-model paper`.
PaperTraffic paper_traffic(const ops::ConvShape& conv, const CtaTile& tile);

}  // namespace rooftile::traffic
