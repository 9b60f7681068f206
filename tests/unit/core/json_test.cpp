// SPDX-License-Identifier: Apache-2.0
#include "core/json.h"

#include <gtest/gtest.h>

#include <array>

namespace rooftile {
namespace {

std::string error_of(std::string_view text) {
  const auto document = JsonDocument::parse(text, "t.json");
  return document ? "" : to_string(document.error());
}

TEST(Json, ErrorsCarryThePointer) {
  const auto document =
      JsonDocument::parse(R"({"memory": {"dram": {"bandwidth": "1555"}}})", "t.json");
  const auto dram = document->root().at("memory")->at("dram");
  EXPECT_EQ(to_string(dram->at("bandwidth")->quantity<BytesPerSecond>().error()),
            "error: t.json:/memory/dram/bandwidth: \"1555\" has no unit\nhint: write for example "
            "\"1555 GB/s\"\n");
  EXPECT_EQ(to_string(dram->at("bandwith").error()),
            "error: t.json:/memory/dram: missing key \"bandwith\"\nhint: \"bandwidth\" is present: "
            "is it a misspelling?\n");
}

TEST(Json, UnknownKeysAreErrors) {
  const auto document = JsonDocument::parse(R"({"sise": 1})", "t.json");
  const std::array<std::string_view, 2> known{"size", "line"};
  EXPECT_EQ(to_string(document->root().expect_keys(known).error()),
            "error: t.json:/sise: unknown key \"sise\"\nhint: did you mean \"size\"?\n");
}

TEST(Json, IntegersAreCheckedForRangeAndKind) {
  const auto document =
      JsonDocument::parse(R"({"a": 12, "b": 12.5, "c": "12", "d": 1e30, "e": 12.0})", "t.json");
  const JsonView root = document->root();
  EXPECT_EQ(*root.at("a")->integer(0, 100), 12);
  EXPECT_EQ(*root.at("e")->integer(0, 100), 12);
  EXPECT_FALSE(root.at("a")->integer(0, 10));
  for (const char* key : {"b", "c", "d"}) EXPECT_FALSE(root.at(key)->integer(0, 100)) << key;
}

TEST(Json, NullCountsAsAbsent) {
  const auto document = JsonDocument::parse(R"({"a": null})", "t.json");
  EXPECT_FALSE(document->root().find("a"));
  EXPECT_FALSE(document->root().at("a"));
}

TEST(Json, HostileTextIsRefused) {
  EXPECT_EQ(error_of(std::string(100000, '[')),
            "error: t.json: nested more than 128 levels deep\n");
  EXPECT_EQ(error_of(R"({"a": 1, "a": 2})"),
            "error: t.json: the key \"a\" appears twice in one object\n");
  EXPECT_EQ(error_of("{\n  \"a\": ,\n}"),
            "error: t.json:2:8: not valid JSON\nhint: check the text just before this place\n");
  EXPECT_NE(error_of(""), "");
  EXPECT_NE(error_of("1e999"), "");
  EXPECT_NE(error_of("\"\xff\""), "");
}

/// Long strings take a shorter way through the parser: what is read must not tell.
TEST(Json, LongStringsAreReadAsTheyAre) {
  const std::string plain(70000, 'x');
  const std::string spaced = "a b " + std::string(600, '~');
  const std::string escaped = std::string(600, 'y') + R"(\"\\)";
  const auto text = [&](const std::string& extra) {
    return "{\"" + std::string(600, 'k') + "\" : \"" + plain + "\", \"b\": [\"short\", \"" +
           spaced + "\", \"" + escaped + "\", \"" + plain + "\"]" + extra + "}";
  };
  for (const std::string extra : {"", R"(, "c": "\u0001")"}) {
    const auto document = JsonDocument::parse(text(extra), "t.json");
    ASSERT_TRUE(document) << to_string(document.error());
    EXPECT_EQ(document->root().at(std::string(600, 'k'))->string().value(), plain);
    const auto list = document->root().at("b")->elements().value();
    EXPECT_EQ(list[0].string().value(), "short");
    EXPECT_EQ(list[1].string().value(), spaced);
    EXPECT_EQ(list[2].string().value(), std::string(600, 'y') + "\"\\");
    EXPECT_EQ(list[3].string().value(), plain);
    if (!extra.empty()) {
      EXPECT_EQ(document->root().at("c")->string().value(), "\x01");
    }
  }
  EXPECT_EQ(error_of("{\"a\": \"" + plain + "\",\n  \"b\": ,\n}"),
            "error: t.json:2:8: not valid JSON\nhint: check the text just before this place\n");
}

}  // namespace
}  // namespace rooftile
