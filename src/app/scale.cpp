// SPDX-License-Identifier: Apache-2.0
#include "app/scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>

#include "app/options.h"
#include "app/scale_limits.h"
#include "core/text.h"
#include "graph/lower.h"
#include "hardware/machine.h"
#include "hardware/plausible.h"
#include "latency/predictor.h"
#include "latency/scaling.h"

namespace rooftile::app {

namespace {

using latency::Factors;
using latency::Resource;

struct Assignment {
  Resource resource;
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
  ROOFTILE_TRY(const Resource resource, latency::parse_resource(text.substr(0, at)));
  std::string_view number = text.substr(at + 1);
  if (number.ends_with('x')) number.remove_suffix(1);
  const auto value = parse_double(number);
  if (!value || *value < range.least || *value > range.most) {
    return usage_error(fmt::format("{} \"{}\" is not a number from {:g} to {:g}", option,
                                   printable(text), range.least, range.most),
                       "write KEY=NUMBER, for example dram_bw=2");
  }
  return Assignment{.resource = resource, .value = *value};
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
                    [&a](const Assignment& earlier) { return earlier.resource == a.resource; });
    if (again) {
      return usage_error(fmt::format("{} states {} twice", option, name_of(a.resource)),
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
    return usage_error(fmt::format("\"{}\" is no target", printable(text)),
                       "write --optimize \"target=2x\": a speed-up above 1 and up to 64");
  }
  return *target;
}

struct Choices {
  Factors factors;
  latency::CostModel cost;
  std::vector<double> targets;
  bool study = false;
};

Result<Choices> parse(const ScaleRequest& request) {
  constexpr double kLeast = 0.001, kMost = 1024;
  if (!request.set.empty() && request.optimize) {
    return usage_error("--set and --optimize exclude each other",
                       "--set asks about one variant, --optimize searches all from the GPU as it "
                       "is; run the command twice");
  }
  Choices choices;
  choices.study = request.study;
  ROOFTILE_TRY(const auto factors,
               parse_assignments("--set", request.set, {.least = kLeast, .most = kMost}));
  for (const Assignment& a : factors) choices.factors.set(a.resource, a.value);
  ROOFTILE_TRY(const auto weights,
               parse_assignments("--cost", request.cost, {.least = 0, .most = kMost}));
  for (const Assignment& a : weights) {
    choices.cost.weight[static_cast<std::size_t>(a.resource)] = a.value;
  }
  if (request.study) choices.targets = {1.5, 2.0, 3.0};
  if (request.optimize) {
    ROOFTILE_TRY(const double target, parse_target(*request.optimize));
    choices.targets = {target};
  }
  return choices;
}

struct NamedStudy {
  std::string name;
  latency::ScalingStudy study;
  std::vector<std::string> kernel_names;
  std::vector<std::string> notes;  ///< on the model
};

/// Equal kernels are merged: a variant then costs one evaluation per distinct kernel.
Result<NamedStudy> make_study(const ScaleRequest& request, const Request& step,
                              const hardware::Machine& machine, const Catalog& catalog) {
  ROOFTILE_TRY(StepKernels lowered, step_kernels(step, request.conv, catalog));
  std::vector<latency::ScalingKernel> merged;
  std::vector<std::string> names;
  for (const graph::LoweredKernel& kernel : lowered.kernels) {
    const auto same = std::find_if(merged.begin(), merged.end(), [&](const auto& earlier) {
      return earlier.work == kernel.work;
    });
    if (same != merged.end()) {
      same->count += static_cast<double>(kernel.count);
      continue;
    }
    ROOFTILE_TRY(const auto job, latency::bind(kernel.work, machine));
    merged.push_back({.work = kernel.work,
                      .count = static_cast<double>(kernel.count),
                      .machine = latency::make_time_machine(
                          machine, job.roof.compute, kernel.work.compute, kernel.work.matrix)});
    names.push_back(kernel.name);
  }
  const std::string name = request.conv
                               ? "conv " + ops::shape_text(*request.conv)
                               : fmt::format("{} {}, batch {}", step.model, step.phase, step.batch);
  return NamedStudy{.name = name,
                    .study = latency::ScalingStudy(std::move(merged), machine.gpu),
                    .kernel_names = std::move(names),
                    .notes = std::move(lowered.notes)};
}

report::ScaleVariant make_variant(const latency::ScalingStudy& study, const Factors& factors,
                                  double base_seconds, const latency::CostModel& cost) {
  const latency::StepOutcome outcome = study.step(factors);
  report::ScaleVariant variant;
  for (const Resource r : latency::kAllResources) {
    if (factors.of(r) != 1.0) variant.factors.emplace(name_of(r), factors.of(r));
  }
  variant.time_ms = outcome.seconds * 1e3;
  variant.speedup = base_seconds / outcome.seconds;
  variant.cost = cost.cost(factors);
  variant.bottleneck = name_of(outcome.bottleneck());
  for (std::size_t i = 0; i < outcome.share.size(); ++i) {
    if (outcome.share[i] > 0) {
      variant.share.emplace(name_of(static_cast<latency::Bottleneck>(i)), outcome.share[i]);
    }
  }
  return variant;
}

report::BalanceRow balance_row(const latency::BalancePoint& point, double speedup_at_2x) {
  return {.resource = std::string(name_of(point.resource)),
          .factor = point.factor,
          .speedup = point.speedup,
          .speedup_at_2x = speedup_at_2x};
}

Factors doubled(Resource resource) {
  Factors factors;
  factors.set(resource, 2);
  return factors;
}

/// `searched` hears of every target that was searched, and may stop.
Result<report::ScaleStep> make_step(const NamedStudy& named, const Choices& choices,
                                    const std::function<Status(double)>& searched) {
  const latency::ScalingStudy& study = named.study;
  const double base = study.step(Factors{}).seconds;
  report::ScaleStep step;
  step.name = named.name;
  step.base = make_variant(study, Factors{}, base, choices.cost);
  if (choices.factors != Factors{}) {
    step.variants.push_back(make_variant(study, choices.factors, base, choices.cost));
    for (std::size_t i = 0; i < study.kernels().size(); ++i) {
      const latency::KernelOutcome before = study.kernel(i, Factors{});
      const latency::KernelOutcome after = study.kernel(i, choices.factors);
      step.layers.push_back({.name = named.kernel_names[i],
                             .shape = ops::shape_text(study.kernels()[i].work.shape),
                             .count = study.kernels()[i].count,
                             .base_ms = before.seconds * 1e3,
                             .time_ms = after.seconds * 1e3,
                             .base_bottleneck = std::string(name_of(before.bottleneck)),
                             .bottleneck = std::string(name_of(after.bottleneck)),
                             .base_algorithm = std::string(before.algorithm),
                             .algorithm = std::string(after.algorithm),
                             .balance = {}});
      for (const Resource r : latency::kAllResources) {
        step.layers.back().balance.push_back(
            balance_row(latency::balance_point(study, i, r),
                        before.seconds / study.kernel(i, doubled(r)).seconds));
      }
    }
  }
  if (choices.study) {
    for (const double factor : {2.0, 4.0}) {
      for (const Resource r : latency::kAllResources) {
        Factors one;
        one.set(r, factor);
        step.variants.push_back(make_variant(study, one, base, choices.cost));
      }
    }
  }
  for (const Resource r : latency::kAllResources) {
    step.balance.push_back(
        balance_row(latency::balance_point(study, r), base / study.step(doubled(r)).seconds));
  }
  for (const double target : choices.targets) {
    const auto best = latency::optimize(study, target, choices.cost);
    std::optional<report::ScaleVariant> variant;
    if (best) variant = make_variant(study, best->factors, base, choices.cost);
    step.balanced.emplace_back(target, std::move(variant));
    ROOFTILE_CHECK(searched(static_cast<double>(step.balanced.size()) /
                            static_cast<double>(choices.targets.size())));
  }
  return step;
}

}  // namespace

Result<report::ScaleReport> scale(const ScaleRequest& request, const Catalog& catalog,
                                  const Progress& progress) {
  ROOFTILE_TRY(const Choices choices, parse(request));
  ROOFTILE_TRY(const auto machine,
               hardware::load_machine(catalog, request.step.gpu, request.step.machine));
  ROOFTILE_CHECK(latency::check_time_fields(machine.gpu));
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
  if (auto note = hardware::device_note(machine.gpu)) report.warnings.push_back(std::move(*note));
  for (const Request& step : steps) {
    ROOFTILE_TRY(const NamedStudy named, make_study(request, step, machine, catalog));
    ROOFTILE_CHECK(check_variant(named.study.kernels(), choices.factors));
    report.warnings.insert(report.warnings.end(), named.notes.begin(), named.notes.end());
    const auto searched = [&](double part) -> Status {
      const double done =
          (static_cast<double>(report.steps.size()) + part) / static_cast<double>(steps.size());
      if (!progress || progress({.fraction = done, .note = named.name})) return {};
      return bad_input({}, "the study was stopped", {});
    };
    ROOFTILE_CHECK(searched(0));
    ROOFTILE_TRY(report::ScaleStep made, make_step(named, choices, searched));
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
  return report;
}

}  // namespace rooftile::app
