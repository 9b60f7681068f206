// SPDX-License-Identifier: Apache-2.0
#include "calibration/neighbours.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "cost/learned/gemm_form.h"

namespace rooftile::calibration {

namespace {

using namespace cost::learned;

/// log(measured / form) of the time on the GPU; nothing where the host hides it.
std::optional<double> residual(const FitData& data, const Sample& s, const GemmModel& model) {
  constexpr double kClear = 2;  // times the host's part
  const hardware::Machine& machine = data.dataset.machines[s.gpu];
  const auto units = machine.best_units(s.work.compute, s.work.matrix);
  if (!units) return std::nullopt;
  const cost::Job job = *cost::bind(s.work, machine);  // checked when read
  const Chip chip = clocked(chip_of(job, machine, data.weights), model);
  const double level =
      plateau(machine.gpu, {.peak = chip.peak, .key = *units, .measured_ceiling = false},
              model.plateau, data.weights);
  const auto& shape = std::get<ops::GemmShape>(s.work.shape);
  const double form = gemm_time(traffic::product_work(s.work, shape, s.copies), chip, model,
                                machine.gpu, data.weights, level)
                          .seconds;
  const GemmParameters& p = model.parameters;
  const double measured = s.measured - p.host;
  if (form < kClear * p.host || form + p.host < p.floor || measured <= 0) return std::nullopt;
  constexpr double kLargest = 1;  // beyond a factor of e it is an accident
  return std::clamp(std::log(measured / form), -kLargest, kLargest);
}

/// Rows of one cell of the grid count as one shape.
struct Cell {
  double residual = 0;
  double rows = 0;
};

ShapePoint cell_of(const Sample& s, const cost::NeighbourConstants& constants) {
  ShapePoint at = shape_point(std::get<ops::GemmShape>(s.work.shape), constants);
  for (float& x : at) x = std::round(x * kCellsPerOctave) / kCellsPerOctave;
  return at;
}

}  // namespace

Neighbours measured_neighbours(const FitData& data, const GemmModel& model) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<double>> levels;
  std::vector<std::optional<double>> residuals;
  for (const Sample* s : data.samples) {
    residuals.push_back(residual(data, *s, model));
    if (residuals.back()) levels[{s->gpu, s->campaign}].push_back(*residuals.back());
  }
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> medians;
  for (auto& [campaign, values] : levels) medians[campaign] = median(std::move(values));

  std::map<std::string, std::map<ShapePoint, Cell>> cells;
  for (std::size_t i = 0; i < residuals.size(); ++i) {
    if (!residuals[i]) continue;
    const Sample& s = *data.samples[i];
    Cell& cell =
        cells[data.dataset.machines[s.gpu].gpu.isa][cell_of(s, data.weights.constants.neighbours)];
    cell.residual += *residuals[i] - medians.at({s.gpu, s.campaign});
    cell.rows += 1;
  }
  Neighbours neighbours;
  for (const auto& [isa, list] : cells) {
    std::vector<Neighbour> found;
    for (const auto& [at, cell] : list)
      found.push_back({.at = at, .residual = static_cast<float>(cell.residual / cell.rows)});
    // What is used is what the file will hold: sorted and rounded.
    neighbours.of[isa] = *decode_neighbours(encode_neighbours(std::move(found)));
  }
  return neighbours;
}

}  // namespace rooftile::calibration
