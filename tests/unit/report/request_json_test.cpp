// SPDX-License-Identifier: Apache-2.0
#include "report/request_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace rooftile::report {
namespace {

Result<Request> read_text(const std::string& text) {
  const auto document = JsonDocument::parse(text, "x.json");
  if (!document) return tl::unexpected(document.error());
  return read_request(document->root());
}

std::string failure(const std::string& text) {
  const auto request = read_text(text);
  return request ? "no error" : to_string(request.error());
}

Request unusual() {
  return {.model = "./a b.json",
          .gpu = "h100-sxm",
          .machine = "machine.json",
          .phase = "train",
          .batch = 8,
          .sequence = 100,
          .context = 7,
          .dtype = "bf16",
          .kv_dtype = "fp8_e4m3",
          .weight_dtype = "int8",
          .stack = "serving",
          .attention = "flash",
          .fusion = "compile",
          .optimizer = "adamw",
          .recompute = true,
          .dp = 2,
          .tp = 4,
          .pp = 3,
          .ep = 2,
          .microbatches = 5,
          .system = "dgx-h100",
          .predictor = "./mine",
          .catalog = {"one", "two"}};
}

TEST(RequestJson, EveryFieldIsReadBack) {
  for (const Request& request : {unusual(), Request{}}) {
    const nlohmann::ordered_json json = request_json(request);
    const auto again = read_text(json.dump());
    ASSERT_TRUE(again) << to_string(again.error());
    EXPECT_EQ(request_json(*again).dump(), json.dump());
  }
  // None of them keeps its default: a field that is not read would show.
  const nlohmann::ordered_json json = request_json(unusual());
  const nlohmann::ordered_json plain = request_json(Request{});
  EXPECT_EQ(json.size(), 23U);
  for (const auto& [key, value] : plain.items()) EXPECT_NE(json.at(key), value) << key;
}

TEST(RequestJson, AbsentKeysAreDefaults) {
  const auto request = read_text(R"({"model": "gpt2", "gpu": "l4"})");
  ASSERT_TRUE(request);
  EXPECT_EQ(request->batch, 1);
  EXPECT_FALSE(request->sequence);
}

TEST(RequestJson, WhatIsNotKnownIsAnError) {
  EXPECT_EQ(failure(R"({"model": "gpt2", "gpu": "l4", "bach": 3})"),
            "error: x.json:/bach: unknown key \"bach\"\nhint: did you mean \"batch\"?\n");
  EXPECT_NE(failure(R"({"model": "gpt2"})").find("missing key \"gpu\""), std::string::npos);
  EXPECT_NE(failure(R"({"model": 2, "gpu": "l4"})").find("x.json:/model"), std::string::npos);
  EXPECT_NE(failure(R"({"model": "a", "gpu": "l4", "batch": 1.5})").find("x.json:/batch"),
            std::string::npos);
  EXPECT_NE(failure(R"({"model": "a", "gpu": "l4", "recompute": 1})").find("x.json:/recompute"),
            std::string::npos);
  EXPECT_NE(failure(R"({"model": "a", "gpu": "l4", "catalog": "x"})").find("x.json:/catalog"),
            std::string::npos);
  EXPECT_NE(failure(R"([])").find("x.json"), std::string::npos);
}

}  // namespace
}  // namespace rooftile::report
