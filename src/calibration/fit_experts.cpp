// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit_experts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "calibration/fit_forms.h"
#include "calibration/rules.h"
#include "cost/learned/gemm_form.h"
#include "cost/learned/learned.h"
#include "ops/moe.h"

namespace rooftile::calibration {

namespace {

using namespace cost::learned;

constexpr std::string_view kFitted = "bf16";
constexpr std::string_view kUnpermute = "moe_unpermute";

/// What the rows tell; the other numbers stay those of dense products.
struct ExpertField {
  double GemmParameters::* field;
  double spread;
  double most;
};
constexpr double kAny = 1e9;
constexpr std::array kExpertFields{ExpertField{&GemmParameters::depth, 1.0, kAny},
                                   ExpertField{&GemmParameters::more_waves, 1.0, kAny},
                                   ExpertField{&GemmParameters::small_tile, 0.5, 1},
                                   ExpertField{&GemmParameters::l2, 0.3, 1},
                                   ExpertField{&GemmParameters::dram, 0.1, 1}};

struct Layer {
  const FusedLayer* row = nullptr;
  Chip chip;
  std::vector<std::vector<GemmCandidate>> products;  ///< the cuts of each
  double others = 0;                                 ///< seconds of its other kernels
};

/// A part of the layers of every GPU.
std::vector<const FusedLayer*> thinned(const Dataset& dataset,
                                       std::optional<std::uint32_t> left_out) {
  constexpr std::size_t kRows = 300;
  std::map<std::uint32_t, std::vector<const FusedLayer*>> layers;
  for (const FusedLayer& layer : dataset.layers) {
    if (layer.gpu != left_out && layer.campaign == kFitted) layers[layer.gpu].push_back(&layer);
  }
  std::vector<const FusedLayer*> kept;
  for (const auto& [gpu, list] : layers) {
    const std::size_t stride = (list.size() + kRows - 1) / kRows;
    for (std::size_t i = 0; i < list.size(); i += stride) kept.push_back(list[i]);
  }
  return kept;
}

std::vector<GemmCandidate> cuts_of(const ops::KernelWork& work, const Chip& chip,
                                   const GemmModel& model) {
  const auto& shape = std::get<ops::GemmShape>(work.shape);
  const traffic::ProductWork problem = traffic::product_work(work, shape, 1);
  std::vector<GemmCandidate> cuts;
  TilesOf(shape, model.tiles).visit([&](GemmTile tile) {
    cuts.push_back(cut_gemm(problem, chip, tile, 1));
  });
  return cuts;
}

std::vector<Layer> layers_of(const Dataset& dataset, std::optional<std::uint32_t> left_out,
                             const GemmModel& start, const Weights& weights) {
  const auto predictor = make_learned(weights);
  std::vector<Layer> layers;
  for (const FusedLayer* row : thinned(dataset, left_out)) {
    const hardware::Machine& machine = dataset.machines[row->gpu];
    cost::Estimator estimator = predictor->on(machine);
    Layer& layer = layers.emplace_back();
    layer.row = row;
    for (const ops::KernelWork& work : row->kernels) {
      cost::Job job = *cost::bind(work, machine);  // checked when read
      job.copies = 1;
      if (work.op == ops::ExpertLinear::kName) {
        layer.chip = clocked(chip_of(job, machine, weights), start);
        layer.products.push_back(cuts_of(work, layer.chip, start));
      } else {
        layer.others += estimator.estimate(job).time.base();
      }
    }
  }
  return layers;
}

/// Logarithms of the shared numbers, of the call, then of each GPU's level.
struct ExpertVector {
  GemmParameters start;
  [[nodiscard]] GemmParameters parameters(std::span<const double> x) const {
    GemmParameters p = start;
    for (std::size_t i = 0; i < kExpertFields.size(); ++i)
      p.*kExpertFields[i].field = std::min(std::exp(x[i]), kExpertFields[i].most);
    return p;
  }
  static double call(std::span<const double> x) { return std::exp(x[kExpertFields.size()]); }
  static double level(std::span<const double> x, std::size_t group) {
    return std::exp(x[kExpertFields.size() + 1 + group]);
  }
};

double modelled(const Layer& layer, const GemmParameters& p, double call, double level) {
  double seconds = layer.others + call * layer.chip.slower_clock;
  for (const auto& cuts : layer.products) {
    double best = std::numeric_limits<double>::infinity();
    for (const GemmCandidate& cut : cuts)
      best = std::min(best, gemm_seconds(cut, layer.chip, p, level, best));
    seconds += best;
  }
  return seconds;
}

LeastSquaresResult fit_layers(const std::vector<Layer>& layers,
                              const std::vector<std::size_t>& groups, std::size_t gpus,
                              const ExpertVector& vector) {
  constexpr double kCall = 30e-6;
  constexpr double kLevel = 0.4;
  LeastSquares problem;
  problem.shared = kExpertFields.size() + 1;
  problem.group = groups;
  problem.max_iterations = 60;
  for (const ExpertField& field : kExpertFields) {
    problem.start.push_back(std::log(vector.start.*field.field));
    problem.spread.push_back(field.spread);
  }
  problem.start.push_back(std::log(kCall));
  problem.spread.push_back(2.0);
  problem.start.resize(problem.shared + gpus, kLevel);
  problem.prior = kPriorStrength * std::sqrt(static_cast<double>(layers.size()));
  problem.residuals = [&](std::span<const double> x, std::span<double> r) {
    const GemmParameters p = vector.parameters(x);
    for (std::size_t i = 0; i < layers.size(); ++i)
      r[i] =
          relative(modelled(layers[i], p, ExpertVector::call(x), ExpertVector::level(x, groups[i])),
                   layers[i].row->measured);
  };
  return minimize(problem);
}

}  // namespace

void fit_experts(const Dataset& dataset, std::optional<std::uint32_t> left_out, Weights& weights) {
  const auto model = weights.models.find("nvidia");
  if (model == weights.models.end() || !model->second.pointwise) return;
  const GemmPlan plan = experts_plan();
  const std::vector<Layer> layers = layers_of(dataset, left_out, plan.start, weights);
  if (layers.size() < kEnoughRows) return;
  std::map<std::uint32_t, std::size_t> index;
  std::vector<std::size_t> groups;
  for (const Layer& layer : layers)
    groups.push_back(index.try_emplace(layer.row->gpu, index.size()).first->second);
  const ExpertVector vector{.start = plan.start.parameters};
  const std::vector<double> x = fit_layers(layers, groups, index.size(), vector).x;
  GemmModel experts = plan.start;
  experts.parameters = vector.parameters(x);
  for (const auto& [gpu, group] : index)
    experts.plateau.measured[dataset.machines[gpu].gpu.id] = ExpertVector::level(x, group);
  set_plateau_rule(dataset, plan, Units::Tensor16, nullptr, weights, experts.plateau);
  // One compiler makes them for all: how a library feeds the units says nothing about them.
  experts.plateau.kappa.clear();
  model->second.experts = std::move(experts);
  model->second.pointwise->call[std::string(kUnpermute)] = ExpertVector::call(x);
}

}  // namespace rooftile::calibration
