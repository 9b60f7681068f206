// SPDX-License-Identifier: Apache-2.0
#include "study/session.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <thread>
#include <vector>

#include "cost/predictor.h"
#include "embedded_session.h"
#include "graph/import_model.h"
#include "hardware/machine.h"
#include "rooftile/rooftile.h"
#include "temporary_folder.h"

namespace rooftile {
namespace {

Request step_of(std::int64_t batch, std::int64_t sequence) {
  Request request;
  request.model = "gpt2";
  request.gpu = "h100-sxm";
  request.batch = batch;
  request.sequence = sequence;
  return request;
}

TEST(Session, WhatTheCatalogueHoldsIsReadOnce) {
  const study::Session& session = testing::embedded_session();
  EXPECT_EQ(session.machine("l4", {}).value(), session.machine("l4", {}).value());
  EXPECT_EQ(session.model("gpt2").value(), session.model("gpt2").value());
  EXPECT_EQ(session.predictor("").value(), session.predictor("").value());
  EXPECT_NE(session.predictor("").value(), session.predictor("bound").value());
}

TEST(Session, FilesByPathAreReadAnew) {
  const testing::TemporaryFolder folder;
  const Catalog catalog = Catalog::embedded();
  const std::string file =
      folder.write("own.json", catalog.read("models/gpt2.json").value().content);
  const study::Session& session = testing::embedded_session();
  EXPECT_NE(session.model(file).value(), session.model(file).value());
  folder.write("own.json", "{}");
  const auto changed = session.model(file);
  ASSERT_TRUE(changed);
  EXPECT_FALSE((*changed)->import({}));
}

/// A Session that has answered other questions gives the same bytes as a fresh one.
TEST(Session, AnswersDoNotDependOnWhatWasAskedBefore) {
  for (const std::int64_t batch : {1, 3}) {
    const Request request = step_of(batch, 100 + batch);
    const auto again = testing::embedded_session().predict(request);
    const auto fresh = study::Session(Catalog::embedded()).predict(request);
    ASSERT_TRUE(again && fresh);
    EXPECT_EQ(to_json(*again), to_json(*fresh));
  }
}

TEST(Session, SeveralThreadsShareOne) {
  constexpr std::size_t kThreads = 4;
  constexpr std::int64_t kSteps = 6;
  const Session session;  // nothing is read yet: the threads meet at every file
  std::array<std::vector<std::string>, kThreads> answers;
  std::vector<std::thread> threads;
  for (auto& own : answers) {
    threads.emplace_back([&session, &own] {
      for (std::int64_t i = 1; i <= kSteps; ++i) {
        const auto report = session.predict(step_of(i, 64 * i));
        own.push_back(report ? to_json(*report) : report.failure().message);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < answers[0].size(); ++i) {
    const auto alone = Session().predict(
        step_of(static_cast<std::int64_t>(i) + 1, 64 * (static_cast<std::int64_t>(i) + 1)));
    ASSERT_TRUE(alone);
    for (const auto& own : answers) EXPECT_EQ(own[i], to_json(*alone));
  }
}

TEST(PublicSession, EveryStudyAnswers) {
  const Session session;
  const auto step = session.predict(step_of(1, 128));
  ASSERT_TRUE(step);
  EXPECT_GT(step->latency.total_ms, 0);
  const auto both = session.compare(step_of(1, 128), {"h100-sxm", "l4"});
  ASSERT_TRUE(both);
  EXPECT_EQ((*both)[0].latency.total_ms, step->latency.total_ms);
  const auto kernel = session.kernel({.op = GemmShape{.m = 512, .n = 512, .k = 512}, .gpu = "l4"});
  ASSERT_TRUE(kernel);
  EXPECT_EQ(kernel->kernels.size(), 1U);
  const ConvShape layer{.n = 8, .c = 64, .h = 28, .w = 28, .k = 64, .r = 3, .s = 3};
  TrafficRequest bytes;
  bytes.step.gpu = "v100-pcie-32gb";
  bytes.conv = layer;
  const auto traffic = session.traffic(bytes);
  ASSERT_TRUE(traffic);
  EXPECT_GT(traffic->layers.front().read.dram, 0);
  ScaleRequest variant;
  variant.step.gpu = "v100-pcie-32gb";
  variant.conv = layer;
  variant.set = {"clock=2"};
  const auto scaled = session.scale(variant);
  ASSERT_TRUE(scaled);
  EXPECT_GT(scaled->steps.front().variants.front().speedup, 1);
}

TEST(PublicSession, FailuresSayWhatTheCommandLineSays) {
  const Session session;
  const auto unknown = session.predict({.model = "gpt2", .gpu = "h100-smx"});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.failure().code, 1);
  EXPECT_NE(unknown.failure().hint.find("h100-sxm"), std::string::npos);
  const auto vector =
      session.kernel({.op = VectorOperator{.kind = "relu", .shape = {8, 8}}, .gpu = "l4"});
  ASSERT_FALSE(vector);
  EXPECT_EQ(vector.failure().code, 2);
  const auto profile = session.roofline({.exports = {"no/such/file.csv"}});
  ASSERT_FALSE(profile);
  EXPECT_FALSE(profile.failure().message.empty());
}

TEST(PublicSession, ItsCatalogueIsTheOneItWasOpenedWith) {
  const auto missing = Session({"no/such/folder"}).predict(step_of(1, 128));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.failure().where, "no/such/folder");
  Request other = step_of(1, 128);
  other.catalog = {"elsewhere"};
  const auto refused = Session().predict(other);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.failure().code, 2);
}

}  // namespace
}  // namespace rooftile
