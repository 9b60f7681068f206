// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <memory>

#include "characterize/backends.h"
#include "characterize/characterization.h"
#include "characterize/mpi/mpi_session.h"
#include "characterize/samples_file.h"
#include "cli/commands.h"
#include "core/file.h"
#include "hardware/ceilings.h"
#include "hardware/ert.h"
#include "report/describe.h"
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
const std::string kMachineFile = "json";

Status write_plot(const std::string& file, const std::vector<characterize::Sample>& samples,
                  const hardware::Ceilings* ceilings) {
  ROOFTILE_TRY(const std::string format, format_by_ending("--plot", file, kPictures));
  const report::Document document = report::describe(samples, ceilings);
  if (document.sections.empty())
    return bad_input(file, "there are no curves to draw: each needs two measurements");
  return write_file_atomic(file, report::write(format, document));
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
  const bool wanted = !a.output.file.empty() || !a.ert_file.empty() || a.output.chosen;
  if (any || !wanted) return {};
  return bad_input(a.output.file, "the measurements give neither a bandwidth nor a rate",
                   "also measure load or update (--pattern); --levels ert uses update alone");
}

Status write_result(const CharacterizeArguments& a, const study::CharacterizeResult& result) {
  ROOFTILE_CHECK(check_ceilings(a, result.ceilings));
  const std::vector<characterize::Sample>& samples = result.measured.samples;
  if (!a.samples_file.empty())
    ROOFTILE_CHECK(write_file_atomic(
        a.samples_file, characterize::write_samples({.fingerprint = "final", .samples = samples})));
  if (!a.ert_file.empty())
    ROOFTILE_CHECK(write_file_atomic(a.ert_file, hardware::write_ert_json(result.ceilings)));
  if (!a.plot_file.empty()) ROOFTILE_CHECK(write_plot(a.plot_file, samples, &result.ceilings));
  const report::Document document = report::describe(result.measured, result.ceilings);
  ROOFTILE_CHECK(emit(a.output, document));
  // A machine file is for the program: people see the text as well.
  if (a.output.file.empty() || a.output.chosen) return {};
  return emit(Output{}, document);
}

Status import_ert(CharacterizeArguments a) {
  ROOFTILE_TRY(const std::string text, read_file(a.from_ert));
  ROOFTILE_TRY(const hardware::RoofFile file, hardware::read_ert(text, a.from_ert));
  ROOFTILE_TRY(const hardware::Ceilings ceilings, hardware::ceilings_of(file, a.from_ert));
  if (!a.output.chosen && a.output.file.empty()) a.output.format = kMachineFile;
  return emit(a.output, report::describe(ceilings));
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
  return write_result(a, result);
}

/// The files that a run writes in addition to its result have one format each.
Status check_endings(const CharacterizeArguments& a) {
  const std::vector<std::string> json{kMachineFile};
  const std::vector<std::string> csv{"csv"};
  ROOFTILE_CHECK(format_by_ending("--ert", a.ert_file, json));
  ROOFTILE_CHECK(format_by_ending("--samples", a.samples_file, csv));
  ROOFTILE_CHECK(format_by_ending("--plot", a.plot_file, kPictures));
  return {};
}

Status run_characterize(const Context& context, const CharacterizeArguments& a) {
  ROOFTILE_CHECK(check_endings(a));
  if (!a.from_ert.empty()) return import_ert(a);
  if (!a.from_samples.empty()) return plot_samples(a);
  if (a.quick && a.thorough) return usage_error("--quick and --thorough cannot be combined");
  if (!characterize::mpi::started_by_mpi()) return measure(context, a, nullptr);
  ROOFTILE_TRY(const std::unique_ptr<characterize::mpi::Session> session,
               characterize::mpi::Session::open());
  Status status = measure(context, a, session.get());
  if (!status) {
    complain(status.error(), fmt::format("rank {}: ", session->rank()));
    session->abort();
  }
  return status;
}

void add_measuring_options(CLI::App& command, CharacterizeArguments& a) {
  command.add_option("--backend", a.request.backend, "what to measure")
      ->check(CLI::IsMember(
          std::vector<std::string>(characterize::kBackends.begin(), characterize::kBackends.end())))
      ->capture_default_str();
  command.add_option("--device", a.request.device, "device of the back end, counted from 0")
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
                  "only these patterns: load, store, copy, triad (also with _nt), update, chase, "
                  "launch; of GPUs also load_l1, shared, mma, mma_sync, mma_sparse, launch_wait, "
                  "copy_in, copy_out, copy_peer, copy_ring, chase_host, chase_peer");
  command
      .add_option("--max-working-set", a.request.max_working_set,
                  "largest working set, e.g. \"1 GiB\"")
      ->type_name("SIZE");
  command
      .add_option("--levels", a.request.levels,
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
  command
      ->add_option("--checkpoint", a->checkpoint,
                   "file of finished measurements (default: OUTPUT.partial); an interrupted run "
                   "continues from it")
      ->type_name("FILE");
  command->add_flag("--no-resume", a->no_resume, "neither read nor write a checkpoint");
  command
      ->add_option("--samples", a->samples_file,
                   "write all measurements as CSV, for plots over working set and intensity")
      ->type_name("FILE");
  command
      ->add_option("--plot", a->plot_file,
                   "draw bandwidth over working set and FLOP/s over intensity: .svg or .html")
      ->type_name("FILE");
  command
      ->add_option("--from-samples", a->from_samples,
                   "measure nothing: --plot the file that --samples wrote")
      ->type_name("FILE");
  command
      ->add_option("--machine", a->machine_file,
                   "with --from-samples: machine file of that run, whose ceilings are drawn")
      ->type_name("FILE");
  command->add_option("--ert", a->ert_file, "write a roofline.json as ERT does")->type_name("FILE");
  command
      ->add_option("--from-ert", a->from_ert,
                   "measure nothing: turn a result of ERT (roofline.json, sum, max, ...) into a "
                   "machine file")
      ->type_name("FILE");
  add_output_options(*command, a->output, report::Offers{.charts = true});
  command->footer(
      "Measures bandwidth per memory level and access pattern, FLOP/s per number format, latency "
      "and launch overhead. A value above what the units and the clock allow is measured again, "
      "and left out with a warning if it stays. -o FILE writes the machine file (JSON) that other "
      "commands read with --machine.\n"
      "\n"
      "No real GPU has run the CUDA and HIP kernels: their machine code is compared with what is "
      "counted, and on twelve modelled GPUs the measured rates are within 2 % of the modelled "
      "ones.\n"
      "\n"
      "Examples:\n"
      "  rooftile characterize --quick -o machine.json\n"
      "  rooftile characterize --thorough -o machine.json\n"
      "  rooftile characterize --backend opencl --device 0\n"
      "  rooftile characterize --quick --samples run.csv --plot curves.html -o machine.json\n"
      "  rooftile characterize --from-samples run.csv --machine machine.json --plot curves.svg\n"
      "  rooftile characterize --from-ert roofline.json -o machine.json\n");
  command->callback([a, &context] {
    run_command(context, a->output, [&] { return run_characterize(context, *a); });
  });
}

}  // namespace rooftile::cli
