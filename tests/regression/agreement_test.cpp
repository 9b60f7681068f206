// SPDX-License-Identifier: Apache-2.0
//
// One number: `predict`, the base of `scale`, the sum of `traffic` and the in-stream times of
// `kernel` agree about the same step, its host and its limiters, for every built-in model on six
// GPUs in every phase. All of them are read from the JSON that the commands print.
//
// The suite asks every model in every phase, on GPUs in turn; ROOFTILE_AGREEMENT=all asks all GPUs
// about all of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "embedded_session.h"
#include "graph/import_model.h"
#include "rooftile/rooftile.h"
#include "study/kernel.h"
#include "study/options.h"
#include "written.h"

namespace rooftile {
namespace {

using nlohmann::json;

constexpr std::array kGpus{"v100-sxm2-16gb", "a100-sxm4-80gb", "h100-sxm", "b200", "l4", "mi300x"};
constexpr std::array kPhases{"infer", "train", "prefill", "decode"};
constexpr double kTolerance = 1e-3;

/// Total, host and fractions of the total per limiter.
struct Account {
  double total = 0, host = 0;
  std::map<std::string, double> share;
};

Account account_of_predict(const json& report) {
  Account account{.total = report["latency"]["total_ms"], .host = 0, .share = report["limiters"]};
  for (const json& part : report["parts"]) {
    if (part["name"] == "host") account.host = part["latency_ms"];
  }
  return account;
}

Account account_of_scale(const json& report) {
  const json& base = report["steps"][0]["base"];
  return {.total = base["time_ms"], .host = base["host_ms"], .share = base["share"]};
}

/// `scale` stands for `count`: rows of `predict` hold all launches, those of `traffic` one.
Account account_of_rows(const json& rows, bool one_launch, double host) {
  Account account{.total = host, .host = host, .share = {}};
  if (host > 0) account.share["host"] = host;
  for (const json& row : rows) {
    const double launches = one_launch ? row["count"].get<double>() : 1.0;
    const double time = row["latency_ms"].get<double>() * launches;
    account.total += time;
    account.share[row["limiter"]] += time;
  }
  for (auto& [limiter, time] : account.share) time /= account.total;
  return account;
}

void expect_equal(const Account& one, const Account& other, const std::string& what) {
  EXPECT_NEAR(other.total / one.total, 1, kTolerance) << what;
  EXPECT_NEAR(other.host, one.host, kTolerance * one.total) << what;
  std::map<std::string, double> difference = one.share;
  for (const auto& [limiter, share] : other.share) difference[limiter] -= share;
  for (const auto& [limiter, share] : difference) {
    EXPECT_NEAR(share, 0, kTolerance) << what << ": " << limiter;
  }
}

Request request_of(const std::string& model, const std::string& gpu, const std::string& phase) {
  Request request;
  request.model = model;
  request.gpu = gpu;
  request.phase = phase;
  request.batch = 2;
  request.dtype = phase == "infer" || phase == "train" ? "fp32" : "fp16";
  return request;
}

/// False where the model has no such phase.
Result<bool> compare_commands(const Request& request) {
  const study::Session& session = testing::embedded_session();
  const auto options = study::parse_step_options(request, session);
  if (!options) return tl::unexpected(options.error());
  const bool any_model = request.phase == "infer" || request.phase == "train";
  if (const auto graph = study::import_step(request, *options, session); !graph) {
    if (!any_model) return false;  // nothing to decode
    return tl::unexpected(graph.error());
  }
  const std::string what = request.model + " " + request.phase + " on " + request.gpu;
  ROOFTILE_TRY(const Report report, session.predict(request));
  const json predict = json::parse(report::written("json", report));
  const Account forecast = account_of_predict(predict);
  expect_equal(forecast, account_of_rows(predict["operators"], false, forecast.host),
               what + ", operators of predict");

  ScaleRequest scale_request;
  scale_request.step = request;
  ROOFTILE_TRY(const auto scaled, session.scale(scale_request));
  expect_equal(forecast, account_of_scale(json::parse(report::written("json", scaled))),
               what + ", base of scale");

  TrafficRequest traffic_request;
  traffic_request.step = request;
  ROOFTILE_TRY(const auto moved, session.traffic(traffic_request));
  const json traffic = json::parse(report::written("json", moved));
  const Account sum = account_of_rows(traffic["layers"], true, traffic["host_ms"]);
  expect_equal(forecast, sum, what + ", layers of traffic");
  EXPECT_NEAR(traffic["total_ms"].get<double>() / forecast.total, 1, kTolerance) << what;
  return true;
}

TEST(Agreement, OfPredictScaleAndTraffic) {
  const auto models = graph::list_models(testing::embedded_session().catalog());
  ASSERT_TRUE(models) << to_string(models.error());
  const char* wanted = std::getenv("ROOFTILE_AGREEMENT");
  const bool all = wanted != nullptr && std::string_view(wanted) == "all";
  std::map<std::string, int> compared;  // by model, GPU and phase
  std::size_t turn = 0;
  for (const graph::ModelSummary& model : *models) {
    for (const std::string phase : kPhases) {
      ++turn;
      for (std::size_t i = 0; i < (all ? kGpus.size() : 1); ++i) {
        const std::string gpu = kGpus[(turn + i) % kGpus.size()];
        const auto done = compare_commands(request_of(model.name, gpu, phase));
        // Formats of a quantized model that the GPU does not multiply are refused everywhere.
        if (!done && done.error().code == ErrorCode::Unsupported &&
            done.error().message.find("rate") != std::string::npos)
          continue;
        ASSERT_TRUE(done) << model.name << " " << phase << " on " << gpu << "\n"
                          << to_string(done.error());
        if (!*done) continue;
        for (const std::string& key : {model.name, gpu, phase}) ++compared[key];
      }
    }
  }
  for (const graph::ModelSummary& model : *models) EXPECT_GE(compared[model.name], 2);
  for (const char* gpu : kGpus) EXPECT_GE(compared[gpu], 5) << gpu;
  for (const char* phase : kPhases) EXPECT_GE(compared[phase], 5) << phase;
}

/// Rows of `predict` for the forward kernels of a node, by "op shape".
std::map<std::string, double> rows_of(const json& report, const std::string& name) {
  std::map<std::string, double> rows;
  for (const json& row : report["operators"]) {
    if (row["name"] != name || row["phase"] != "forward") continue;
    const std::string key = row["op"].get<std::string>() + " " + row["shape"].get<std::string>();
    rows[key] = row["latency_ms"].get<double>() / row["count"].get<double>();
  }
  return rows;
}

// `kernel` is asked about each operator of a step; those that the framework runs as the textbook
// does (all but copies and fused ones) take what they take in the step.
TEST(Agreement, OfKernelAndPredict) {
  const std::set<std::string> launched_otherwise{"embedding", "contiguous", "where", "dropout"};
  for (const char* model : {"gpt2", "resnet18", "llama3.2-1b"}) {
    for (const char* gpu : kGpus) {
      Request request = request_of(model, gpu, "infer");
      if (std::string_view(model) != "resnet18") request.sequence = 512;
      const auto report = testing::embedded_session().predict(request);
      ASSERT_TRUE(report) << to_string(report.error());
      const json predict = json::parse(report::written("json", *report));
      const auto options = study::parse_step_options(request, testing::embedded_session());
      ASSERT_TRUE(options) << to_string(options.error());
      const auto graph = study::import_step(request, *options, testing::embedded_session());
      ASSERT_TRUE(graph) << to_string(graph.error());
      int compared = 0;
      for (const graph::Block& block : graph->blocks) {
        for (const graph::Node& node : block.nodes) {
          const auto rows = rows_of(predict, block.name + "/" + node.name);
          KernelRequest kernel_request;
          kernel_request.gpu = gpu;
          const auto kernels =
              study::kernels_of(node.op, kernel_request, testing::embedded_session());
          ASSERT_TRUE(kernels) << node.name << ": " << to_string(kernels.error());
          const json alone = json::parse(report::written("json", *kernels));
          for (const json& row : alone["kernels"]) {
            const std::string op = row["op"];
            const auto in_step = rows.find(op + " " + row["shape"].get<std::string>());
            if (launched_otherwise.contains(op) || in_step == rows.end()) continue;
            const double in_stream = row["in_stream_ms"];
            EXPECT_NEAR(in_stream / in_step->second, 1, kTolerance)
                << model << " on " << gpu << ": " << block.name << "/" << node.name;
            EXPECT_EQ(row["latency_ms"], row["in_stream_ms"]);
            ++compared;
          }
        }
      }
      EXPECT_GE(compared, 10) << model << " on " << gpu;
    }
  }
}

// `compare` and the library are `predict`.
TEST(Agreement, OfCompareAndTheLibrary) {
  const Request request = request_of("gpt2", "h100-sxm", "train");
  const std::array<std::string, 2> gpus{"h100-sxm", "mi300x"};
  const auto reports = testing::embedded_session().compare(request, gpus);
  ASSERT_TRUE(reports) << to_string(reports.error());
  const json compared = json::parse(report::written("json", *reports));
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    Request one = request;
    one.gpu = gpus[i];
    const auto direct = testing::embedded_session().predict(one);
    ASSERT_TRUE(direct) << to_string(direct.error());
    const json predicted = json::parse(report::written("json", *direct));
    for (const char* key : {"latency", "parts", "limiters"}) {
      EXPECT_EQ(compared["gpus"][i][key], predicted[key]) << gpus[i];
    }
    const auto library = Session().predict(one);
    ASSERT_TRUE(library);
    EXPECT_EQ(json::parse(report::written("json", *library))["operators"], predicted["operators"]);
  }
}

}  // namespace
}  // namespace rooftile
