// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <memory>

#include "characterize/backends.h"
#include "characterize/characterization.h"
#include "characterize/mpi/mpi_session.h"
#include "characterize/samples_file.h"
#include "cli/commands.h"
#include "core/file.h"
#include "core/provenance.h"
#include "hardware/ceilings.h"
#include "hardware/ert.h"
#include "report/machine_curves.h"
#include "report/page.h"
#include "report/provenance_view.h"
#include "rooftile/characterize.h"
#include "study/characterize.h"

namespace rooftile::cli {

namespace {

struct CharacterizeArguments {
  CharacterizeRequest request;
  bool quick = false, thorough = false, no_resume = false;
  std::string samples_file, ert_file, from_ert, checkpoint;
  std::string plot_file, from_samples, machine_file;
  Output output;
};

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
                   "measure also load or update (--pattern); --levels ert looks at update alone");
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

CharacterizeRequest request_of(const CharacterizeArguments& a) {
  CharacterizeRequest request = a.request;
  if (a.quick) request.effort = "quick";
  if (a.thorough) request.effort = "thorough";
  if (a.no_resume) return request;
  if (!a.checkpoint.empty()) {
    request.checkpoint = a.checkpoint;
  } else if (!a.output.file.empty()) {
    request.checkpoint = a.output.file + ".partial";
  }
  return request;
}

/// `ranks` is null when this process is alone.
Status measure(const Context& context, const CharacterizeArguments& a,
               characterize::mpi::Session* ranks) {
  ROOFTILE_TRY(const study::Session session, context.session());
  ROOFTILE_TRY(const study::CharacterizeResult result,
               session.characterize(request_of(a), progress_bar("characterize"), ranks));
  if (!result.first) return {};
  for (const std::string& w : result.measured.warnings) warn(w);
  const std::string text = characterize::to_text(result.measured) + "\n" +
                           report::provenance_to_text(make_provenance({}), false);
  return write_result(a, result.ceilings, text, result.measured.samples);
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

Status run_characterize(const Context& context, const CharacterizeArguments& a) {
  ROOFTILE_CHECK(check_endings(a));
  if (!a.from_ert.empty()) return import_ert(a);
  if (!a.from_samples.empty()) return plot_samples(a);
  if (a.quick && a.thorough) return usage_error("--quick and --thorough exclude each other");
  if (!characterize::mpi::started_by_mpi()) return measure(context, a, nullptr);
  ROOFTILE_TRY(const std::unique_ptr<characterize::mpi::Session> session,
               characterize::mpi::Session::open());
  Status status = measure(context, a, session.get());
  if (!status) {
    fmt::print(stderr, "rank {}: {}", session->rank(), to_string(status.error()));
    session->abort();
  }
  return status;
}

void add_measuring_options(CLI::App& command, CharacterizeArguments& a) {
  command.add_option("--backend", a.request.backend, "cpu, opencl, cuda or hip")
      ->check(CLI::IsMember(
          std::vector<std::string>(characterize::kBackends.begin(), characterize::kBackends.end())))
      ->capture_default_str();
  command.add_option("--device", a.request.device, "which device of the back end, from 0")
      ->check(CLI::Range(0, 1023));
  command.add_flag("--quick", a.quick, "less than a minute: few working sets, wider intervals");
  command.add_flag("--thorough", a.thorough,
                   "many working sets, narrow intervals; tens of minutes");
  command
      .add_option("--threads", a.request.threads, "cpu: threads, one per physical core by default")
      ->check(CLI::Range(1, 4096));
  command.add_option("--isa", a.request.isa, "cpu: instruction set, the best one by default");
  add_list_option(command, "--dtype", a.request.dtypes, "only these number formats");
  add_list_option(command, "--pattern", a.request.patterns,
                  "only these patterns: load, store, copy, triad (also with _nt), update, "
                  "shared, mma, chase, launch");
  command.add_option("--max-working-set", a.request.max_working_set,
                     "largest working set, e.g. \"1 GiB\"");
  command
      .add_option("--levels", a.request.levels,
                  "how curves become levels: by the machine's caches, or by the rule of the "
                  "Empirical Roofline Toolkit (1.1.0 or 2019)")
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
                      "with --from-samples: ceilings to draw, of that run");
  command->add_option("--ert", a->ert_file, "write a roofline.json as ERT does");
  command->add_option("--from-ert", a->from_ert,
                      "measure nothing: turn a result of ERT (roofline.json, sum, max, ...) into a "
                      "machine file");
  add_output_options(*command, a->output, {"text", "json", "csv"});
  command->footer(
      "\n-o FILE writes the machine file (JSON) that --machine of other commands reads.\n"
      "The CUDA and HIP kernels are compiled and their code is checked, but they have never been "
      "run\n"
      "on a GPU.\n");
  command->callback(
      [a, &context] { run_command(context, [&] { return run_characterize(context, *a); }); });
}

}  // namespace rooftile::cli
