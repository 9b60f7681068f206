// SPDX-License-Identifier: Apache-2.0
#include "cost/neusight/neusight.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <variant>

#include "core/integer.h"
#include "cost/learned/classes.h"
#include "cost/learned/learned.h"

namespace rooftile::cost::neusight {

namespace {

// FLOP per element as published.
constexpr double kSoftmaxFlop = 5, kNormFlop = 6, kVectorFlop = 1;

double sigmoid(double x) {
  return 1.0 / (1.0 + std::exp(-x));
}

/// Work of one whole tile, and of the kernel.
struct TileWork {
  double flops = 0, bytes = 0;
  double kernel_flops = 0;
};

TileWork product_tile(const ops::KernelWork& work, const ops::GemmShape& s,
                      mapping::TilePlan& plan) {
  const std::int64_t rows = ceil_div(s.m, plan.tile_m);
  const std::int64_t columns = ceil_div(s.n, plan.tile_n);
  plan.tiles = s.batch * rows * columns;
  const double m = real(plan.tile_m);
  const double n = real(plan.tile_n);
  const double k = real(s.k);
  const double size = size_of(work.dtype).base();
  return {.flops = 2 * m * n * k,
          .bytes = size * (m * k + k * n + m * n),
          .kernel_flops = 2 * real(s.batch) * real(s.m) * real(s.n) * k};
}

TileWork row_tile(const ops::KernelWork& work, const ops::RowShape& s, mapping::TilePlan& plan) {
  const bool whole_row =
      work.kind == ops::KernelClass::Softmax || work.kind == ops::KernelClass::Norm;
  const std::int64_t longest = whole_row ? s.columns : std::min(plan.tile_n, s.columns);
  plan.tile_m = 1;
  plan.tile_n = std::max<std::int64_t>(longest, 1);
  const std::int64_t pieces = ceil_div(s.columns, plan.tile_n);
  plan.tiles = s.rows * pieces;
  const double elements = real(s.rows) * real(s.columns);
  const double flop = work.kind == ops::KernelClass::Softmax ? kSoftmaxFlop
                      : work.kind == ops::KernelClass::Norm  ? kNormFlop
                                                             : kVectorFlop;
  return {.flops = flop * real(plan.tile_n),
          .bytes = work.bytes().base() / elements * real(plan.tile_n),
          .kernel_flops = flop * elements};
}

}  // namespace

std::optional<std::string_view> class_of(const ops::KernelWork& work) {
  switch (work.kind) {
    case ops::KernelClass::Gemm: return "linear";
    case ops::KernelClass::BatchedGemm: return "bmm";
    case ops::KernelClass::Pointwise: return "elementwise";
    case ops::KernelClass::Softmax: return "softmax";
    case ops::KernelClass::Norm: return "layernorm";
    case ops::KernelClass::Conv:
    case ops::KernelClass::Reduction:
    case ops::KernelClass::Gather:
    case ops::KernelClass::Move:
    case ops::KernelClass::Attention: break;
  }
  return std::nullopt;
}

bool covers(const ops::KernelWork& work) {
  return class_of(work) && work.dtype == DType::Fp32 && work.compute == DType::Fp32;
}

DeviceNumbers device_numbers(const Job& job, const hardware::GpuSpec& gpu) {
  return {job.roof.compute.base() * 1e-9, job.roof.dram.base() * 1e-9,
          gpu.dram.size.value_or(Bytes{}).base() * 1e-9, real(gpu.sm.count),
          gpu.l2.size.value_or(Bytes{}).base() * 1e-6};
}

std::array<double, 4> shape_numbers(const ops::KernelWork& work) {
  if (const auto* g = std::get_if<ops::GemmShape>(&work.shape))
    return {real(g->batch), real(g->m), real(g->n), real(g->k)};
  if (const auto* r = std::get_if<ops::RowShape>(&work.shape))
    return {real(r->rows), real(r->columns), 0, 0};
  return {};
}

std::optional<TileSize> nearest_tile(const TileTable& table, const std::array<double, 4>& shape,
                                     const DeviceNumbers& device) {
  std::vector<double> offsets;
  for (const DeviceNumbers& known : table.devices) {
    double sum = 0;
    for (std::size_t i = 0; i < known.size(); ++i)
      sum += (known[i] - device[i]) * (known[i] - device[i]);
    offsets.push_back(sum);
  }
  double least = std::numeric_limits<double>::infinity();
  std::optional<TileSize> best;
  for (const TileEntry& entry : table.entries) {
    double distance = offsets[entry.device];
    for (std::size_t i = 0; i < shape.size(); ++i)
      distance += (entry.shape[i] - shape[i]) * (entry.shape[i] - shape[i]);
    if (distance < least) least = distance, best = entry.tile;
  }
  return best;
}

TileSize choose_tile(const TileTable& table, const Job& job, const hardware::GpuSpec& gpu) {
  const auto nearest = nearest_tile(table, shape_numbers(job.work), device_numbers(job, gpu));
  if (nearest) return *nearest;
  const mapping::TilePlan plan = mapping::decompose(job.work, gpu);
  return {.m = plan.tile_m, .n = plan.tile_n};
}

Cut cut(const Job& job, const hardware::GpuSpec& gpu, TileSize tile) {
  Cut result;
  result.plan.tile_m = tile.m;
  result.plan.tile_n = tile.n;
  TileWork work;
  if (const auto* product = std::get_if<ops::GemmShape>(&job.work.shape))
    work = product_tile(job.work, *product, result.plan);
  else if (const auto* rows = std::get_if<ops::RowShape>(&job.work.shape))
    work = row_tile(job.work, *rows, result.plan);
  const std::int64_t sms = std::max<std::int64_t>(gpu.sm.count, 1);
  result.plan.concurrent = sms;
  result.waves = real(ceil_div(result.plan.tiles, sms));
  const double peak = job.roof.compute.base();
  const double bandwidth = job.roof.dram.base();
  const double intensity = work.kernel_flops / std::max(job.work.bytes().base(), 1.0);
  const double rate = std::min(peak, intensity * bandwidth);
  result.seconds = result.waves * real(sms) * work.flops / rate;
  const double moved = result.waves * real(sms) * work.bytes;
  const auto relative_to = [moved](const std::optional<Bytes>& size) -> std::optional<double> {
    if (!size || !(size->base() > 0)) return std::nullopt;
    return std::log2(moved / size->base());
  };
  result.features = {std::log2(work.flops * real(sms) / peak),
                     std::log2(work.bytes * real(sms) / bandwidth), relative_to(gpu.dram.size),
                     relative_to(gpu.l2.size)};
  return result;
}

double utilization(const std::array<double, kOutputs>& outputs, double waves, double least) {
  const double fraction = sigmoid(outputs[1]) - sigmoid(outputs[0]) / waves;
  return fraction > least ? fraction : least;
}

std::array<double, kFeatures> normalized(const Cut& cut, const ClassModel& model) {
  std::array<double, kFeatures> inputs{};
  for (std::size_t i = 0; i < kFeatures; ++i) {
    if (cut.features[i]) inputs[i] = (*cut.features[i] - model.mean[i]) / model.deviation[i];
  }
  return inputs;
}

namespace {

class NeuSightPredictor final : public Predictor {
 public:
  explicit NeuSightPredictor(Weights weights) : weights_(std::move(weights)) {}

 private:
  [[nodiscard]] const ClassModel* model_of(const Job& job, const hardware::GpuSpec& gpu) const {
    const auto name = class_of(job.work);
    if (!name) return nullptr;
    std::string key(name_of(gpu.vendor));
    key += '/';
    key += *name;
    const auto it = weights_.classes.find(key);
    return it == weights_.classes.end() ? nullptr : &it->second;
  }

  [[nodiscard]] Estimate do_estimate(const Job& job, const hardware::Machine& machine,
                                     MachineFacts& /*facts*/) const override {
    const ops::KernelWork& work = job.work;
    Estimate estimate;
    double seconds = 0;
    if (const ClassModel* model = model_of(job, machine.gpu)) {
      const Cut kernel = cut(job, machine.gpu, choose_tile(model->tiles, job, machine.gpu));
      const auto outputs = evaluate(model->network, normalized(kernel, *model));
      seconds = kernel.seconds / utilization(outputs, kernel.waves, model->least_utilization) *
                work.passes();
      estimate.plan = kernel.plan;
      // The method knows no depth of a step through k; the traffic of a tile depends on it.
      estimate.plan.tile_k = mapping::decompose(work, machine.gpu).tile_k;
      estimate.provenance = Provenance::Learned;
      estimate.extrapolated = !covers(work);
    } else {
      // Moves cost bytes / bandwidth. Convolutions, fused attention and vendors without networks
      // are outside the method: their roofline.
      seconds = learned::dram_roofline(job);
      estimate.plan = mapping::decompose(work, machine.gpu);
      estimate.provenance = Provenance::Analytical;
      estimate.extrapolated =
          work.kind != ops::KernelClass::Move && work.kind != ops::KernelClass::Gather;
    }
    estimate.traffic = traffic::model(work, estimate.plan, machine.gpu);
    // The method states a utilization of the roofline: no terms of its own, and no interval.
    set_time(work, job.roof, machine.gpu, learned::roofline_breakdown(job, seconds), estimate);
    return estimate;
  }
  [[nodiscard]] std::string_view do_name() const override { return weights_.name; }

  Weights weights_;
};

}  // namespace

std::unique_ptr<Predictor> make_neusight(Weights weights) {
  return std::make_unique<NeuSightPredictor>(std::move(weights));
}

}  // namespace rooftile::cost::neusight
