// SPDX-License-Identifier: Apache-2.0
//
// rooftile scale MODEL | conv ... --gpu GPU --set KEY=FACTOR,...: what-if on the machine.
#include <memory>

#include "cli/commands.h"
#include "cli/conv_options.h"
#include "cli/help.h"
#include "cli/request_options.h"
#include "report/describe.h"
#include "rooftile/scale.h"

namespace rooftile::cli {

namespace {

constexpr const char* kVariantGroup = "Variants of the machine";

struct ScaleOptions {
  ScaleRequest request;
  ConvOptions conv;
  Output output;
};

Status run_scale(const CLI::App& command, ScaleOptions& options, const Context& context) {
  if (command.got_subcommand("conv")) {
    ROOFTILE_CHECK(check_one_layer(command, options.request.step));
    ROOFTILE_TRY(options.request.conv, make_conv(options.conv));
  }
  if (options.request.step.gpu.empty()) {
    return usage_error("--gpu is required", "rooftile gpus lists the names");
  }
  ROOFTILE_CHECK(check_one_gpu("scale", options.request.step.gpu));
  ROOFTILE_TRY(const study::Session session, context.session());
  ROOFTILE_TRY(const auto report, session.scale(options.request, progress_bar("scaling")));
  return emit(options.output, report::describe(report));
}

}  // namespace

void add_scale(CLI::App& app, Context& context) {
  auto options = std::make_shared<ScaleOptions>();
  CLI::App* command =
      app.add_subcommand("scale", "what if the GPU had more of a resource; balanced scaling");
  Request& step = options->request.step;
  add_step_options(*command, step);
  command->add_option("--gpu", step.gpu, "catalogue name or JSON file")->group(kMachineGroup);
  add_list_option(*command, "--set", options->request.set,
                  "factors of one variant, as KEY=FACTOR,KEY=FACTOR")
      ->group(kVariantGroup);
  add_list_option(*command, "--cost", options->request.cost,
                  "weights of the cost model, as KEY=WEIGHT,KEY=WEIGHT relative to the base GPU")
      ->group(kVariantGroup);
  command
      ->add_flag("--study", options->request.study,
                 "each resource alone x2 and x4, then the cheapest balanced sets")
      ->group(kVariantGroup);
  command
      ->add_option("--optimize", options->request.optimize,
                   "cheapest set that reaches a speed-up: target=2x")
      ->group(kVariantGroup);
  add_output_options(*command, options->output, report::Offers{.charts = true});
  CLI::App* conv = command->add_subcommand("conv", "one convolution");
  add_conv_options(*conv, options->conv);
  add_conv_pass(*conv, options->conv);
  conv->footer(
      "--gpu, --set and the other options are those of rooftile scale.\n"
      "\n"
      "Example:\n"
      "  rooftile scale conv --n 64 --c 128 --h 28 --w 28 --k 128 --r 3 --s 3 --pad 1 --gpu "
      "v100-pcie-32gb --set l2_bw=2\n");
  command->footer(
      "Keys: sms, lanes, sm_memory, shared_bw, l1_bw, l2_bw, l2_size, dram_bw, clock; factors from "
      "0.001 to 1024. \"As it is\" is the step of predict, and every variant is predicted anew in "
      "the same way. For each resource, the table also shows the factor beyond which twice as much "
      "gains less than 5 %.\n"
      "\n"
      "The cost of a variant is the sum of weight x (factor - 1), or weight x (factor^3 - 1) for "
      "the clock, with the weights sms 0.5, lanes 0.25, sm_memory 0.12, shared_bw 0.03, l1_bw "
      "0.03, l2_bw 0.06, l2_size 0.10, dram_bw 0.25, clock 0.30. A resource with weight 0 is "
      "free.\n"
      "\n"
      "--study without a model runs AlexNet, VGG-16, GoogLeNet and ResNet-152 in inference and "
      "training.\n"
      "\n"
      "Examples:\n"
      "  rooftile scale resnet50 --batch 64 --gpu v100-pcie-32gb --set lanes=2,dram_bw=1.5\n"
      "  rooftile scale --study --batch 64 --gpu v100-pcie-32gb\n"
      "  rooftile scale vgg16 --batch 64 --gpu p100-pcie-16gb --optimize target=2x\n"
      "  rooftile scale conv --n 64 --c 128 --h 28 --w 28 --k 128 --r 3 --s 3 --pad 1 --gpu "
      "v100-pcie-32gb --set l2_bw=2\n");
  command->callback([options, command, &context] {
    run_command(context, options->output, [&] { return run_scale(*command, *options, context); });
  });
}

}  // namespace rooftile::cli
