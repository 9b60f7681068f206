// SPDX-License-Identifier: Apache-2.0
//
// The reader table recognises every layout, also those of steps and bytes, and each command says
// who reads a file that is not its own.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "calibration/dataset.h"
#include "calibration/labels.h"
#include "calibration/validate_traffic.h"
#include "core/catalog.h"
#include "temporary_folder.h"

namespace rooftile::calibration {
namespace {

constexpr const char* kStep =
    "device,model_name,mode,seqlen,batch,option,measured_ms,neusight_ms,remark\n"
    "Tesla T4,tiny,inf,512,4,fusion,9.5,10,x\n";
constexpr const char* kProductBytes =
    "gpu,phase,dtype,m,n,k,l2_bytes,dram_bytes\n"
    "h100-sxm,prefill,bf16,512,1024,2048,9000000,7340032\n";

struct Layouts : ::testing::Test {
  testing::TemporaryFolder folder;
  Catalog catalog = Catalog::embedded();
  std::string steps = folder.write("labels.csv", kStep);
  std::string bytes = folder.write("bytes.csv", kProductBytes);
};

TEST_F(Layouts, StepsAreRowsOfTheDataSet) {
  Dataset dataset;
  ASSERT_TRUE(read_dataset(steps, catalog, dataset));
  ASSERT_EQ(dataset.steps.size(), 1U);
  const MeasuredStep& step = dataset.steps.front();
  EXPECT_EQ(step.model, "tiny");
  EXPECT_EQ(step.option, "fusion");
  EXPECT_EQ(step.sequence, 512);
  EXPECT_EQ(step.batch, 4);
  EXPECT_DOUBLE_EQ(step.measured_ms, 9.5);
  EXPECT_DOUBLE_EQ(step.published_ms.at("neusight"), 10);
  EXPECT_EQ(step.line, 2U);
  EXPECT_EQ(dataset.unread_columns, std::vector<std::string>{"remark"});
}

TEST_F(Layouts, CountersAreComparedAtBothLevelsBesideTheCompulsoryBytes) {
  const auto table = validate_traffic({.file = bytes}, catalog, {});
  ASSERT_TRUE(table) << to_string(table.error());
  ASSERT_EQ(table->bytes.size(), 2U);
  EXPECT_EQ(table->bytes[0].level, "l2");
  EXPECT_DOUBLE_EQ(table->bytes[0].measured_bytes, 9e6);
  EXPECT_EQ(table->bytes[1].level, "dram");
  ASSERT_EQ(table->summary.size(), 4U);  // two levels, each for all and for "prefill bf16"
  EXPECT_EQ(table->summary[0].group, "predicted/dram");
  // 2 bytes x (512 x 2048 + 2048 x 1024 + 512 x 1024) = 7,340,032: what was counted.
  EXPECT_NEAR(table->summary[0].baseline("bound").value(), 0, 1e-12);
}

TEST_F(Layouts, AFileOfAnotherCommandIsSentThere) {
  const auto kernels = read_datasets(std::vector{steps}, catalog);
  ASSERT_FALSE(kernels);
  EXPECT_NE(kernels.error().hint.find("evaluate labels"), std::string::npos);
  const auto counted = read_datasets(std::vector{bytes}, catalog);
  ASSERT_FALSE(counted);
  EXPECT_NE(counted.error().hint.find("evaluate traffic"), std::string::npos);
  const auto labels = evaluate_labels(bytes, folder.path().string(), catalog, {}, {}, {});
  ASSERT_FALSE(labels);
  EXPECT_NE(labels.error().hint.find("evaluate traffic"), std::string::npos);
  const auto traffic = validate_traffic({.file = steps}, catalog, {});
  ASSERT_FALSE(traffic);
  EXPECT_NE(traffic.error().hint.find("evaluate labels"), std::string::npos);
}

}  // namespace
}  // namespace rooftile::calibration
