// SPDX-License-Identifier: Apache-2.0
#include "study/roofline_predict.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <string_view>

#include "aggregate/communication.h"
#include "core/number_of.h"
#include "core/provenance.h"
#include "core/text.h"
#include "cost/predictor.h"
#include "hardware/system.h"
#include "ops/any_op.h"
#include "profile/shapes.h"
#include "report/make.h"
#include "study/model_match.h"
#include "study/predict.h"
#include "traffic/traffic.h"

namespace rooftile::study {

namespace {

using profile::KernelRecord;

constexpr double kDepthTolerance = 0.75;  ///< of k: an epilogue adds a FLOP or so per output

/// Why a kernel has no prediction, in the order in which the conditions are looked at.
enum class Lack : std::uint8_t {
  NotAProduct,
  Operator,
  Convolution,
  Tile,
  Grid,
  Flops,
  Depth,
  Rate,
  Link
};
constexpr std::array<std::string_view, 9> kLacks{
    "are not matrix products or convolutions",
    "fit no operator of the model, or several",
    "are convolutions, whose shapes only --model tells",
    "name no tile",
    "come without their grid",
    "come without complete FLOP counters (traces: record_shapes=True tells shapes too)",
    "have FLOPs that fit no depth of the product",
    "use a number format without a rate on this GPU",
    "exchange data with more GPUs than the links of this one join"};

/// The prediction of several launches grows by those of one shape.
struct Sum {
  roofline::Prediction total;
  std::set<std::string> shapes, names;
  bool in_order = true;
  Seconds longest;

  /// `share` of the operator's work is done by these launches.
  void add(const OperatorReport& op, double share = 1.0) {
    const auto ms = [share](double value) { return Seconds::from_base(value * 1e-3 * share); };
    total.time += ms(op.latency_ms);
    total.low += ms(op.low_ms);
    total.high += ms(op.high_ms);
    total.flops += Flops::from_base(op.flops * share);
    total.bytes[0] += Bytes::from_base(op.traffic.l1 * share);
    total.bytes[1] += Bytes::from_base(op.traffic.l2 * share);
    total.bytes[2] += Bytes::from_base(op.traffic.dram * share);
    if (ms(op.latency_ms) > longest) {
      longest = ms(op.latency_ms);
      total.limiter = op.limiter;
      total.rate = op.rate;
      total.algorithm = op.algorithm;
    }
    shapes.insert(op.shape);
  }

  roofline::Prediction finish(std::string match) {
    total.match = std::move(match);
    total.shape = shapes.size() == 1 ? *shapes.begin() : fmt::format("{} shapes", shapes.size());
    return std::move(total);
  }
};

/// Launches that are alike; an export that does not list launches is taken as one group.
std::vector<const KernelRecord*> groups_of(const KernelRecord& record) {
  std::vector<const KernelRecord*> out;
  for (const KernelRecord& group : record.groups) out.push_back(&group);
  if (out.empty()) out.push_back(&record);
  return out;
}

/// The number format that did most of the FLOPs.
DType main_dtype(const KernelRecord& record) {
  const auto most = std::max_element(
      record.flops_by.begin(), record.flops_by.end(),
      [](const auto& a, const auto& b) { return a.second.base() < b.second.base(); });
  return most == record.flops_by.end() ? DType::Fp32 : most->first.dtype;
}

std::optional<ops::KernelWork> product_work(const KernelRecord& group,
                                            const ops::GemmShape& shape) {
  const ops::AnyOp product =
      ops::BatchedMatmul{.batch = shape.batch, .m = shape.m, .n = shape.n, .k = shape.k};
  if (!ops::check(product)) return std::nullopt;
  ops::KernelList works;
  ops::forward(product, {.precision = ops::precision_of(main_dtype(group))}, works);
  if (works.size() != 1) return std::nullopt;
  return std::move(works.front());
}

bool has_traced_work(const KernelRecord& group) {
  return group.traced && group.traced->work.bytes().base() > 0.0;
}

/// The operator that a trace shows, with the arithmetic that the kernel's name tells.
ops::KernelWork traced_work(const KernelRecord& group) {
  ops::KernelWork work = group.traced->work;
  if (work.matrix) work.compute = profile::traced_units(work, group.name).dtype;
  return work;
}

std::optional<OperatorReport> predict_gemm(const KernelRecord& group, const ops::GemmShape& shape,
                                           const hardware::Machine& machine,
                                           const cost::Predictor& predictor) {
  const auto work = product_work(group, shape);
  if (!work) return std::nullopt;
  const auto job = cost::bind(*work, machine);
  if (!job) return std::nullopt;  // the machine states no rate of this number format
  const execution::Launch kernel{.name = group.name, .count = group.launches, .work = *work};
  cost::Estimate estimate = predictor.estimate(*job, machine);
  if (const auto tile = tile_of(group.name); tile && group.grid) {
    // The launch tells its tile, and so its bytes; the predictor only knows which one is likely.
    estimate.plan.tile_m = tile->m;
    estimate.plan.tile_n = tile->n;
    estimate.plan.split_k = 1;
    estimate.plan.tiles = (*group.grid)[0] * (*group.grid)[1] * (*group.grid)[2];
    estimate.traffic = traffic::model(*work, estimate.plan, machine.gpu);
  }
  return report::make_operator({.kernel = kernel, .estimate = estimate}, machine);
}

Lack lack_of_name(const KernelRecord& group) {
  const auto kind = product_kind(group.name);
  if (!kind) return Lack::NotAProduct;
  if (*kind != ProductKind::Gemm) return Lack::Convolution;
  if (!tile_of(group.name)) return Lack::Tile;
  if (!group.grid) return Lack::Grid;
  if (!group.flops || !group.flops_complete) return Lack::Flops;
  return Lack::Depth;
}

/// What the shapes are predicted for.
struct Target {
  const hardware::Machine& machine;
  const cost::Predictor& predictor;
  const Catalog& catalog;
};

/// Launches that move data between GPUs, over the links of a node of them; nothing where the GPU's
/// file states none.
std::optional<OperatorReport> predict_collective(const KernelRecord& group,
                                                 const ops::Collective& collective,
                                                 const Target& target) {
  const std::int64_t gpus = collective.gpus;
  const auto system = hardware::system_of(target.catalog, target.machine.gpu, gpus);
  if (!system) return std::nullopt;
  const auto link = hardware::link_of(*system, {.size = gpus, .stage = gpus, .total = gpus});
  if (!link) return std::nullopt;
  const aggregate::TransferTime time =
      aggregate::exchange(collective, *link,
                          cost::links_of(target.machine, target.predictor.constants().links)) *
      static_cast<double>(group.launches);
  OperatorReport op;
  op.shape = fmt::format("{} x {}", number_of(gpus, "GPU"), format_bytes(collective.bytes));
  op.latency_ms = to_ms(time.time);
  op.low_ms = to_ms(time.low);
  op.high_ms = to_ms(time.high);
  op.limiter = "link";
  op.flops = group.traced->work.flops.base() * static_cast<double>(group.launches);
  op.traffic.dram = group.traced->work.bytes().base() * static_cast<double>(group.launches);
  return op;
}

/// One group of launches, or the reason why not.
std::optional<OperatorReport> predict_traced(const KernelRecord& group, const Target& target,
                                             Lack& lack) {
  if (group.traced->collective) {
    auto op = predict_collective(group, *group.traced->collective, target);
    if (!op) lack = Lack::Link;
    return op;
  }
  const ops::KernelWork work = traced_work(group);
  const auto job = cost::bind(work, target.machine);
  if (!job) {
    lack = Lack::Rate;
    return std::nullopt;
  }
  const execution::Launch kernel{.name = group.name, .count = group.launches, .work = work};
  return report::make_operator(
      {.kernel = kernel, .estimate = target.predictor.estimate(*job, target.machine)},
      target.machine);
}

/// The launches whose operators a trace shows with their shapes, whatever the kernel's name is.
std::optional<roofline::Prediction> by_trace(const KernelRecord& record, const Target& target,
                                             Lack& lack) {
  Sum sum;
  std::int64_t launches = 0;
  Seconds measured;
  for (const KernelRecord& group : record.groups) {
    if (!has_traced_work(group)) continue;
    const auto op = predict_traced(group, target, lack);
    if (!op) continue;
    sum.add(*op, group.traced->share);
    sum.names.insert(group.traced->operation);
    launches += group.launches;
    measured += group.time.value_or(Seconds{});
  }
  if (launches == 0) return std::nullopt;
  std::string match = *sum.names.begin();
  if (sum.names.size() > 1) match += fmt::format(" and {} more", sum.names.size() - 1);
  auto prediction = sum.finish(match + ", shapes of the trace");
  prediction.launches = launches;
  prediction.measured = measured;
  return prediction;
}

/// All launches from tile, grid and FLOPs, or the reason why not.
std::optional<roofline::Prediction> by_name(const KernelRecord& record,
                                            const hardware::Machine& machine,
                                            const cost::Predictor& predictor, Lack& lack) {
  Sum sum;
  for (const KernelRecord* group : groups_of(record)) {
    const auto shape = gemm_shape_of(*group);
    if (!shape) {
      lack = lack_of_name(*group);
      return std::nullopt;
    }
    const auto op = predict_gemm(*group, *shape, machine, predictor);
    if (!op) {
      lack = Lack::Rate;
      return std::nullopt;
    }
    sum.add(*op);
  }
  return sum.finish("tile and grid");
}

/// All launches as operators of the model, or nothing.
std::optional<roofline::Prediction> by_model(const KernelRecord& record,
                                             const std::map<std::int64_t, Match>& matches,
                                             const hardware::Machine& machine) {
  if (record.groups.empty()) return std::nullopt;
  Sum sum;
  std::map<const aggregate::OperatorEstimate*, std::int64_t> launches;
  for (const KernelRecord& group : record.groups) {
    for (const std::int64_t ordinal : group.ordinals) {
      const auto found = matches.find(ordinal);
      if (found == matches.end()) return std::nullopt;
      launches[found->second.op] += 1;
      sum.in_order = sum.in_order && found->second.in_order;
    }
  }
  for (const auto& [op, count] : launches) {
    aggregate::OperatorEstimate repeated = *op;
    repeated.kernel.count = count;
    sum.add(report::make_operator(repeated, machine));
    sum.names.insert(op->kernel.name);
  }
  std::string match = *sum.names.begin();
  if (sum.names.size() > 1) match += fmt::format(" and {} more", sum.names.size() - 1);
  return sum.finish(match + (sum.in_order ? ", by order" : ", by grid and FLOPs"));
}

/// Operators of the launches of each run; every run repeats the same step.
std::map<std::string, std::map<std::int64_t, Match>> match_runs(
    const roofline::Chart& chart, const std::vector<aggregate::OperatorEstimate>& step) {
  std::map<std::string, std::vector<const KernelRecord*>> runs;
  for (const roofline::Point& point : chart.points) {
    runs[point.phase].push_back(&point.record);
  }
  std::map<std::string, std::map<std::int64_t, Match>> out;
  for (const auto& [label, records] : runs) out[label] = match_step(records, step);
  return out;
}

std::string reasons(const std::map<Lack, std::size_t>& lacks) {
  std::string text;
  for (const auto& [lack, count] : lacks) {
    text += fmt::format("{}{} {}", text.empty() ? "" : "; ", count,
                        kLacks[static_cast<std::size_t>(lack)]);
  }
  return text;
}

bool is_plain_gemm(std::string_view name) {
  return product_kind(name) == ProductKind::Gemm &&
         to_lower(name).find("cudnn") == std::string::npos;
}

}  // namespace

std::optional<ops::GemmShape> gemm_shape_of(const KernelRecord& record) {
  if (record.from_shapes || !is_plain_gemm(record.name) || !record.grid || !record.flops ||
      !record.flops_complete || record.launches < 1) {
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

std::optional<ops::KernelWork> launched_work(const KernelRecord& group) {
  if (group.traced && group.traced->collective) return std::nullopt;
  if (has_traced_work(group)) return traced_work(group);
  const auto shape = gemm_shape_of(group);
  return shape ? product_work(group, *shape) : std::nullopt;
}

Result<std::vector<Input>> predict_kernels(const PredictKernels& request, const Session& session,
                                           roofline::Chart& chart) {
  if (!request.machine) {
    chart.warnings.push_back({"predict-no-gpu",
                              "nothing is predicted: the exports do not name a GPU of the "
                              "catalogue; state it with --gpu"});
    return std::vector<Input>{};
  }
  const hardware::Machine& machine = *request.machine;
  ROOFTILE_TRY(const auto predictor, session.predictor({}));
  EstimatedKernels step;
  const bool modelled = !request.step.model.empty();
  if (modelled) {
    // Profiles are of eager FP32 steps unless somebody says otherwise.
    Request profiled = request.step;
    if (profiled.dtype == "auto") profiled.dtype = "fp32";
    if (profiled.stack == "auto") profiled.stack = "eager";
    ROOFTILE_TRY(step, estimate_kernels(profiled, {}, machine, session, *predictor));
    for (std::string& note : step.notes) chart.warnings.push_back({"model", std::move(note)});
  }
  const auto matches = match_runs(chart, step.operators);
  std::map<Lack, std::size_t> lacks;
  std::size_t unknown = 0;
  double share = 0.0;
  for (roofline::Point& point : chart.points) {
    Lack lack = Lack::Operator;
    point.predicted = by_model(point.record, matches.at(point.phase), machine);
    if (!point.predicted) {
      point.predicted = by_trace(point.record, {machine, *predictor, session.catalog()}, lack);
    }
    if (!point.predicted) point.predicted = by_name(point.record, machine, *predictor, lack);
    if (point.predicted) {
      if (point.predicted->launches == 0) {
        point.predicted->launches = point.record.launches;
        point.predicted->measured = point.record.time;
      }
      point.predicted->above_roof = roofline::above_roof_reason(*point.predicted, chart.roofs);
      continue;
    }
    if (modelled && lack != Lack::NotAProduct) lack = Lack::Operator;
    ++lacks[lack];
    ++unknown;
    share += point.time_fraction;
  }
  if (unknown > 0) {
    chart.warnings.push_back(
        {"predict-no-shapes",
         fmt::format("no prediction for {} of {} ({:.1f} % of the time): {}{}", unknown,
                     number_of(chart.points.size(), "kernel"), share * 100, reasons(lacks),
                     modelled ? "" : "; --model names the model that was profiled")});
  }
  std::vector<Input> inputs = step.model;
  add_inputs(predictor->inputs(), inputs);
  return inputs;
}

}  // namespace rooftile::study
