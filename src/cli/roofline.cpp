// SPDX-License-Identifier: Apache-2.0
//
// rooftile roofline EXPORT...: measured kernels under the roofs of their machine.
#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/help.h"
#include "cli/sizes.h"
#include "report/page.h"
#include "report/roofline_view.h"
#include "rooftile/roofline.h"

namespace rooftile::cli {

namespace {

constexpr const char* kPredictGroup = "Predictions next to measurements";

struct RooflineOptions {
  RooflineRequest request;
  std::string machine, group_by = "kernel", compat = "none";
  bool time_based = false;
  int top = 20;
  Output output;
};

Status run_roofline(RooflineOptions options, const Context& context) {
  ROOFTILE_TRY(const study::Session session, context.session());
  if (!options.machine.empty()) options.request.machine = options.machine;
  options.request.group_by_phase = options.group_by == "phase";
  if (!options.request.step.model.empty() && !options.request.predict) {
    return usage_error("--model needs --predict");
  }
  options.request.nersc = options.compat == "nersc";
  ROOFTILE_TRY(const roofline::Chart chart, session.roofline(options.request));
  const Output& output = options.output;
  const std::string& format = output.format;
  if (format == "json") return emit(output, report::roofline_to_json(chart));
  std::vector<std::string> warnings;
  for (const profile::Warning& w : chart.warnings) {
    warnings.push_back(fmt::format("{}: {}", w.name, w.message));
  }
  if (format == "csv") return emit_bare(output, report::roofline_to_csv(chart), warnings);
  if (format == "html") {
    return emit(output, report::roofline_to_html(chart, options.time_based
                                                            ? report::ChartView::TimeBased
                                                            : report::ChartView::Hierarchical));
  }
  if (format == "svg") {
    return emit_bare(
        output,
        options.time_based ? report::roofline_times_to_svg(chart) : report::roofline_to_svg(chart),
        warnings);
  }
  const Terminal screen = terminal();
  const report::TextOptions text{
      .color = screen.color && output.file.empty(), .width = screen.width, .top = options.top};
  return emit(output, options.time_based ? report::roofline_times_to_text(chart, text)
                                         : report::roofline_to_text(chart, text));
}

}  // namespace

void add_roofline(CLI::App& app, Context& context) {
  auto options = std::make_shared<RooflineOptions>();
  CLI::App* command =
      app.add_subcommand("roofline", "profiler exports under the roofs of their machine");
  RooflineRequest& request = options->request;
  command
      ->add_option("exports", request.exports,
                   "files, folders (one run each) or label=file; '-' is standard input")
      ->required();
  command->add_option("--gpu", request.gpu, "roofs of this GPU: catalogue name or JSON file")
      ->group(kMachineGroup);
  command
      ->add_option("--machine", options->machine,
                   "measured roofs: machine file, ERT result or table of peaks")
      ->type_name("FILE")
      ->group(kMachineGroup);
  command
      ->add_option("--subtract", request.subtract,
                   "exports of a run whose launches are subtracted (backward = both - forward)")
      ->type_name("FILE");
  command->add_option("--group-by", options->group_by, "one point per kernel, or per phase (run)")
      ->check(CLI::IsMember({"kernel", "phase"}))
      ->capture_default_str();
  command->add_flag("--compare", request.compare, "two runs side by side, differences ranked");
  command
      ->add_flag("--predict", request.predict,
                 "show expected time and traffic next to the measured ones, where the shape of a "
                 "kernel is known: from a trace with shapes, tile and grid of a GEMM, or --model")
      ->group(kPredictGroup);
  command->add_option("--model", request.step.model, "the model that was profiled")
      ->group(kPredictGroup);
  add_phase_option(*command, request.step.phase,
                   "phase that was profiled: infer, train, prefill or decode")
      ->group(kPredictGroup);
  command->add_option("--batch", request.step.batch, "sequences or images that were profiled")
      ->group(kPredictGroup)
      ->capture_default_str();
  add_tokens_option(*command, "--seq", request.step.sequence, "tokens per sequence, 1k = 1024")
      ->group(kPredictGroup);
  command->add_option("--dtype", request.step.dtype, "number format that was profiled")
      ->group(kPredictGroup)
      ->capture_default_str();
  command->add_flag("--time-based", options->time_based,
                    "compare the measured time with what FLOPs, bytes and launches need");
  command
      ->add_option(
          "--compat", options->compat,
          "nersc: total cycles over the mean clock and GFLOP/s of 2^30, as in the published "
          "tables")
      ->check(CLI::IsMember({"none", "nersc"}))
      ->capture_default_str();
  command->add_option("--top", options->top, "kernels in the text report")
      ->group(kOutputGroup)
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  add_output_options(*command, options->output, {"text", "json", "csv", "svg", "html"});
  command->footer(
      "Reads Nsight Compute (CSV, text, logs), nvprof, rocprof, rocprofv3, rocprof-compute, Kineto "
      "traces (also .gz), LIKWID and ERT; files are recognised by their content.\n"
      "\n"
      "chart.html is one file that works without a network: hover over a kernel for its full name, "
      "choose levels and precisions, search, zoom, and save what is shown. chart.svg is for "
      "papers. docs/guide/charts.md explains the marks.\n"
      "\n"
      "--predict needs the shapes of kernels: a PyTorch trace recorded with record_shapes=True, a "
      "GEMM that names its tile and whose grid and FLOPs were exported, or --model with --phase, "
      "--batch, --seq and --dtype as profiled. Kernels whose shapes stay unknown are counted in a "
      "warning, by reason.\n"
      "\n"
      "Examples:\n"
      "  rooftile roofline profile.csv\n"
      "  rooftile roofline out.* --gpu v100-sxm2-16gb --format json\n"
      "  rooftile roofline forward=fw.csv backward=bw.csv --group-by phase\n"
      "  rooftile roofline profile.csv -o chart.html\n"
      "  rooftile roofline O0=o0.csv O1=o1.csv --compare\n"
      "  rooftile roofline profile.csv --predict --model gpt2 --seq 128\n");
  command->callback([options, &context] {
    run_command(context, options->output, [&] { return run_roofline(*options, context); });
  });
}

}  // namespace rooftile::cli
