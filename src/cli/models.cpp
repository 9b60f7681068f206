// SPDX-License-Identifier: Apache-2.0
//
// rooftile models: the built-in models.
#include <memory>
#include <span>

#include "cli/commands.h"
#include "graph/import_model.h"
#include "report/describe.h"

namespace rooftile::cli {

namespace {

Status run_models(const Output& output, const Context& context) {
  ROOFTILE_TRY(const study::Session session, context.session());
  ROOFTILE_TRY(const auto models, graph::list_models(session.catalog()));
  return emit(output, report::describe(std::span<const graph::ModelSummary>(models)));
}

}  // namespace

void add_models(CLI::App& app, Context& context) {
  auto output = std::make_shared<Output>();
  CLI::App* command = app.add_subcommand("models", "the built-in models");
  add_output_options(*command, *output, report::Offers{});
  command->footer(
      "Commands that take a model also take a Hugging Face config.json or a native graph "
      "(docs/format/graph.md).\n"
      "\n"
      "Examples:\n"
      "  rooftile models\n"
      "  rooftile models --format json\n"
      "  rooftile predict ./config.json --gpu h100-sxm\n");
  command->callback([output, &context] {
    run_command(context, *output, [&] { return run_models(*output, context); });
  });
}

}  // namespace rooftile::cli
