// SPDX-License-Identifier: Apache-2.0
//
// rooftile roofline EXPORT...: measured kernels under the roofs of their machine.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/commands.h"
#include "cli/help.h"
#include "cli/sizes.h"
#include "core/text.h"
#include "report/describe.h"
#include "roofline/chart.h"
#include "rooftile/roofline.h"

namespace rooftile::cli {

namespace {

constexpr const char* kPredictGroup = "Predictions next to measurements";
constexpr const char* kPartGroup = "A part of each run";

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
  return emit(options.output,
              report::describe(chart,
                               options.time_based ? report::RooflineView::TimeBased
                                                  : report::RooflineView::Hierarchical,
                               {.top = static_cast<std::size_t>(std::max(options.top, 1))}));
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
  command->add_flag("--compare", request.compare,
                    "compare every further run with the first one, kernel by kernel, differences "
                    "ranked");
  command
      ->add_option("--kernel", request.kernel,
                   "only kernels whose name matches this regular expression")
      ->type_name("REGEX")
      ->group(kPartGroup);
  command->add_option("--launch-skip", request.launch_skip, "leave out the first launches")
      ->check(CLI::NonNegativeNumber)
      ->type_name("N")
      ->group(kPartGroup);
  command->add_option("--launch-count", request.launch_count, "take this many launches after those")
      ->check(CLI::PositiveNumber)
      ->type_name("N")
      ->group(kPartGroup);
  command
      ->add_option("--nvtx,--annotation", request.annotation,
                   "only launches inside this NVTX range or user annotation")
      ->type_name("NAME")
      ->group(kPartGroup);
  command
      ->add_option("--window", options->window,
                   "only launches that begin in this window, FROM:TO in ms after the first launch")
      ->type_name("TIMES")
      ->group(kPartGroup);
  command
      ->add_flag("--boost", request.boost,
                 "roofs of the data sheet at its boost clock, not at the clock of the profile")
      ->group(kMachineGroup);
  command
      ->add_flag("--predict", request.predict,
                 "show predicted time and traffic next to the measured ones, where the shape of a "
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
  add_output_options(*command, options->output, report::Offers{.charts = true});
  command->footer(
      "Reads Nsight Compute (.ncu-rep, CSV, text, logs), databases of Nsight Systems and "
      "rocprofv3, nvprof, rocprof, rocprof-compute, Kineto traces (also .gz), LIKWID and ERT; "
      "files "
      "are recognised by their content.\n"
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
      "  rooftile roofline O0=o0.csv O1=o1.csv O2=o2.csv --compare\n"
      "  rooftile roofline report.ncu-rep --kernel gemm --launch-skip 5 --launch-count 10\n"
      "  rooftile roofline trace.json.gz --predict --annotation 'ProfilerStep#3'\n"
      "  rooftile roofline profile.csv --predict --model gpt2 --seq 128\n");
  command->callback([options, &context] {
    run_command(context, options->output, [&] { return run_roofline(*options, context); });
  });
}

}  // namespace rooftile::cli
