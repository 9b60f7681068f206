// SPDX-License-Identifier: Apache-2.0
//
// Predictor `neusight`: the published NeuSight formulation [Lee25], as a baseline to compare with.
//
//   tiles = batch ceil(m / tile_m) ceil(n / tile_n)       products
//           rows ceil(columns / tile)                     element-wise
//           rows                                          softmax, layer norm
//   waves = ceil(tiles / SMs)
//   time  = waves SMs FLOP(tile) / (utilization min(peak, intensity * DRAM bandwidth))
//   utilization = sigmoid(gamma) - sigmoid(alpha) / waves;    alpha, gamma from a network per class
//
// A tile is that of the nearest measured shape, in raw units of shape and data sheet. Memory moves
// cost bytes / bandwidth. The network sees four features, log2 of
//
//   FLOP(tile) / (peak / SMs)             bytes(tile) / (DRAM bandwidth / SMs)
//   waves bytes(tile) / (DRAM size / SMs) waves bytes(tile) / (L2 size / SMs)
//
// Where this differs from the publication, and why: docs/theory/predictor.md.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cost/learned/weights.h"
#include "cost/neusight/network.h"
#include "cost/predictor.h"

namespace rooftile::cost::neusight {

/// Rows and columns of C, or 1 x elements.
struct TileSize {
  std::int64_t m = 1, n = 1;
  bool operator==(const TileSize&) const = default;
};

/// Peak in GFLOP/s, DRAM bandwidth in GB/s, DRAM size in GB, SMs, L2 size in MB: the data sheet in
/// the units in which distances are taken. A size that no data sheet states is 0.
using DeviceNumbers = std::array<double, 5>;
DeviceNumbers device_numbers(const Job& job, const hardware::GpuSpec& gpu);

struct TileEntry {
  std::size_t device = 0;         ///< index into TileTable::devices
  std::array<double, 4> shape{};  ///< b m n k, or rows and columns
  TileSize tile;
};

/// Measured shapes and their tiles; the same search serves predictions and `evaluate tiles`.
struct TileTable {
  std::vector<DeviceNumbers> devices;
  std::vector<TileEntry> entries;
};
std::array<double, 4> shape_numbers(const ops::KernelWork& work);
/// The tile of the nearest entry (Euclidean), the first of equals; nothing from an empty table.
std::optional<TileSize> nearest_tile(const TileTable& table, const std::array<double, 4>& shape,
                                     const DeviceNumbers& device);

/// The nearest tile; where the table is empty, that of mapping::decompose.
TileSize choose_tile(const TileTable& table, const Job& job, const hardware::GpuSpec& gpu);

/// A kernel that attains less has a measurement error, not a utilization.
inline constexpr double kLeastUtilization = 1e-6;

struct ClassModel {
  std::array<double, kFeatures> mean{}, deviation{};  ///< of the features in the training rows
  double least_utilization = 1e-4;                    ///< of the training rows
  Network network;
  TileTable tiles;  ///< empty where a row is a tile
};

struct Weights {
  std::string name = "neusight";
  ByName<ClassModel> classes;  ///< by "nvidia/linear"
};

inline constexpr std::array<std::string_view, 5> kClasses{"linear", "bmm", "elementwise", "softmax",
                                                          "layernorm"};
/// One of kClasses; nothing for kernels that the publication has no network for.
std::optional<std::string_view> class_of(const ops::KernelWork& work);
/// The kernel has a class and the publication's precision, FP32.
bool covers(const ops::KernelWork& work);

/// A kernel cut into tiles, with everything that the network does not decide.
struct Cut {
  mapping::TilePlan plan;
  double waves = 1;                                       ///< whole
  double seconds = 0;                                     ///< of all waves at the roofline
  std::array<std::optional<double>, kFeatures> features;  ///< absent: the data sheet lacks a size
};
Cut cut(const Job& job, const hardware::GpuSpec& gpu, TileSize tile);

/// `least` is returned where the difference of the sigmoids is below it: it can be negative.
double utilization(const std::array<double, kOutputs>& outputs, double waves, double least);
/// What the network sees: zero mean and unit deviation; an absent feature counts as the mean.
std::array<double, kFeatures> normalized(const Cut& cut, const ClassModel& model);

std::string features_hash();
std::string to_json(const Weights& weights);
Result<Weights> parse_weights(std::string_view text, std::string file);

std::unique_ptr<Predictor> make_neusight(Weights weights);

}  // namespace rooftile::cost::neusight
