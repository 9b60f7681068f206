// SPDX-License-Identifier: Apache-2.0
//
// What every report must satisfy, on random requests: models x GPUs x phases x types x ways to
// share the step among GPUs. The parts add up to the total in every format, no share exceeds the
// whole, no step is faster than its bound; inference needs no more memory than training, a compiled
// step no more than an eager one. ROOFTILE_PROPERTY_REQUESTS=5000 asks for more of them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <regex>
#include <sstream>

#include "core/catalog.h"
#include "core/csv.h"
#include "core/text.h"
#include "cost/predictor.h"
#include "embedded_session.h"
#include "graph/import_model.h"
#include "hardware/load.h"
#include "hardware/system.h"
#include "rooftile/report.h"
#include "written.h"

namespace rooftile {
namespace {

constexpr double kNear = 1e-9;  // relative

const Catalog& catalog() {
  static const Catalog kCatalog = Catalog::embedded();
  return kCatalog;
}

class RandomRequests {
 public:
  RandomRequests() {
    const auto models = graph::list_models(catalog());
    for (const graph::ModelSummary& model : *models) models_.push_back(model.name);
    for (const auto& gpu : hardware::gpu_entries(catalog())) gpus_.push_back(gpu.id);
    const auto systems = hardware::list_systems(catalog());
    for (const hardware::SystemSpec& system : *systems) {
      if (!system.gpu) boxes_.push_back(system.id);
      if (system.gpu) system_of_[*system.gpu] = system.id;
    }
  }

  Request next() {
    Request request;
    request.model = any(models_);
    request.gpu = any(gpus_);
    request.phase = any<std::string>({"infer", "train", "train", "prefill", "decode"});
    request.dtype = any<std::string>({"fp32", "tf32", "fp16", "bf16", "bf16", "fp8_e4m3", "int8"});
    if (chance(0.5)) request.attention = "flash";
    if (chance(0.5)) request.fusion = "compile";
    if (chance(0.6)) request.sequence = any<std::int64_t>({1, 17, 128, 512, 2048});
    if (request.phase == "decode" && chance(0.5)) request.context = any<std::int64_t>({7, 300});
    if (request.phase == "train") {
      request.optimizer = any<std::string>({"none", "sgd", "adam", "adamw"});
      request.recompute = chance(0.4);
    }
    if (chance(0.7)) {
      request.dp = any<std::int64_t>({1, 1, 2, 3, 4, 16});
      request.tp = any<std::int64_t>({1, 1, 2, 4, 8, 16});
      request.pp = any<std::int64_t>({1, 1, 2, 3, 4, 6});
      if (request.phase != "train") request.ep = any<std::int64_t>({1, 1, 2, request.tp});
      request.microbatches = any<std::int64_t>({1, 1, 2, 4, 7});
      if (chance(0.5)) request.system = any(boxes_);
      const auto own = system_of_.find(request.gpu);
      if (own != system_of_.end() && chance(0.8)) request.system = own->second;
    }
    request.batch = request.dp * request.microbatches * any<std::int64_t>({1, 2, 3, 8});
    request.predictor = any<std::string>({"", "", "bound", "roofline", "trivial"});
    return request;
  }

 private:
  template <typename T>
  T any(const std::vector<T>& list) {
    return list[std::uniform_int_distribution<std::size_t>(0, list.size() - 1)(engine_)];
  }
  bool chance(double part) { return std::uniform_real_distribution<>()(engine_) < part; }

  std::mt19937 engine_{20261117};
  std::vector<std::string> models_, gpus_, boxes_;
  std::map<std::string, std::string> system_of_;
};

Result<Report> answer(const Request& request) {
  return testing::embedded_session().predict(request);
}

std::string words(const Request& r) {
  return fmt::format(
      "predict {} --gpu {} --phase {} --batch {}{}{} --dtype {} --attention {} --fusion {} "
      "--optimizer {}{} --dp {} --tp {} --pp {} --ep {} --microbatches {}{} --predictor \"{}\"",
      r.model, r.gpu, r.phase, r.batch, r.sequence ? fmt::format(" --seq {}", *r.sequence) : "",
      r.context ? fmt::format(" --context {}", *r.context) : "", r.dtype, r.attention, r.fusion,
      r.optimizer, r.recompute ? " --recompute" : "", r.dp, r.tp, r.pp, r.ep, r.microbatches,
      r.system ? " --system " + *r.system : "", r.predictor);
}

double part_of(const Report& report, std::string_view name) {
  for (const PartReport& part : report.parts) {
    if (part.name == name) return part.latency_ms;
  }
  ADD_FAILURE() << "no part " << name;
  return 0;
}

void expect_share(double share) {
  EXPECT_GE(share, -1e-12);
  EXPECT_LE(share, 1 + kNear);
}

void check_sums(const Report& report) {
  const LatencyReport& latency = report.latency;
  const double total = latency.total_ms, near = kNear * total;
  ASSERT_GT(total, 0.0);
  ASSERT_TRUE(std::isfinite(total));
  double sum = 0, operators = 0, hidden = 0, shares = 0, limiters = 0;
  for (const PartReport& part : report.parts) {
    sum += part.latency_ms;
    shares += part.share;
    expect_share(part.name == "hidden communication" ? -part.share : part.share);
  }
  for (const OperatorReport& op : report.operators) {
    operators += op.latency_ms;
    hidden += op.hidden_ms;
    expect_share(op.latency_ms / total);
    EXPECT_GE(op.latency_ms, op.hidden_ms * (1 - kNear)) << op.name;
    EXPECT_GE(op.latency_ms, op.bound_ms * (1 - 1e-12)) << op.name;
  }
  for (const auto& [name, share] : report.limiter_share) {
    limiters += share;
    expect_share(share);
  }
  EXPECT_EQ(report.parts.size(), 5U);
  EXPECT_NEAR(sum, total, near);
  EXPECT_NEAR(shares, 1.0, kNear);
  EXPECT_NEAR(limiters, 1.0, kNear);
  EXPECT_NEAR(operators, part_of(report, "kernels") + part_of(report, "communication"), near);
  EXPECT_NEAR(hidden, -part_of(report, "hidden communication"), near);
  EXPECT_NEAR(latency.communication_ms, part_of(report, "communication"), near);
  EXPECT_NEAR(latency.exposed_communication_ms,
              latency.communication_ms + part_of(report, "hidden communication"), near);
  EXPECT_NEAR(latency.forward_ms + latency.backward_ms + latency.optimizer_ms +
                  latency.exposed_communication_ms,
              total, near);
}

void check_interval(const Report& report) {
  const LatencyReport& latency = report.latency;
  EXPECT_GE(latency.total_ms, report.bound_total_ms * (1 - 1e-12));
  EXPECT_LE(latency.low_ms, latency.total_ms * (1 + 1e-12));
  EXPECT_GE(latency.high_ms, latency.total_ms * (1 - 1e-12));
}

void check_json(const Report& report) {
  const auto json = nlohmann::json::parse(report::written("json", report));
  const double total = json["latency"]["total_ms"];
  double parts = 0, rows = 0;
  for (const auto& part : json["parts"]) {
    parts += part["latency_ms"].get<double>();
    const std::string name = part["name"];
    if (name != "kernels" && name != "communication") rows += part["latency_ms"].get<double>();
  }
  for (const auto& op : json["operators"]) rows += op["latency_ms"].get<double>();
  EXPECT_NEAR(parts, total, kNear * total);
  EXPECT_NEAR(rows, total, kNear * total);
}

void check_csv(const Report& report) {
  const std::string text = report::written("csv", report);
  auto csv = CsvReader::from_text(text, "report", {});
  const auto header = CsvHeader::read(csv);
  ASSERT_TRUE(header);
  const auto column = header->column("latency_ms");
  ASSERT_TRUE(column);
  double sum = 0;
  while (csv.next().value()) sum += csv.number(*column).value();
  EXPECT_NEAR(sum, report.latency.total_ms, kNear * report.latency.total_ms);
}

/// Tracks (from 1): phases, layers, kernels, communication, communication behind kernels, waiting.
void check_trace(const Report& report) {
  const auto trace = nlohmann::json::parse(report::written("trace", report));
  std::array<double, 7> sum{}, end{};
  double slices = 0;
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    const auto track = event["tid"].get<std::size_t>();
    ASSERT_LT(track, sum.size());
    const double start = event["ts"], duration = event["dur"];
    EXPECT_GE(duration, 0.0);
    EXPECT_GE(start, end[track]) << "slices do not overlap";
    sum[track] += duration;
    ++slices;
    end[track] = std::max(end[track], start + duration);
  }
  constexpr double kTick = 1.0 / 1024;  // of the trace's clock, in microseconds
  const double total_us = report.latency.total_ms * 1e3;
  const double near = kNear * total_us + slices * kTick;
  const double kernels = part_of(report, "kernels") * 1e3,
               talk = part_of(report, "communication") * 1e3;
  EXPECT_NEAR(sum[3], kernels, near);
  EXPECT_GE(sum[2], kernels - near) << "every kernel is in a layer";
  EXPECT_LE(sum[2], kernels + sum[4] + near) << "so are collectives that a layer waits for";
  EXPECT_NEAR(sum[4] + sum[5], talk, near);
  EXPECT_NEAR(sum[6], (part_of(report, "host") + part_of(report, "idle")) * 1e3, near);
  EXPECT_NEAR(*std::max_element(end.begin(), end.end()), total_us, near);
}

/// The table of operators: all rows but the last one add up to it, as far as digits are printed.
void check_text(const Report& report) {
  const std::string text =
      report::write("text", report::describe(report, {.top = 1'000'000}), {.width = 400});
  // The first time of a row is its own, an interval follows it; the share is the last percentage.
  static const std::regex kRow(R"((-?\d+)(\.\d+)? (us|ms|s)\b.* (-?\d+\.\d) %)");
  std::istringstream lines(text.substr(text.find("most expensive operators")));
  double sum = 0, sum_of_shares = 0, digits = 0, share_digits = 0, last = 0, last_share = 0;
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line) && !line.empty()) {
    std::smatch found;
    if (!std::regex_search(line, found, kRow)) continue;
    const double unit = found[3] == "s" ? 1e3 : (found[3] == "ms" ? 1 : 1e-3);
    last = std::stod(found[1].str() + found[2].str()) * unit;
    last_share = std::stod(found[4]);
    EXPECT_LE(last_share, 100.0) << line;
    sum += last;
    sum_of_shares += last_share;
    digits += 0.5 * unit * std::pow(10.0, 1 - static_cast<double>(found[2].length()));
    share_digits += 0.05;
  }
  EXPECT_NEAR(sum - last, last, digits * (1 + kNear));
  EXPECT_NEAR(sum_of_shares - last_share, 100.0, share_digits + kNear);
  EXPECT_EQ(last_share, 100.0);
}

/// The memory that the request needs in another phase or with another compiler; nothing where that
/// is not possible.
std::optional<double> memory_of(Request request) {
  request.predictor = "bound";
  const auto report = answer(request);
  return report ? std::optional(report->memory.total_bytes) : std::nullopt;
}

void check_memory(const Request& request, const Report& report) {
  const double total = report.memory.total_bytes;
  Request other = request;
  if (request.fusion == "compile") {
    other.fusion = "none";
    EXPECT_LE(total, memory_of(other).value_or(0) * (1 + kNear)) << "fusion needs more";
  }
  // A cache is what recomputation saves, and training has none. Keys and values are there in training,
  // too, as activations; the state that a scan leaves behind for the next token is not.
  if (request.phase == "infer" || request.phase == "prefill") {
    const bool scans = std::ranges::any_of(
        report.operators, [](const auto& row) { return row.op == "state_passing"; });
    other = request;
    other.phase = "train";
    if (const auto train = memory_of(other)) {
      EXPECT_LE(total - (scans ? report.memory.kv_cache_bytes : 0), *train * (1 + kNear))
          << "inference needs more than training";
    }
  }
}

int requests_wanted() {
  const char* wanted = std::getenv("ROOFTILE_PROPERTY_REQUESTS");
  return wanted != nullptr ? std::max(1, std::atoi(wanted)) : 300;
}

TEST(RequestProperty, EverythingAddsUp) {
  RandomRequests random;
  const int wanted = requests_wanted();
  int answered = 0, shared = 0;
  for (int tried = 0; answered < wanted && tried < 20 * wanted; ++tried) {
    const Request request = random.next();
    const auto report = answer(request);
    if (!report) {  // not every model can do everything; every refusal says why
      EXPECT_NE(report.error().code, ErrorCode::Internal) << words(request);
      EXPECT_FALSE(report.error().message.empty()) << words(request);
      continue;
    }
    SCOPED_TRACE(words(request));
    ++answered;
    if (report->parallel && report->parallel->gpus > 1) ++shared;
    check_sums(*report);
    check_interval(*report);
    check_json(*report);
    check_csv(*report);
    check_trace(*report);
    if (answered % 10 == 0) check_text(*report);
    check_memory(request, *report);
    if (HasFatalFailure()) return;
  }
  EXPECT_EQ(answered, wanted);
  EXPECT_GT(shared, wanted / 10) << "several GPUs are part of it";
}

}  // namespace
}  // namespace rooftile
