// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <memory>

#include "characterize/backends.h"
#include "characterize/characterize.h"
#include "characterize/mpi/mpi_session.h"
#include "characterize/samples_file.h"
#include "cli/commands.h"
#include "core/file.h"
#include "core/number_of.h"
#include "core/text.h"
#include "core/utf8.h"
#include "hardware/ceilings.h"
#include "hardware/ert.h"
#include "hardware/machine.h"
#include "report/machine_curves.h"
#include "report/page.h"
#include "report/provenance_view.h"
#include "rooftile/version.h"

namespace rooftile::cli {

namespace {

struct CharacterizeArguments {
  characterize::BackendOptions backend;
  std::int64_t threads = 0;  ///< 0: not given
  bool quick = false, thorough = false, no_resume = false;
  std::string levels = "topology";
  std::vector<std::string> dtypes, patterns;
  std::string max_working_set;
  std::string samples_file, ert_file, from_ert, checkpoint;
  std::string plot_file, from_samples, machine_file;
  Output output;
};

Result<characterize::PlanOptions> plan_options(const CharacterizeArguments& a) {
  characterize::PlanOptions plan;
  if (a.quick) plan.effort = characterize::Effort::Quick;
  if (a.thorough) plan.effort = characterize::Effort::Thorough;
  for (const std::string& text : a.dtypes) {
    ROOFTILE_TRY(const DType dtype, parse_dtype(text));
    plan.dtypes.push_back(dtype);
  }
  for (const std::string& text : a.patterns) {
    ROOFTILE_TRY(const characterize::Pattern pattern, characterize::parse_pattern(text));
    plan.patterns.push_back(pattern);
  }
  if (!a.max_working_set.empty()) {
    ROOFTILE_TRY(const Bytes largest, parse_quantity<Bytes>(a.max_working_set));
    if (largest < 4_KiB) return usage_error("--max-working-set is less than 4 KiB");
    plan.max_working_set = largest;
  }
  return plan;
}

characterize::LevelRule level_rule(const std::string& name) {
  if (name == "ert") return characterize::LevelRule::Ert;
  if (name == "ert-2019") return characterize::LevelRule::Ert2019;
  return characterize::LevelRule::Topology;
}

/// The catalogue's id of the measured device, where it is a GPU that the catalogue has.
void attach_gpu(const Context& context, hardware::Ceilings& ceilings) {
  if (const auto session = context.session()) hardware::name_gpu(session->catalog(), ceilings);
}

const std::vector<std::string> kPictures{"svg", "html"};

Status write_plot(const std::string& file, const std::vector<characterize::Sample>& samples,
                  const hardware::Ceilings* ceilings) {
  ROOFTILE_TRY(const std::string format, format_by_ending("--plot", file, kPictures));
  const report::MachineCurves curves = report::machine_curves(samples, ceilings);
  if (curves.bandwidth.empty() && curves.rate.empty()) {
    return bad_input(file, "there are no curves to draw: each needs two measurements");
  }
  return write_file_atomic(file, format == "html" ? report::machine_to_html(curves)
                                                  : report::machine_curves_to_svg(curves));
}

/// Draws what an earlier run measured.
Status plot_samples(const CharacterizeArguments& a) {
  if (a.plot_file.empty()) {
    return usage_error("--from-samples needs --plot", "--plot curves.svg, or curves.html");
  }
  ROOFTILE_TRY(const std::string text, read_file(a.from_samples));
  ROOFTILE_TRY(const auto file, characterize::read_samples(text, a.from_samples));
  std::optional<hardware::Ceilings> ceilings;
  if (!a.machine_file.empty()) {
    ROOFTILE_TRY(ceilings, hardware::load_ceilings(a.machine_file));
  }
  return write_plot(a.plot_file, file.samples, ceilings ? &*ceilings : nullptr);
}

/// A machine file without any ceiling would be refused by everyone who reads it.
Status check_ceilings(const CharacterizeArguments& a, const hardware::Ceilings& ceilings) {
  const bool any = !ceilings.bandwidth.empty() || ceilings.last_level || ceilings.shared ||
                   !ceilings.rate.empty();
  const bool wanted = !a.output.file.empty() || !a.ert_file.empty() || a.output.format == "json";
  if (any || !wanted) return {};
  return bad_input(a.output.file, "the measurements give neither a bandwidth nor a rate",
                   "also measure load or update (--pattern); --levels ert uses update alone");
}

Status write_result(const CharacterizeArguments& a, const hardware::Ceilings& ceilings,
                    const std::string& text, const std::vector<characterize::Sample>& samples) {
  ROOFTILE_CHECK(check_ceilings(a, ceilings));
  const std::string csv = characterize::write_samples({.fingerprint = "final", .samples = samples});
  if (!a.samples_file.empty()) ROOFTILE_CHECK(write_file_atomic(a.samples_file, csv));
  if (!a.ert_file.empty()) {
    ROOFTILE_CHECK(write_file_atomic(a.ert_file, hardware::write_ert_json(ceilings)));
  }
  if (!a.plot_file.empty()) ROOFTILE_CHECK(write_plot(a.plot_file, samples, &ceilings));
  const std::string json = hardware::to_json(ceilings);
  if (!a.output.file.empty()) {
    // A file is for the program, what is seen is for people: -o writes the machine file.
    ROOFTILE_CHECK(write_file_atomic(a.output.file, json));
  }
  Output shown = a.output;
  shown.file.clear();
  if (a.output.format == "json" && a.output.file.empty()) return emit(shown, json);
  if (a.output.format == "csv") return emit(shown, csv);
  return a.output.format == "json" ? Status{} : emit(shown, text);
}

Status import_ert(const CharacterizeArguments& a) {
  if (a.output.chosen && a.output.format != "json") {
    return usage_error("--from-ert makes a machine file, which is JSON", "leave out --format");
  }
  ROOFTILE_TRY(const std::string text, read_file(a.from_ert));
  ROOFTILE_TRY(const hardware::RoofFile file, hardware::read_ert(text, a.from_ert));
  ROOFTILE_TRY(const hardware::Ceilings ceilings, hardware::ceilings_of(file, a.from_ert));
  return emit(a.output, hardware::to_json(ceilings));
}

void announce(const characterize::Device& device, const characterize::Outlook& outlook) {
  fmt::print(stderr, "{}: {} ({}), {}, about {:.0f} s\n", device.description().backend,
             visible(device.description().name), visible(device.description().isa),
             number_of(outlook.measurements, "measurement"), outlook.estimate.base());
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

Result<characterize::CharacterizeOptions> sweep_options(const CharacterizeArguments& a) {
  characterize::CharacterizeOptions options;
  ROOFTILE_TRY(options.plan, plan_options(a));
  options.levels = level_rule(a.levels);
  if (!a.no_resume) {
    options.sweep.checkpoint = !a.checkpoint.empty()    ? a.checkpoint
                               : !a.output.file.empty() ? a.output.file + ".partial"
                                                        : "";
  }
  return options;
}

/// What the machine file calls its maker: "rooftile 0.1.0, commit 3f0c..".
std::string tool_name() {
  std::string name = fmt::format("rooftile {}", version());
  if (const auto known = commit()) name += fmt::format(", commit {}", *known);
  return name;
}

/// `session` is null when this process is alone.
Status measure(const Context& context, CharacterizeArguments a,
               characterize::mpi::Session* session) {
  ROOFTILE_TRY(characterize::CharacterizeOptions options, sweep_options(a));
  if (session != nullptr) {
    a.backend = session->share(a.backend);
    options.sweep.coordinator = session;
    options.sweep.checkpoint.clear();  // the ranks must do the same things at the same time
  }
  const bool is_first = session == nullptr || session->rank() == 0;
  ROOFTILE_TRY(const study::Session studies, context.session());
  ROOFTILE_TRY(const std::unique_ptr<characterize::Device> device,
               characterize::make_device(a.backend, studies.catalog()));
  if (is_first) options.sweep.progress = progress_bar("characterize");
  ROOFTILE_TRY(const characterize::Outlook outlook, characterize::outlook(*device, options));
  if (is_first) announce(*device, outlook);
  ROOFTILE_TRY(characterize::CharacterizeResult result,
               characterize::characterize(*device, options));
  if (is_first && result.resumed > 0) {
    fmt::print(stderr, "continued an earlier run, which had made {} of {} measurements\n",
               result.resumed, outlook.measurements);
  }
  if (session != nullptr) {
    const std::vector<std::string> texts = session->gather(
        characterize::write_samples({.fingerprint = "rank", .samples = result.own.samples}));
    if (!is_first) return {};
    ROOFTILE_TRY(result.own, combine(texts, result, options));
  }
  for (const std::string& w : result.own.warnings) warn(w);
  hardware::Ceilings ceilings = characterize::to_ceilings(result.own, tool_name());
  attach_gpu(context, ceilings);
  const std::string text = characterize::to_text(result.own) + "\n" +
                           report::provenance_to_text(make_provenance({}), false);
  return write_result(a, ceilings, text, result.own.samples);
}

/// The files that a run writes have one format each, whatever --format says about stdout.
Status check_endings(const CharacterizeArguments& a) {
  const std::vector<std::string> json{"json"};
  const std::vector<std::string> csv{"csv"};
  ROOFTILE_CHECK(format_by_ending("-o", a.output.file, json));
  ROOFTILE_CHECK(format_by_ending("--ert", a.ert_file, json));
  ROOFTILE_CHECK(format_by_ending("--samples", a.samples_file, csv));
  ROOFTILE_CHECK(format_by_ending("--plot", a.plot_file, kPictures));
  return {};
}

Status run_characterize(const Context& context, CharacterizeArguments a) {
  ROOFTILE_CHECK(check_endings(a));
  if (!a.from_ert.empty()) return import_ert(a);
  if (!a.from_samples.empty()) return plot_samples(a);
  if (a.quick && a.thorough) return usage_error("--quick and --thorough cannot be combined");
  if (a.threads > 0) a.backend.threads = a.threads;
  if (!characterize::mpi::started_by_mpi()) return measure(context, std::move(a), nullptr);
  ROOFTILE_TRY(const std::unique_ptr<characterize::mpi::Session> session,
               characterize::mpi::Session::open());
  Status status = measure(context, std::move(a), session.get());
  if (!status) {
    fmt::print(stderr, "rank {}: {}", session->rank(), to_string(status.error()));
    session->abort();
  }
  return status;
}

void add_measuring_options(CLI::App& command, CharacterizeArguments& a) {
  command.add_option("--backend", a.backend.backend, "cpu, opencl, cuda or hip")
      ->check(CLI::IsMember(
          std::vector<std::string>(characterize::kBackends.begin(), characterize::kBackends.end())))
      ->capture_default_str();
  command.add_option("--device", a.backend.device, "device of the back end, counted from 0")
      ->check(CLI::Range(0, 1023));
  command.add_flag("--quick", a.quick, "less than a minute: few working sets, wider intervals");
  command.add_flag("--thorough", a.thorough,
                   "many working sets, narrow intervals; tens of minutes");
  command.add_option("--threads", a.threads, "cpu: threads, one per physical core by default")
      ->check(CLI::Range(1, 4096));
  command.add_option("--isa", a.backend.isa, "cpu: instruction set, the best one by default");
  add_list_option(command, "--dtype", a.dtypes, "only these number formats");
  add_list_option(command, "--pattern", a.patterns,
                  "only these patterns: load, store, copy, triad (also with _nt), update, "
                  "shared, mma, chase, launch");
  command.add_option("--max-working-set", a.max_working_set, "largest working set, e.g. \"1 GiB\"");
  command
      .add_option("--levels", a.levels,
                  "how curves become levels: by the machine's caches, or as the Empirical Roofline "
                  "Toolkit does it (1.1.0 or 2019)")
      ->check(CLI::IsMember({"topology", "ert", "ert-2019"}))
      ->capture_default_str();
}

}  // namespace

void add_characterize(CLI::App& app, Context& context) {
  auto a = std::make_shared<CharacterizeArguments>();
  CLI::App* command = app.add_subcommand(
      "characterize", "measure the ceilings of this machine, per memory level and number format");
  add_measuring_options(*command, *a);
  command->add_option("--checkpoint", a->checkpoint,
                      "file of finished measurements (default: OUTPUT.partial); an interrupted run "
                      "continues from it");
  command->add_flag("--no-resume", a->no_resume, "neither read nor write a checkpoint");
  command->add_option("--samples", a->samples_file,
                      "write all measurements as CSV, for plots over working set and intensity");
  command->add_option("--plot", a->plot_file,
                      "draw bandwidth over working set and FLOP/s over intensity: .svg or .html");
  command->add_option("--from-samples", a->from_samples,
                      "measure nothing: --plot the file that --samples wrote");
  command->add_option("--machine", a->machine_file,
                      "with --from-samples: machine file of that run, whose ceilings are drawn");
  command->add_option("--ert", a->ert_file, "write a roofline.json as ERT does");
  command->add_option("--from-ert", a->from_ert,
                      "measure nothing: turn a result of ERT (roofline.json, sum, max, ...) into a "
                      "machine file");
  add_output_options(*command, a->output, {"text", "json", "csv"});
  command->footer(
      "Measures bandwidth per memory level and access pattern, FLOP/s per number format, latency "
      "and launch overhead. A value above what the units and the clock allow is measured again, "
      "and "
      "left out with a warning if it stays. -o FILE writes the machine file (JSON) that --machine "
      "of other commands reads.\n"
      "\n"
      "The CUDA and HIP kernels are compiled and their code is checked, but they have never been "
      "run on a GPU.\n"
      "\n"
      "Examples:\n"
      "  rooftile characterize --quick -o machine.json\n"
      "  rooftile characterize --thorough -o machine.json\n"
      "  rooftile characterize --backend opencl --device 0\n"
      "  rooftile characterize --quick --samples run.csv --plot curves.html -o machine.json\n"
      "  rooftile characterize --from-samples run.csv --machine machine.json --plot curves.svg\n"
      "  rooftile characterize --from-ert roofline.json -o machine.json\n");
  command->callback(
      [a, &context] { run_command(context, [&] { return run_characterize(context, *a); }); });
}

}  // namespace rooftile::cli
