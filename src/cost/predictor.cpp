// SPDX-License-Identifier: Apache-2.0
#include "cost/predictor.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>
#include <variant>

#include "core/json.h"
#include "core/provenance.h"
#include "core/text.h"
#include "cost/delta/delta.h"
#include "cost/learned/learned.h"
#include "cost/learned/weights.h"
#include "cost/neusight/neusight.h"

namespace rooftile::cost {

namespace {

/// The roofline alone: every kernel takes exactly its bound.
class BoundPredictor final : public Predictor {
 private:
  [[nodiscard]] Estimate do_estimate(const Job& job, const hardware::Machine& machine,
                                     MachineFacts& /*facts*/) const override {
    Estimate estimate;
    estimate.plan = mapping::decompose(job.work, machine.gpu);
    estimate.traffic = traffic::model(job.work, estimate.plan, machine.gpu);
    // Another kernel may move less than the modelled one: the bound takes the compulsory bytes.
    set_time(job.work, job.roof, machine.gpu, {}, estimate);
    estimate.provenance = Provenance::Bound;
    return estimate;
  }
  [[nodiscard]] std::string_view do_name() const override { return "bound"; }
};

using Made = Result<std::unique_ptr<Predictor>>;

/// A predictor without fitted numbers of its own for steps, links and convolutions.
Made with_defaults(Made predictor, const Catalog& catalog) {
  if (!predictor) return predictor;
  ROOFTILE_TRY(const auto file, learned::read_weights_file(catalog, "default"));
  ROOFTILE_TRY(auto weights, learned::parse_weights(file.content, file.name));
  (*predictor)
      ->take_constants(std::move(weights.constants), make_input("calibration", "constants", file));
  return predictor;
}

Made make_bound(const Catalog::File& /*weights*/) {
  return std::make_unique<BoundPredictor>();
}
Made make_roofline(const Catalog::File& /*weights*/) {
  return learned::make_roofline();
}
Made make_delta(const Catalog::File& /*weights*/) {
  return delta::make_delta();
}
Made make_rooftile(const Catalog::File& file) {
  ROOFTILE_TRY(auto weights, learned::parse_weights(file.content, file.name));
  return learned::make_learned(std::move(weights));
}
Made make_trivial(const Catalog::File& file) {
  ROOFTILE_TRY(auto weights, learned::parse_weights(file.content, file.name));
  return learned::make_trivial(std::move(weights));
}
Made make_neusight(const Catalog::File& file) {
  ROOFTILE_TRY(auto weights, neusight::parse_weights(file.content, file.name));
  return neusight::make_neusight(std::move(weights));
}

struct PredictorEntry {
  std::string_view name;
  std::string_view weights;  ///< folder of data/predictors; empty: it needs none
  Made (*make)(const Catalog::File& weights);
  bool own_constants;  ///< its weights hold them
};

// The default comes first.
constexpr std::array kPredictors{
    PredictorEntry{
        .name = "rooftile", .weights = "default", .make = make_rooftile, .own_constants = true},
    PredictorEntry{.name = "bound", .weights = "", .make = make_bound, .own_constants = false},
    PredictorEntry{.name = "delta", .weights = "", .make = make_delta, .own_constants = false},
    PredictorEntry{
        .name = "neusight", .weights = "neusight", .make = make_neusight, .own_constants = false},
    PredictorEntry{
        .name = "roofline", .weights = "", .make = make_roofline, .own_constants = false},
    PredictorEntry{
        .name = "trivial", .weights = "default", .make = make_trivial, .own_constants = true}};

Made make_entry(const PredictorEntry& entry, const Catalog& catalog) {
  Catalog::File file;
  if (!entry.weights.empty()) {
    ROOFTILE_TRY(file, learned::read_weights_file(catalog, entry.weights));
  }
  ROOFTILE_TRY(auto predictor,
               entry.own_constants ? entry.make(file) : with_defaults(entry.make(file), catalog));
  predictor->set_input(entry.weights.empty() ? make_builtin_input("predictor", entry.name)
                                             : make_input("predictor", entry.name, file));
  return predictor;
}

/// Weights that `rooftile fit` wrote: "form" names any form but the default one.
Made make_from_folder(std::string_view folder, const Catalog& catalog) {
  ROOFTILE_TRY(const auto file, learned::read_weights_file(catalog, folder));
  ROOFTILE_TRY(const auto document, JsonDocument::parse(file.content, file.name));
  ROOFTILE_TRY(auto predictor, document.root().find("form")
                                   ? with_defaults(make_neusight(file), catalog)
                                   : make_rooftile(file));
  predictor->set_input(make_input("predictor", predictor->name(), file));
  return predictor;
}

constexpr auto kNames = [] {
  std::array<std::string_view, kPredictors.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kPredictors[i].name;
  return names;
}();

}  // namespace

/// Of predictors without a model of convolutions: without products of a library.
std::vector<ConvCandidate> Predictor::do_convolutions(const Job& job,
                                                      const hardware::Machine& machine,
                                                      MachineFacts& /*facts*/) const {
  const TimeMachine timing =
      make_time_machine(machine, job.roof.compute, job.work.compute, job.work.matrix, constants_);
  return conv_candidates(std::get<ops::ConvShape>(job.work.shape), job.work.dtype, timing, {});
}

void add_launch_gap(Seconds gap, Estimate& estimate) {
  if (estimate.provenance == Provenance::Bound) return;
  estimate.breakdown.of(Resource::Launch) += gap;
  for (Seconds* time : {&estimate.time, &estimate.low, &estimate.high}) *time += gap;
}

std::vector<Input> Predictor::inputs() const {
  std::vector<Input> all{input_};
  if (!constants_input_.kind.empty()) all.push_back(constants_input_);
  return all;
}

std::span<const std::string_view> predictor_names() {
  return kNames;
}

Result<std::unique_ptr<Predictor>> make_predictor(std::string_view name, const Catalog& catalog) {
  if (name.empty()) return make_entry(kPredictors.front(), catalog);
  for (const PredictorEntry& entry : kPredictors) {
    if (entry.name == name) return make_entry(entry, catalog);
  }
  if (name.find('/') != std::string_view::npos) return make_from_folder(name, catalog);
  return usage_error(fmt::format("unknown predictor \"{}\"", printable(name)),
                     did_you_mean(name, kNames, "predictors are"));
}

Result<Job> bind(const ops::KernelWork& work, const hardware::Machine& machine) {
  const hardware::GpuSpec& gpu = machine.gpu;
  const auto rate = machine.best_rate(work.compute, work.matrix);
  if (!rate) {
    std::vector<std::string> known;
    for (const auto& [key, value] : gpu.peak) {
      known.push_back(fmt::format("{}{}", name_of(key.dtype),
                                  key.pipe == hardware::Pipe::Tensor ? "_tensor" : ""));
    }
    return unsupported(
        gpu.file,
        fmt::format("{} states no {} rate, which \"{}\" needs", gpu.name, name_of(work.compute),
                    work.op),
        fmt::format("rates of this GPU: {}; choose another --dtype{}", fmt::join(known, ", "),
                    work.compute == DType::Fp8E4m3 || work.compute == DType::Fp4
                        ? ", or --dtype bf16 with --weight-dtype for narrow weights alone"
                        : ""));
  }
  const auto dram = machine.bandwidth(hardware::MemoryLevel::Dram);
  if (!dram) {
    return unsupported(gpu.file, fmt::format("{} states no DRAM bandwidth", gpu.name),
                       "add /memory/dram/bandwidth to its file");
  }
  Job job{.work = work,
          .roof = {.compute = *rate, .l1 = {}, .l2 = {}, .dram = dram->value},
          .setting = Setting::InStream,
          .units = *machine.best_units(work.compute, work.matrix)};
  if (const auto l1 = machine.bandwidth(hardware::MemoryLevel::L1)) job.roof.l1 = l1->value;
  if (const auto l2 = machine.bandwidth(hardware::MemoryLevel::L2)) job.roof.l2 = l2->value;
  return job;
}

Result<Job> Estimator::bind(const ops::KernelWork& work) {
  auto& known = known_[static_cast<std::size_t>(work.compute)][work.matrix ? 1 : 0];
  if (known) {
    return Job{
        .work = work, .roof = known->roof, .setting = Setting::InStream, .units = known->units};
  }
  ROOFTILE_TRY(Job job, cost::bind(work, *machine_));
  known = Known{.roof = job.roof, .units = job.units};
  return job;
}

}  // namespace rooftile::cost
