// SPDX-License-Identifier: Apache-2.0
#include "app/roofline_predict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "app/predict.h"
#include "core/text.h"
#include "latency/predictor.h"
#include "ops/any_op.h"
#include "report/make.h"

namespace rooftile::app {

namespace {

using profile::KernelRecord;

constexpr double kFlopsTolerance = 0.05;  ///< counters see padding and epilogues
constexpr double kDepthTolerance = 0.75;  ///< of k: an epilogue adds a FLOP or so per output
constexpr std::int64_t kLeastTile = 32, kLargestTile = 512;  ///< 16x8x8 names an instruction

struct TileName {
  std::int64_t m = 0, n = 0;
};

/// The first "<m>x<n>" of the size of a tile.
std::optional<TileName> tile_of(std::string_view name) {
  const auto digit = [&](std::size_t i) {
    return i < name.size() && std::isdigit(static_cast<unsigned char>(name[i])) != 0;
  };
  for (std::size_t at = name.find('x'); at != std::string_view::npos; at = name.find('x', at + 1)) {
    std::size_t begin = at, end = at + 1;
    while (begin > 0 && digit(begin - 1)) --begin;
    while (digit(end)) ++end;
    const auto m = parse_int(name.substr(begin, at - begin));
    const auto n = parse_int(name.substr(at + 1, end - at - 1));
    if (m && n && *m >= kLeastTile && *m <= kLargestTile && *n >= kLeastTile &&
        *n <= kLargestTile) {
      return TileName{.m = *m, .n = *n};
    }
  }
  return std::nullopt;
}

bool is_plain_gemm(std::string_view name) {
  const std::string lower = to_lower(name);
  const auto has = [&](std::string_view part) { return lower.find(part) != std::string::npos; };
  // Convolutions as implicit products move other bytes.
  return has("gemm") && !has("conv") && !has("implicit") && !has("fprop") && !has("dgrad") &&
         !has("wgrad") && !has("cudnn");
}

roofline::Prediction prediction_of(const OperatorReport& op, std::string match) {
  const auto ms = [](double value) { return Seconds::from_base(value * 1e-3); };
  return {.match = std::move(match),
          .shape = op.shape,
          .time = ms(op.latency_ms),
          .low = ms(op.low_ms),
          .high = ms(op.high_ms),
          .flops = Flops::from_base(op.flops),
          .bytes = {Bytes::from_base(op.traffic.l1), Bytes::from_base(op.traffic.l2),
                    Bytes::from_base(op.traffic.dram)},
          .limiter = op.limiter};
}

/// The number format that did most of the FLOPs.
DType main_dtype(const KernelRecord& record) {
  const auto most = std::max_element(
      record.flops_by.begin(), record.flops_by.end(),
      [](const auto& a, const auto& b) { return a.second.base() < b.second.base(); });
  return most == record.flops_by.end() ? DType::Fp32 : most->first.dtype;
}

std::optional<roofline::Prediction> by_name(const KernelRecord& record,
                                            const hardware::Machine& machine,
                                            const latency::Predictor& predictor) {
  const auto shape = gemm_shape_of(record);
  if (!shape) return std::nullopt;
  const ops::AnyOp product =
      ops::BatchedMatmul{.batch = shape->batch, .m = shape->m, .n = shape->n, .k = shape->k};
  if (!ops::check(product)) return std::nullopt;
  ops::KernelList works;
  ops::forward(product, {.precision = ops::precision_of(main_dtype(record))}, works);
  if (works.size() != 1) return std::nullopt;
  const auto job = latency::bind(works.front(), machine);
  if (!job) return std::nullopt;  // the machine states no rate of this number format
  const graph::LoweredKernel kernel{
      .name = record.name, .count = record.launches, .work = works.front()};
  const OperatorReport op = report::make_operator(
      {.kernel = kernel, .estimate = predictor.estimate(*job, machine)}, machine);
  return prediction_of(op, "tile and grid");
}

std::optional<roofline::Prediction> by_model(const KernelRecord& record, const Report& step) {
  if (!record.flops || !(record.flops->base() > 0.0)) return std::nullopt;
  const OperatorReport* found = nullptr;
  for (const OperatorReport& op : step.operators) {
    if (op.count != record.launches || !(op.flops > 0.0) || !(op.latency_ms > 0.0)) continue;
    if (std::abs(record.flops->base() / op.flops - 1.0) > kFlopsTolerance) continue;
    if (found != nullptr) return std::nullopt;  // several fit: nothing is known
    found = &op;
  }
  if (found == nullptr) return std::nullopt;
  return prediction_of(*found, found->name);
}

}  // namespace

std::optional<ops::GemmShape> gemm_shape_of(const KernelRecord& record) {
  if (!is_plain_gemm(record.name) || !record.grid || !record.flops || !record.flops_complete ||
      record.launches < 1) {
    return std::nullopt;
  }
  const auto tile = tile_of(record.name);
  constexpr std::int64_t kMostBlocks = std::int64_t{1} << 31;
  const auto& [x, y, z] = *record.grid;
  if (!tile || x < 1 || y < 1 || z < 1 || x > kMostBlocks || y > 65535 || z > 65535) {
    return std::nullopt;
  }
  if ((x == 1) != (y == 1)) return std::nullopt;  // how the tiles lie is not told
  const ops::GemmShape shape{.batch = z, .m = x * tile->m, .n = y * tile->n, .k = 1};
  const double outputs = static_cast<double>(shape.m) * static_cast<double>(shape.n) *
                         static_cast<double>(shape.batch);
  const double depth =
      record.flops->base() / static_cast<double>(record.launches) / (2.0 * outputs);
  const double k = 8.0 * std::round(depth / 8.0);
  if (!(k >= 8.0 && k <= 1e7) || std::abs(depth - k) > kDepthTolerance) return std::nullopt;
  return ops::GemmShape{
      .batch = shape.batch, .m = shape.m, .n = shape.n, .k = static_cast<std::int64_t>(k)};
}

Status predict_kernels(const PredictKernels& request, const Catalog& catalog,
                       roofline::Chart& chart) {
  if (!request.machine) {
    chart.warnings.push_back({"predict-no-gpu",
                              "nothing is predicted: the exports do not name a GPU of the "
                              "catalogue; state it with --gpu"});
    return {};
  }
  ROOFTILE_TRY(const auto predictor, latency::make_predictor({}, catalog));
  std::optional<Report> step;
  if (!request.step.model.empty()) {
    Request profiled = request.step;
    profiled.gpu = request.machine->gpu.id;
    ROOFTILE_TRY(step, predict(profiled, catalog));
  }
  std::size_t unknown = 0;
  double share = 0.0;
  for (roofline::Point& point : chart.points) {
    if (step) point.predicted = by_model(point.record, *step);
    if (!point.predicted) point.predicted = by_name(point.record, *request.machine, *predictor);
    if (point.predicted) continue;
    ++unknown;
    share += point.time_fraction;
  }
  if (unknown > 0) {
    chart.warnings.push_back(
        {"predict-no-shapes",
         fmt::format("{} of {} kernels ({:.1f} % of the time) have no prediction, because the "
                     "profile does not give their shapes{}",
                     unknown, chart.points.size(), share * 100,
                     step ? "" : "; --model names the model that was profiled")});
  }
  return {};
}

}  // namespace rooftile::app
