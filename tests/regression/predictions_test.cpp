// SPDX-License-Identifier: Apache-2.0
//
// What users get: the default predictor over steps and kernels on GPUs of every architecture,
// against committed tables. A change of any number, however made (code, weights, data sheets),
// shows here; only commits that mean to change numbers change the tables. The last rows of both are
// those of the baselines.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "embedded_session.h"
#include "hardware/load.h"
#include "regression/table.h"
#include "regression/words.h"
#include "rooftile/kernel.h"
#include "rooftile/report.h"

namespace rooftile {
namespace {

using testing::number_text;

constexpr const char* kSteps = "tests/regression/steps.csv";
constexpr const char* kKernels = "tests/regression/kernels.csv";

const Catalog& catalog() {
  static const Catalog kCatalog = Catalog::embedded();
  return kCatalog;
}

/// "compute 0.62 dram 0.38", the largest first.
std::string shares_text(const std::map<std::string, double>& shares) {
  std::vector<std::pair<double, std::string>> ordered;
  for (const auto& [name, share] : shares) {
    if (share >= 0.005) ordered.emplace_back(-share, name);
  }
  std::sort(ordered.begin(), ordered.end());
  std::string text;
  for (const auto& [share, name] : ordered) {
    text += fmt::format("{}{} {:.2f}", text.empty() ? "" : " ", name, -share);
  }
  return text;
}

Result<std::vector<std::string>> step_values(const std::string& arguments) {
  ROOFTILE_TRY(const Request request, testing::request_of(arguments));
  ROOFTILE_TRY(const Report report, testing::embedded_session().predict(request));
  std::int64_t launches = 0, extrapolated = 0;
  TrafficBytes bytes;
  for (const OperatorReport& op : report.operators) {
    launches += op.count;
    if (op.extrapolated) extrapolated += op.count;
    bytes.l1 += op.traffic.l1;
    bytes.l2 += op.traffic.l2;
    bytes.dram += op.traffic.dram;
  }
  std::vector<std::string> values;
  for (const double number :
       {report.latency.total_ms, report.latency.low_ms, report.latency.high_ms,
        report.bound_total_ms, report.latency.forward_ms, report.latency.backward_ms,
        report.latency.optimizer_ms, report.latency.communication_ms, report.flops, bytes.l1,
        bytes.l2, bytes.dram, report.memory.total_bytes,
        report.parallel ? report.parallel->idle_fraction : 0.0}) {
    values.push_back(number_text(number));
  }
  values.push_back(std::to_string(launches));
  values.push_back(std::to_string(extrapolated));
  values.push_back(shares_text(report.limiter_share));
  return values;
}

/// Several kernels of one operator: numbers are added, words joined.
Result<std::vector<std::string>> kernel_values(const std::string& arguments) {
  ROOFTILE_TRY(const KernelRequest given, testing::kernel_of(arguments));
  ROOFTILE_TRY(const auto kernels, testing::embedded_session().kernel(given));
  std::array<double, 10> sums{};
  std::array<std::string, 5> words;
  for (const KernelReport& kernel : kernels.kernels) {
    const OperatorReport& row = kernel.row;
    const std::array<double, 10> numbers{kernel.isolated.latency_ms,
                                         kernel.isolated.low_ms,
                                         kernel.isolated.high_ms,
                                         row.bound_ms,
                                         row.latency_ms,
                                         row.traffic.l1,
                                         row.traffic.l2,
                                         row.traffic.dram,
                                         row.flops,
                                         row.waves};
    const std::array<std::string, 5> texts{row.limiter, row.rate, row.tile,
                                           row.algorithm.empty() ? "-" : row.algorithm,
                                           row.extrapolated ? "yes" : "no"};
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += numbers[i];
    for (std::size_t i = 0; i < words.size(); ++i) {
      words[i] += (words[i].empty() ? "" : " + ") + texts[i];
    }
  }
  std::vector<std::string> values;
  for (const double number : sums) values.push_back(number_text(number));
  values.insert(values.end(), words.begin(), words.end());
  return values;
}

/// Architectures of the catalogue that no case runs on.
std::string architectures_without(const std::vector<std::string>& cases) {
  std::map<std::string, std::string> architecture_of;
  const auto gpus = hardware::list_gpus(catalog());
  EXPECT_TRUE(gpus);
  std::set<std::string> missing;
  for (const hardware::GpuSpec& gpu : *gpus) {
    architecture_of[gpu.id] = gpu.architecture;
    missing.insert(gpu.architecture);
  }
  for (const std::string& arguments : cases) {
    std::string gpu;
    testing::Words(arguments).take("--gpu", gpu);
    EXPECT_TRUE(architecture_of.contains(gpu)) << gpu << ": write the id of the catalogue";
    missing.erase(architecture_of[gpu]);
  }
  return fmt::format("{}", fmt::join(missing, " "));
}

TEST(Predictions, OfSteps) {
  testing::compare_table(kSteps, 2,
                         [](const std::vector<std::string>& row) { return step_values(row[1]); });
}

TEST(Predictions, OfKernels) {
  testing::compare_table(kKernels, 2,
                         [](const std::vector<std::string>& row) { return kernel_values(row[1]); });
}

TEST(Predictions, CasesAreUniqueAndCoverEveryArchitecture) {
  for (const auto& [path, least] : {std::pair(kSteps, 60U), std::pair(kKernels, 200U)}) {
    const auto table = testing::read_table(path);
    ASSERT_TRUE(table) << to_string(table.error());
    EXPECT_GE(table->rows.size(), least);
    std::vector<std::string> cases;
    for (const auto& row : table->rows) cases.push_back(row[1]);
    std::sort(cases.begin(), cases.end());
    EXPECT_EQ(std::adjacent_find(cases.begin(), cases.end()), cases.end()) << path;
    EXPECT_EQ(architectures_without(cases), "") << path;
  }
}

}  // namespace
}  // namespace rooftile
