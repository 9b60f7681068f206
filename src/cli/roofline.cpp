// SPDX-License-Identifier: Apache-2.0
//
// rooftile roofline EXPORT...: measured kernels under the roofs of their machine.
#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "core/text.h"
#include "report/page.h"
#include "report/roofline_view.h"
#include "rooftile/roofline.h"

namespace rooftile::cli {

namespace {

struct RooflineOptions {
  RooflineRequest request;
  std::string machine, group_by = "kernel", compat = "none", window;
  bool time_based = false;
  int top = 20;
  Output output;
};

/// "FROM:TO" in ms; either may be left out.
Status read_window(const std::string& text, RooflineRequest& request) {
  if (text.empty()) return {};
  const std::size_t colon = text.find(':');
  const auto part = [](std::string_view number) { return parse_double(trim(number)); };
  const std::string_view from = std::string_view(text).substr(0, colon);
  const std::string_view until =
      colon == std::string::npos ? std::string_view() : std::string_view(text).substr(colon + 1);
  request.from_ms = part(from);
  request.until_ms = part(until);
  const bool wrong =
      colon == std::string::npos || (!from.empty() && !request.from_ms) ||
      (!until.empty() && !request.until_ms) || (from.empty() && until.empty()) ||
      (request.from_ms && request.until_ms && !(*request.from_ms < *request.until_ms));
  if (!wrong) return {};
  return usage_error(fmt::format("--window \"{}\" is not a window of time", printable(text)),
                     "write FROM:TO in ms since the first launch, e.g. --window 10:25 or 10:");
}

Status run_roofline(RooflineOptions options, const Context& context) {
  ROOFTILE_TRY(const study::Session session, context.session());
  if (!options.machine.empty()) options.request.machine = options.machine;
  options.request.group_by_phase = options.group_by == "phase";
  if (!options.request.step.model.empty() && !options.request.predict) {
    return usage_error("--model needs --predict");
  }
  options.request.nersc = options.compat == "nersc";
  ROOFTILE_CHECK(read_window(options.window, options.request));
  ROOFTILE_TRY(const roofline::Chart chart,
               session.roofline(options.request, progress_bar("reading")));
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
  command->add_option("--gpu", request.gpu, "roofs of this GPU: catalogue name or JSON file");
  command->add_option("--machine", options->machine,
                      "measured roofs: machine file, ERT result or table of peaks");
  command->add_option("--subtract", request.subtract,
                      "exports of a run whose launches are taken off (backward = both - forward)");
  command->add_option("--group-by", options->group_by, "one row per kernel or per phase (run)")
      ->check(CLI::IsMember({"kernel", "phase"}))
      ->capture_default_str();
  command->add_flag("--compare", request.compare,
                    "runs beside the first one, kernel by kernel, differences ranked");
  command->add_option("--kernel", request.kernel,
                      "only kernels whose name matches this regular expression");
  command->add_option("--launch-skip", request.launch_skip, "leave out the first launches")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--launch-count", request.launch_count, "as many launches after those")
      ->check(CLI::PositiveNumber);
  command->add_option("--nvtx,--annotation", request.annotation,
                      "only launches inside of this NVTX range or user annotation");
  command->add_option("--window", options->window,
                      "only launches that begin between FROM:TO ms after the first one");
  command->add_flag("--boost", request.boost,
                    "roofs of the data sheet at its boost clock instead of the profile's clock");
  command->add_flag(
      "--predict", request.predict,
      "expected time and traffic beside the measured ones, where the shape of a "
      "kernel is known: from a trace with shapes, tile and grid of a GEMM, or --model");
  command->add_option("--model", request.step.model, "with --predict: the model that was profiled");
  command->add_option("--phase", request.step.phase, "of --model: infer, train, prefill, decode")
      ->capture_default_str();
  command->add_option("--batch", request.step.batch, "of --model")->capture_default_str();
  command->add_option("--seq", request.step.sequence, "of --model: tokens per sequence");
  command->add_option("--dtype", request.step.dtype, "of --model")->capture_default_str();
  command->add_flag("--time-based", options->time_based,
                    "times that FLOPs, bytes and launches need, beside the measured one");
  command
      ->add_option("--compat", options->compat,
                   "nersc: total cycles over the mean clock and GFLOP/s of 2^30, as the published "
                   "tables")
      ->check(CLI::IsMember({"none", "nersc"}))
      ->capture_default_str();
  command->add_option("--top", options->top, "kernels in the text report")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  add_output_options(*command, options->output, {"text", "json", "csv", "svg", "html"});
  command->footer(
      "\nReads Nsight Compute (.ncu-rep, CSV, text, logs), databases of Nsight Systems and\n"
      "rocprofv3, nvprof, rocprof, rocprof-compute, Kineto traces (also .gz), LIKWID and ERT; the\n"
      "format is recognised.\n"
      "\nExamples:\n"
      "  rooftile roofline profile.csv\n"
      "  rooftile roofline out.* --gpu v100-sxm2-16gb --format json\n"
      "  rooftile roofline forward=fw.csv backward=bw.csv --group-by phase\n"
      "  rooftile roofline profile.csv -o chart.html\n"
      "  rooftile roofline O0=o0.csv O1=o1.csv O2=o2.csv --compare\n"
      "  rooftile roofline report.ncu-rep --kernel gemm --launch-skip 5 --launch-count 10\n"
      "  rooftile roofline trace.json.gz --annotation 'ProfilerStep#3' --predict\n");
  command->callback([options, &context] {
    run_command(context, options->output, [&] { return run_roofline(*options, context); });
  });
}

}  // namespace rooftile::cli
