// SPDX-License-Identifier: Apache-2.0
#include "calibration/validate_traffic.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <map>

#include "calibration/validate_counters.h"
#include "calibration/validate_times.h"
#include "core/csv.h"
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
  [[nodiscard]] std::string text() const {
    return fmt::format("{:.2f} / {:.1f}", 100 * sum / static_cast<double>(count), 100 * worst);
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
  [[nodiscard]] std::vector<std::string> row(const std::string& name) const {
    return {name,
            std::to_string(level[0].count),
            level[0].text(),
            level[1].text(),
            level[2].text(),
            std::to_string(beyond_30)};
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
    const double done = static_cast<double>(i + 1) / static_cast<double>(request.count);
    if (progress && !progress({.fraction = done, .note = kPasses[pass]})) {
      return bad_input({}, "the validation was stopped", {});
    }
  }
  ValidationTable table;
  table.provenance = make_provenance({});
  table.title = fmt::format(
      "{} random layers, seed {}: error against the simulator, % ({} layers are so small that "
      "exact simulates them as well)",
      request.count, request.seed, whole);
  table.columns = kColumns;
  table.notes = std::move(notes);
  for (std::size_t i = 0; i < 3; ++i) {
    if (exact[i].level[0].count == 0) continue;
    table.rows.push_back(exact[i].row(fmt::format("exact, {}", kPasses[i])));
    table.rows.push_back(closed[i].row(fmt::format("closed, {}", kPasses[i])));
  }
  return table;
}

/// One row of lru_reference.csv.
struct ReferenceRow {
  std::string gpu;
  ops::ConvShape conv;
  traffic::CtaTile tile;
  traffic::CacheMachine machine;
  std::array<double, 3> truth{};
};

Result<ReferenceRow> read_reference(const CsvReader& csv, const CsvHeader& header) {
  const auto number = [&](const char* name) -> Result<double> {
    ROOFTILE_TRY(const std::size_t column, header.column(name));
    return csv.number(column);
  };
  std::map<std::string, double> v;
  for (const char* name : {"B",
                           "C",
                           "H",
                           "W",
                           "K",
                           "R",
                           "S",
                           "stride",
                           "pad",
                           "blkM",
                           "blkN",
                           "blkK",
                           "nSM",
                           "actCTA",
                           "L1KB",
                           "L2KB",
                           "sim_L1_if_MB",
                           "sim_L1_f_MB",
                           "sim_L2_if_MB",
                           "sim_L2_f_MB",
                           "sim_DRAM_if_passes_colwise",
                           "sim_DRAM_f_passes_colwise"}) {
    ROOFTILE_TRY(v[name], number(name));
    if (!(v[name] >= 0 && v[name] < 1e6)) return bad_input(csv.where(), "a value is out of range");
  }
  const auto whole = [&v](const char* name) { return static_cast<std::int64_t>(v.at(name)); };
  ReferenceRow row;
  ROOFTILE_TRY(const std::size_t gpu, header.column("gpu"));
  row.gpu = csv[gpu];
  row.conv = {.n = whole("B"),
              .c = whole("C"),
              .h = whole("H"),
              .w = whole("W"),
              .k = whole("K"),
              .r = whole("R"),
              .s = whole("S")};
  row.conv.stride_h = row.conv.stride_w = whole("stride");
  row.conv.pad_h = row.conv.pad_w = whole("pad");
  ROOFTILE_CHECK(ops::Conv2d{.conv = row.conv}.check());
  row.tile = {.m = whole("blkM"), .n = whole("blkN"), .k = whole("blkK")};
  row.machine.sm_count = whole("nSM");
  row.machine.active_ctas = whole("actCTA");
  row.machine.l1_bytes = whole("L1KB") * 1024;
  row.machine.l2_bytes = whole("L2KB") * 1024;
  if (row.tile.m < 1 || row.tile.n < 1 || row.tile.k < 1 || row.machine.wave() < 1) {
    return bad_input(csv.where(), "tile and machine sizes must be positive");
  }
  const traffic::ImplicitGemm g =
      traffic::make_conv_problem(row.conv, DType::Fp32, {.tile = row.tile});
  row.truth = {1e6 * (v["sim_L1_if_MB"] + v["sim_L1_f_MB"]),
               1e6 * (v["sim_L2_if_MB"] + v["sim_L2_f_MB"]),
               4.0 * (static_cast<double>(g.a.elements) * v["sim_DRAM_if_passes_colwise"] +
                      static_cast<double>(g.b.elements) * v["sim_DRAM_f_passes_colwise"])};
  return row;
}

Result<ValidationTable> validate_reference(CsvReader& csv, const CsvHeader& header) {
  std::map<std::string, std::array<Errors, 3>> per_gpu;
  while (true) {
    ROOFTILE_TRY(const bool more, csv.next());
    if (!more) break;
    ROOFTILE_CHECK(header.check_width(csv));
    ROOFTILE_TRY(const ReferenceRow row, read_reference(csv, header));
    std::array<Errors, 3>& errors = per_gpu[row.gpu];
    const traffic::ReadTraffic t = traffic::sampled_traffic(
        traffic::make_conv_problem(row.conv, DType::Fp32, {.tile = row.tile}), row.machine);
    errors[0].add(levels(t.a, t.b), row.truth);
    const traffic::ReadBytes c = traffic::closed_conv(row.conv, DType::Fp32, {.tile = row.tile},
                                                      closed_machine(row.machine));
    errors[1].add({c.l1, c.l2, c.dram}, row.truth);
    const traffic::PaperTraffic p = traffic::paper_traffic(row.conv, row.tile);
    errors[2].add({p.l1, p.l2, p.dram_read}, row.truth);
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
  return table;
}

}  // namespace

Result<ValidationTable> validate_traffic(const ValidateRequest& request, const Catalog& catalog,
                                         const Progress& progress) {
  if (request.file == "random") return validate_random(request, progress);
  ROOFTILE_TRY(CsvReader csv, CsvReader::open(request.file, {}));
  ROOFTILE_TRY(const CsvHeader header, CsvHeader::read(csv));
  if (header.find("sim_L1_if_MB")) return validate_reference(csv, header);
  if (header.find("l2_bytes") && header.find("dram_bytes"))
    return validate_counters(csv, header, catalog);
  if (header.find("fwd_ms") || header.find("c_in")) {
    return validate_times(
        csv, header, {.leave_one_gpu_out = request.leave_one_gpu_out, .fit_with = request.fit_with},
        catalog, progress);
  }
  return bad_input(request.file, "does not have a known layout",
                   "columns sim_L1_if_MB (reference), l2_bytes (counters), fwd_ms (DeepBench) or "
                   "c_in (NeuSight) tell them apart");
}

}  // namespace rooftile::calibration
