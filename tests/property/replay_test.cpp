// SPDX-License-Identifier: Apache-2.0
//
// Whatever is predicted is predicted again from its report alone, bit for bit.
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "embedded_session.h"
#include "graph/import_model.h"
#include "rooftile/report.h"
#include "study/replay.h"
#include "written.h"

namespace rooftile {
namespace {

/// Requests of all kinds; some ask for what a model or a GPU cannot do and are refused.
class RandomRequests {
 public:
  explicit RandomRequests(std::vector<graph::ModelSummary> models) : models_(std::move(models)) {}

  Request next() {
    Request request;
    request.model = models_[below(models_.size())].name;
    request.gpu = one_of({"h100-sxm", "a100-sxm-80gb", "v100-sxm2-16gb", "l4", "mi250", "t4"});
    request.phase = one_of({"infer", "train", "prefill", "decode"});
    request.dtype = one_of({"fp32", "fp32", "fp16", "bf16"});
    request.predictor = one_of({"", "rooftile", "bound", "delta", "roofline", "trivial"});
    request.fusion = one_of({"none", "compile"});
    if (below(3) == 0) request.attention = "flash";
    if (below(3) == 0) request.sequence = 1 << below(10);
    if (request.phase == "decode" && below(2) == 0) request.context = 1 << below(9);
    if (request.phase == "train") {
      request.optimizer = one_of({"none", "sgd", "adamw"});
      request.recompute = below(2) == 0;
    }
    request.microbatches = std::int64_t{1} << below(3);
    request.dp = std::int64_t{1} << below(2);
    request.tp = std::int64_t{1} << below(2);
    request.pp = std::int64_t{1} << below(2);
    request.batch = request.microbatches * request.dp << below(3);
    if (below(4) == 0) request.system = "pcie-4-box";
    return request;
  }

 private:
  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(engine_() % bound); }
  std::string one_of(std::initializer_list<const char*> words) {
    return *(words.begin() + below(words.size()));
  }

  std::vector<graph::ModelSummary> models_;
  std::mt19937_64 engine_{20261117};
};

TEST(ReplayProperty, EveryPredictionComesOutAgain) {
  const study::Session& session = testing::embedded_session();
  const auto models = graph::list_models(session.catalog());
  ASSERT_TRUE(models);
  RandomRequests requests(*models);
  int predicted = 0;
  for (int i = 0; predicted < 60 && i < 1000; ++i) {
    const Request request = requests.next();
    const auto report = session.predict(request);
    if (!report) continue;  // refused
    ++predicted;
    const std::string text = report::written("json", *report);
    const auto recorded = study::parse_report(text, "report.json");
    ASSERT_TRUE(recorded) << to_string(recorded.error());
    const auto again = study::replay(*recorded, session);
    ASSERT_TRUE(again) << to_string(again.error()) << text.substr(0, 600);
    EXPECT_TRUE(again->reproduced()) << again->differences.front().pointer << text.substr(0, 600);
    EXPECT_TRUE(again->changes.empty()) << again->changes.front();
  }
  EXPECT_EQ(predicted, 60);
}

}  // namespace
}  // namespace rooftile
