// SPDX-License-Identifier: Apache-2.0
#include "study/traffic_notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <utility>
#include <variant>

#include "core/number_of.h"
#include "core/text.h"
#include "core/units.h"
#include "cost/time_machine.h"

namespace rooftile::study {

namespace {

bool is_grouped(const execution::Launch& kernel) {
  const auto* conv = std::get_if<ops::ConvShape>(&kernel.work.shape);
  return conv != nullptr && conv->groups > 1;
}

/// Rows of a report by what they are of.
struct RowKinds {
  std::int64_t products = 0;  ///< that are not convolutions
  std::int64_t vectors = 0;
  std::int64_t others = 0;  ///< convolutions that are not implicit GEMMs
};

RowKinds count_rows(std::span<const execution::Launch> kernels,
                    std::span<const report::LayerTraffic> layers) {
  RowKinds rows;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const report::LayerTraffic& layer = layers[i];
    if (!ops::is_product(kernels[i].work.shape)) {
      ++rows.vectors;
    } else if (layer.algorithm.empty()) {
      ++rows.products;
    } else if (layer.algorithm != "implicit_gemm") {
      ++rows.others;
    }
  }
  return rows;
}

/// "1 depthwise layer and 4 vector kernels"; kinds without any are left out.
std::string listed(std::initializer_list<std::pair<std::int64_t, std::string_view>> counts) {
  std::string text;
  for (const auto& [count, name] : counts) {
    if (count == 0) continue;
    text += (text.empty() ? "" : " and ") + number_of(count, name);
  }
  return text;
}

}  // namespace

std::vector<std::string> delta_notes(std::span<const execution::Launch> kernels,
                                     const hardware::Machine& machine,
                                     const cost::TimeModel& model) {
  std::vector<std::string> notes;
  if (kernels.empty()) return notes;
  const hardware::GpuSpec& gpu = machine.gpu;
  const auto on_matrix_units = [&machine](const execution::Launch& kernel) {
    const auto units = machine.best_units(kernel.work.compute, kernel.work.matrix);
    return ops::is_product(kernel.work.shape) && units && units->pipe == hardware::Pipe::Tensor;
  };
  const auto narrow = [](const execution::Launch& kernel) {
    return ops::is_product(kernel.work.shape) && kernel.work.dtype != DType::Fp32;
  };
  if (std::any_of(kernels.begin(), kernels.end(), on_matrix_units)) {
    notes.emplace_back(
        "matrix-units: DeLTA is about FP32 lanes; products on matrix units take its streams at "
        "another rate, and their times are an extrapolation");
  }
  if (std::any_of(kernels.begin(), kernels.end(), narrow)) {
    notes.emplace_back(
        "not-fp32: the tiles, loads and NCHW layout are those of FP32 kernels; libraries run other "
        "formats with other tiles, often in NHWC");
  }
  if (gpu.vendor != hardware::Vendor::Nvidia) {
    notes.push_back(
        fmt::format("vendor: {} is not an NVIDIA GPU; tiles and algorithms are assumed to be those "
                    "of cuDNN all "
                    "the same",
                    gpu.name));
  } else if (!cost::is_fitted(gpu.arch, model)) {
    notes.push_back(fmt::format(
        "architecture: times are calibrated on Maxwell to Turing; on {} they are an extrapolation",
        gpu.name));
  }
  const auto grouped = std::count_if(kernels.begin(), kernels.end(), is_grouped);
  if (grouped > 0) {
    notes.push_back(fmt::format(
        "groups: {} of the kernels {} grouped or depthwise: one small GEMM per group, or the "
        "direct "
        "kernel of a depthwise layer where that is faster; no measured rows have groups",
        grouped, grouped == 1 ? "is" : "are"));
  }
  return notes;
}

std::vector<std::string> flag_notes(std::span<const execution::Launch> kernels,
                                    std::span<const report::LayerTraffic> layers,
                                    const FlagsUsed& used) {
  const RowKinds rows = count_rows(kernels, layers);
  const std::string uncounted =
      listed({{rows.others, "convolution by another algorithm than the implicit GEMM"},
              {rows.vectors, "vector kernel"}});
  std::vector<std::string> notes;
  if (used.tile || used.algorithm || used.paper) {
    notes.push_back(fmt::format("{}: convolutions are shown as asked for, not as predicted",
                                used.tile        ? "tile"
                                : used.algorithm ? "algorithm"
                                                 : "paper"));
  }
  if (used.tile && rows.products > 0) {
    notes.push_back(fmt::format("tile: --tile applies to convolutions; {} {} own tile",
                                listed({{rows.products, "matrix product"}}),
                                rows.products == 1 ? "keeps its" : "keep their"));
  }
  if (used.order && !uncounted.empty()) {
    notes.push_back(fmt::format("order: --order applies to tiled products; not to {}", uncounted));
  }
  if (used.paper && rows.products + rows.vectors > 0) {
    notes.push_back(fmt::format(
        "paper-rows: the paper's forms are of convolutions; the closed forms are shown for {}",
        listed({{rows.products, "matrix product"}, {rows.vectors, "vector kernel"}})));
  }
  if (used.exact && !uncounted.empty()) {
    notes.push_back(fmt::format(
        "exact: only the loads of tiled products are counted; the closed forms are shown for {}{}",
        uncounted, rows.others > 0 ? " (--algorithm implicit_gemm counts convolutions)" : ""));
  }
  if (used.simulate && !uncounted.empty()) {
    notes.push_back(fmt::format(
        "simulate: the simulator counts tiled products; no simulated bytes for {}{}", uncounted,
        rows.others > 0 ? " (--algorithm implicit_gemm simulates convolutions)" : ""));
  }
  return notes;
}

std::optional<std::string> paper_note(const report::LayerTraffic& layer) {
  const report::LevelBytes& read = layer.read;
  if (read.dram >= 0 && read.l2 >= read.dram && read.l1 >= read.l2) return std::nullopt;
  const auto bytes = [](double value) { return format_bytes(Bytes::from_base(value)); };
  return fmt::format(
      "paper-range: {}: the published forms give L1 {}, L2 {}, DRAM {}, which no kernel can move; "
      "the shape is outside their range, use --traffic-model exact",
      layer.name, bytes(read.l1), bytes(read.l2), bytes(read.dram));
}

}  // namespace rooftile::study
