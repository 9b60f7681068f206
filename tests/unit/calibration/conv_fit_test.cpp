// SPDX-License-Identifier: Apache-2.0
#include "calibration/conv_fit.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "calibration/descent.h"
#include "calibration/validate_traffic.h"
#include "temporary_folder.h"

namespace rooftile::calibration {
namespace {

// A bowl with its lowest point at three known constants: found to the last step of 3 %, whatever
// the shipped values are.
TEST(Descent, FindsTheLowestPoint) {
  const auto distance = [](const ConvolutionForm& c) {
    return std::abs(std::log(c.prologue / 1700)) + std::abs(std::log(c.watt_28nm / 61)) +
           std::abs(std::log(c.filter_gradient / 0.7));
  };
  const ConvolutionForm found = descend<ConvolutionForm>(distance, {});
  EXPECT_NEAR(found.prologue / 1700, 1.0, 0.035);
  EXPECT_NEAR(found.watt_28nm / 61, 1.0, 0.035);
  EXPECT_NEAR(found.filter_gradient / 0.7, 1.0, 0.035);
}

class ValidateTimes : public ::testing::Test {
 protected:
  /// NeuSight's layout: a few layers on the named devices.
  Result<ValidationTable> validate(const std::vector<std::string>& devices) const {
    std::string text =
        "op,device,b,c_in,c_out,hw,filter,stride,padding,algorithm,kernel,latency_ms\n";
    for (const std::string& device : devices) {
      for (const int channels : {32, 64, 128, 256}) {
        text += fmt::format("conv,{},8,{},64,28,3,1,1,implicit_gemm,scudnn_128x64,1.5\n", device,
                            channels);
      }
    }
    return validate_traffic({.file = folder_.write("conv.csv", text)}, Catalog::embedded(), {});
  }
  static std::string notes(const ValidationTable& table) {
    return fmt::format("{}", fmt::join(table.notes, "\n"));
  }

  testing::TemporaryFolder folder_;
};

TEST_F(ValidateTimes, MissingFileIsAnError) {
  const auto table = validate_traffic({.file = "no/such/conv.csv"}, Catalog::embedded(), {});
  ASSERT_FALSE(table);
  EXPECT_NE(table.error().where.find("conv.csv"), std::string::npos);
}

TEST_F(ValidateTimes, SaysWhichGpusTheConstantsHaveSeen) {
  const auto both = validate({"Tesla T4", "NVIDIA A100-PCIE-40GB"});
  ASSERT_TRUE(both) << to_string(both.error());
  EXPECT_NE(notes(*both).find("fitted on the published rows of Tesla T4:"), std::string::npos)
      << notes(*both);
  EXPECT_NE(notes(*both).find("They saw no row of NVIDIA A100-PCIE-40GB."), std::string::npos);
  const auto unseen = validate({"NVIDIA A100-PCIE-40GB"});
  ASSERT_TRUE(unseen);
  EXPECT_EQ(notes(*unseen).find("fitted on"), std::string::npos) << notes(*unseen);
}

TEST_F(ValidateTimes, TheFileOfTheConstantsIsAnInput) {
  const auto table = validate({"Tesla T4"});
  ASSERT_TRUE(table) << to_string(table.error());
  const Input& last = table->provenance.inputs.back();  // in the order of their kinds
  EXPECT_EQ(last.kind + " " + last.file, "predictor catalog:predictors/default/weights.json");
}

TEST_F(ValidateTimes, NobodyElsesDriftIsNotZero) {
  const auto column = [](const ValidationTable& table, const char* name) {
    const auto it = std::find(table.columns.begin(), table.columns.end(), name);
    return table.rows.at(0).at(static_cast<std::size_t>(it - table.columns.begin())).text;
  };
  const auto alone = validate({"Tesla T4"});
  ASSERT_TRUE(alone) << to_string(alone.error());
  EXPECT_EQ(column(*alone, "others' drift"), "-");
  EXPECT_EQ(column(*alone, "others' drift, choice"), "-");
  EXPECT_NE(notes(*alone).find("one GPU"), std::string::npos);
  const auto two = validate({"Tesla T4", "Tesla P4"});
  ASSERT_TRUE(two);
  EXPECT_NE(column(*two, "others' drift"), "-");
  EXPECT_EQ(notes(*two).find("one GPU"), std::string::npos);
}

}  // namespace
}  // namespace rooftile::calibration
