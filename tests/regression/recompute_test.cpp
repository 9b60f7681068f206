// SPDX-License-Identifier: Apache-2.0
//
// A reader can compute every number again: from the FLOPs and bytes that the JSON of `predict`,
// `traffic` and `kernel` prints, its rates, efficiencies, join and residual follow the terms, from
// these the time of each row, from these the step (docs/format/report.md).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "embedded_session.h"
#include "regression/words.h"
#include "written.h"

namespace rooftile {
namespace {

using nlohmann::json;

constexpr double kRounding = 1e-9;

struct Amounts {
  double flops = 0, l1 = 0, l2 = 0, dram = 0;
};

/// Milliseconds of a resource: an amount at a rate, or what the row states where it has no rate.
double term_ms(const json& row, const json& rates, const Amounts& amounts,
               const std::string& name) {
  if (!row["terms_ms"].contains(name)) return 0;
  if (!row["efficiency"].contains(name)) return row["terms_ms"][name];
  const double amount = name == "compute" ? amounts.flops
                        : name == "l1"    ? amounts.l1
                        : name == "l2"    ? amounts.l2
                                          : amounts.dram;
  const std::string rate = name == "compute" ? row["rate"].get<std::string>() : name;
  return 1e3 * amount / (rates[rate].get<double>() * row["efficiency"][name].get<double>());
}

/// The time of a row; its terms must be those that are printed.
double time_ms(const json& row, const json& rates, const Amounts& amounts) {
  const auto term = [&](const char* name) {
    const double ms = term_ms(row, rates, amounts, name);
    if (row["terms_ms"].contains(name)) {
      EXPECT_NEAR(ms / row["terms_ms"][name].get<double>(), 1, kRounding) << name << " of " << row;
    }
    return ms;
  };
  double on_chip = 0;
  for (const char* name : {"compute", "shared", "l1", "l2", "link", "latency"}) {
    on_chip = std::max(on_chip, term(name));
  }
  const double dram = term("dram");
  double joined = std::max(on_chip, dram);
  if (row.contains("join")) {
    const double p = row["join"];
    joined = std::pow(std::pow(on_chip, p) + std::pow(dram, p), 1 / p);
  }
  return joined * row["residual"].get<double>() + term("launch") + term("host");
}

void expect_time(const json& row, double ms) {
  EXPECT_NEAR(ms / row["latency_ms"].get<double>(), 1, kRounding) << row;
  std::string limiter;
  double longest = 0;
  for (const auto& [name, term] : row["terms_ms"].items()) {
    if (term.get<double>() > longest) longest = term, limiter = name;
  }
  EXPECT_EQ(row["limiter"], limiter) << row;
}

constexpr std::array kSteps{
    "gpt2 --gpu v100-sxm2-16gb --phase train --batch 4 --seq 256 --optimizer adamw",
    "resnet50 --gpu a100-sxm4-80gb --phase train --batch 16",
    "llama3-8b --gpu h100-sxm --phase prefill --batch 2 --seq 1024 --dtype bf16 --attention flash",
    "llama3-8b --gpu b200 --phase decode --batch 4 --context 1024 --dtype bf16",
    "mixtral-8x7b --gpu mi300x --phase decode --batch 4 --context 512 --dtype bf16",
    "mobilenet-v2 --gpu l4 --batch 8",
    "bert-base --gpu t4 --batch 1 --seq 64 --predictor delta",
    "gpt2 --gpu h100-sxm --batch 1 --seq 128 --predictor neusight",
    "gpt2 --gpu h100-sxm --batch 1 --seq 128 --predictor roofline",
    "gpt2 --gpu h100-sxm --batch 1 --seq 128 --predictor bound"};

/// Of rows whose FLOPs, bytes and times are of all launches.
double sum_of_operators(const json& report) {
  double sum = 0;
  for (const json& row : report["operators"]) {
    const json& bytes = row["traffic_bytes"];
    const double ms = time_ms(
        row, report["rates"],
        {.flops = row["flops"], .l1 = bytes["l1"], .l2 = bytes["l2"], .dram = bytes["dram"]});
    expect_time(row, ms);
    sum += ms - row.value("hidden_ms", 0.0);
  }
  return sum;
}

TEST(Recompute, StepsOfPredict) {
  std::vector<std::string> cases(kSteps.begin(), kSteps.end());
  cases.emplace_back(
      "gpt2 --gpu a100-sxm4-80gb --phase train --batch 8 --seq 256 --dp 2 --pp 2 "
      "--microbatches 2");
  for (const std::string& arguments : cases) {
    SCOPED_TRACE(arguments);
    const auto request = testing::request_of(arguments);
    ASSERT_TRUE(request) << to_string(request.error());
    const auto answer = testing::embedded_session().predict(*request);
    ASSERT_TRUE(answer) << to_string(answer.error());
    const json report = json::parse(report::written("json", *answer));
    double total = sum_of_operators(report);
    for (const json& part : report["parts"]) {
      if (part["name"] == "host" || part["name"] == "idle")
        total += part["latency_ms"].get<double>();
    }
    EXPECT_NEAR(total / report["latency"]["total_ms"].get<double>(), 1, kRounding);
  }
}

TEST(Recompute, StepsOfTraffic) {
  for (const std::string arguments : kSteps) {
    SCOPED_TRACE(arguments);
    TrafficRequest request;
    const auto step = testing::request_of(arguments);
    ASSERT_TRUE(step) << to_string(step.error());
    request.step = *step;
    const auto answer = testing::embedded_session().traffic(request);
    ASSERT_TRUE(answer) << to_string(answer.error());
    const json report = json::parse(report::written("json", *answer));
    double total = report["host_ms"];
    for (const json& row : report["layers"]) {
      const double written = row["dram_write_bytes"];
      const double ms = time_ms(row, report["rates"],
                                {.flops = row["flops"],
                                 .l1 = row["l1_bytes"].get<double>() + written,
                                 .l2 = row["l2_bytes"].get<double>() + written,
                                 .dram = row["dram_read_bytes"].get<double>() + written});
      expect_time(row, ms);
      total += ms * row["count"].get<double>();
    }
    EXPECT_NEAR(total / report["total_ms"].get<double>(), 1, kRounding);
  }
}

// Counted bytes give their own time by the same rule.
TEST(Recompute, TimesOfCountedBytes) {
  TrafficRequest request;
  request.step = *testing::request_of("resnet18 --gpu v100-sxm2-16gb --batch 8");
  request.traffic_model = "exact";
  const auto answer = testing::embedded_session().traffic(request);
  ASSERT_TRUE(answer) << to_string(answer.error());
  const json report = json::parse(report::written("json", *answer));
  int counted = 0;
  for (json row : report["layers"]) {
    if (!row.contains("latency_exact_ms")) continue;
    const double written = row["dram_write_bytes"];
    const Amounts amounts{.flops = row["flops"],
                          .l1 = row["l1_bytes"].get<double>() + written,
                          .l2 = row["l2_bytes"].get<double>() + written,
                          .dram = row["dram_read_bytes"].get<double>() + written};
    for (auto& [name, term] : row["terms_ms"].items()) {
      term = term_ms(row, report["rates"], amounts, name);
    }
    EXPECT_NEAR(time_ms(row, report["rates"], amounts) / row["latency_exact_ms"].get<double>(), 1,
                kRounding);
    ++counted;
  }
  EXPECT_GE(counted, 3);
}

TEST(Recompute, Kernels) {
  for (const char* arguments :
       {"gemm --m 4096 --n 1024 --k 4096 --gpu h100-sxm --dtype bf16",
        "gemm --m 1 --n 4096 --k 4096 --gpu v100-sxm2-16gb",
        "conv --n 32 --c 64 --h 56 --w 56 --k 64 --r 3 --s 3 --pad 1 --gpu a100-sxm4-80gb",
        "softmax --rows 65536 --columns 1024 --gpu mi300x"}) {
    const auto given = testing::kernel_of(arguments);
    ASSERT_TRUE(given) << to_string(given.error());
    const auto answer = testing::embedded_session().kernel(*given);
    ASSERT_TRUE(answer) << to_string(answer.error());
    const json report = json::parse(report::written("json", *answer));
    for (const json& row : report["kernels"]) {
      const json& bytes = row["traffic_bytes"];
      expect_time(row, time_ms(row, report["rates"],
                               {.flops = row["flops"],
                                .l1 = bytes["l1"],
                                .l2 = bytes["l2"],
                                .dram = bytes["dram"]}));
    }
  }
}

}  // namespace
}  // namespace rooftile
