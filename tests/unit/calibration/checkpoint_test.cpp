// SPDX-License-Identifier: Apache-2.0
#include "calibration/checkpoint.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "calibration/task_pool.h"
#include "core/file.h"
#include "temporary_folder.h"

namespace rooftile::calibration {
namespace {

const std::map<std::string, std::size_t> kSizes{{"all/nvidia/linear", 3}, {"all/nvidia/bmm", 2}};
const TaskResults kResults{{"all/nvidia/linear", {1.5, -20.25, 1e-3}}, {"all/nvidia/bmm", {0, 7}}};

class Checkpoint : public ::testing::Test {
 protected:
  Result<TaskResults> read(const std::string& text) const {
    return read_checkpoint(folder_.write("checkpoint.json", text), "key", kSizes);
  }
  void expect_error(const std::string& text, const std::string& where) const {
    const auto results = read(text);
    ASSERT_FALSE(results) << text;
    EXPECT_NE(results.error().where.find("checkpoint.json:" + where), std::string::npos)
        << to_string(results.error());
  }

  testing::TemporaryFolder folder_;
};

TEST_F(Checkpoint, KeepsResultsToTheLastDigit) {
  const std::string path = folder_.file("checkpoint.json");
  ASSERT_TRUE(write_checkpoint(path, "key", kResults));
  EXPECT_EQ(read_checkpoint(path, "key", kSizes).value(), kResults);
  EXPECT_TRUE(read_checkpoint(path, "other", kSizes).value().empty());
  EXPECT_TRUE(read_checkpoint(folder_.file("none.json"), "key", kSizes).value().empty());
}

TEST_F(Checkpoint, RefusesOtherSizesNamesAndNumbers) {
  // Without the check of sizes, two numbers where three are read were a heap overflow.
  expect_error(R"({"key":"key","tasks":{"all/nvidia/linear":[1,2]}})",
               "/tasks/all~1nvidia~1linear");
  expect_error(R"({"key":"key","tasks":{"all/nvidia/linear":[]}})", "/tasks/all~1nvidia~1linear");
  expect_error(R"({"key":"key","tasks":{"all/nvidia/bmm":[1,2,3]}})", "/tasks/all~1nvidia~1bmm");
  expect_error(R"({"key":"key","tasks":{"all/amd/bmm":[1,2]}})", "/tasks/all~1amd~1bmm");
  expect_error(R"({"key":"key","tasks":{"all/nvidia/bmm":[1,1e300]}})",
               "/tasks/all~1nvidia~1bmm/1");
  expect_error(R"({"key":"key","tasks":{"all/nvidia/bmm":[1,"2"]}})", "/tasks/all~1nvidia~1bmm/1");
  expect_error(R"({"key":"key","tasks":{"all/nvidia/bmm":[1,1e999]}})", "");
  expect_error(R"({"key":"key","tasks":[]})", "/tasks");
  expect_error(R"({"key":"key"})", "/");
  expect_error(R"({"key":7,"tasks":{}})", "/key");
  expect_error(R"({"key":"key","tasks":{},"more":1})", "/more");
}

TEST_F(Checkpoint, DamagedFilesAreRefusedOrHoldWholeResults) {
  const std::string path = folder_.file("checkpoint.json");
  ASSERT_TRUE(write_checkpoint(path, "key", kResults));
  const std::string text = read_file(path).value();
  for (std::size_t size = 0; size + 1 < text.size(); ++size) {
    EXPECT_FALSE(read(text.substr(0, size))) << size;
  }
  std::mt19937_64 random(20260101);
  for (int i = 0; i < 2000; ++i) {
    std::string damaged = text;
    for (std::uint64_t n = 1 + random() % 3; n > 0; --n) {
      const std::size_t at = random() % damaged.size();
      switch (random() % 3) {
        case 0: damaged.erase(at, 1 + random() % 8); break;
        case 1: damaged[at] = "0123456789.,:[]{}\"e-"[random() % 20]; break;
        default: damaged.insert(at, damaged.substr(random() % damaged.size(), random() % 12));
      }
    }
    const auto results = read(damaged);
    if (!results) continue;
    for (const auto& [name, numbers] : *results) EXPECT_EQ(numbers.size(), kSizes.at(name));
  }
}

TEST_F(Checkpoint, TasksTakeNoResultOfAnotherSize) {
  const Tasks tasks{
      {"a", {.run = [](const TaskResults&) { return Outcome{.x = {1, 2}}; }, .size = 2}}};
  const std::string path = folder_.file("checkpoint.json");
  const PoolOptions options{.threads = 1, .checkpoint = path, .key = "k", .progress = {}};
  ASSERT_TRUE(write_checkpoint(path, "k", {{"a", {1}}}));
  EXPECT_FALSE(run_tasks(tasks, options));
  ASSERT_TRUE(write_checkpoint(path, "k", {{"a", {3, 4}}}));
  EXPECT_EQ(run_tasks(tasks, options).value().at("a"), (std::vector<double>{3, 4}));
  ASSERT_TRUE(write_checkpoint(path, "another key", {{"a", {1}}}));
  EXPECT_EQ(run_tasks(tasks, options).value().at("a"), (std::vector<double>{1, 2}));
}

}  // namespace
}  // namespace rooftile::calibration
