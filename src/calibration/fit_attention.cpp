// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit_attention.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "cost/learned/attention_form.h"

namespace rooftile::calibration {

namespace {

using cost::learned::AttentionCut;
using cost::learned::AttentionModel;
using cost::learned::AttentionParameters;
using Field = double AttentionParameters::*;

std::vector<Field> told_by(std::string_view name) {
  using P = AttentionParameters;
  if (name == "prefill") return {&P::products, &P::exponentials, &P::tile, &P::start, &P::cache};
  return {&P::tile, &P::block, &P::start, &P::split, &P::part, &P::memory};
}

/// The other numbers: what a kernel loads is hidden behind its products when it has many queries.
AttentionParameters before_the_fit(std::string_view name) {
  auto p = cost::starting<AttentionParameters>();
  if (name == "prefill") p.block = p.split = p.part = 0;
  if (name == "decode") p.cache = 0;
  return p;
}

const std::string& family_of(const FitData& data, const Sample& sample) {
  static const std::string kUnknown;
  const auto& kernels = data.dataset.machines[sample.gpu].gpu.arch.library.attention;
  return kernels ? kernels->family : kUnknown;
}

/// Sorted, without the unknown one.
std::vector<std::string> families_in(const FitData& data) {
  std::set<std::string> names;
  for (const Sample* s : data.samples) names.insert(family_of(data, *s));
  names.erase("");
  return {names.begin(), names.end()};
}

/// The common numbers in logarithms, then each family's distance from them.
struct Vector {
  std::vector<Field> fields;
  AttentionParameters start;

  /// Of family `index`; of none with `index` = -1.
  [[nodiscard]] AttentionParameters at(std::span<const double> x, std::ptrdiff_t index) const {
    AttentionParameters p = start;
    const std::size_t count = fields.size();
    for (std::size_t i = 0; i < count; ++i) {
      double value = x[i];
      if (index >= 0) value += x[count * static_cast<std::size_t>(index + 1) + i];
      p.*fields[i] = std::exp(value);
    }
    return p;
  }
};

struct Row {
  AttentionCut cut;
  std::ptrdiff_t family = -1;
  bool warm = false;
  double measured = 0;
};

std::vector<Row> rows_of(const FitData& data, const std::vector<std::string>& families) {
  std::vector<Row> rows;
  for (const Sample* s : data.samples) {
    const hardware::Machine& machine = data.dataset.machines[s->gpu];
    const auto& shape = std::get<ops::AttentionShape>(s->work.shape);
    const auto found = std::find(families.begin(), families.end(), family_of(data, *s));
    const cost::Job job = *cost::bind(s->work, machine);  // checked when read
    rows.push_back({.cut = cut_attention(job, shape, chip_for(data, *s), machine.gpu,
                                         data.weights.constants.clock),
                    .family = found == families.end() ? -1 : found - families.begin(),
                    .warm = data.dataset.campaigns[s->campaign] == kWarmCampaign,
                    .measured = s->measured});
  }
  return rows;
}

}  // namespace

std::size_t attention_size(const FitData& data, std::string_view name) {
  return told_by(name).size() * (1 + families_in(data).size());
}

LeastSquaresResult fit_attention(const FitData& data, std::string_view name) {
  const Groups groups = group(data.samples);
  const std::vector<std::string> families = families_in(data);
  const Vector vector{.fields = told_by(name), .start = before_the_fit(name)};
  const std::vector<Row> rows = rows_of(data, families);
  const bool prefill = name == "prefill";
  // Chosen on left-out GPUs: a family is within a factor of exp(0.4) of the others.
  constexpr double kFamilySpread = 0.4;
  // One GPU cannot tell what it attains of the bandwidth from what its SMs load: that is held harder.
  constexpr double kMemorySpread = 0.02;
  constexpr double kFamilyMemorySpread = 0.05;
  LeastSquares problem;
  problem.scale = 0.1;
  problem.max_iterations = 60;
  for (const Field field : vector.fields) problem.start.push_back(std::log(vector.start.*field));
  problem.spread.assign(vector.fields.size(), 2.0);
  problem.start.resize(attention_size(data, name), 0.0);
  problem.spread.resize(problem.start.size(), kFamilySpread);
  for (std::size_t i = 0; i < problem.spread.size(); ++i) {
    if (vector.fields[i % vector.fields.size()] != &AttentionParameters::memory) continue;
    problem.spread[i] = i < vector.fields.size() ? kMemorySpread : kFamilyMemorySpread;
  }
  problem.shared = problem.start.size();
  problem.prior = kPriorStrength * std::sqrt(static_cast<double>(rows.size()));
  problem.group = groups.of;
  problem.residuals = [&](std::span<const double> x, std::span<double> r) {
    std::vector<AttentionParameters> p;
    for (std::ptrdiff_t f = -1; f < std::ssize(families); ++f) p.push_back(vector.at(x, f));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const AttentionParameters& own = p[static_cast<std::size_t>(rows[i].family + 1)];
      const Row& row = rows[i];
      const double cache = prefill ? cache_seconds(row.cut, own, row.warm) : 0.0;
      const double t = attention_time(row.cut, own, row.warm).time().base() + cache;
      r[i] = groups.weight[i] * relative(t, row.measured);
    }
  };
  return minimize(problem);
}

AttentionModel apply_attention(const std::vector<double>& x, const FitData& data,
                               std::string_view name) {
  const Vector vector{.fields = told_by(name), .start = before_the_fit(name)};
  AttentionModel model{.common = vector.at(x, -1), .families = {}};
  std::ptrdiff_t index = 0;
  for (const std::string& family : families_in(data))
    model.families[family] = vector.at(x, index++);
  return model;
}

}  // namespace rooftile::calibration
