// SPDX-License-Identifier: Apache-2.0
//
// rooftile gpus: the catalogue, one GPU, or the checks of the files.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "cli/commands.h"
#include "hardware/load.h"
#include "hardware/plausible.h"
#include "report/gpu_view.h"

namespace rooftile::cli {

namespace {

struct GpusOptions {
  std::vector<std::string> gpus;  ///< empty: all
  std::string machine;            ///< measured ceilings to show instead of the data sheet's
  bool lint = false;
  Output output;
};

Status run_lint(const GpusOptions& options, const Catalog& catalog) {
  ROOFTILE_TRY(const auto files, hardware::lint_files(catalog, options.gpus));
  const std::string& format = options.output.format;
  ROOFTILE_CHECK(emit(options.output, format == "json" ? report::lint_to_json(files)
                                      : format == "csv"
                                          ? report::lint_to_csv(files)
                                          : report::lint_to_text(files, terminal().width)));
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
  const std::string& format = options.output.format;
  const std::vector<std::string> warnings = hardware::warnings_of(machine);
  if (format == "json") return emit_bare(options.output, report::gpu_to_json(machine), warnings);
  if (format == "csv") return emit_bare(options.output, report::gpu_to_csv(machine), warnings);
  const Terminal screen = terminal();
  const bool color = screen.color && options.output.file.empty();
  return emit_bare(options.output,
                   report::gpu_to_text(machine, {.color = color, .width = screen.width}), warnings);
}

Status run_gpus(const GpusOptions& options, const Context& context) {
  ROOFTILE_TRY(const study::Session session, context.session());
  const Catalog& catalog = session.catalog();
  if (options.lint) return run_lint(options, catalog);
  if (options.gpus.size() > 1)
    return usage_error("one GPU is shown at a time", "only --lint takes several");
  if (!options.gpus.empty() || !options.machine.empty()) return run_one(options, catalog);
  ROOFTILE_TRY(const auto gpus, hardware::list_gpus(catalog));
  const std::string& format = options.output.format;
  if (format == "json") return emit(options.output, report::gpus_to_json(gpus));
  if (format == "csv") return emit(options.output, report::gpus_to_csv(gpus));
  return emit(options.output, report::gpus_to_text(gpus, terminal().width));
}

}  // namespace

void add_gpus(CLI::App& app, Context& context) {
  auto options = std::make_shared<GpusOptions>();
  CLI::App* command = app.add_subcommand("gpus", "the GPU catalogue");
  command->add_option("gpu", options->gpus,
                      "id, other name, or JSON file of one GPU (with --lint: of several)");
  command->add_option(
      "--machine", options->machine,
      "measured ceilings to show with it: machine file, ERT result or table of peaks");
  command->add_flag("--lint", options->lint, "check the files instead of showing them");
  add_output_options(*command, options->output, {"text", "json", "csv"});
  command->footer(
      "\nExamples:\n"
      "  rooftile gpus h100-sxm\n"
      "  rooftile gpus \"Tesla V100-PCIE-32GB\" --format json\n"
      "  rooftile gpus --lint my_gpu.json other_gpu.json\n"
      "\nAdding a GPU is one file: docs/howto/add_a_gpu.md.\n");
  command->callback([options, &context] {
    run_command(context, options->output, [&] { return run_gpus(*options, context); });
  });
}

}  // namespace rooftile::cli
