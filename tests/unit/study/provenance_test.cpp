// SPDX-License-Identifier: Apache-2.0
//
// Every report names the files it was computed from; replays compare them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "core/file.h"
#include "core/sha256.h"
#include "embedded_session.h"
#include "rooftile/kernel.h"
#include "rooftile/report.h"
#include "rooftile/scale.h"
#include "rooftile/traffic.h"
#include "study/replay.h"
#include "temporary_folder.h"
#include "written.h"

namespace rooftile::study {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kMachine = R"({
  "schema": 1, "kind": "machine", "device": "NVIDIA A100-SXM4-40GB", "gpu": "a100-sxm-40gb",
  "tool": "rooftile 0.1.0", "date": "2026-11-15", "environment": {"driver": "1.2"},
  "bandwidth": {"dram": "1300 GB/s"}, "rate": {"fp32": "18 TFLOP/s"}, "launch": "3 us" })";

Request step_of(const std::string& model, const std::string& gpu) {
  Request request;
  request.model = model;
  request.gpu = gpu;
  return request;
}

/// Copies of catalogue files in a folder of the test's own, to be edited.
class Provenance : public ::testing::Test {
 protected:
  void SetUp() override {
    copy("gpus/nvidia_a100_sxm4_40gb.json", "gpu.json");
    copy("models/gpt2.json", "model.json");
    copy("systems/nvidia_dgx_a100_40gb.json", "system.json");
    copy("predictors/default/weights.json", "weights/weights.json");
    write("machine.json", kMachine);
  }

  [[nodiscard]] std::string path(const std::string& name) const { return folder_.file(name); }
  void write(const std::string& name, const std::string& text) const { folder_.write(name, text); }
  void copy(const std::string& from, const std::string& name) const {
    write(name, catalog_.read(from).value().content);
  }
  void edit(const std::string& name, const std::string& from, const std::string& to) const {
    std::string text = read_file(path(name)).value();
    ASSERT_NE(text.find(from), std::string::npos) << name;
    text.replace(text.find(from), from.size(), to);
    write(name, text);
  }
  [[nodiscard]] Request request() const {
    Request request;
    request.model = path("model.json");
    request.gpu = path("gpu.json");
    request.machine = path("machine.json");
    request.system = path("system.json");
    request.predictor = path("weights");
    request.tp = 2;
    request.sequence = 64;
    return request;
  }
  [[nodiscard]] Report predicted(const Request& request) const {
    auto report = Session(catalog_).predict(request);
    EXPECT_TRUE(report) << to_string(report.error());
    return report ? *report : Report{};
  }

  Catalog catalog_ = Catalog::embedded();
  rooftile::testing::TemporaryFolder folder_;
};

std::vector<std::string> kinds_of(const ProvenanceReport& provenance) {
  std::vector<std::string> kinds;
  for (const Input& input : provenance.inputs) kinds.push_back(input.kind + " " + input.origin);
  return kinds;
}

TEST_F(Provenance, APredictionNamesAllOfItsFiles) {
  const Report report = predicted(request());
  EXPECT_THAT(
      kinds_of(report.provenance),
      ElementsAre("architecture embedded", "calibration embedded", "family embedded", "gpu file",
                  "machine file", "model file", "predictor file", "stack embedded", "system file"));
  for (const Input& input : report.provenance.inputs) {
    if (input.origin != "file") continue;
    EXPECT_EQ(input.sha256, sha256(read_file(input.file).value())) << input.file;
  }
  EXPECT_THAT(
      kinds_of(predicted(step_of("gpt2", "l4")).provenance),
      ElementsAre("architecture embedded", "calibration embedded", "family embedded",
                  "gpu embedded", "model embedded", "predictor embedded", "stack embedded"));
  Request by_bound = step_of("gpt2", "l4");
  by_bound.predictor = "bound";
  const Report bound = predicted(by_bound);
  for (const Input& input : bound.provenance.inputs) {
    if (input.kind != "predictor") continue;
    EXPECT_EQ(input.name, "bound");
    EXPECT_EQ(input.sha256, "");  // it is code
  }
  // But for what a step adds to its kernels, which it takes from the default's file.
  const auto constants = std::find_if(
      bound.provenance.inputs.begin(), bound.provenance.inputs.end(),
      [](const Input& input) { return input.kind == "calibration" && input.name == "constants"; });
  ASSERT_NE(constants, bound.provenance.inputs.end());
  EXPECT_EQ(constants->file, "catalog:predictors/default/weights.json");
  EXPECT_EQ(constants->sha256.size(), 64U);
}

TEST_F(Provenance, AnyChangedFileChangesItsSumAndNoOther) {
  const auto sums = [](const Report& report) {
    std::map<std::string, std::string> by_kind;
    for (const Input& input : report.provenance.inputs) by_kind[input.kind] = input.sha256;
    return by_kind;
  };
  const auto before = sums(predicted(request()));
  for (const auto& [kind, name] :
       {std::pair("gpu", "gpu.json"), std::pair("machine", "machine.json"),
        std::pair("model", "model.json"), std::pair("predictor", "weights/weights.json"),
        std::pair("system", "system.json")}) {
    const std::string text = read_file(path(name)).value();
    write(name, text + " ");  // one byte that means nothing
    const auto after = sums(predicted(request()));
    for (const auto& [other, sum] : before) {
      EXPECT_EQ(after.at(other) == sum, other != kind) << kind << " changed: " << other;
    }
    write(name, text);
  }
  EXPECT_EQ(sums(predicted(request())), before);
}

TEST_F(Provenance, AnOverlayIsNamedInEveryReport) {
  copy("gpus/nvidia_l4_24gb.json", "over/gpus/mine.json");
  copy("predictors/default/weights.json", "over/predictors/default/weights.json");
  ASSERT_TRUE(catalog_.overlay(path("over")));
  const std::string gpu_note =
      fmt::format("gpu l4 is read from {}, which replaces catalog:gpus/nvidia_l4_24gb.json",
                  path("over/gpus/mine.json"));
  const Report report = predicted(step_of("gpt2", "l4"));
  EXPECT_THAT(report.warnings, Contains(gpu_note));
  EXPECT_THAT(report.warnings, Contains(HasSubstr("predictor rooftile is read from")));
  EXPECT_THAT(report.request.catalog, ElementsAre(path("over")));
  KernelRequest one;
  one.gpu = "l4";
  one.op = GemmShape{.m = 64, .n = 64, .k = 64};
  const Session session(catalog_);
  const auto kernel_report = session.kernel(one);
  ASSERT_TRUE(kernel_report);
  EXPECT_THAT(kernel_report->warnings, Contains(gpu_note));
  TrafficRequest layers;
  layers.step = step_of("alexnet", "l4");
  layers.traffic_model = "closed";
  const auto traffic_report = session.traffic(layers);
  ASSERT_TRUE(traffic_report) << to_string(traffic_report.error());
  EXPECT_THAT(traffic_report->warnings, Contains(gpu_note));
  EXPECT_THAT(
      kinds_of(traffic_report->provenance),
      ElementsAre("architecture embedded", "gpu overlay", "model embedded", "predictor overlay"));
  ScaleRequest variant;
  variant.step = step_of("alexnet", "l4");
  variant.set = {"dram_bw=2"};
  const auto scale_report = session.scale(variant);
  ASSERT_TRUE(scale_report) << to_string(scale_report.error());
  EXPECT_THAT(scale_report->warnings, Contains(gpu_note));
  EXPECT_THAT(
      kinds_of(scale_report->provenance),
      ElementsAre("architecture embedded", "gpu overlay", "model embedded", "predictor overlay"));
}

class Replay : public Provenance {
 protected:
  /// The report of the request, written and read back.
  [[nodiscard]] RecordedReport recorded(const Request& request) const {
    return parse_report(report::written("json", predicted(request)), "report.json").value();
  }
  [[nodiscard]] report::ReplayReport replayed(const RecordedReport& recorded) const {
    auto result = replay(recorded, Session(replay_catalog(recorded, {}).value()));
    EXPECT_TRUE(result) << to_string(result.error());
    return result ? *result : report::ReplayReport{};
  }
};

TEST_F(Replay, AnUnchangedReportComesOutAgainBitForBit) {
  const auto result = replayed(recorded(request()));
  EXPECT_TRUE(result.reproduced());
  EXPECT_THAT(result.changes, IsEmpty());
  EXPECT_EQ(result.then_ms, result.now_ms);
  EXPECT_THAT(report::written("text", result), HasSubstr("reproduced: "));
}

TEST_F(Replay, ChangedInputsAreNamed) {
  const RecordedReport before = recorded(request());
  for (const auto& [kind, name, from, to] :
       {std::tuple("gpu", "gpu.json", "\"1555 GB/s\"", "\"1500 GB/s\""),
        std::tuple("machine", "machine.json", "1300 GB/s", "1000 GB/s"),
        std::tuple("model", "model.json", "\"n_layer\": 12", "\"n_layer\": 11"),
        std::tuple("system", "system.json", "\"sources\"", " \"sources\"")}) {
    const std::string text = read_file(path(name)).value();
    edit(name, from, to);
    const auto result = replayed(before);
    ASSERT_EQ(result.changes.size(), 1U) << kind;
    EXPECT_THAT(result.changes.front(), HasSubstr(kind));
    EXPECT_THAT(result.changes.front(), HasSubstr(sha256(text).substr(0, 12) + " then"));
    write(name, text);
  }
}

TEST_F(Replay, AnotherNumberIsNotReproduced) {
  const RecordedReport before = recorded(request());
  edit("model.json", "\"n_layer\": 12", "\"n_layer\": 11");
  const auto fewer = replayed(before);
  EXPECT_FALSE(fewer.reproduced());
  EXPECT_LT(fewer.now_ms, fewer.then_ms);
  EXPECT_EQ(fewer.differences.front().pointer, "/latency/total_ms");
  EXPECT_THAT(report::written("text", fewer), HasSubstr("not reproduced: "));
  // A file that changed without changing the numbers is named beside them.
  edit("model.json", "\"n_layer\": 11", "\"n_layer\":  12");
  const auto same = replayed(before);
  EXPECT_TRUE(same.reproduced());
  EXPECT_EQ(same.changes.size(), 1U);
}

TEST_F(Replay, AnEditedNumberIsFound) {
  nlohmann::json json = nlohmann::json::parse(report::written("json", predicted(request())));
  json["operators"][3]["latency_ms"] = json["operators"][3]["latency_ms"].get<double>() * 1.5;
  json["provenance"]["version"] = "0.0.1";
  const auto result = replayed(parse_report(json.dump(), "report.json").value());
  ASSERT_EQ(result.differences.size(), 1U);
  EXPECT_EQ(result.differences.front().pointer, "/operators/3/latency_ms");
  EXPECT_THAT(result.changes, ElementsAre(HasSubstr("version 0.0.1 then")));
  EXPECT_THAT(report::written("text", result), HasSubstr(" as then, other values differ"));
}

TEST_F(Replay, OverlaysOfTheReportAreReadAgain) {
  copy("gpus/nvidia_l4_24gb.json", "over/gpus/nvidia_l4_24gb.json");
  edit("over/gpus/nvidia_l4_24gb.json", "\"300 GB/s\"", "\"280 GB/s\"");
  ASSERT_TRUE(catalog_.overlay(path("over")));
  const RecordedReport before = recorded(step_of("gpt2", "l4"));
  EXPECT_TRUE(replayed(before).reproduced());
  // Another overlay, or none: the built-in file, with another number.
  const auto plain = replay(before, testing::embedded_session());
  ASSERT_TRUE(plain);
  EXPECT_FALSE(plain->reproduced());
  EXPECT_THAT(plain->changes, Contains(HasSubstr("(embedded) now")));
  fs::remove_all(path("over"));
  const auto gone = replay_catalog(before, {});
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, ErrorCode::BadInput);
  EXPECT_THAT(gone.error().hint, HasSubstr("--catalog"));
  fs::create_directory(path("empty"));
  EXPECT_TRUE(replay_catalog(before, {path("empty")}));
}

TEST_F(Replay, AMissingFileIsAnErrorWithAHint) {
  const RecordedReport before = recorded(request());
  fs::remove(path("gpu.json"));
  const auto result = replay(before, testing::embedded_session());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::BadInput);
  EXPECT_EQ(result.error().where, path("gpu.json"));
  EXPECT_THAT(result.error().message, HasSubstr("needed by report.json"));
  EXPECT_THAT(result.error().hint, HasSubstr("where the report was made"));
}

TEST_F(Replay, WhatIsNotAReportIsRefused) {
  const std::string good = report::written("json", predicted(step_of("gpt2", "l4")));
  const auto failure = [](const std::string& text) {
    const auto report = parse_report(text, "r.json");
    return report ? "no error" : to_string(report.error());
  };
  const auto without = [&](const char* key) {
    nlohmann::json json = nlohmann::json::parse(good);
    json.erase(key);
    return json.dump();
  };
  EXPECT_EQ(failure(good), "no error");
  EXPECT_EQ(failure(without("provenance")), "no error");  // older reports
  EXPECT_THAT(failure(without("request")), HasSubstr("is not a report of a prediction"));
  EXPECT_THAT(failure(without("latency")), HasSubstr("is not a report of a prediction"));
  EXPECT_THAT(failure("{\"schema\": 1, \"gpus\": []}"), HasSubstr("is not a report"));
  EXPECT_THAT(failure("[]"), HasSubstr("r.json"));
  EXPECT_THAT(failure(good.substr(0, 100)), HasSubstr("r.json"));
  nlohmann::json json = nlohmann::json::parse(good);
  json["schema"] = 2;
  EXPECT_THAT(failure(json.dump()), HasSubstr("schema 2 is not supported"));
  json["schema"] = 1;
  json["request"]["phase"] = "trian";
  const auto asked =
      replay(parse_report(json.dump(), "r.json").value(), testing::embedded_session());
  ASSERT_FALSE(asked);
  EXPECT_EQ(asked.error().code, ErrorCode::BadInput);  // the file's fault, not the command line's
  EXPECT_EQ(asked.error().where, "r.json:/request");
}

TEST_F(Replay, AnOldReportIsComparedByItsNumbers) {
  nlohmann::json json =
      nlohmann::json::parse(report::written("json", predicted(step_of("gpt2", "l4"))));
  json.erase("provenance");
  const auto result = replayed(parse_report(json.dump(), "report.json").value());
  EXPECT_TRUE(result.reproduced());
  EXPECT_THAT(result.changes, ElementsAre(HasSubstr("does not say which version")));
}

}  // namespace
}  // namespace rooftile::study
