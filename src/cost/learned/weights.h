// SPDX-License-Identifier: Apache-2.0
//
// The numbers of a fitted predictor: plain values, read from and written to one JSON file
// (data/predictors/<name>/weights.json). docs/theory/predictor.md writes down the equations that
// use them. All times are seconds. A model belongs to a vendor ("amd") or to one instruction set of
// it ("amd/gfx90a"), which wins where it exists.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/catalog.h"
#include "core/result.h"
#include "cost/constants.h"
#include "cost/learned/familiarity.h"
#include "cost/learned/neighbours.h"

namespace rooftile::cost::learned {

/// A GEMM tile: columns (along n) x rows (along m) of C, in the order in which cuBLAS names them.
struct GemmTile {
  std::int64_t along_n = 128, along_m = 128;
  bool operator==(const GemmTile&) const = default;
};

struct GemmParameters {
  double depth = 12;        ///< k that prologue and epilogue of a tile are worth
  double latency = 0;       ///< seconds of a wave that no rate explains: first loads, last stores
  double more_waves = 0;    ///< the same of every wave after the first, over that of the first
  double tail = 0.7;        ///< part of the last wave's idle time that is lost, in [0, 1]
  double one_wave = 0.14;   ///< extra time of grids of a single wave: nothing hides latencies
  double two_waves = 0.05;  ///< the same for two waves
  double small_tile = 0.1;  ///< log slow-down per halving of the tile area below 128 x 128
  double unaligned = 0.03;  ///< log slow-down where k or n is not a multiple of 4
  double aliased = 0;       ///< log slow-down per octave of a power of two that divides the rows'
                            ///< bytes, beyond 2^alias_from: rows start in few memory channels
  double alias_from = 15.5;
  double miss_mid = 2;  ///< log2(footprint of a wave / L2) at which half of the reuse is lost
  double miss_width = 0.5;
  double reuse_mid = -0.6;  ///< log2(distance / L2) at which half of what comes again is lost
  double reuse_width = 0.25;
  double l2 = 1;        ///< attained over the measured bandwidth of the L2
  double dram = 1;      ///< attained over what products of all kinds attain of the DRAM
  double join = 2.5;    ///< exponent that joins what happens on the chip and DRAM
  double split = 1e-5;  ///< reduction kernel of a split-K product
  // Quantisation of the activations, a kernel before an 8-bit product: seconds of one row and of
  // each of its elements, and of an SM that has many rows.
  double quantize_start = 0, quantize_reach = 0, quantize_row = 0, quantize_element = 0;
  double host = 3e-5;   ///< per call in an operator benchmark
  double floor = 5e-5;  ///< shortest call in an operator benchmark
};

/// A slow-down that somebody measured on one board, and what the board has to spend.
struct BoardFactor {
  double factor = 1;          ///< time over time at the data sheet's peak
  double watt_per_tflop = 0;  ///< board power over that peak; 0 where the power is not stated
};
/// Boards by id, by the chip that they carry.
using BoardsOfChip = ByName<ByName<BoardFactor>>;

/// Time over ideal time of a large product: measured, or from the data sheet (chip.h).
struct Plateau {
  ByName<double> measured;    ///< by GPU id
  BoardsOfChip boards;        ///< the same levels for boards that nobody measured
  ByName<double> kappa;       ///< by kernel family: GPUs that hold their clock
  double generic = 1.1;       ///< for a family nobody measured
  double load = 0;            ///< power over that of convolutions (attained.h); 0 = no power rule
  bool tensor = false;        ///< kappa by tensor family, slowed as the board's power demands
  bool above_ceiling = true;  ///< kappa counts from the published ceiling, not from the peak
};

struct GemmModel {
  GemmParameters parameters;
  std::vector<GemmTile> tiles;             ///< the library may choose any of these
  ByName<std::vector<GemmTile>> tiles_of;  ///< by instruction set, where it was seen
  std::vector<std::int64_t> split_k{1};
  bool clocked = false;  ///< seconds are those at 1410 MHz: on the GPU, not on a host
  Plateau plateau;
  Neighbours neighbours;
};

struct PointwiseModel {
  double host = 0.012e-3;
  ByName<double> floor;             ///< by operator: shortest call in an operator benchmark
  ByName<double> flop_per_element;  ///< where arithmetic, not memory, limits an operator
  /// By operator that ends a fused call: what the call adds to its kernels when it is timed alone
  /// (routing and alignment of tokens to experts), in seconds at 1410 MHz.
  ByName<double> call;
};

struct RowParameters {
  double floor = 3e-5, host = 1.5e-5;
  double traffic = 1.03;                  ///< time of one pass over streaming time
  double mid = 0.38, width = 0.08;        ///< rows in flight / cache at which re-reads miss
  double start = 4e-6, iteration = 2e-6;  ///< latency of a row at 1410 MHz
  double norm = 5.5;                      ///< exponent that joins memory and latency time
};

struct RowModel {
  RowParameters parameters;
  // The library kernel: threads per row up to and beyond `short_row` columns; rows up to
  // `resident_row` columns stay in registers; passes beyond the first that read again.
  double block_short = 256, block_long = 512, short_row = 2048, resident_row = 1024;
  double reread = 1;
};

struct ConvModel {
  double host = 0.28e-3;  ///< per call in an operator benchmark
};

/// Fused attention (attention_form.h).
struct AttentionParameters {
  double products = 0, exponentials = 0, tile = 0, block = 0, start = 0, split = 0, part = 0;
  double memory = 0, cache = 0, join = 0;
};
std::span<const Parameter<AttentionParameters>> parameters_of(const AttentionParameters& form);

struct AttentionModel {
  AttentionParameters common;            ///< where nobody measured the kernels that run
  ByName<AttentionParameters> families;  ///< by hardware::AttentionKernels::family
};

/// Everything that was fitted for one vendor or instruction set.
struct DeviceModel {
  std::optional<GemmModel> gemm, bmm, gemm_16bit, gemm_8bit;
  std::optional<PointwiseModel> pointwise;
  std::optional<RowModel> softmax, norm;
  std::optional<ConvModel> conv;
  std::optional<AttentionModel> prefill, decode;
  std::optional<GemmModel> experts;  ///< grouped 16-bit products of engines' own kernels
};

/// The key of the trivial baseline of all-reduces: a ring at the rate of the data sheet.
inline constexpr std::string_view kRing = "all_reduce";
/// The trivial baseline of one class: roofline / utilization + overhead.
struct TrivialLine {
  double utilization = 0.8;
  double overhead = 1e-5;
};

/// Edges of the buckets of predicted time that have an interval of their own.
inline constexpr std::array<double, 3> kBucketEdges{0.2e-3, 0.8e-3, 3.2e-3};
inline constexpr std::size_t kBuckets = kBucketEdges.size() + 1;
std::size_t bucket_of(double seconds);

/// Half-widths of the 80 % interval of log time, by bucket, for machines that are so well known.
struct Widths {
  std::array<std::array<double, kBuckets>, kFamiliarities> of{};
  [[nodiscard]] const std::array<double, kBuckets>& at(Familiarity known) const {
    return of[static_cast<std::size_t>(known)];
  }
};

/// What the fit has seen of a class.
struct Range {
  ByName<std::array<double, 2>> dimensions;  ///< smallest and largest
  std::vector<std::string> vendors, dtypes;
  Kin kin;
};

/// What a part of the weights was fitted on.
struct Origin {
  double rows = 0;
  std::vector<std::string> gpus;
  std::string command;
};

struct Weights {
  std::string name;
  Constants constants;
  ByName<Origin> origins;  ///< of "clock", "convolution", "step", "eager", "links"
  ByName<DeviceModel> models;
  ByName<std::string> families;   ///< hardware::LibraryFacts::kernel_family of instruction sets
  ByName<BoardsOfChip> ceilings;  ///< by rate ("bf16_tensor"): peak over the published rate
  ByName<TrivialLine> trivial;    ///< by "vendor/class", and kRing
  ByName<Widths> intervals;       ///< by class
  ByName<Range> ranges;           ///< by class
};

/// Names what the weights mean: equations, features and fields. Weights of another hash are
/// refused.
std::string features_hash();

std::string to_json(const Weights& weights);
Result<Weights> parse_weights(std::string_view text, const std::string& file);

/// weights.json of a predictor: `name` is a folder of data/predictors in the catalogue or a folder
/// on disk (contains '/').
Result<Catalog::File> read_weights_file(const Catalog& catalog, std::string_view name);
/// Those of the default predictor: what others take over where they have nothing of their own.
Result<Weights> read_default(const Catalog& catalog);

}  // namespace rooftile::cost::learned
