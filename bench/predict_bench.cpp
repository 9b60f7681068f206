// SPDX-License-Identifier: Apache-2.0
//
// How fast a prediction is: from process start to the report, steps and variants through a Session,
// kernels on one core, and what opening the calibration costs. The rivals are what a Python tool
// cannot undercut: the start of its interpreter, its own reader of the same file, and the plainest
// roofline (a maximum of two quotients) as a Python loop, without tiles, levels or limiters. For
// the fitted predictor it is the published NeuSight formulation, in the same process: nearest tile
// in a table, then a network (smaller than the published one, which favours the rival).
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "aggregate/scaling.h"
#include "bench.h"
#include "cost/predictor.h"
#include "execution/launches.h"
#include "graph/import_model.h"
#include "hardware/machine.h"
#include "rooftile/report.h"
#include "study/options.h"
#include "study/session.h"

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
  row.target = 10;
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
  cost::Estimator on = predictor->on(machine);
  const double seconds = bench::best_seconds(5, [&] {
    for (std::int64_t i = 0; i < kKernels; ++i) {
      const auto& kernel = kernels[static_cast<std::size_t>(i) % kernels.size()];
      const auto job = on.bind(kernel.work);
      sum += on.estimate(*job).time.base();
    }
  });
  if (!(sum > 0)) return bad_input("predict_bench", "the predictor returned no time");
  return static_cast<double>(kKernels) / seconds;
}

/// Steps per second of gpt2-large through one Session, another batch and sequence in every call.
Result<double> steps_per_second(const study::Session& session, const char* predictor) {
  Request request;
  request.model = "gpt2-large";
  request.gpu = "h100-sxm";
  request.predictor = predictor;
  constexpr int kSteps = 1000;
  int call = 0;
  double sum = 0;
  Status status;
  const double seconds = bench::best_seconds(5, [&] {
    for (int i = 0; i < kSteps; ++i, ++call) {
      request.batch = 1 + call % 61;
      request.sequence = 1 + call % 1021;
      const auto report = session.predict(request);
      if (report) {
        sum += report->latency.total_ms;
      } else {
        status = tl::unexpected(report.error());
      }
    }
  });
  ROOFTILE_CHECK(status);
  if (!(sum > 0)) return bad_input("predict_bench", "the predictor returned no time");
  return kSteps / seconds;
}

/// Variants per second of a whole step, every key at random from a quarter to four times as much.
Result<double> variants_per_second(const study::Session& session, const Request& step) {
  ROOFTILE_TRY(const auto machine, session.machine(step.gpu, std::nullopt));
  ROOFTILE_TRY(const auto predictor, session.predictor(step.predictor));
  const auto& moved = cost::eager_of(predictor->constants(), name_of(machine->gpu.vendor));
  ROOFTILE_TRY(const auto launched, study::step_kernels(step, {}, session, moved));
  ROOFTILE_TRY(const auto costs, session.stack_costs());
  ROOFTILE_TRY(const auto study,
               aggregate::ScalingStudy::make(
                   launched.kernels, *machine, *predictor,
                   study::launch_costs(launched.options, *machine, *predictor, *costs)));
  std::mt19937 engine(1);
  std::uniform_real_distribution<double> octaves(-2, 2);
  constexpr int kVariants = 500;
  double sum = 0;
  const double seconds = bench::best_seconds(5, [&] {
    for (int i = 0; i < kVariants; ++i) {
      hardware::Factors factors;
      for (const auto key : hardware::kAllMachineKeys) factors.set(key, std::exp2(octaves(engine)));
      sum += study.step(factors).total.base();
    }
  });
  if (!(sum > 0)) return bad_input("predict_bench", "a variant takes no time");
  return kVariants / seconds;
}

bench::Row calibration_row() {
  const Catalog catalog = Catalog::embedded();
  bench::Row row{.what = "open the calibration", .unit = "ms"};
  row.ours =
      1e3 * bench::best_seconds(30, [&] { static_cast<void>(cost::make_predictor("", catalog)); });
  const auto python = bench::number_from(
      "python3 -c \"import json, timeit; t = open('" ROOFTILE_SOURCE_DIR
      "/data/predictors/default/weights.json').read(); "
      "print(1e3 * min(timeit.repeat(lambda: json.loads(t), number=1, repeat=30)))\"");
  if (python) row.rival = bench::Rival{.name = "Python's json alone", .value = *python};
  row.target = 0.7;
  row.less_is_better = true;
  return row;
}

/// Rows that go through a Session, each next to the NeuSight formulation in the same study.
Result<std::vector<bench::Row>> session_rows() {
  const study::Session session(Catalog::embedded());
  std::vector<bench::Row> rows;
  const auto add = [&rows](const std::string& what, double ours, double theirs, double target) {
    bench::Row row{.what = what, .unit = "/s", .ours = ours};
    row.rival = bench::Rival{.name = "NeuSight formulation", .value = theirs};
    row.target = target;
    rows.push_back(row);
  };
  ROOFTILE_TRY(const double steps, steps_per_second(session, ""));
  ROOFTILE_TRY(const double neusight, steps_per_second(session, "neusight"));
  add("steps per second, gpt2-large", steps, neusight, 3000);
  for (const auto& [model, gpu, dtype, batch] :
       {std::tuple("resnet50", "v100-sxm2-16gb", "fp32", 64),
        std::tuple("llama3-8b", "h100-sxm", "bf16", 1)}) {
    Request step;
    step.model = model;
    step.gpu = gpu;
    step.dtype = dtype;
    step.batch = batch;
    ROOFTILE_TRY(const double ours, variants_per_second(session, step));
    step.predictor = "neusight";
    ROOFTILE_TRY(const double theirs, variants_per_second(session, step));
    add(std::string("variants per second, ") + model, ours, theirs, 5000);
  }
  return rows;
}

}  // namespace

int main() {
  std::vector<bench::Row> rows{process_row(), calibration_row()};
  const auto through_session = session_rows();
  if (!through_session) {
    std::fputs(to_string(through_session.error()).c_str(), stderr);
    return 1;
  }
  rows.insert(rows.end(), through_session->begin(), through_session->end());
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
  fitted_row.target = 2e6;
  rows.push_back(fitted_row);
  return bench::print(rows);
}
