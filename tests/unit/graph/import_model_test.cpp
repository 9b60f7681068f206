// SPDX-License-Identifier: Apache-2.0
#include "graph/import_model.h"

#include <gtest/gtest.h>

#include "graph/lower.h"

namespace rooftile::graph {
namespace {

TEST(ImportModel, Gpt2HasThePublishedParameterCount) {
  const auto graph = import_model(Catalog::embedded(), "gpt2", {});
  ASSERT_TRUE(graph.has_value()) << to_string(graph.error());
  EXPECT_EQ(graph->parameters, 124'439'808);
}

TEST(ImportModel, NamesIgnoreCaseAndUnderscores) {
  for (const char* name : {"gpt2-large", "gpt2_large", "GPT2_Large"}) {
    const auto graph = import_model(Catalog::embedded(), name, {});
    ASSERT_TRUE(graph.has_value()) << to_string(graph.error());
    EXPECT_EQ(graph->parameters, 774'030'080);
  }
}

TEST(ImportModel, UnknownNameSuggestsTheNearest) {
  const auto graph = import_model(Catalog::embedded(), "gpt2-lage", {});
  ASSERT_FALSE(graph.has_value());
  EXPECT_EQ(to_string(graph.error()),
            "error: unknown model \"gpt2-lage\"\nhint: did you mean \"gpt2-large\"?\n");
}

// 2 FLOP per parameter of the matrix products and token, plus 4 s^2 h per layer and sequence for
// the scores and their product with the values: gpt2, one sequence of 1024 tokens:
// 2 * 1024 * (12 * 12 * 768^2 + 50257 * 768) + 12 * 4 * 1024^2 * 768.
TEST(Lower, ForwardFlopsOfGpt2) {
  const auto graph = import_model(Catalog::embedded(), "gpt2", {.sequence = 1024});
  ASSERT_TRUE(graph.has_value());
  Flops gemm;
  for (const LoweredKernel& kernel : lower(*graph, {})) {
    if (kernel.work.matrix) gemm += kernel.work.flops * static_cast<double>(kernel.count);
  }
  EXPECT_DOUBLE_EQ(gemm.base(), 2.0 * 1024 * (12.0 * 12 * 768 * 768 + 50257.0 * 768) +
                                    12.0 * 4 * 1024 * 1024 * 768);
}

}  // namespace
}  // namespace rooftile::graph
