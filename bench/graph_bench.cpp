// SPDX-License-Identifier: Apache-2.0
//
// From a model's name to its kernels: reading the embedded configuration, building and validating
// the graph, lowering a training step. A model with more layers costs no more.
#include "bench.h"
#include "execution/launches.h"
#include "graph/import_model.h"

namespace {

double milliseconds(const rooftile::Catalog& catalog, const char* model) {
  using namespace rooftile::graph;
  namespace execution = rooftile::execution;
  ImportOptions options;
  options.step = Step::Train;
  options.sequence = 2048;
  std::size_t kernels = 0;
  const double seconds = rooftile::bench::best_seconds(200, [&] {
    const auto graph = import_model(catalog, model, options);
    if (graph)
      kernels += execution::launches(*graph, execution::default_launch_options(*graph)).size();
  });
  return kernels == 0 ? 1e9 : seconds * 1e3;
}

}  // namespace

int main() {
  const rooftile::Catalog catalog = rooftile::Catalog::embedded();
  std::vector<rooftile::bench::Row> rows;
  for (const char* model : {"gpt3-2.7b", "gpt3-175b", "switch-xl4"}) {
    rows.push_back({.what = std::string(model) + ", name to kernels",
                    .unit = "ms",
                    .ours = milliseconds(catalog, model),
                    .rival = std::nullopt,
                    .target = 1.0,
                    .less_is_better = true});
  }
  return rooftile::bench::print(rows);
}
