// SPDX-License-Identifier: Apache-2.0
//
// A GPU that is at least as good in everything that a forecast reads is not slower: in the peak of
// the rates used, SMs, rate per SM, bandwidth of DRAM and L2, size of L2, and power, each stated
// for both. More than 5 % slower is an inversion; those that rest on measured levels are the rows
// of the table, which says which. The suite walks some models; ROOFTILE_DOMINANCE=all walks every
// model, phase and number format of the catalogue (minutes, in an optimised build):
//
//   ROOFTILE_DOMINANCE=all build/dev/tests/regression_test --gtest_filter='Dominance.*'
#include <map>
#include <optional>

#include "embedded_session.h"
#include "graph/import_model.h"
#include "hardware/load.h"
#include "hardware/machine.h"
#include "regression/table.h"
#include "rooftile/request.h"
#include "study/predict.h"

namespace rooftile {
namespace {

constexpr const char* kInversions = "tests/regression/dominance.csv";
constexpr double kSlower = 1.05;

bool walks_all() {
  return std::getenv("ROOFTILE_DOMINANCE") != nullptr;
}

/// What a forecast reads of a GPU, larger is better; nothing where a number is not stated.
using Qualities = std::vector<double>;
std::optional<Qualities> qualities(const hardware::Machine& machine, DType dtype) {
  const hardware::GpuSpec& gpu = machine.gpu;
  const auto product = machine.best_rate(dtype, true);
  const auto vector = machine.best_rate(DType::Fp32, false);
  const auto l2 = machine.bandwidth(hardware::MemoryLevel::L2);
  if (!product || !vector || !l2 || !gpu.l2.size || !gpu.power_watt || !gpu.dram.bandwidth)
    return std::nullopt;
  const auto sms = static_cast<double>(gpu.sm.count);
  return Qualities{product->base(),
                   product->base() / sms,
                   vector->base(),
                   vector->base() / sms,
                   sms,
                   l2->value.base(),
                   gpu.l2.size->base(),
                   gpu.dram.bandwidth->base(),
                   *gpu.power_watt};
}

bool dominates(const Qualities& a, const Qualities& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] < b[i]) return false;
  }
  return true;
}

struct Walk {
  std::vector<std::string> models, phases, dtypes;
};

Result<Walk> walk() {
  if (!walks_all())
    return Walk{.models = {"gpt2-large", "llama3.2-1b", "resnet50"},
                .phases = {"infer", "decode"},
                .dtypes = {"fp32", "fp16", "bf16"}};
  Walk all{.models = {},
           .phases = {"infer", "train", "prefill", "decode"},
           .dtypes = {"fp32", "tf32", "fp16", "bf16", "fp8_e4m3"}};
  ROOFTILE_TRY(const auto models, graph::list_models(Catalog::embedded()));
  for (const auto& model : models) all.models.push_back(model.name);
  return all;
}

struct Timed {
  std::string gpu;
  Qualities qualities;
  double seconds = 0;
};

/// The step on every GPU that has the rates and states what is compared.
std::vector<Timed> runs_of(Request request, const std::vector<hardware::Machine>& machines,
                           const cost::Predictor& predictor) {
  const auto dtype = parse_dtype(request.dtype);
  std::vector<Timed> runs;
  for (const hardware::Machine& machine : machines) {
    auto q = dtype ? qualities(machine, *dtype) : std::nullopt;
    if (!q) continue;
    request.gpu = machine.gpu.id;
    const auto report = testing::embedded_session().predict(request, predictor);
    if (report) runs.push_back({machine.gpu.id, std::move(*q), report->latency.total_ms});
  }
  return runs;
}

struct Found {
  std::size_t pairs = 0;
  std::map<std::string, double> inverted;  ///< how many times as slow
};

void compare(const std::string& step, const std::vector<Timed>& runs, Found& found) {
  for (const Timed& better : runs) {
    for (const Timed& worse : runs) {
      if (better.gpu == worse.gpu || !dominates(better.qualities, worse.qualities)) continue;
      ++found.pairs;
      const double ratio = better.seconds / worse.seconds;
      if (ratio > kSlower)
        found.inverted[fmt::format("{}: {} after {}", step, better.gpu, worse.gpu)] = ratio;
    }
  }
}

Result<Found> find_inversions() {
  const Catalog catalog = Catalog::embedded();
  ROOFTILE_TRY(const auto predictor, cost::make_predictor("", catalog));
  ROOFTILE_TRY(const auto gpus, hardware::list_gpus(catalog));
  ROOFTILE_TRY(const Walk all, walk());
  std::vector<hardware::Machine> machines;
  for (const auto& gpu : gpus) machines.push_back({.gpu = gpu, .ceilings = {}});
  Found found;
  for (const auto& model : all.models) {
    for (const auto& phase : all.phases) {
      for (const auto& dtype : all.dtypes) {
        Request request;
        request.model = model, request.phase = phase, request.dtype = dtype;
        compare(fmt::format("{} --phase {} --dtype {}", model, phase, dtype),
                runs_of(request, machines, *predictor), found);
      }
    }
  }
  return found;
}

TEST(Dominance, BetterGpusAreNotSlower) {
  const auto table = testing::read_table(kInversions);
  ASSERT_TRUE(table) << to_string(table.error());
  std::map<std::string, double> known;
  for (const auto& row : table->rows) known[row[0]] = parse_double(row[1]).value_or(0);
  const auto found = find_inversions();
  ASSERT_TRUE(found) << to_string(found.error());
  EXPECT_GT(found->pairs, 500U);
  for (const auto& [pair, ratio] : found->inverted) {
    const auto row = known.find(pair);
    EXPECT_TRUE(row != known.end() && ratio <= row->second + 0.005)
        << pair << ": " << ratio
        << " times as slow\nhint: a better GPU must not be slower; where a "
        << "measured level says so, add a row to " << kInversions;
  }
  if (walks_all()) fmt::print("{} pairs, {} inverted\n", found->pairs, found->inverted.size());
}

}  // namespace
}  // namespace rooftile
