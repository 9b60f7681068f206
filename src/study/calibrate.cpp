// SPDX-License-Identifier: Apache-2.0
//
// What was measured on one machine -> its machine file. Files are recognised from their content;
// ceilings are taken over as they are, kernels, steps and collectives are fitted one after another,
// each on top of what the ones before gave.
#include "calibration/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>
#include <utility>

#include "aggregate/communication.h"
#include "calibration/plausible.h"
#include "calibration/steps.h"
#include "calibration/suggest.h"
#include "core/number_of.h"
#include "core/provenance.h"
#include "core/text.h"
#include "hardware/plausible.h"
#include "profile/importer.h"
#include "roofline/chart.h"
#include "rooftile/calibrate.h"
#include "rooftile/report.h"
#include "rooftile/roofline.h"
#include "rooftile/version.h"
#include "study/calibrate.h"
#include "study/fit_stacks.h"
#include "study/roofline_predict.h"
#include "study/session.h"

namespace rooftile::study {

namespace {

using calibration::CalibrationCase;
using calibration::MeasuredKernel;
using cost::learned::Calibrated;
using hardware::Part;

/// Everything that was measured on the machine.
struct Measurements {
  hardware::Machine machine;  ///< with the ceilings of the files
  std::vector<TimedStep> steps;
  std::vector<MeasuredKernel> kernels = {};
  std::vector<calibration::Collective> collectives = {};
  std::vector<std::string> warnings = {};
};

Status add_step_file(const std::string& path, const Session& session, Measurements& out) {
  ROOFTILE_TRY(auto rows, calibration::read_steps(path));
  std::int64_t other = 0, skipped = 0;
  for (calibration::StepRow& row : rows) {
    name_stack(session, row);
    if (row.device != out.machine.gpu.id) {
      ++other;
    } else if (!row.skip.empty() || row.kind != calibration::StepKind::Step) {
      ++skipped;
    } else {
      out.steps.push_back({.step = row.request.step, .measured_ms = row.measured_ms});
    }
  }
  if (other > 0)
    out.warnings.push_back(
        fmt::format("{}: {} of other GPUs left out", path, number_of(other, "step")));
  if (skipped > 0)
    out.warnings.push_back(
        fmt::format("{}: {} left out: requests, servers under load and what no option expresses",
                    path, number_of(skipped, "step")));
  return {};
}

Status add_rows(const std::string& path, const Catalog& catalog, Measurements& out) {
  calibration::Dataset dataset;
  ROOFTILE_CHECK(calibration::read_dataset(path, catalog, dataset, out.machine.gpu.id));
  if (!dataset.steps.empty() || !dataset.counted.empty() || !dataset.simulated.empty())
    return bad_input(path, "holds labels or bytes, not timed kernels",
                     "rooftile evaluate labels or evaluate traffic reads it");
  for (std::string& warning : calibration::warnings_of(dataset))
    out.warnings.push_back(std::move(warning));
  const auto found = std::find_if(
      dataset.machines.begin(), dataset.machines.end(),
      [&](const hardware::Machine& machine) { return machine.gpu.id == out.machine.gpu.id; });
  if (found == dataset.machines.end())
    return bad_input(path, fmt::format("holds no row of {}", out.machine.gpu.id),
                     "the column of devices names other GPUs; choose one of them with --gpu");
  const auto gpu = static_cast<std::uint32_t>(found - dataset.machines.begin());
  const auto kernels = calibration::kernels_of(dataset, gpu);
  std::copy_if(dataset.collectives.begin(), dataset.collectives.end(),
               std::back_inserter(out.collectives),
               [gpu](const calibration::Collective& row) { return row.gpu == gpu; });
  const std::size_t other = dataset.samples.size() - kernels.size();
  out.kernels.insert(out.kernels.end(), kernels.begin(), kernels.end());
  if (other > 0)
    out.warnings.push_back(
        fmt::format("{}: {} of other GPUs left out", path, number_of(other, "row")));
  if (dataset.skipped > 0)
    out.warnings.push_back(fmt::format("{}: {} left out: formats that are not modelled", path,
                                       number_of(dataset.skipped, "row")));
  if (!dataset.layers.empty())
    out.warnings.push_back(fmt::format("{}: {} left out: fused layers say nothing about one kernel",
                                       path, number_of(dataset.layers.size(), "row")));
  return {};
}

/// Kernels of a profile whose shapes are known, with the mean time of a launch.
Status add_export(const std::string& path, const Session& session, Measurements& out) {
  RooflineRequest request;
  request.exports = {path};
  request.gpu = out.machine.gpu.id;
  request.predict = true;
  ROOFTILE_TRY(const roofline::Chart chart, session.roofline(request));
  const std::size_t before = out.kernels.size();
  double known = 0, all = 0;
  for (const roofline::Point& point : chart.points) {
    if (point.record.time) all += point.record.time->base();
    for (const profile::KernelRecord& group : point.record.groups) {
      const auto work = launched_work(group);
      if (!work || !group.time || group.launches < 1) continue;
      const double share = group.traced ? group.traced->share : 1.0;
      if (!(share > 0)) continue;
      known += group.time->base();
      out.kernels.push_back(
          {.work = *work,
           .seconds = group.time->base() / static_cast<double>(group.launches) / share,
           .setting = cost::Setting::InStream,
           .gap = false,
           .place = path});
    }
  }
  if (out.kernels.size() == before)
    return unsupported(path, "does not tell the shape of any kernel",
                       "record the trace with record_shapes=True, or time kernels with --script");
  out.warnings.push_back(fmt::format("{}: {}, {:.0f} % of its kernel time", path,
                                     number_of(out.kernels.size() - before, "known kernel shape"),
                                     all > 0 ? 100 * known / all : 0.0));
  return {};
}

Status add_ceilings(const std::string& path, const Catalog& catalog, Measurements& out) {
  ROOFTILE_TRY(hardware::Machine measured,
               hardware::load_machine(catalog, out.machine.gpu.id, path));
  if (measured.ceilings->calibration) {
    out.warnings.push_back(path + ": its calibration is replaced by the new one");
    measured.ceilings->calibration.reset();
  }
  if (out.machine.ceilings)
    return usage_error("two of the files hold ceilings", "give the machine file that you trust");
  out.machine.ceilings = std::move(measured.ceilings);
  return {};
}

Status add_measured_file(const std::string& path, const Session& session, Measurements& out) {
  std::error_code failure;
  if (path == "-" || std::filesystem::is_fifo(path, failure))
    return bad_input(path, "is a pipe, but measurements are read more than once",
                     "write them to a file first");
  if (calibration::is_step_file(path)) return add_step_file(path, session, out);
  if (calibration::is_dataset(path)) return add_rows(path, session.catalog(), out);
  const auto ceilings = hardware::load_ceilings(path);
  if (ceilings) return add_ceilings(path, session.catalog(), out);
  const auto profile = profile::import_file(path);
  if (!profile && profile::is_unknown_format(profile.error()))
    return unsupported(
        path, "this is not a known format of measurements",
        "CSV of timed kernels (kernel,shape,dtype,latency_ms and those of docs/howto/refit.md), "
        "measured steps, a machine file or roofs of another tool, or a profiler export");
  return add_export(path, session, out);
}

double mean_error(const std::vector<std::pair<double, double>>& predicted_measured) {
  double sum = 0;
  for (const auto& [predicted, measured] : predicted_measured)
    sum += std::fabs(predicted / measured - 1);
  return predicted_measured.empty() ? 0 : sum / static_cast<double>(predicted_measured.size());
}

/// Every row by a posterior that has not seen it; by folds, because widths are chosen anew.
std::vector<double> cross_validated(const std::vector<CalibrationCase>& cases,
                                    const cost::Predictor& predictor) {
  constexpr std::size_t kFolds = 5;
  std::vector<double> predicted(cases.size());
  for (std::size_t fold = 0; fold < kFolds; ++fold) {
    std::vector<CalibrationCase> seen;
    for (std::size_t i = 0; i < cases.size(); ++i) {
      if (i % kFolds != fold) seen.push_back(cases[i]);
    }
    const Calibrated posterior(calibration::calibrate_kernels(seen, predictor));
    for (std::size_t i = fold; i < cases.size(); i += kFolds)
      predicted[i] = cases[i].corrected(posterior.at(cases[i].point).log);
  }
  return predicted;
}

struct FamilyTimes {
  std::vector<std::pair<double, double>> before, after, left_out;
};

void report_families(const std::vector<CalibrationCase>& cases, const Calibrated& posterior,
                     const hardware::Calibration& made, const cost::Predictor& predictor,
                     CalibrateReport& report) {
  constexpr std::size_t kEnough = 10, kMost = 1000;  // fewer tell nothing, more take minutes
  const bool validates = cases.size() >= kEnough && cases.size() <= kMost;
  const auto left_out =
      validates ? cross_validated(cases, predictor) : std::vector<double>(cases.size());
  std::map<std::string, FamilyTimes> families;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const CalibrationCase& one = cases[i];
    const double after = one.corrected(posterior.at(one.point).log);
    FamilyTimes& times = families[std::string(one.point.family)];
    times.before.emplace_back(one.predicted, one.measured);
    times.after.emplace_back(after, one.measured);
    if (validates) times.left_out.emplace_back(left_out[i], one.measured);
    report.rows.push_back({.name = one.name,
                           .family = std::string(one.point.family),
                           .place = one.place,
                           .measured_ms = one.measured * 1e3,
                           .before_ms = one.predicted * 1e3,
                           .after_ms = after * 1e3});
  }
  for (const auto& [name, times] : families) {
    CalibratedFamily family{.family = name,
                            .rows = static_cast<std::int64_t>(times.before.size()),
                            .level = std::exp(posterior.level(name).value),
                            .error_before = mean_error(times.before),
                            .error_after = mean_error(times.after),
                            .error_left_out = {},
                            .noise = made.families.at(name).noise};
    if (validates && times.before.size() >= kEnough)
      family.error_left_out = mean_error(times.left_out);
    report.families.push_back(std::move(family));
  }
}

/// What the kernels of the machine run at, as far as it has a number that people know.
void report_numbers(const Calibrated& posterior, const hardware::Machine& machine,
                    const cost::Predictor& predictor, CalibrateReport& report) {
  const cost::Attained reached = cost::attained(machine, predictor.constants());
  const auto dram = machine.bandwidth(hardware::MemoryLevel::Dram);
  for (const Part part : hardware::kAllParts) {
    const auto found = posterior.part(part);
    const double factor = std::exp(found.value);
    CalibratedNumber number{.name = std::string(name_of(part)),
                            .unit = "1",
                            .before = 1,
                            .after = 1 / factor,
                            .told = 1 - found.left};
    if (part == Part::Dram && dram) {
      number.unit = "B/s";
      number.before = dram->value.base() * reached.streaming;
      number.after = number.before / factor;
    } else if (part == Part::L2) {
      number.unit = "B/s";
      number.before = reached.l2.base();
      number.after = number.before / factor;
    } else if (part == Part::Launch || part == Part::Host) {
      number.after = factor;  // times, not rates
    }
    report.numbers.push_back(std::move(number));
  }
}

Result<std::vector<CalibrationCase>> fit_kernels(const Measurements& measured,
                                                 const cost::Predictor& predictor,
                                                 hardware::Calibration& made,
                                                 CalibrateReport& report) {
  std::vector<CalibrationCase> cases;
  cost::Estimator estimator = predictor.on(measured.machine);
  for (const MeasuredKernel& kernel : measured.kernels) {
    auto one = calibration::calibration_case(kernel, predictor, estimator);
    if (!one) {
      Error error = one.error();
      error.where = kernel.place;
      return tl::unexpected(std::move(error));
    }
    cases.push_back(*std::move(one));
  }
  if (cases.empty()) return cases;
  made = calibration::calibrate_kernels(cases, predictor);
  const Calibrated posterior(made);
  report_numbers(posterior, measured.machine, predictor, report);
  report_families(cases, posterior, made, predictor, report);
  return cases;
}

double share_of(const Report& report, std::initializer_list<const char*> names) {
  double sum = 0;
  for (const char* name : names) {
    const auto found = report.limiter_share.find(name);
    if (found != report.limiter_share.end()) sum += found->second;
  }
  return sum;
}

}  // namespace

Result<calibration::StepCaseOf> step_case(const TimedStep& step, const hardware::Machine& machine,
                                          const Session& session, const cost::Predictor& predictor,
                                          const cost::StackCosts& costs) {
  Request request = step.step;
  request.gpu = machine.gpu.id;
  ROOFTILE_TRY(const Report report, session.predict(request, machine, predictor, costs));
  return calibration::StepCaseOf{
      .name = fmt::format("{} {} {}", report.model_name, request.phase, request.batch),
      .measured_ms = step.measured_ms,
      .predicted_ms = report.latency.total_ms,
      .compute = share_of(report, {"compute", "shared", "l1", "latency"}),
      .memory = share_of(report, {"l2", "dram"}),
      .host = share_of(report, {"host", "launch"})};
}

Result<FittedSteps> fit_steps(std::span<const TimedStep> steps, const Session& session,
                              const cost::Predictor& predictor, const cost::StackCosts& costs,
                              hardware::Machine& machine) {
  // Shares and times change with the factors: three rounds settle them.
  constexpr int kRounds = 3;
  auto& made = machine.ceilings->calibration;
  hardware::StepFactors factors;
  FittedSteps fitted;
  for (int round = 0; round <= kRounds; ++round) {
    fitted.cases.clear();
    for (const TimedStep& step : steps) {
      ROOFTILE_TRY(auto one, step_case(step, machine, session, predictor, costs));
      fitted.cases.push_back(std::move(one));
    }
    if (round == kRounds) break;
    fitted.told = calibration::calibrate_steps(fitted.cases, factors);
    made->steps = factors;
  }
  return fitted;
}

namespace {

Status add_steps(const Measurements& measured, const Session& session,
                 const cost::Predictor& predictor, hardware::Machine& machine,
                 CalibrateReport& report) {
  if (measured.steps.empty()) return {};
  ROOFTILE_TRY(const auto costs, session.stack_costs());
  std::vector<std::pair<double, double>> before, after;
  for (const TimedStep& step : measured.steps) {
    ROOFTILE_TRY(const auto one, step_case(step, machine, session, predictor, *costs));
    before.emplace_back(one.predicted_ms, one.measured_ms);
  }
  ROOFTILE_TRY(const FittedSteps fitted,
               fit_steps(measured.steps, session, predictor, *costs, machine));
  const auto& cases = fitted.cases;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    after.emplace_back(cases[i].predicted_ms, cases[i].measured_ms);
    report.rows.push_back({.name = cases[i].name,
                           .family = "steps",
                           .place = {},
                           .measured_ms = cases[i].measured_ms,
                           .before_ms = before[i].first,
                           .after_ms = cases[i].predicted_ms});
  }
  const hardware::StepFactors& steps = *machine.ceilings->calibration->steps;
  const auto number = [&](const char* name, double factor, double told) {
    report.numbers.push_back(
        {.name = name, .unit = "1", .before = 1, .after = factor, .told = told});
  };
  number("steps compute", steps.compute, fitted.told[0]);
  number("steps memory", steps.memory, fitted.told[1]);
  number("steps host", steps.host, fitted.told[2]);
  report.families.push_back({.family = "steps",
                             .rows = steps.rows,
                             .level = 1,
                             .error_before = mean_error(before),
                             .error_after = mean_error(after),
                             .error_left_out = {},
                             .noise = steps.noise});
  return {};
}

void add_links(const Measurements& measured, const cost::Predictor& predictor,
               hardware::Calibration& made, CalibrateReport& report) {
  const cost::LinkConstants& fitted = predictor.constants().links;
  const auto found = calibration::calibrate_links(measured.collectives, fitted);
  if (!found) return;
  made.links = found->factors;
  const cost::LinkConstants links = cost::calibrated_links(fitted, *made.links);
  std::vector<std::pair<double, double>> before, after;
  for (const calibration::Collective& row : measured.collectives) {
    const auto time = [&](const cost::LinkConstants& constants) {
      return aggregate::all_reduce(row.bytes, row.gpus, row.link, constants).time.base();
    };
    before.emplace_back(time(fitted), row.measured);
    after.emplace_back(time(links), row.measured);
  }
  report.numbers.push_back({.name = "link bandwidth",
                            .unit = "1",
                            .before = 1,
                            .after = made.links->bandwidth,
                            .told = found->bandwidth_told});
  report.numbers.push_back({.name = "link start",
                            .unit = "1",
                            .before = 1,
                            .after = made.links->start,
                            .told = found->start_told});
  report.families.push_back({.family = "all_reduce",
                             .rows = made.links->rows,
                             .level = 1,
                             .error_before = mean_error(before),
                             .error_after = mean_error(after),
                             .error_left_out = {},
                             .noise = {}});
}

/// The machine file begins as what the files say of its ceilings.
void begin_machine_file(const CalibrateRequest& request, hardware::Machine& machine) {
  if (!machine.ceilings) {
    machine.ceilings.emplace();
    machine.ceilings->device = machine.gpu.name;
  }
  machine.ceilings->gpu = machine.gpu.id;
  machine.ceilings->tool = fmt::format("rooftile {}", version());
  machine.ceilings->date = request.date;
}

std::vector<std::string> notes_of(const CalibrateReport& report) {
  std::vector<std::string> notes;
  for (const CalibratedFamily& family : report.families)
    notes.push_back(fmt::format(
        "{}: {}, mean error {:.1f} % before, {:.1f} % after{}", family.family,
        number_of(family.rows, "row"), family.error_before * 100, family.error_after * 100,
        family.error_left_out
            ? fmt::format(", {:.1f} % cross-validated", *family.error_left_out * 100)
            : std::string()));
  return notes;
}

}  // namespace

Result<CalibrateReport> Session::calibrate(const CalibrateRequest& request) const {
  if (request.files.empty() && request.steps.empty())
    return usage_error("calibrate needs measurements",
                       "name files of timed kernels or a step with --step and --measured; "
                       "--suggest 30 --script bench.py says what to measure");
  if (!request.predictor.empty() && request.predictor != "rooftile")
    return usage_error("only the predictor \"rooftile\" is calibrated", "leave out --predictor");
  ROOFTILE_TRY(const auto machine, this->machine(request.gpu, std::nullopt));
  ROOFTILE_TRY(const auto predictor, this->predictor(request.predictor));
  Measurements measured{.machine = *machine, .steps = request.steps};
  for (const std::string& file : request.files)
    ROOFTILE_CHECK(add_measured_file(file, *this, measured));
  CalibrateReport report;
  report.gpu = machine->gpu.id;
  report.gpu_name = machine->gpu.name;
  report.predictor = predictor->name();
  report.warnings = std::move(measured.warnings);
  hardware::Calibration made = calibration::uncalibrated(*predictor, {});
  ROOFTILE_CHECK(fit_kernels(measured, *predictor, made, report));
  add_links(measured, *predictor, made, report);
  hardware::Machine result = measured.machine;
  begin_machine_file(request, result);
  result.ceilings->calibration = std::move(made);
  ROOFTILE_CHECK(add_steps(measured, *this, *predictor, result, report));
  result.ceilings->notes = notes_of(report);
  const hardware::Calibration& final = *result.ceilings->calibration;
  if (final.rows.empty() && !final.steps && !final.links) result.ceilings->calibration.reset();
  report.machine_file = hardware::to_json(*result.ceilings);
  std::vector<Input> inputs = inputs_of(measured.machine);
  add_inputs(predictor->inputs(), inputs);
  set_provenance(inputs, report);
  return report;
}

Result<SuggestReport> Session::suggest(const SuggestRequest& request) const {
  constexpr std::int64_t kMost = 200;
  if (request.count < 1 || request.count > kMost)
    return usage_error(fmt::format("--suggest {} is not between 1 and {}", request.count, kMost),
                       "30 kernels suffice");
  ROOFTILE_TRY(const auto machine, this->machine(request.gpu, request.machine));
  ROOFTILE_TRY(const auto predictor, this->predictor({}));
  SuggestReport report;
  report.gpu = machine->gpu.id;
  report.gpu_name = machine->gpu.name;
  report.kernels =
      calibration::suggest_kernels(*machine, *predictor, static_cast<std::size_t>(request.count));
  const auto found = static_cast<std::int64_t>(report.kernels.size());
  if (found < request.count)
    report.warnings.push_back(
        fmt::format("only {} are worth measuring on this GPU", number_of(found, "kernel")));
  report.script = calibration::bench_script(report.kernels, report.gpu);
  std::vector<Input> inputs = inputs_of(*machine);
  add_inputs(predictor->inputs(), inputs);
  set_provenance(inputs, report);
  return report;
}

}  // namespace rooftile::study
