// SPDX-License-Identifier: Apache-2.0
//
// docs/format/graph.md against the importer: its example imports, its table has every operator.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "core/file.h"
#include "graph/import/native_ops.h"
#include "graph/import_model.h"
#include "source_folder.h"

namespace rooftile::graph {
namespace {

std::string page() {
  const auto text = read_file(testing::source_folder() / "docs/format/graph.md");
  EXPECT_TRUE(text.has_value()) << to_string(text.error());
  return text.value_or("");
}

// conv 3*64*9, norm 128; 8 x (conv 64*64*9, norm 128); linear 64*10 + 10.
TEST(GraphFormatPage, ExampleImports) {
  const std::string text = page();
  const std::string fence = "```json\n";
  const std::size_t begin = text.find(fence);
  ASSERT_NE(begin, std::string::npos);
  const std::size_t start = begin + fence.size();
  const auto graph = import_text(text.substr(start, text.find("```", start) - start), "graph.md",
                                 {.step = Step::Train, .batch = 16});
  ASSERT_TRUE(graph.has_value()) << to_string(graph.error());
  EXPECT_EQ(graph->parameters, 3 * 64 * 9 + 128 + 8 * (64 * 64 * 9 + 128) + 650);
}

TEST(GraphFormatPage, NamesEveryOperatorAndField) {
  const std::string text = page();
  for (const NativeOp& op : native_ops()) {
    EXPECT_NE(text.find(fmt::format("`{}`", op.name)), std::string::npos) << op.name;
    for (const std::string_view key : op.keys) {
      EXPECT_NE(text.find(fmt::format("`{}`", key)), std::string::npos) << key;
    }
  }
}

}  // namespace
}  // namespace rooftile::graph
