// SPDX-License-Identifier: Apache-2.0
#include "calibration/tile_report.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "calibration/fit_neusight.h"
#include "calibration/selection.h"
#include "cost/learned/chip.h"
#include "cost/learned/classes.h"
#include "cost/learned/gemm_form.h"

namespace rooftile::calibration {

namespace {

using namespace cost::learned;
using cost::neusight::TileTable;

/// One product on a left-out GPU, ready to be timed with any tile.
struct Query {
  traffic::ProductWork problem;
  Chip chip;
  const GemmModel* model = nullptr;
  double plateau = 1;

  [[nodiscard]] double seconds(GemmTile tile) const {
    const GemmTime time = best_cut(problem, chip, *model, {&tile, 1}, plateau);
    return std::max(model->parameters.floor, time.seconds + model->parameters.host);
  }
};

std::optional<Query> query_of(const Sample& sample, const hardware::Machine& machine,
                              const Weights& weights) {
  const auto* shape = std::get_if<ops::GemmShape>(&sample.work.shape);
  const DeviceModel* device = find_model(machine.gpu, weights);
  if (shape == nullptr || device == nullptr) return std::nullopt;
  const auto& model =
      sample.work.kind == ops::KernelClass::BatchedGemm ? device->bmm : device->gemm;
  const auto units = machine.best_units(sample.work.compute, sample.work.matrix);
  if (!model || !units) return std::nullopt;
  const cost::Job job = *cost::bind(sample.work, machine);  // checked when read
  Query query{.problem = traffic::product_work(sample.work, *shape),
              .chip = chip_of(job, machine, weights),
              .model = &*model};
  query.plateau =
      plateau(machine.gpu, {.peak = query.chip.peak, .key = *units, .measured_ceiling = false},
              model->plateau, weights);
  return query;
}

void add(TileChoice& sum, GemmTile choice, const Sample& sample, const Query& query) {
  const GemmTile launched = *sample.tile;
  const double time = query.seconds(choice);
  sum.exact += choice == launched ? 1 : 0;
  sum.same_area += choice.along_m * choice.along_n == launched.along_m * launched.along_n ? 1 : 0;
  sum.shift += std::fabs(time / query.seconds(launched) - 1);
  sum.error += std::fabs(time / sample.measured - 1);
}

void divide(TileChoice& sum, double rows) {
  sum.exact /= rows, sum.same_area /= rows, sum.shift /= rows, sum.error /= rows;
}

/// Products with a named tile of one GPU, class and precision.
Samples queries(const Dataset& dataset, std::uint32_t gpu, std::string_view name) {
  Samples found;
  for (const Sample& s : dataset.samples) {
    if (s.gpu == gpu && s.tile && class_of(s.work) == name) found.push_back(&s);
  }
  return without_disagreements(dataset, found);
}

/// What the rival knows: all products of the class on the other GPUs of the vendor.
TileTable other_gpus(const Dataset& dataset, std::uint32_t gpu, std::string_view name) {
  Samples found;
  for (const Sample& s : dataset.samples) {
    const bool kin = dataset.machines[s.gpu].gpu.vendor == dataset.machines[gpu].gpu.vendor;
    if (s.gpu != gpu && kin && class_of(s.work) == name) found.push_back(&s);
  }
  return tile_table(dataset, found);
}

void compare_gpu(const Dataset& dataset, std::uint32_t gpu, const Weights& weights,
                 const Samples& samples, const TileTable& table,
                 std::span<TileAgreement* const> groups) {
  const hardware::Machine& machine = dataset.machines[gpu];
  for (const Sample* s : samples) {
    const auto query = query_of(*s, machine, weights);
    const auto nearest =
        nearest_tile(table, cost::neusight::shape_numbers(s->work),
                     cost::neusight::device_numbers(*cost::bind(s->work, machine), machine.gpu));
    if (!query || !nearest) continue;
    const GemmTile ours =
        gemm_time(query->problem, query->chip, *query->model, machine.gpu, weights, query->plateau)
            .tile;
    for (TileAgreement* group : groups) {
      ++group->rows;
      add(group->ours, ours, *s, *query);
      add(group->nearest, {.along_n = nearest->n, .along_m = nearest->m}, *s, *query);
      group->launched_error += std::fabs(query->seconds(*s->tile) / s->measured - 1);
    }
  }
}

}  // namespace

std::vector<TileAgreement> compare_tiles(const Dataset& dataset, const Fits& fits,
                                         const TileReportOptions& options) {
  std::vector<TileAgreement> report;
  for (const std::string_view name : {"linear", "bmm"}) {
    TileAgreement all;
    all.group = name;
    std::vector<TileAgreement> each;
    for (std::uint32_t gpu = 0; gpu < fits.without.size(); ++gpu) {
      const Samples samples = thin(queries(dataset, gpu, name), options.rows, options.seed);
      const TileTable table = other_gpus(dataset, gpu, name);
      TileAgreement& own = each.emplace_back();
      own.group = all.group + "/" + dataset.machines[gpu].gpu.id;
      const std::array groups{&all, &own};
      compare_gpu(dataset, gpu, fits.without[gpu], samples, table, groups);
    }
    each.insert(each.begin(), all);
    for (TileAgreement& group : each) {
      if (group.rows == 0) continue;
      const auto rows = static_cast<double>(group.rows);
      divide(group.ours, rows);
      divide(group.nearest, rows);
      group.launched_error /= rows;
      report.push_back(group);
    }
  }
  return report;
}

}  // namespace rooftile::calibration
