// SPDX-License-Identifier: Apache-2.0
//
// Real configuration files against their published numbers of parameters (index.tsv of the data):
// 1 % where they are stated exactly, 3 % where a model card rounds them, and 20 % where only the
// name says them (names count what they like: with or without embeddings, vision, prediction
// heads).
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/catalog.h"
#include "core/file.h"
#include "core/text.h"
#include "execution/launches.h"
#include "graph/import_model.h"
#include "shared_data.h"

namespace rooftile::graph {
namespace {

struct Listed {
  std::string file;
  std::optional<double> parameters;  ///< billions
  double tolerance = 0.2;
};

std::vector<Listed> listed() {
  std::vector<Listed> files;
  const auto text = read_file((testing::shared_data() / "configs" / "index.tsv").string());
  if (!text) return files;
  bool header = true;
  for (const std::string_view line : split(*text, '\n')) {
    const auto cells = split(line, '\t');
    if (std::exchange(header, false) || cells.size() < 5 || cells[1] == "(quantisation)") continue;
    Listed entry{.file = std::string(cells[0]), .parameters = parse_double(cells[2])};
    if (cells[4] == "keras-hub") entry.tolerance = 0.01;
    if (cells[4] == "card") entry.tolerance = 0.03;
    files.push_back(std::move(entry));
  }
  return files;
}

Result<Graph> import(const Catalog& catalog, const std::string& file, Step step) {
  ImportOptions options;
  options.step = step;
  options.sequence = 64;
  options.dtype = DType::Bf16;
  options.attention = AttentionKind::Flash;
  return import_model(catalog, (testing::shared_data() / "configs" / file).string(), options);
}

TEST(Configs, LoadAndHaveThePublishedParameters) {
  if (!testing::has_shared_data("configs/index.tsv")) GTEST_SKIP() << "no configs/index.tsv";
  const Catalog catalog = Catalog::embedded();
  const std::vector<Listed> files = listed();
  ASSERT_GT(files.size(), 80U);
  std::size_t loaded = 0;
  for (const Listed& entry : files) {
    const auto graph = import(catalog, entry.file, Step::Infer);
    if (!graph) {
      EXPECT_NE(graph.error().hint, "") << entry.file;  // a refusal says how to go on
      continue;
    }
    ++loaded;
    if (!entry.parameters) continue;
    const double found = static_cast<double>(graph->parameters + graph->idle_parameters) / 1e9;
    EXPECT_NEAR(found, *entry.parameters, entry.tolerance * *entry.parameters) << entry.file;
  }
  EXPECT_GE(static_cast<double>(loaded), 0.95 * static_cast<double>(files.size()));
}

// Prefill and decode of every file that has them lower to kernels.
TEST(Configs, EveryPhaseLowers) {
  if (!testing::has_shared_data("configs/index.tsv")) GTEST_SKIP() << "no configs/index.tsv";
  const Catalog catalog = Catalog::embedded();
  for (const Listed& entry : listed()) {
    if (!import(catalog, entry.file, Step::Infer)) continue;
    for (const Step step : {Step::Train, Step::Prefill, Step::Decode}) {
      const auto graph = import(catalog, entry.file, step);
      if (!graph) {
        EXPECT_EQ(graph.error().code, ErrorCode::Unsupported) << to_string(graph.error());
        continue;
      }
      EXPECT_FALSE(execution::launches(*graph, execution::default_launch_options(*graph)).empty());
    }
  }
}

}  // namespace
}  // namespace rooftile::graph
