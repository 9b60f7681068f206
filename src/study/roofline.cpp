// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "core/number_of.h"
#include "core/provenance.h"
#include "core/text.h"
#include "hardware/load.h"
#include "hardware/machine.h"
#include "hardware/plausible.h"
#include "profile/evaluate.h"
#include "profile/importer.h"
#include "profile/select.h"
#include "roofline/chart.h"
#include "rooftile/roofline.h"
#include "study/assumed_gpu.h"
#include "study/roofline_predict.h"
#include "study/session.h"

namespace rooftile::study {

namespace {

namespace fs = std::filesystem;
using profile::RawProfile;

struct NamedProfile {
  std::string label;
  bool fixed = false;  ///< the label was given; only files with the same one may join
  RawProfile profile;
};

/// "forward=fw.csv" -> label and path; a file that exists under the whole name has no label.
std::pair<std::string, std::string> split_label(const std::string& text) {
  const std::size_t equals = text.find('=');
  std::error_code ignored;
  if (equals == std::string::npos || equals == 0 || fs::exists(text, ignored) ||
      text.find('/') < equals) {
    return {"", text};
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

std::string file_stem(const std::string& path) {
  return path == "-" || path == "<stdin>" ? "stdin" : fs::path(path).filename().string();
}

/// What the names of a run's files have in common, or the first name.
std::string common_name(const std::vector<std::string>& files) {
  std::string prefix = file_stem(files.front());
  for (const std::string& file : files) {
    const std::string name = file_stem(file);
    std::size_t n = 0;
    while (n < std::min(prefix.size(), name.size()) && prefix[n] == name[n]) ++n;
    prefix.resize(n);
  }
  while (!prefix.empty() &&
         std::string_view("._- ").find(prefix.back()) != std::string_view::npos) {
    prefix.pop_back();
  }
  return prefix.empty() ? file_stem(files.front()) : prefix;
}

/// The file itself, or all files below a folder (passes have folders of their own).
Result<std::vector<std::string>> files_of(const std::string& path) {
  constexpr std::size_t kMostFiles = 10'000;
  std::error_code error;
  if (!fs::is_directory(path, error)) return std::vector{path};
  std::vector<std::string> files;
  for (fs::recursive_directory_iterator it(path, error), end; !error && it != end;
       it.increment(error)) {
    std::error_code unreadable;
    if (it->is_regular_file(unreadable)) files.push_back(it->path().string());
    if (files.size() > kMostFiles) {
      return bad_input(path, fmt::format("the folder holds more than {} files", kMostFiles),
                       "name the folder of one run");
    }
  }
  if (error) return bad_input(path, "cannot be listed: " + error.message());
  if (files.empty()) return bad_input(path, "the folder holds no files");
  std::sort(files.begin(), files.end());
  return files;
}

/// Adds an export to the run with the same label, or to the one that it completes best.
void assign(std::vector<NamedProfile>& runs, RawProfile profile, const std::string& label) {
  NamedProfile* home = nullptr;
  double best = 0.0;
  for (NamedProfile& run : runs) {
    const double score = !label.empty() ? (run.label == label ? 1.0 : 0.0)
                         : run.fixed    ? 0.0
                                        : affinity(run.profile, profile);
    if (!(score > best)) continue;
    best = score;
    home = &run;
  }
  if (home != nullptr) {
    home->profile = merge(std::move(home->profile), profile);
  } else {
    runs.push_back({.label = label, .fixed = !label.empty(), .profile = std::move(profile)});
  }
}

/// Runs without a label are called after their files, without what all of them share.
void name_runs(std::vector<NamedProfile>& runs) {
  std::vector<std::string*> unnamed;
  for (NamedProfile& run : runs) {
    if (!run.label.empty()) continue;
    run.label = common_name(run.profile.files);
    unnamed.push_back(&run.label);
  }
  if (unnamed.size() < 2) return;
  std::size_t shared = unnamed.front()->size();
  for (const std::string* label : unnamed) {
    std::size_t n = 0;
    while (n < std::min(shared, label->size()) && (*label)[n] == (*unnamed.front())[n]) ++n;
    shared = n;
  }
  while (shared > 0 &&
         std::string_view("._- ").find((*unnamed.front())[shared - 1]) == std::string_view::npos) {
    --shared;  // whole words only
  }
  const bool distinct = std::all_of(unnamed.begin(), unnamed.end(),
                                    [shared](const std::string* l) { return l->size() > shared; });
  if (!distinct) return;
  for (std::string* label : unnamed) label->erase(0, shared);
}

/// A folder is called by its name, and by those above it while another export has the same one.
std::string folder_label(const std::string& path, const std::vector<std::string>& exports) {
  const auto clean = [](const std::string& text) {
    fs::path folder = fs::path(split_label(text).second).lexically_normal();
    return folder.has_filename() ? folder : folder.parent_path();
  };
  fs::path own = clean(path);
  fs::path label = own.filename();
  std::vector<fs::path> others;
  for (const std::string& other : exports) {
    if (split_label(other).first.empty() && clean(other) != own) others.push_back(clean(other));
  }
  const auto taken = [&](const fs::path& name) {
    return std::any_of(others.begin(), others.end(), [&](const fs::path& other) {
      return ("/" + other.string()).ends_with("/" + name.string());
    });
  };
  while (taken(label) && own.has_parent_path() && own.parent_path() != own) {
    own = own.parent_path();
    label = own.filename() / label;
  }
  return label.string();
}

/// Reads all exports; machine descriptions (no kernels) are collected in `machine`. Profilers write
/// logs and lists next to their tables: what is not an export is left out of a folder, with a note.
Result<std::vector<NamedProfile>> load_runs(const std::vector<std::string>& exports,
                                            RawProfile& machine, const Progress& progress) {
  std::vector<NamedProfile> runs;
  for (const std::string& text : exports) {
    const auto [given, path] = split_label(text);
    ROOFTILE_TRY(const auto files, files_of(path));
    std::string label = given;
    if (label.empty() && files.size() > 1) label = folder_label(path, exports);
    std::optional<Error> refused;
    std::size_t read = 0;
    for (const std::string& file : files) {
      auto profile = profile::import_file(file, progress);
      if (!profile) {
        const bool other = profile::is_not_kernels(profile.error());
        if (files.size() == 1 || (!other && !profile::is_unknown_format(profile.error()))) {
          return tl::unexpected(profile.error());
        }
        refused = profile.error();
        machine.notes.push_back(
            file + (other ? " holds API calls, copies or annotations, not kernels, and was left out"
                          : " is not a profiler export and was left out"));
        continue;
      }
      ++read;
      if (profile->kernels.empty()) {
        machine = merge(std::move(machine), *profile);
      } else {
        assign(runs, *std::move(profile), label);
      }
    }
    if (read == 0 && refused) return tl::unexpected(*refused);
  }
  name_runs(runs);
  return runs;
}

/// A description next to the exports knows the chip better than what counter names suggest.
void adopt_device(NamedProfile& run, const RawProfile& machine) {
  profile::DeviceFacts& device = run.profile.device;
  if (device.name.empty()) device.name = machine.device.name;
  const bool amd = hardware::vendor_of_isa(device.isa) == hardware::Vendor::Amd &&
                   hardware::vendor_of_isa(machine.device.isa) == hardware::Vendor::Amd;
  if (device.isa.empty() || amd) {
    if (!machine.device.isa.empty()) device.isa = machine.device.isa;
  }
}

/// The catalogue's machine: the one asked for, or the one that the export names.
Result<std::optional<hardware::Machine>> catalogue_machine(const RooflineRequest& request,
                                                           const std::string& device,
                                                           const Catalog& catalog) {
  if (!request.gpu.empty()) {
    ROOFTILE_TRY(hardware::Machine machine,
                 hardware::load_machine(catalog, request.gpu, std::nullopt));
    return std::optional(std::move(machine));
  }
  if (device.empty()) return std::nullopt;
  auto machine = hardware::load_machine(catalog, device, std::nullopt);
  if (!machine && !machine.error().where.empty()) return tl::unexpected(machine.error());
  if (!machine) return std::nullopt;  // not in the catalogue; the chart says that roofs are missing
  return std::optional(*std::move(machine));
}

using Warnings = std::vector<profile::Warning>;

/// "lint: x.json:/peak/fp32: ..." -> name and message; what was said before is not repeated.
void add_named(const std::vector<std::string>& texts, Warnings& warnings) {
  for (const std::string& text : texts) {
    const std::size_t colon = text.find(": ");
    profile::Warning warning{text.substr(0, colon), text.substr(colon + 2)};
    const bool said = std::any_of(warnings.begin(), warnings.end(), [&](const auto& earlier) {
      return earlier.name == warning.name && earlier.message == warning.message;
    });
    if (!said) warnings.push_back(std::move(warning));
  }
}

/// Roofs that came with the exports, held against the data sheet as a machine file is.
Status check_roofs(const roofline::Roofs& roofs, const std::string& file,
                   const std::optional<hardware::Machine>& machine, Warnings& warnings) {
  if (!machine) return {};
  hardware::Ceilings ceilings;
  for (const roofline::MemoryRoof& roof : roofs.memory) {
    if (roof.level) ceilings.bandwidth[*roof.level].value = roof.bandwidth;
  }
  for (const roofline::ComputeRoof& roof : roofs.compute) {
    ceilings.rate[roof.key].value = roof.rate;
  }
  for (const hardware::LintFinding& finding : hardware::lint(ceilings, machine->gpu)) {
    const std::string name = finding.pointer.substr(finding.pointer.rfind('/') + 1);
    const std::string message =
        fmt::format("the {} roof {} ({})", name, finding.message, finding.rule);
    if (hardware::is_refused(finding)) {
      return bad_input(file, message, "correct the number, or state the GPU it is of with --gpu");
    }
    add_named({fmt::format("lint: {}: {}", file, message)}, warnings);
  }
  return {};
}

/// Roofs of --machine. `known` is the GPU that was asked for or that the exports name.
Result<roofline::Roofs> machine_roofs(const RooflineRequest& request, const Catalog& catalog,
                                      const std::optional<hardware::Machine>& known,
                                      Warnings& warnings, std::vector<Input>& inputs) {
  ROOFTILE_TRY(hardware::Ceilings ceilings, hardware::load_ceilings(*request.machine));
  hardware::name_gpu(catalog, ceilings);
  // A processor is in no catalogue, and neither is every GPU: their ceilings stand alone.
  if (!known && !ceilings.gpu) {
    ROOFTILE_CHECK(hardware::check_plausible(ceilings));
    add_named(hardware::warnings_of(ceilings), warnings);
    inputs.push_back(ceilings.input);
    return roofline::roofs_of(ceilings);
  }
  const std::string gpu = !request.gpu.empty() ? request.gpu : known ? known->gpu.id : "";
  ROOFTILE_TRY(const hardware::Machine machine,
               hardware::load_machine(catalog, gpu, request.machine));
  add_named(hardware::warnings_of(machine), warnings);
  add_inputs(inputs_of(machine), inputs);
  add_inputs(hardware::lint_inputs(machine.gpu, catalog), inputs);
  return roofline::roofs_of(machine);
}

Result<roofline::Roofs> choose_roofs(const RooflineRequest& request, const Catalog& catalog,
                                     const std::vector<roofline::NamedRun>& runs,
                                     const std::optional<hardware::Machine>& machine,
                                     const RawProfile& described, Warnings& warnings,
                                     std::vector<Input>& inputs) {
  roofline::Roofs roofs;
  if (machine) add_named(hardware::warnings_of(*machine), warnings);
  const std::optional<Hertz> clock = request.boost ? std::nullopt : mean_clock(runs);
  if (request.machine) {
    ROOFTILE_TRY(roofs, machine_roofs(request, catalog, machine, warnings, inputs));
    if (clock && machine) roofs = at_clock(std::move(roofs), *clock, *machine);
  }
  const roofline::Roofs beside = roofline::roofs_of(described.roofs, described.sweep);
  if (!described.files.empty()) {
    ROOFTILE_CHECK(check_roofs(beside, described.files.front(), machine, warnings));
  }
  roofs = prefer(std::move(roofs), beside);
  if (request.gpu.empty()) {  // a GPU that was asked for is wanted instead of the export's own
    for (const auto& named : runs) {
      const roofline::Roofs own = roofline::roofs_of(named.run.export_roofs, mean_clock(runs));
      ROOFTILE_CHECK(check_roofs(own, named.files.front(), machine, warnings));
      roofs = prefer(std::move(roofs), own);
    }
  }
  if (machine) {
    roofline::Roofs sheet = roofline::roofs_of(*machine);
    if (clock) sheet = at_clock(std::move(sheet), *clock, *machine);
    roofs = prefer(std::move(roofs), sheet);
  }
  return roofs;
}

Status subtract_runs(const RooflineRequest& request, std::vector<NamedProfile>& runs) {
  if (request.subtract.empty()) return {};
  if (runs.size() != 1) {
    return usage_error(fmt::format("--subtract needs one run to subtract from, but the exports are "
                                   "{}",
                                   number_of(runs.size(), "run")),
                       "give the files of one run, or join them with the same label: all=a.csv "
                       "all=b.csv");
  }
  RawProfile ignored;
  ROOFTILE_TRY(const auto parts, load_runs(request.subtract, ignored, {}));
  for (const NamedProfile& part : parts) {
    ROOFTILE_TRY(runs.front().profile, subtract(runs.front().profile, part.profile));
    runs.front().label += " minus " + part.label;
  }
  if (runs.front().profile.kernels.empty()) {
    return bad_input(request.subtract.front(),
                     "nothing is left: it contains every launch of the run",
                     "the first export must be the longer run, e.g. all.csv --subtract fw.csv");
  }
  return {};
}

/// Runs of traces become one per phase of the step, where they have several.
void split_phases(std::vector<NamedProfile>& runs) {
  using profile::TracePhase;
  constexpr std::array<std::pair<TracePhase, std::string_view>, 4> kPhases{
      {{TracePhase::Forward, "forward"},
       {TracePhase::Backward, "backward"},
       {TracePhase::Optimizer, "optimizer"},
       {TracePhase::Unknown, "rest"}}};
  std::vector<NamedProfile> split;
  for (NamedProfile& run : runs) {
    std::vector<NamedProfile> parts;
    for (const auto& [phase, name] : kPhases) {
      NamedProfile part{
          .label = runs.size() > 1 ? fmt::format("{} {}", run.label, name) : std::string(name),
          .fixed = run.fixed,
          .profile = profile::of_phase(run.profile, phase)};
      if (!part.profile.kernels.empty()) parts.push_back(std::move(part));
    }
    if (parts.size() < 2) {
      split.push_back(std::move(run));
    } else {
      for (NamedProfile& part : parts) split.push_back(std::move(part));
    }
  }
  runs = std::move(split);
}

profile::Selection selection_of(const RooflineRequest& request) {
  const auto seconds = [](const std::optional<double>& ms) {
    return ms ? std::optional(*ms * 1e-3) : std::nullopt;
  };
  return {.kernel = request.kernel,
          .skip = request.launch_skip,
          .count = request.launch_count,
          .annotation = request.annotation,
          .from = seconds(request.from_ms),
          .until = seconds(request.until_ms)};
}

/// Runs of another GPU than the one whose roofs they are under.
void warn_other_gpus(const std::vector<NamedProfile>& runs,
                     const std::optional<hardware::Machine>& machine, const Catalog& catalog,
                     roofline::Chart& chart) {
  if (!machine) return;
  for (const NamedProfile& run : runs) {
    const profile::DeviceFacts& device = run.profile.device;
    const auto own = device.name.empty() ? Result<hardware::GpuSpec>(bad_input("", "no name"))
                                         : hardware::load_gpu(catalog, device.name);
    const bool other = own ? own->id != machine->gpu.id
                           : !device.isa.empty() && !machine->gpu.isa.starts_with(device.isa);
    if (!other) continue;
    chart.warnings.push_back(
        {"other-gpu",
         fmt::format("{} was measured on {}, but is placed under the roofs of {}", run.label,
                     device.name.empty() ? device.isa : device.name, machine->gpu.name)});
  }
}

/// All runs, evaluated with what the GPU's instruction set says of the counters.
Result<std::vector<roofline::NamedRun>> evaluate_runs(
    const RooflineRequest& request, const std::vector<NamedProfile>& profiles,
    const std::optional<hardware::Machine>& machine, const Catalog& catalog) {
  const profile::EvaluateOptions evaluation{.isa = machine ? machine->gpu.isa : std::string(),
                                            .mean_clock = request.nersc,
                                            .inner_join = request.nersc,
                                            .tensor_512 = request.nersc,
                                            .launch_groups = request.predict};
  std::vector<roofline::NamedRun> runs;
  for (const NamedProfile& named : profiles) {
    ROOFTILE_TRY(profile::Run run, profile::evaluate(named.profile, evaluation, catalog));
    run.label = named.label;
    runs.push_back({.run = std::move(run), .files = named.profile.files});
  }
  return runs;
}

}  // namespace

Result<roofline::Chart> Session::roofline(const RooflineRequest& request,
                                          const Progress& progress) const {
  RawProfile described;
  ROOFTILE_TRY(auto profiles, load_runs(request.exports, described, progress));
  ROOFTILE_CHECK(subtract_runs(request, profiles));
  if (request.compare && profiles.size() < 2) {
    return usage_error(fmt::format("--compare needs two runs or more, the exports are {}",
                                   number_of(profiles.size(), "run")),
                       "label them: first=a.csv second=b.csv");
  }
  for (NamedProfile& run : profiles) {
    ROOFTILE_TRY(run.profile, profile::select(std::move(run.profile), selection_of(request)));
  }
  if (request.group_by_phase) split_phases(profiles);
  std::string device = described.device.name;
  for (NamedProfile& run : profiles) {
    adopt_device(run, described);
    if (device.empty()) device = run.profile.device.name;
  }
  ROOFTILE_TRY(auto machine, catalogue_machine(request, device, catalog()));
  ROOFTILE_TRY(auto runs, evaluate_runs(request, profiles, machine, catalog()));
  Warnings warnings;
  std::string isa;
  for (const NamedProfile& named : profiles) {
    if (isa.empty()) isa = named.profile.device.isa;
  }
  if (!machine && device.empty() && !request.machine && described.roofs.empty()) {
    ROOFTILE_TRY(auto assumed, assumed_gpu(runs, isa, catalog()));
    if (assumed) {
      machine = std::move(assumed->machine);
      warnings.push_back(std::move(assumed->warning));
      ROOFTILE_TRY(runs, evaluate_runs(request, profiles, machine, catalog()));
    }
  }
  std::vector<Input> inputs;
  if (machine) {
    inputs = inputs_of(*machine);
    add_inputs(hardware::lint_inputs(machine->gpu, catalog()), inputs);
  }
  ROOFTILE_TRY(const roofline::Roofs roofs,
               choose_roofs(request, catalog(), runs, machine, described, warnings, inputs));
  roofline::ChartOptions options;
  options.group_by_phase = request.group_by_phase;
  options.compare = request.compare;
  options.binary_units = request.nersc;
  std::string title;
  for (const auto& named : runs) title += (title.empty() ? "" : ", ") + named.run.label;
  if (title.empty()) title = described.files.empty() ? "machine" : common_name(described.files);
  roofline::Chart chart = make_chart(std::move(runs), roofs, options);
  ROOFTILE_CHECK(suggest_gpus(catalog(), isa, chart));
  warn_other_gpus(profiles, machine, catalog(), chart);
  chart.warnings.insert(chart.warnings.end(), warnings.begin(), warnings.end());
  for (const std::string& note : described.notes) chart.warnings.push_back({"import", note});
  if (profiles.empty() && described.roofs.empty() && described.sweep.empty()) {
    chart.warnings.push_back({"nothing-measured",
                              "nothing was measured: the files describe a machine, but hold no "
                              "kernels and no roofs; give the exports of a run as well"});
  }
  if (request.predict) {
    ROOFTILE_TRY(const auto used,
                 predict_kernels({.machine = machine, .step = request.step}, *this, chart));
    add_inputs(used, inputs);
  }
  chart.provenance = make_provenance(inputs);
  for (std::string& note : replacement_notes(chart.provenance)) {
    chart.warnings.push_back({"overlay", std::move(note)});
  }
  chart.title = title + (device.empty() ? "" : " on " + device);
  return chart;
}

}  // namespace rooftile::study
