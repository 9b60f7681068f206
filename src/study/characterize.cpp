// SPDX-License-Identifier: Apache-2.0
//
// This machine -> ceilings: request -> options, device, sweep, (ranks together,) reduction.
#include "study/characterize.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "characterize/backends.h"
#include "characterize/characterize.h"
#include "characterize/mpi/mpi_session.h"
#include "characterize/samples_file.h"
#include "core/text.h"
#include "core/utf8.h"
#include "hardware/machine.h"
#include "rooftile/version.h"
#include "study/session.h"

namespace rooftile::study {

namespace {

Result<characterize::Effort> effort_of(const std::string& name) {
  if (name == "quick") return characterize::Effort::Quick;
  if (name == "standard") return characterize::Effort::Normal;
  if (name == "thorough") return characterize::Effort::Thorough;
  return usage_error(fmt::format("unknown effort \"{}\"", printable(name)),
                     "the effort is quick, standard or thorough");
}

Result<characterize::LevelRule> level_rule(const std::string& name) {
  if (name == "topology") return characterize::LevelRule::Topology;
  if (name == "ert") return characterize::LevelRule::Ert;
  if (name == "ert-2019") return characterize::LevelRule::Ert2019;
  return usage_error(fmt::format("unknown rule for levels \"{}\"", printable(name)),
                     "the rule is topology, ert or ert-2019");
}

Result<characterize::CharacterizeOptions> options_of(const CharacterizeRequest& request) {
  characterize::CharacterizeOptions options;
  characterize::PlanOptions& plan = options.plan;
  ROOFTILE_TRY(plan.effort, effort_of(request.effort));
  ROOFTILE_TRY(options.levels, level_rule(request.levels));
  for (const std::string& text : request.dtypes) {
    ROOFTILE_TRY(const DType dtype, parse_dtype(text));
    plan.dtypes.push_back(dtype);
  }
  for (const std::string& text : request.patterns) {
    ROOFTILE_TRY(const characterize::Pattern pattern, characterize::parse_pattern(text));
    plan.patterns.push_back(pattern);
  }
  if (!request.max_working_set.empty()) {
    ROOFTILE_TRY(const Bytes largest, parse_quantity<Bytes>(request.max_working_set));
    if (largest < 4_KiB) return usage_error("--max-working-set is less than 4 KiB");
    plan.max_working_set = largest;
  }
  options.sweep.checkpoint = request.checkpoint.value_or("");
  return options;
}

characterize::BackendOptions backend_of(const CharacterizeRequest& request) {
  return {.backend = request.backend,
          .device = request.device,
          .threads = request.threads,
          .isa = request.isa};
}

/// Rank 0's part of a run with several ranks: what they reach together, and how they differ.
Result<characterize::Characterization> combine(const std::vector<std::string>& texts,
                                               const characterize::CharacterizeResult& own,
                                               const characterize::CharacterizeOptions& options) {
  std::vector<std::vector<characterize::Sample>> samples;
  std::vector<characterize::Characterization> ranks;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    ROOFTILE_TRY(characterize::SamplesFile file,
                 characterize::read_samples(texts[i], fmt::format("rank {}", i)));
    ranks.push_back(characterize::reduce(own.own.device, file.samples, {}, options.levels));
    samples.push_back(std::move(file.samples));
  }
  ROOFTILE_TRY(std::vector<characterize::Sample> sum,
               characterize::mpi::add_up(samples, own.simultaneous));
  characterize::DeviceDescription device = own.own.device;
  device.limits.flops.clear();  // of one rank
  characterize::Characterization all =
      characterize::reduce(device, std::move(sum), own.own.clocks, options.levels);
  for (std::string& line : characterize::mpi::describe_spread(ranks)) {
    all.device.notes.push_back(std::move(line));
  }
  for (const std::string& warning : own.run_warnings) all.warnings.push_back(warning);
  return all;
}

/// What the machine file calls its maker: "rooftile 0.2.0, commit 3f0c..".
std::string tool_name() {
  std::string name = fmt::format("rooftile {}", version());
  if (const auto known = commit()) name += fmt::format(", commit {}", *known);
  return name;
}

void announce(const Progress& progress, std::string notice) {
  if (progress) progress({.fraction = 0, .note = {}, .notice = std::move(notice)});
}

std::string describe_run(const characterize::Device& device, const characterize::Outlook& outlook) {
  return fmt::format("{}: {} ({}), {} measurements, about {:.0f} s", device.description().backend,
                     visible(device.description().name), visible(device.description().isa),
                     outlook.measurements, outlook.estimate.base());
}

}  // namespace

Result<CharacterizeResult> Session::characterize(const CharacterizeRequest& request,
                                                 const Progress& progress,
                                                 characterize::mpi::Session* ranks) const {
  ROOFTILE_TRY(characterize::CharacterizeOptions options, options_of(request));
  characterize::BackendOptions backend = backend_of(request);
  if (ranks != nullptr) {
    backend = ranks->share(backend);
    options.sweep.coordinator = ranks;
    options.sweep.checkpoint.clear();  // the ranks must do the same things at the same time
  }
  CharacterizeResult out;
  out.first = ranks == nullptr || ranks->rank() == 0;
  const Progress shown = out.first ? progress : Progress();
  options.sweep.progress = shown;
  ROOFTILE_TRY(const std::unique_ptr<characterize::Device> device,
               characterize::make_device(backend, catalog()));
  ROOFTILE_TRY(const characterize::Outlook outlook, characterize::outlook(*device, options));
  announce(shown, describe_run(*device, outlook));
  ROOFTILE_TRY(characterize::CharacterizeResult result,
               characterize::characterize(*device, options));
  out.resumed = result.resumed;
  if (result.resumed > 0)
    announce(shown, fmt::format("continued an earlier run: {} of {} measurements are from it",
                                result.resumed, outlook.measurements));
  if (ranks != nullptr) {
    const std::vector<std::string> texts = ranks->gather(
        characterize::write_samples({.fingerprint = "rank", .samples = result.own.samples}));
    if (!out.first) return out;
    ROOFTILE_TRY(result.own, combine(texts, result, options));
  }
  out.measured = std::move(result.own);
  out.ceilings = characterize::to_ceilings(out.measured, tool_name());
  hardware::name_gpu(catalog(), out.ceilings);
  return out;
}

namespace {

template <typename Quantity>
MeasuredCeiling ceiling_of(std::string name, bool compute,
                           const hardware::Measured<Quantity>& measured) {
  const auto base = [](const std::optional<Quantity>& q) -> std::optional<double> {
    if (!q) return std::nullopt;
    return q->base();
  };
  return {.name = std::move(name),
          .compute = compute,
          .per_second = measured.value.base(),
          .low_per_second = base(measured.low),
          .high_per_second = base(measured.high)};
}

}  // namespace

CharacterizeReport report_of(const CharacterizeResult& result) {
  CharacterizeReport report;
  const hardware::Ceilings& c = result.ceilings;
  report.device = c.device;
  report.gpu = c.gpu;
  report.resumed = result.resumed;
  report.warnings = result.measured.warnings;
  report.machine = hardware::to_json(c);
  for (const auto& [level, bandwidth] : c.bandwidth)
    report.ceilings.push_back(ceiling_of(std::string(name_of(level)), false, bandwidth));
  if (c.last_level) report.ceilings.push_back(ceiling_of("last_level", false, *c.last_level));
  if (c.shared) report.ceilings.push_back(ceiling_of("shared", false, *c.shared));
  for (const auto& [key, rate] : c.rate)
    report.ceilings.push_back(ceiling_of(hardware::name_of(key), true, rate));
  constexpr double kMicroseconds = 1e6;
  if (c.launch) report.launch_us = c.launch->value.base() * kMicroseconds;
  for (const characterize::Sample& s : result.measured.samples) {
    report.samples.push_back({.pattern = std::string(name_of(s.what.pattern)),
                              .dtype = std::string(name_of(s.what.dtype)),
                              .working_set_bytes = s.what.working_set.base(),
                              .flops_per_element = s.what.flops_per_element,
                              .seconds_per_pass = s.time.fast.base(),
                              .bytes_per_pass = s.work.bytes.base(),
                              .flops_per_pass = s.work.flops.base(),
                              .converged = s.converged});
  }
  return report;
}

}  // namespace rooftile::study
