// SPDX-License-Identifier: Apache-2.0
#include "calibration/validate_counters.h"

#include <fmt/format.h>

#include "core/provenance.h"
#include "core/text.h"

namespace rooftile::calibration {

namespace {

std::vector<ValidationCell> cells_of(const ErrorSummary& s) {
  const auto percent = [](double value) {
    return ValidationCell(fmt::format("{:.1f}", 100 * value), {100 * value});
  };
  const auto bound = s.baseline("bound");
  return {s.group,
          ValidationCell::count(s.cases),
          percent(s.mean_error),
          percent(s.median_error),
          percent(s.geometric_error),
          percent(s.p90_error),
          ValidationCell(fmt::format("{:+.1f}", 100 * s.bias), {100 * s.bias}),
          bound ? percent(*bound) : ValidationCell("-")};
}

/// The bytes of the predicted kernel next to the counted ones, at both levels.
void compare_bytes(const CountedKernel& row, const Dataset& dataset,
                   const cost::Predictor& predictor, ComparedBytes& bytes) {
  const hardware::Machine& machine = dataset.machines[row.gpu];
  const cost::Job job = *cost::bind(row.work, machine);  // checked when read
  const traffic::Traffic predicted = predictor.estimate(job, machine).traffic;
  const double compulsory = (row.work.read + row.work.written).base();
  EvaluatedBytes one{.device = dataset.devices[row.gpu],
                     .name = fmt::format("{} {}", row.work.op, shape_text(row.work.shape)),
                     .model = "predicted",
                     .group = fmt::format("{} {}", row.group, name_of(row.work.dtype)),
                     .level = "l2",
                     .measured_bytes = row.l2.base(),
                     .predicted_bytes = predicted.l2.base()};
  bytes.add(one, compulsory);
  one.level = "dram";
  one.measured_bytes = row.dram.base();
  one.predicted_bytes = predicted.dram().base();
  bytes.add(std::move(one), compulsory);
}

}  // namespace

ValidationTable validate_counters(const Dataset& dataset, const cost::Predictor& predictor) {
  ComparedBytes bytes;
  for (const CountedKernel& row : dataset.counted) compare_bytes(row, dataset, predictor, bytes);
  ValidationTable table;
  table.predictor = predictor.name();
  table.title = "Bytes of the predicted kernels against counters, error %";
  table.columns = {"group", "n", "mean", "median", "geometric", "p90", "bias", "compulsory"};
  std::move(bytes).finish(table);
  for (const ErrorSummary& s : table.summary) table.rows.push_back(cells_of(s));
  table.skipped = dataset.skipped;
  if (dataset.skipped > 0)
    table.notes.push_back(
        fmt::format("{} rows are not forward passes and were skipped.", dataset.skipped));
  std::vector<Input> inputs = predictor.inputs();
  add_inputs(inputs_of(dataset), inputs);
  table.provenance = make_provenance(inputs);
  return table;
}

}  // namespace rooftile::calibration
