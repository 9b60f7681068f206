// SPDX-License-Identifier: Apache-2.0
//
// rooftile generate MODEL --gpu GPU --isl N --osl N: prompts in, tokens out.
#include <memory>

#include "cli/commands.h"
#include "cli/help.h"
#include "cli/request_options.h"
#include "report/describe.h"
#include "rooftile/generate.h"

namespace rooftile::cli {

namespace {

struct GenerateOptions {
  GenerateRequest request;
  Output output;
};

Status run_generate(const GenerateOptions& options, const Context& context) {
  ROOFTILE_CHECK(check_one_gpu("generate", options.request.step.gpu));
  ROOFTILE_TRY(const study::Session session, context.session());
  ROOFTILE_TRY(const GenerateReport report, session.generate(options.request));
  return emit(options.output, report::describe(report));
}

}  // namespace

void add_generate(CLI::App& app, Context& context) {
  auto options = std::make_shared<GenerateOptions>();
  CLI::App* command = app.add_subcommand(
      "generate", "time to first token, time per token and throughput of a language model");
  GenerateRequest& request = options->request;
  request.step.stack = "auto";
  add_request_options(*command, request.step);
  // What a generation decides itself.
  for (const char* name : {"--phase", "--batch", "--seq", "--context", "--optimizer", "--recompute",
                           "--microbatches"}) {
    command->remove_option(command->get_option(name));
  }
  command->add_option("--gpu", request.step.gpu, "catalogue name (rooftile gpus) or JSON file")
      ->group(kMachineGroup)
      ->required();
  command->add_option("--isl", request.isl, "tokens of a prompt")
      ->group(kStepGroup)
      ->capture_default_str();
  command->add_option("--osl", request.osl, "tokens generated per request")
      ->group(kStepGroup)
      ->capture_default_str();
  command
      ->add_option("--batch", request.batch, "sequences that start and end together (default: 1)")
      ->group(kStepGroup);
  command
      ->add_option("--concurrency", request.concurrency,
                   "requests in flight on a server that mixes prompts into decode steps")
      ->group(kStepGroup);
  command
      ->add_flag("--disaggregated", request.disaggregated,
                 "other GPUs of the same kind process the prompts")
      ->group(kStepGroup);
  add_output_options(*command, options->output, report::Offers{.charts = true});
  command->footer(
      "A fixed --batch goes through prefill and then osl - 1 decode steps over a growing cache. "
      "With --concurrency, a server keeps that many requests in flight and mixes new prompts into "
      "the decode steps, batch / osl of them per step: each delays the other requests by a fitted "
      "share of what it adds to the step that it rides along with. Prefix caching and speculative "
      "decoding are not modelled. Energy "
      "assumes boards at their power limit, so it is an upper bound.\n"
      "\n"
      "Examples:\n"
      "  rooftile generate llama3.1-8b --gpu h100-sxm --isl 1024 --osl 256 --batch 8\n"
      "  rooftile generate llama3.1-70b --gpu b200 --isl 1024 --osl 1024 --concurrency 64\n"
      "  rooftile generate llama3.1-70b --gpu h100-sxm --tp 4 --dtype fp8_e4m3 --concurrency 32 "
      "--format json | jq .tpot_ms\n");
  command->callback([options, &context] {
    run_command(context, options->output, [&] { return run_generate(*options, context); });
  });
}

}  // namespace rooftile::cli
