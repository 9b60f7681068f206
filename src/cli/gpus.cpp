// SPDX-License-Identifier: Apache-2.0
//
// rooftile gpus: the catalogue, one GPU, or the checks of the files.
#include <fmt/format.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "core/provenance.h"
#include "hardware/load.h"
#include "hardware/plausible.h"
#include "report/describe.h"

namespace rooftile::cli {

namespace {

struct GpusOptions {
  std::vector<std::string> gpus;  ///< empty: all
  std::string machine;            ///< measured ceilings to show instead of the data sheet's
  bool lint = false;
  Output output;
};

/// Where the report is from; an overlay that replaces a file of the catalogue is also a warning.
report::Notes make_notes(const std::vector<Input>& inputs, std::vector<std::string> warnings) {
  report::Notes notes{.provenance = {}, .warnings = std::move(warnings)};
  set_provenance(inputs, notes);
  return notes;
}

std::vector<Input> all_inputs(const hardware::Machine& machine, const Catalog& catalog) {
  std::vector<Input> inputs = hardware::inputs_of(machine);
  add_inputs(hardware::lint_inputs(machine.gpu, catalog), inputs);
  return inputs;
}

Status run_lint(const GpusOptions& options, const Catalog& catalog) {
  ROOFTILE_TRY(const auto files, hardware::lint_files(catalog, options.gpus));
  std::vector<Input> inputs;
  for (const hardware::LintedFile& file : files) add_inputs(file.inputs, inputs);
  const report::Notes notes = make_notes(inputs, {});
  ROOFTILE_CHECK(
      emit(options.output, report::describe(std::span<const hardware::LintedFile>(files), notes)));
  if (hardware::is_clean(std::span(files))) return {};
  return bad_input({}, "the GPU files have findings",
                   "correct the numbers, or declare an exception with its reason "
                   "(docs/format/gpu.md)");
}

Status run_one(const GpusOptions& options, const Catalog& catalog) {
  const std::optional<std::string> file =
      options.machine.empty() ? std::nullopt : std::optional(options.machine);
  const std::string gpu = options.gpus.empty() ? "" : options.gpus.front();
  ROOFTILE_TRY(const auto machine, hardware::load_machine(catalog, gpu, file));
  const report::Notes notes =
      make_notes(all_inputs(machine, catalog), hardware::warnings_of(machine));
  return emit(options.output, report::describe(machine, notes));
}

Status run_list(const Output& output, const Catalog& catalog) {
  ROOFTILE_TRY(const auto gpus, hardware::list_gpus(catalog));
  std::vector<Input> inputs;
  std::vector<std::string> warnings;
  for (const hardware::GpuSpec& gpu : gpus) {
    const hardware::Machine machine{.gpu = gpu, .ceilings = {}};
    ROOFTILE_CHECK(hardware::check_plausible(machine));
    add_inputs(all_inputs(machine, catalog), inputs);
    for (std::string& warning : hardware::warnings_of(machine)) {
      warnings.push_back(std::move(warning));
    }
  }
  const report::Notes notes = make_notes(inputs, std::move(warnings));
  return emit(output, report::describe(std::span<const hardware::GpuSpec>(gpus), notes));
}

Status run_gpus(const GpusOptions& options, const Context& context) {
  ROOFTILE_TRY(const study::Session session, context.session());
  const Catalog& catalog = session.catalog();
  if (options.lint) return run_lint(options, catalog);
  if (options.gpus.size() > 1)
    return usage_error("gpus shows one GPU at a time", "only --lint takes several");
  if (!options.gpus.empty() || !options.machine.empty()) return run_one(options, catalog);
  return run_list(options.output, catalog);
}

}  // namespace

void add_gpus(CLI::App& app, Context& context) {
  auto options = std::make_shared<GpusOptions>();
  CLI::App* command = app.add_subcommand("gpus", "the GPU catalogue");
  command->add_option("gpu", options->gpus,
                      "id, other name, or JSON file of one GPU (with --lint: of several)");
  command
      ->add_option("--machine", options->machine,
                   "measured ceilings to show with it: machine file, ERT result or table of peaks")
      ->type_name("FILE");
  command->add_flag("--lint", options->lint, "check the files instead of showing them");
  add_output_options(*command, options->output, report::Offers{});
  command->footer(
      "Without a name it lists the catalogue; with one it shows that GPU with its sources and "
      "ridge "
      "points. --lint checks files against the rules of docs/format/gpu.md. Adding a GPU is one "
      "file: docs/howto/add_a_gpu.md.\n"
      "\n"
      "Examples:\n"
      "  rooftile gpus\n"
      "  rooftile gpus h100-sxm\n"
      "  rooftile gpus \"Tesla V100-PCIE-32GB\" --format json\n"
      "  rooftile gpus --lint my_gpu.json other_gpu.json\n");
  command->callback([options, &context] {
    run_command(context, options->output, [&] { return run_gpus(*options, context); });
  });
}

}  // namespace rooftile::cli
