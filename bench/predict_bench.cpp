// SPDX-License-Identifier: Apache-2.0
//
// How fast a prediction is: from process start to the report, and kernels per second on one core.
// The rivals are what a Python tool cannot undercut: the start of its interpreter, and the plainest
// roofline (a maximum of two quotients) as a Python loop, without tiles, levels or limiters. For
// the fitted predictor it is the published NeuSight formulation, in the same process: nearest tile
// in a table, then a network (smaller than the published one, which favours the rival).
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "bench.h"
#include "cost/predictor.h"
#include "execution/launches.h"
#include "graph/import_model.h"
#include "hardware/machine.h"

namespace {

using namespace rooftile;  // a program, not a header

constexpr const char* kPythonRoofline =
    "python3 -c \"import time; n = 200000; a = time.perf_counter(); s = 0.0\n"
    "for i in range(n): s += max(2.0 * i * 1024 * 1024 / 66.9e12, 4.0 * (i + 2048) * 1024 / "
    "3.352e12)\n"
    "print(n / (time.perf_counter() - a))\"";

bench::Row process_row() {
  const std::string command = std::string(ROOFTILE_PROGRAM) +
                              " predict gpt3-2.7b --gpu h100-sxm --phase train --batch 2 --seq 2048"
                              " > /dev/null";
  const auto run = [](const std::string& text) {
    return bench::best_seconds(15, [&] { static_cast<void>(std::system(text.c_str())); }) * 1e3;
  };
  bench::Row row{.what = "start to report, gpt3-2.7b train", .unit = "ms", .ours = run(command)};
  row.rival = bench::Rival{.name = "empty Python program", .value = run("python3 -c pass")};
  row.target = 50;
  row.less_is_better = true;
  return row;
}

/// Kernels per second through bind, tile, traffic and the predictor `name`.
Result<double> rate_of(std::string_view name) {
  ROOFTILE_TRY(const Catalog catalog, Catalog::standard());
  ROOFTILE_TRY(const auto machine, hardware::load_machine(catalog, "h100-sxm", std::nullopt));
  ROOFTILE_TRY(const auto graph,
               graph::import_model(catalog, "gpt3-2.7b", {.step = graph::Step::Train, .batch = 2}));
  ROOFTILE_TRY(const auto predictor, cost::make_predictor(name, catalog));
  const auto kernels = execution::launches(graph, execution::default_launch_options(graph));
  constexpr std::int64_t kKernels = 400000;
  double sum = 0;
  const double seconds = bench::best_seconds(5, [&] {
    for (std::int64_t i = 0; i < kKernels; ++i) {
      const auto& kernel = kernels[static_cast<std::size_t>(i) % kernels.size()];
      const auto job = cost::bind(kernel.work, machine);
      sum += predictor->estimate(*job, machine).time.base();
    }
  });
  if (!(sum > 0)) return bad_input("predict_bench", "the predictor returned no time");
  return static_cast<double>(kKernels) / seconds;
}

}  // namespace

int main() {
  std::vector<bench::Row> rows{process_row()};
  const auto python = bench::number_from(kPythonRoofline);
  const auto bound = rate_of("bound");
  if (!bound) {
    std::fputs(to_string(bound.error()).c_str(), stderr);
    return 1;
  }
  bench::Row row{.what = "kernels per second, bound", .unit = "/s", .ours = *bound};
  if (python) row.rival = bench::Rival{.name = "Python loop, two terms", .value = *python};
  row.target = 1e6;
  rows.push_back(row);
  const auto fitted = rate_of("rooftile");
  const auto neusight = rate_of("neusight");
  if (!fitted || !neusight) {
    std::fputs(to_string((fitted ? neusight : fitted).error()).c_str(), stderr);
    return 1;
  }
  bench::Row fitted_row{.what = "kernels per second, rooftile", .unit = "/s", .ours = *fitted};
  fitted_row.rival = bench::Rival{.name = "NeuSight formulation", .value = *neusight};
  fitted_row.target = 2e5;
  rows.push_back(fitted_row);
  return bench::print(rows);
}
