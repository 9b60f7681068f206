// SPDX-License-Identifier: Apache-2.0
//
// rooftile traffic conv ... | MODEL --gpu GPU: bytes per memory level, reuse and limiter.
#include <memory>

#include "cli/commands.h"
#include "cli/conv_options.h"
#include "cli/help.h"
#include "cli/request_options.h"
#include "report/describe.h"
#include "rooftile/traffic.h"

namespace rooftile::cli {

namespace {

struct TrafficOptions {
  TrafficRequest request;
  ConvOptions conv;
  Output output;
};

Status run_traffic(const CLI::App& command, TrafficOptions& options, const Context& context) {
  if (command.got_subcommand("conv")) {
    ROOFTILE_CHECK(check_one_layer(command, options.request.step));
    ROOFTILE_TRY(options.request.conv, make_conv(options.conv));
  } else if (options.request.step.model.empty()) {
    return usage_error("traffic needs a model or a layer",
                       "rooftile traffic resnet50 --gpu v100-sxm2-16gb, or traffic conv --help");
  }
  if (options.request.step.gpu.empty()) {
    return usage_error("--gpu is required", "rooftile gpus lists the names");
  }
  ROOFTILE_CHECK(check_one_gpu("traffic", options.request.step.gpu));
  ROOFTILE_TRY(const study::Session session, context.session());
  ROOFTILE_TRY(const auto report,
               session.traffic(options.request,
                               progress_bar(options.request.simulate ? "simulating" : "counting")));
  return emit(options.output, report::describe(report));
}

}  // namespace

void add_traffic(CLI::App& app, Context& context) {
  auto options = std::make_shared<TrafficOptions>();
  CLI::App* command =
      app.add_subcommand("traffic", "bytes per memory level, reuse and limiter of each layer");
  Request& step = options->request.step;
  add_step_options(*command, step);
  command->add_option("--gpu", step.gpu, "catalogue name or JSON file")->group(kMachineGroup);
  command
      ->add_option(
          "--traffic-model", options->request.traffic_model,
          "how bytes are counted: closed (the formulas of the forecast), exact or paper (DeLTA)")
      ->capture_default_str();
  command
      ->add_option("--order", options->request.order,
                   "order of thread blocks with exact: column, row or swizzled")
      ->capture_default_str();
  command
      ->add_option("--algorithm", options->request.algorithm,
                   "algorithm of convolutions instead of the predicted one: implicit_gemm, "
                   "winograd_fused, ...")
      ->capture_default_str();
  command
      ->add_option("--tile", options->request.tile,
                   "tile of implicit GEMMs instead of the predicted one, such as 128x64")
      ->capture_default_str();
  command->add_flag("--simulate", options->request.simulate,
                    "also count with the cache simulator (seconds per layer)");
  add_output_options(*command, options->output, report::Offers{.charts = true});
  CLI::App* conv = command->add_subcommand("conv", "one convolution");
  add_conv_options(*conv, options->conv);
  add_conv_pass(*conv, options->conv);
  conv->footer(
      "--gpu and the other options are those of rooftile traffic.\n"
      "\n"
      "Example:\n"
      "  rooftile traffic conv --n 64 --c 256 --h 14 --w 14 --k 256 --r 3 --s 3 --pad 1 --gpu "
      "titan-xp\n");
  command->footer(
      "Shows the kernels of the forecast and the bytes behind their times: loads of one launch at "
      "L1, L2 and DRAM, what is written (once, through all levels), reuse, demand against the "
      "ceilings, tile, time and limiter. Times and limiters are those of predict.\n"
      "\n"
      "exact counts the loads of tiled products on a sample; paper takes DeLTA's formulas for FP32 "
      "convolutions. Both change the bytes but not the time; latency_exact_ms says how long the "
      "kernel would take with those bytes, uncalibrated.\n"
      "\n"
      "Examples:\n"
      "  rooftile traffic conv --n 64 --c 256 --h 14 --w 14 --k 256 --r 3 --s 3 --pad 1 --gpu "
      "titan-xp\n"
      "  rooftile traffic resnet50 --batch 64 --gpu v100-sxm2-16gb -o resnet50.svg\n"
      "  rooftile traffic conv --n 8 --c 64 --h 56 --w 56 --k 64 --r 3 --s 3 --pad 1 --gpu "
      "p100-pcie-16gb --simulate\n");
  command->callback([options, command, &context] {
    run_command(context, options->output, [&] { return run_traffic(*command, *options, context); });
  });
}

}  // namespace rooftile::cli
