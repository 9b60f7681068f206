// SPDX-License-Identifier: Apache-2.0
//
// Public measurements are plausible: no file of kernels that we fit has a row below its bound, and
// none is warned of.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "calibration/plausible.h"
#include "shared_data.h"

namespace rooftile::calibration {
namespace {

std::vector<std::string> kernel_files() {
  std::vector<std::string> files;
  for (const char* folder : {"neusight/nvidia", "neusight/amd", "aiconfigurator"}) {
    std::error_code failure;
    std::filesystem::directory_iterator it(testing::shared_data() / folder, failure);
    for (; !failure && it != std::filesystem::directory_iterator(); it.increment(failure)) {
      const std::string name = it->path().filename().string();
      const bool kernels = std::string_view(folder) != "aiconfigurator" ||
                           name.starts_with("gemm_") || name.find("_attention_") != name.npos;
      if (kernels && it->path().extension() == ".csv") files.push_back(it->path().string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

TEST(Times, PublicMeasurementsLieAboveTheirBounds) {
  const auto files = kernel_files();
  if (files.empty())
    GTEST_SKIP() << "no measured kernels: set ROOFTILE_DATA to the folder that holds neusight/";
  const auto dataset = read_datasets(files, Catalog::embedded());
  ASSERT_TRUE(dataset) << to_string(dataset.error());
  for (const TimeCheck& check : check_times(*dataset)) {
    EXPECT_EQ(check.below, 0) << check.file << ":" << check.line;
    EXPECT_FALSE(check.warning()) << *check.warning();
  }
}

}  // namespace
}  // namespace rooftile::calibration
