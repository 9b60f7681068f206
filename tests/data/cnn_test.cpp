// SPDX-License-Identifier: Apache-2.0
//
// The built-in convolutional networks against their published sizes (torchvision's model table).
#include <gtest/gtest.h>

#include <ostream>

#include "execution/launches.h"
#include "graph/import_model.h"

namespace rooftile::graph {
namespace {

struct Published {
  const char* name;
  std::int64_t parameters;
  double gmac;  ///< multiply-adds of one image, 10^9
};
std::ostream& operator<<(std::ostream& out, const Published& model) {
  return out << model.name;
}

class Cnn : public testing::TestWithParam<Published> {};

Graph import(const Published& model, const ImportOptions& options) {
  auto graph = import_model(Catalog::embedded(), model.name, options);
  EXPECT_TRUE(graph.has_value()) << to_string(graph.error());
  return graph.value_or(Graph{});
}

double matrix_flops(const Graph& graph) {
  Flops total;
  for (const execution::Launch& kernel :
       execution::launches(graph, execution::default_launch_options(graph))) {
    if (kernel.work.matrix) total += kernel.work.flops * static_cast<double>(kernel.count);
  }
  return total.base();
}

TEST_P(Cnn, HasThePublishedParameters) {
  for (const Step step : {Step::Infer, Step::Train}) {
    EXPECT_EQ(import(GetParam(), {.step = step}).parameters, GetParam().parameters);
  }
}

TEST_P(Cnn, HasThePublishedMultiplyAdds) {
  EXPECT_NEAR(matrix_flops(import(GetParam(), {})) / 2e9 / GetParam().gmac, 1.0, 0.01);
}

TEST_P(Cnn, WorkIsProportionalToTheBatch) {
  EXPECT_DOUBLE_EQ(matrix_flops(import(GetParam(), {.batch = 64})),
                   64 * matrix_flops(import(GetParam(), {})));
}

// Backward is two passes for each product but the first, whose input needs no gradient.
TEST_P(Cnn, TrainingTakesThreePassesButForTheFirstLayer) {
  const Graph infer = import(GetParam(), {});
  const Graph train = import(GetParam(), {.step = Step::Train});
  const execution::Launch first = execution::launches(infer, {}).front();
  EXPECT_DOUBLE_EQ(matrix_flops(train), 3 * matrix_flops(infer) - first.work.flops.base());
}

INSTANTIATE_TEST_SUITE_P(Torchvision, Cnn,
                         testing::Values(Published{"alexnet", 61'100'840, 0.714},
                                         Published{"vgg16", 138'357'544, 15.47},
                                         Published{"googlenet", 6'624'904, 1.498},
                                         Published{"resnet18", 11'689'512, 1.814},
                                         Published{"resnet50", 25'557'032, 4.089},
                                         Published{"resnet152", 60'192'808, 11.514},
                                         Published{"inception-v3", 23'834'568, 5.713},
                                         Published{"mobilenet-v2", 3'504'872, 0.301}),
                         [](const auto& test) {
                           std::string name = test.param.name;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace rooftile::graph
