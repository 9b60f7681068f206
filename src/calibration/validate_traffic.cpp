// SPDX-License-Identifier: Apache-2.0
#include "calibration/validate_traffic.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <map>

#include "calibration/dataset.h"
#include "calibration/validate_counters.h"
#include "calibration/validate_times.h"
#include "core/number_of.h"
#include "core/provenance.h"
#include "ops/any_op.h"
#include "traffic/closed.h"
#include "traffic/paper.h"
#include "traffic/random_layer.h"
#include "traffic/sampled.h"

namespace rooftile::calibration {

namespace {

struct TrafficError {
  double sum = 0, worst = 0;
  std::int64_t count = 0;
  double add(double model, double truth) {
    const double error = std::abs(model / truth - 1);
    sum += error;
    worst = std::max(worst, error);
    ++count;
    return error;
  }
  [[nodiscard]] ValidationCell cell() const {
    const double mean = 100 * sum / static_cast<double>(count);
    return {fmt::format("{:.2f} / {:.1f}", mean, 100 * worst), {mean, 100 * worst}};
  }
};

/// Errors at L1, L2 and DRAM of one model on one group of layers.
struct Errors {
  std::array<TrafficError, 3> level;
  std::int64_t beyond_30 = 0;  ///< layers with any level beyond 30 %
  /// Whether the layer is one of them.
  bool add(const std::array<double, 3>& model, const std::array<double, 3>& truth) {
    double worst = 0;
    for (std::size_t i = 0; i < 3; ++i) worst = std::max(worst, level[i].add(model[i], truth[i]));
    beyond_30 += worst > 0.30 ? 1 : 0;
    return worst > 0.30;
  }
  [[nodiscard]] std::vector<ValidationCell> row(const std::string& name) const {
    return {name,
            ValidationCell::count(level[0].count),
            level[0].cell(),
            level[1].cell(),
            level[2].cell(),
            ValidationCell::count(beyond_30)};
  }
};

const std::vector<std::string> kColumns{
    "layers", "n", "L1 mean/worst", "L2 mean/worst", "DRAM reads mean/worst", "beyond 30 %"};

traffic::ClosedMachine closed_machine(const traffic::CacheMachine& machine) {
  return {.concurrent = machine.wave(),
          .sms = machine.sm_count,
          .l2_bytes = static_cast<double>(machine.l2_bytes)};
}

std::array<double, 3> levels(const traffic::OperandTraffic& a, const traffic::OperandTraffic& b) {
  return {a.l1 + b.l1, a.l2 + b.l2, a.dram + b.dram};
}

/// One layer's bytes at all levels; `layer` says which one, and whose bytes they are.
void keep(const EvaluatedBytes& layer, const std::array<double, 3>& model,
          const std::array<double, 3>& truth, ComparedBytes& bytes) {
  constexpr std::array<const char*, 3> kLevels{"l1", "l2", "dram"};
  for (std::size_t i = 0; i < kLevels.size(); ++i) {
    EvaluatedBytes row = layer;
    row.level = kLevels[i];
    row.measured_bytes = truth[i];
    row.predicted_bytes = model[i];
    bytes.add(std::move(row), 0);
  }
}

EvaluatedBytes of_model(EvaluatedBytes facts, const char* model) {
  facts.model = model;
  return facts;
}

/// A layer that can be looked at again: `rooftile traffic conv` has no machine of two SMs.
std::string describe(std::int64_t number, const traffic::RandomLayer& layer,
                     const std::array<double, 3>& model, const std::array<double, 3>& truth) {
  const auto percent = [&](std::size_t i) { return 100 * (model[i] / truth[i] - 1); };
  const traffic::CacheMachine& m = layer.machine;
  return fmt::format(
      "Beyond 30 %: #{} {} {}, padding {}x{}, dilation {}x{}, tile {}x{}/{}; {} SMs x {} CTAs, L1 "
      "{} "
      "KB, L2 {} KB: L1 {:+.1f}, L2 {:+.1f}, DRAM {:+.1f} %",
      number, ops::shape_text(layer.conv), name_of(layer.dtype), layer.conv.pad_h, layer.conv.pad_w,
      layer.conv.dilation_h, layer.conv.dilation_w, layer.cut.tile.m, layer.cut.tile.n,
      layer.cut.split_k, m.sm_count, m.active_ctas, m.l1_bytes / 1024, m.l2_bytes / 1024,
      percent(0), percent(1), percent(2));
}

Result<ValidationTable> validate_random(const ValidateRequest& request, const Progress& progress) {
  constexpr std::int64_t kMostLayers = 100'000;
  if (request.count < 1 || request.count > kMostLayers) {
    return usage_error("--count must be from 1 to 100000", {});
  }
  traffic::RandomLayers layers(static_cast<std::uint32_t>(request.seed), traffic::LayerSize::Large);
  constexpr std::array<const char*, 3> kPasses{"forward", "dgrad", "wgrad"};
  std::array<Errors, 3> exact;
  std::array<Errors, 3> closed;
  std::int64_t whole = 0;
  std::vector<std::string> notes;
  ComparedBytes bytes;
  for (std::int64_t i = 0; i < request.count; ++i) {
    const traffic::RandomLayer layer = layers.next();
    const traffic::ImplicitGemm problem = layer.problem();
    ROOFTILE_TRY(const auto truth, traffic::simulate(problem, layer.machine, {}));
    const auto counted = levels(truth.a, truth.b);
    const auto pass = static_cast<std::size_t>(layer.conv.pass);
    const traffic::ReadTraffic t = traffic::sampled_traffic(problem, layer.machine);
    if (exact[pass].add(levels(t.a, t.b), counted)) {
      notes.push_back(describe(i, layer, levels(t.a, t.b), counted));
    }
    whole += t.counted_whole ? 1 : 0;
    const traffic::ReadBytes c = traffic::closed_conv(
        layer.conv, layer.dtype, {.tile = layer.cut.tile, .split_k = layer.cut.split_k},
        closed_machine(layer.machine));
    closed[pass].add({c.l1, c.l2, c.dram}, counted);
    const EvaluatedBytes facts{.device = "simulated",
                               .name = fmt::format("#{} {}", i, ops::shape_text(layer.conv)),
                               .model = {},
                               .group = kPasses[pass],
                               .level = {}};
    keep(of_model(facts, "exact"), levels(t.a, t.b), counted, bytes);
    keep(of_model(facts, "closed"), {c.l1, c.l2, c.dram}, counted, bytes);
    const double done = static_cast<double>(i + 1) / static_cast<double>(request.count);
    if (progress && !progress({.fraction = done, .note = kPasses[pass]})) {
      return bad_input({}, "the validation was stopped", {});
    }
  }
  ValidationTable table;
  table.provenance = make_provenance({});
  table.title = fmt::format("{}, seed {}: error against the simulator, %",
                            number_of(request.count, "random layer"), request.seed);
  if (whole > 0)
    notes.push_back(fmt::format("Exact simulates {} completely, because {} so small.",
                                number_of(whole, "layer"), whole == 1 ? "it is" : "they are"));
  table.columns = kColumns;
  table.notes = std::move(notes);
  for (std::size_t i = 0; i < 3; ++i) {
    if (exact[i].level[0].count == 0) continue;
    table.rows.push_back(exact[i].row(fmt::format("exact, {}", kPasses[i])));
    table.rows.push_back(closed[i].row(fmt::format("closed, {}", kPasses[i])));
  }
  table.predictor = "exact and closed";
  std::move(bytes).finish(table);
  return table;
}

ValidationTable validate_reference(const Dataset& dataset) {
  std::map<std::string, std::array<Errors, 3>> per_gpu;
  ComparedBytes bytes;
  for (const SimulatedLayer& row : dataset.simulated) {
    std::array<Errors, 3>& errors = per_gpu[row.machine];
    const traffic::ReadTraffic t = traffic::sampled_traffic(
        traffic::make_conv_problem(row.conv, DType::Fp32, {.tile = row.tile}), row.caches);
    errors[0].add(levels(t.a, t.b), row.bytes);
    const traffic::ReadBytes c =
        traffic::closed_conv(row.conv, DType::Fp32, {.tile = row.tile}, closed_machine(row.caches));
    errors[1].add({c.l1, c.l2, c.dram}, row.bytes);
    const traffic::PaperTraffic p = traffic::paper_traffic(row.conv, row.tile);
    errors[2].add({p.l1, p.l2, p.dram_read}, row.bytes);
    const EvaluatedBytes facts{.device = row.machine,
                               .name = ops::shape_text(row.conv),
                               .model = {},
                               .group = row.machine,
                               .level = {}};
    keep(of_model(facts, "exact"), levels(t.a, t.b), row.bytes, bytes);
    keep(of_model(facts, "closed"), {c.l1, c.l2, c.dram}, row.bytes, bytes);
    keep(of_model(facts, "paper"), {p.l1, p.l2, p.dram_read}, row.bytes, bytes);
  }
  ValidationTable table;
  table.provenance = make_provenance({});
  table.title = "Reference layers: error against the table's simulation, %";
  table.columns = kColumns;
  constexpr std::array<const char*, 3> kModels{"exact", "closed", "paper"};
  for (const auto& [gpu, errors] : per_gpu) {
    for (std::size_t i = 0; i < 3; ++i) {
      table.rows.push_back(errors[i].row(fmt::format("{}, {}", gpu, kModels[i])));
    }
  }
  table.predictor = "exact, closed and paper";
  std::move(bytes).finish(table);
  return table;
}

}  // namespace

Result<ValidationTable> validate_traffic(const ValidateRequest& request, const Catalog& catalog,
                                         const Progress& progress) {
  if (request.file == "random") return validate_random(request, progress);
  Dataset dataset;
  ROOFTILE_CHECK(read_dataset(request.file, catalog, dataset));
  if (!dataset.simulated.empty()) return validate_reference(dataset);
  if (!dataset.counted.empty()) {
    ROOFTILE_TRY(const auto predictor, cost::make_predictor({}, catalog));
    return validate_counters(dataset, *predictor);
  }
  if (!dataset.steps.empty())
    return bad_input(request.file, "holds whole steps, not bytes",
                     "rooftile evaluate labels FILE --models DIR reads it");
  return validate_times(
      std::move(dataset),
      {.leave_one_gpu_out = request.leave_one_gpu_out, .fit_with = request.fit_with}, catalog,
      progress);
}

}  // namespace rooftile::calibration
