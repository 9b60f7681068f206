// SPDX-License-Identifier: Apache-2.0
//
// Damaged exports of every profiler (exports/) and the exact messages they get
// (exports/messages.txt: "== file", then the message).
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>

#include "core/file.h"
#include "core/text.h"
#include "profile/evaluate.h"
#include "profile/importer.h"
#include "source_folder.h"

namespace rooftile::profile {
namespace {

namespace fs = std::filesystem;

fs::path folder() {
  return testing::source_folder() / "tests" / "error" / "exports";
}

std::map<std::string, std::string> expected_messages() {
  std::map<std::string, std::string> messages;
  const std::string text = read_file((folder() / "messages.txt").string()).value_or("");
  std::string* current = nullptr;
  for (const std::string_view line : split(text, '\n')) {
    if (line.starts_with("== ")) {
      current = &messages[std::string(line.substr(3))];
    } else if (current != nullptr && !line.empty()) {
      *current += std::string(line) + "\n";
    }
  }
  return messages;
}

std::string message_of(const std::string& file) {
  auto text = read_file((folder() / file).string());
  if (!text) return to_string(text.error());
  const auto profile = import_text(*std::move(text), file);
  if (!profile) return to_string(profile.error());
  const auto run = evaluate(*profile, {}, Catalog::embedded());
  return run ? "no error" : to_string(run.error());
}

TEST(DamagedExports, SayWhatIsWrongAndWhere) {
  const auto expected = expected_messages();
  std::size_t files = 0;
  for (const auto& entry : fs::directory_iterator(folder())) {
    const std::string name = entry.path().filename().string();
    if (name == "messages.txt") continue;
    ++files;
    const auto message = expected.find(name);
    ASSERT_NE(message, expected.end()) << name << " has no message";
    EXPECT_EQ(message_of(name), message->second) << name;
  }
  EXPECT_EQ(files, expected.size());
}

TEST(DamagedExports, EveryFormatHasSome) {
  for (const std::string_view format :
       {"ncu_long", "ncu_wide", "ncu_details", "ncu_summary", "ncu_text", "nvprof", "rocprof_v1",
        "rocprof_v3", "rocprof_compute", "kineto", "likwid", "ert", "machine_table"}) {
    bool found = false;
    for (const auto& [name, message] : expected_messages()) {
      found = found || name.starts_with(format);
    }
    EXPECT_TRUE(found) << format;
  }
}

}  // namespace
}  // namespace rooftile::profile
