// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>

#include "aggregate/scaling.h"
#include "core/provenance.h"
#include "core/text.h"
#include "cost/learned/calibrated.h"
#include "cost/predictor.h"
#include "execution/launches.h"
#include "hardware/machine.h"
#include "hardware/plausible.h"
#include "report/scale_json.h"
#include "study/options.h"
#include "study/scale_limits.h"
#include "study/session.h"

namespace rooftile::study {

namespace {

using aggregate::ScalingStudy;
using hardware::Factors;
using hardware::MachineKey;

struct Assignment {
  MachineKey key;
  double value;
};

struct Range {
  double least, most;
};

/// "dram_bw=2", "dram_bw=2x".
Result<Assignment> parse_assignment(std::string_view option, std::string_view text,
                                    const Range& range) {
  const std::size_t at = text.find('=');
  if (at == std::string_view::npos) {
    return usage_error(fmt::format("{} \"{}\" has no value", option, printable(text)),
                       "write KEY=NUMBER, for example dram_bw=2");
  }
  ROOFTILE_TRY(const MachineKey key, hardware::parse_machine_key(text.substr(0, at)));
  std::string_view number = text.substr(at + 1);
  if (number.ends_with('x')) number.remove_suffix(1);
  const auto value = parse_double(number);
  if (!value || *value < range.least || *value > range.most) {
    return usage_error(fmt::format("{} \"{}\" is not a number from {:g} to {:g}", option,
                                   printable(text), range.least, range.most),
                       "write KEY=NUMBER, for example dram_bw=2");
  }
  return Assignment{.key = key, .value = *value};
}

/// The assignments of one option; a resource may have but one.
Result<std::vector<Assignment>> parse_assignments(std::string_view option,
                                                  const std::vector<std::string>& texts,
                                                  const Range& range) {
  std::vector<Assignment> assignments;
  for (const std::string& text : texts) {
    ROOFTILE_TRY(const Assignment a, parse_assignment(option, text, range));
    const bool again =
        std::any_of(assignments.begin(), assignments.end(),
                    [&a](const Assignment& earlier) { return earlier.key == a.key; });
    if (again) {
      return usage_error(fmt::format("{} states {} twice", option, name_of(a.key)),
                         "state each resource once");
    }
    assignments.push_back(a);
  }
  return assignments;
}

Result<double> parse_target(std::string_view text) {
  constexpr std::string_view kPrefix = "target=";
  std::string_view number = text;
  if (number.starts_with(kPrefix)) number.remove_prefix(kPrefix.size());
  if (number.ends_with('x')) number.remove_suffix(1);
  const auto target = parse_double(number);
  if (!target || *target <= 1 || *target > 64) {
    return usage_error(fmt::format("\"{}\" is not a valid target", printable(text)),
                       "write --optimize \"target=2x\": a speed-up above 1 and up to 64");
  }
  return *target;
}

struct ScaleChoices {
  Factors factors;
  aggregate::CostModel cost;
  std::vector<double> targets;
  bool study = false;
};

Result<ScaleChoices> parse(const ScaleRequest& request) {
  constexpr double kLeast = 0.001, kMost = 1024;
  if (!request.set.empty() && request.optimize) {
    return usage_error("--set and --optimize cannot be combined",
                       "--set asks about one variant, --optimize searches all from the GPU as it "
                       "is; run the command twice");
  }
  ScaleChoices choices;
  choices.study = request.study;
  ROOFTILE_TRY(const auto factors,
               parse_assignments("--set", request.set, {.least = kLeast, .most = kMost}));
  for (const Assignment& a : factors) choices.factors.set(a.key, a.value);
  ROOFTILE_TRY(const auto weights,
               parse_assignments("--cost", request.cost, {.least = 0, .most = kMost}));
  for (const Assignment& a : weights) {
    choices.cost.weight[static_cast<std::size_t>(a.key)] = a.value;
  }
  if (request.study) choices.targets = {1.5, 2.0, 3.0};
  if (request.optimize) {
    ROOFTILE_TRY(const double target, parse_target(*request.optimize));
    choices.targets = {target};
  }
  return choices;
}

std::string study_name(const ScaleRequest& request, const Request& step) {
  return request.conv ? "conv " + ops::shape_text(*request.conv)
                      : fmt::format("{} {}, batch {}", step.model, step.phase, step.batch);
}

report::ScaleVariant make_variant(const ScalingStudy& study, const Factors& factors,
                                  const aggregate::CostModel& cost) {
  const aggregate::VariantEstimate estimate = aggregate::variant(study, factors);
  const aggregate::StepEstimate& step = estimate.step;
  report::ScaleVariant variant;
  for (const MachineKey key : hardware::kAllMachineKeys) {
    if (factors.of(key) != 1.0) variant.factors.emplace(name_of(key), factors.of(key));
  }
  variant.time_ms = to_ms(step.total);
  variant.low_ms = to_ms(step.low), variant.high_ms = to_ms(step.high);
  variant.host_ms = to_ms(step.parts.host);
  variant.speedup = estimate.speedup;
  variant.speedup_low = estimate.speedup_low, variant.speedup_high = estimate.speedup_high;
  variant.cost = cost.cost(factors);
  Seconds longest;
  for (const hardware::Resource limiter : hardware::kAllResources) {
    const Seconds time = limiter == hardware::Resource::Host ? step.parts.host : step.of(limiter);
    if (!(time > Seconds{})) continue;
    variant.share.emplace(name_of(limiter), time / step.total);
    if (time > longest) longest = time, variant.limiter = name_of(limiter);
  }
  return variant;
}

std::vector<report::BalanceRow> balance_rows(
    const std::array<aggregate::BalancePoint, hardware::kMachineKeys>& points) {
  std::vector<report::BalanceRow> rows;
  for (const aggregate::BalancePoint& point : points) {
    rows.push_back({.resource = std::string(name_of(point.key)),
                    .factor = point.factor,
                    .speedup = point.speedup,
                    .speedup_at_2x = point.speedup_at_2x});
  }
  return rows;
}

/// Each kernel before and after.
std::vector<report::ScaledLayer> make_layers(const ScalingStudy& study, const Factors& factors,
                                             const aggregate::BalancePoints& balance) {
  const auto before = study.launches(Factors{});
  const auto after = study.launches(factors);
  std::vector<report::ScaledLayer> layers;
  for (std::size_t i = 0; i < study.kernels().size(); ++i) {
    const execution::Launch& kernel = study.kernels()[i];
    layers.push_back({.name = kernel.name,
                      .shape = ops::shape_text(kernel.work.shape),
                      .count = static_cast<double>(kernel.count),
                      .base_ms = to_ms(before[i].time),
                      .time_ms = to_ms(after[i].time),
                      .base_limiter = std::string(name_of(before[i].limiter())),
                      .limiter = std::string(name_of(after[i].limiter())),
                      .base_algorithm = std::string(before[i].algorithm),
                      .algorithm = std::string(after[i].algorithm),
                      .balance = balance_rows(balance.kernels[i])});
  }
  return layers;
}

/// `searched` hears of every target that was searched, and may stop.
Result<report::ScaleStep> make_step(std::string name, const ScalingStudy& study,
                                    const ScaleChoices& choices,
                                    const std::function<Status(double)>& searched) {
  const aggregate::BalancePoints balance = aggregate::balance_points(study);
  report::ScaleStep step;
  step.name = std::move(name);
  step.base = make_variant(study, Factors{}, choices.cost);
  step.balance = balance_rows(balance.step);
  if (choices.factors != Factors{}) {
    step.variants.push_back(make_variant(study, choices.factors, choices.cost));
    step.layers = make_layers(study, choices.factors, balance);
  }
  if (choices.study) {
    for (const double factor : {2.0, 4.0}) {
      for (const MachineKey key : hardware::kAllMachineKeys) {
        step.variants.push_back(make_variant(study, Factors::one(key, factor), choices.cost));
      }
    }
  }
  for (const double target : choices.targets) {
    const auto best = aggregate::optimize(study, target, choices.cost);
    std::optional<report::ScaleVariant> variant;
    if (best) variant = make_variant(study, best->factors, choices.cost);
    step.balanced.emplace_back(target, std::move(variant));
    ROOFTILE_CHECK(searched(static_cast<double>(step.balanced.size()) /
                            static_cast<double>(choices.targets.size())));
  }
  return step;
}

}  // namespace

Result<ScaleReport> Session::scale(const ScaleRequest& request, const Progress& progress) const {
  ROOFTILE_TRY(const ScaleChoices choices, parse(request));
  ROOFTILE_TRY(const auto loaded, this->machine(request.step.gpu, request.step.machine));
  const hardware::Machine& machine = *loaded;
  ROOFTILE_TRY(const auto predictor, this->predictor(request.step.predictor));
  std::vector<Request> steps;
  if (request.conv || !request.step.model.empty()) {
    steps.push_back(request.step);
  } else if (request.study) {
    for (const char* model : {"alexnet", "vgg16", "googlenet", "resnet152"}) {
      for (const char* phase : {"infer", "train"}) {
        steps.push_back(request.step);
        steps.back().model = model;
        steps.back().phase = phase;
      }
    }
  } else {
    return usage_error("scale needs a model or a layer",
                       "rooftile scale resnet50 --gpu v100-sxm2-16gb --set dram_bw=2");
  }
  report::ScaleReport report;
  report.gpu_name = machine.gpu.name;
  report.warnings = hardware::warnings_of(machine);
  for (std::string& warning : cost::learned::calibration_warnings(machine, *predictor))
    report.warnings.push_back(std::move(warning));
  if (auto note = hardware::device_note(machine.gpu)) report.warnings.push_back(std::move(*note));
  std::vector<Input> inputs = inputs_of(machine);
  add_inputs(hardware::lint_inputs(machine.gpu, catalog()), inputs);
  add_inputs(predictor->inputs(), inputs);
  const auto& moved = cost::eager_of(predictor->constants(), name_of(machine.gpu.vendor));
  for (const Request& step : steps) {
    ROOFTILE_TRY(const StepKernels launched, step_kernels(step, request.conv, *this, moved));
    add_inputs(launched.model, inputs);
    ROOFTILE_TRY(const auto stack_costs, this->stack_costs());
    ROOFTILE_TRY(
        const ScalingStudy study,
        ScalingStudy::make(launched.kernels, machine, *predictor,
                           launch_costs(launched.options, machine, *predictor, *stack_costs)));
    ROOFTILE_CHECK(check_variant(study, choices.factors));
    report.warnings.insert(report.warnings.end(), launched.notes.begin(), launched.notes.end());
    const std::string name = study_name(request, step);
    const auto searched = [&](double part) -> Status {
      const double done =
          (static_cast<double>(report.steps.size()) + part) / static_cast<double>(steps.size());
      if (!progress || progress({.fraction = done, .note = name})) return {};
      return bad_input({}, "the study was stopped", {});
    };
    ROOFTILE_CHECK(searched(0));
    ROOFTILE_TRY(report::ScaleStep made, make_step(name, study, choices, searched));
    report.steps.push_back(std::move(made));
  }
  for (const auto& [level, known] :
       {std::pair{"L1", machine.bandwidth(hardware::MemoryLevel::L1).has_value()},
        std::pair{"L2", machine.bandwidth(hardware::MemoryLevel::L2).has_value()}}) {
    if (!known) {
      report.warnings.push_back(fmt::format(
          "{}: no {} bandwidth is known, so its factor has no effect", machine.gpu.name, level));
    }
  }
  set_provenance(inputs, report);
  return report;
}

}  // namespace rooftile::study
