// SPDX-License-Identifier: Apache-2.0
#include "core/catalog.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>

#include "temporary_folder.h"

namespace rooftile {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class CatalogFolders : public ::testing::Test {
 protected:
  void TearDown() override { ::unsetenv("ROOFTILE_CATALOG"); }
  /// A folder with one file.
  std::string folder(const std::string& name, const std::string& file, const std::string& text) {
    root_.write(name + "/" + file, text);
    return root_.file(name);
  }

  testing::TemporaryFolder root_;
};

constexpr const char* kL4 = "gpus/nvidia_l4_24gb.json";

TEST_F(CatalogFolders, EmbeddedFilesNeedNoDisk) {
  const Catalog catalog = Catalog::embedded();
  ASSERT_TRUE(catalog.contains(kL4));
  const auto file = catalog.read(kL4);
  ASSERT_TRUE(file);
  EXPECT_EQ(file->name, std::string("catalog:") + kL4);
  EXPECT_THAT(file->content, ::testing::HasSubstr("\"id\": \"l4\""));
  EXPECT_FALSE(catalog.read("gpus/none.json"));
}

TEST_F(CatalogFolders, ALaterOverlayWins) {
  Catalog catalog = Catalog::embedded();
  const std::size_t before = catalog.list("gpus/").size();
  ASSERT_TRUE(catalog.overlay(folder("one", kL4, "first")));
  ASSERT_TRUE(catalog.overlay(folder("two", kL4, "second")));
  ASSERT_TRUE(catalog.overlay(folder("two", "gpus/mine.json", "mine")));
  EXPECT_EQ(catalog.read(kL4)->content, "second");
  EXPECT_EQ(catalog.list("gpus/").size(), before + 1);
  EXPECT_FALSE(catalog.overlay(root_.file("absent")));
}

TEST_F(CatalogFolders, AFileKnowsItsOriginAndWhatItReplaces) {
  Catalog catalog = Catalog::embedded();
  EXPECT_EQ(catalog.read(kL4)->origin, Catalog::Origin::Embedded);
  EXPECT_EQ(catalog.read(kL4)->replaces, "");
  const std::string one = folder("one", kL4, "first");
  const std::string two = folder("two", kL4, "second");
  ASSERT_TRUE(catalog.overlay(one));
  EXPECT_EQ(catalog.read(kL4)->origin, Catalog::Origin::Overlay);
  EXPECT_EQ(catalog.read(kL4)->replaces, std::string("catalog:") + kL4);
  ASSERT_TRUE(catalog.overlay(one));  // once more: it does not replace itself
  EXPECT_EQ(catalog.read(kL4)->replaces, std::string("catalog:") + kL4);
  ASSERT_TRUE(catalog.overlay(two));
  EXPECT_EQ(catalog.read(kL4)->replaces, one + "/" + kL4);
  ASSERT_TRUE(catalog.overlay(folder("three", "gpus/mine.json", "mine")));
  EXPECT_EQ(catalog.read("gpus/mine.json")->replaces, "");
  EXPECT_EQ(catalog.overlays(), (std::vector<std::string>{one, one, two, root_.file("three")}));
  const auto outside = Catalog::read_path(one + "/" + kL4);
  ASSERT_TRUE(outside);
  EXPECT_EQ(outside->origin, Catalog::Origin::File);
  EXPECT_EQ(outside->content, "first");
  EXPECT_FALSE(Catalog::read_path(one + "/" + kL4, 3));
}

TEST_F(CatalogFolders, WhatAPipeGaveIsKeptUntilItGivesMore) {
  const std::string pipe = root_.file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const auto write = [&pipe](std::string_view text) {
    const int descriptor = ::open(pipe.c_str(), O_WRONLY);
    EXPECT_EQ(::write(descriptor, text.data(), text.size()), static_cast<ssize_t>(text.size()));
    ::close(descriptor);
  };
  std::thread first(write, "first");
  EXPECT_EQ(Catalog::read_path(pipe).value().content, "first");
  first.join();
  EXPECT_EQ(Catalog::read_path(pipe).value().content, "first");
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);  // so that it holds what comes
  write("second");
  EXPECT_EQ(Catalog::read_path(pipe).value().content, "second");
  EXPECT_EQ(Catalog::read_path(pipe).value().content, "second");
  ::close(reader);
}

TEST_F(CatalogFolders, TheEnvironmentOverlaysInItsOrder) {
  const std::string one = folder("one", kL4, "first");
  const std::string two = folder("two", kL4, "second");
  ::setenv("ROOFTILE_CATALOG", (one + "::" + two).c_str(), 1);
  auto catalog = Catalog::standard();
  ASSERT_TRUE(catalog);
  EXPECT_EQ(catalog->read(kL4)->content, "second");
  // --catalog comes after the environment.
  ASSERT_TRUE(catalog->overlay(one));
  EXPECT_EQ(catalog->read(kL4)->content, "first");
  ::setenv("ROOFTILE_CATALOG", root_.file("absent").c_str(), 1);
  EXPECT_FALSE(Catalog::standard());
}

/// An overlay of links to what lies elsewhere.
class LinkedOverlay : public CatalogFolders {
 protected:
  void SetUp() override {
    root_.write("real/l4.json", "linked");
    root_.write("over/README.md", "not of the catalogue");
    fs::create_directories(root_.file("over/gpus"));
  }
  /// over/NAME -> target, relative to the folder of the link unless it is absolute.
  void link(const std::string& target, const std::string& name) const {
    fs::create_symlink(target, root_.file("over/" + name));
  }
  [[nodiscard]] Result<Catalog> loaded() const {
    Catalog catalog = Catalog::embedded();
    ROOFTILE_CHECK(catalog.overlay(root_.file("over")));
    return catalog;
  }
  [[nodiscard]] std::string failure() const {
    const auto catalog = loaded();
    return catalog ? "no error" : to_string(catalog.error());
  }
};

TEST_F(LinkedOverlay, LinksToFilesAndFoldersAreLikeCopies) {
  link("../../real/l4.json", kL4);
  root_.write("shelf/mine.json", "mine");
  link("../shelf", "systems");
  link(root_.file("shelf"), "gpus/more");  // the same folder twice is not a loop
  const auto catalog = loaded();
  ASSERT_TRUE(catalog) << to_string(catalog.error());
  EXPECT_EQ(catalog->read(kL4)->content, "linked");
  EXPECT_EQ(catalog->read(kL4)->name, root_.file("over/") + kL4);
  EXPECT_EQ(catalog->read(kL4)->replaces, std::string("catalog:") + kL4);
  EXPECT_EQ(catalog->read("systems/mine.json")->content, "mine");
  EXPECT_EQ(catalog->read("gpus/more/mine.json")->content, "mine");
  Catalog through = Catalog::embedded();
  fs::create_symlink("over", root_.file("link"));
  ASSERT_TRUE(through.overlay(root_.file("link")));
  EXPECT_EQ(through.read(kL4)->content, "linked");
}

TEST_F(LinkedOverlay, LinksThatLeadNowhereAreNamed) {
  link("../../real/gone.json", "gpus/gone.json");
  EXPECT_THAT(failure(), HasSubstr(root_.file("over/gpus/gone.json")));
  EXPECT_THAT(failure(), HasSubstr("../../real/gone.json\", which does not exist"));
  fs::remove(root_.file("over/gpus/gone.json"));
  link("itself.json", "gpus/itself.json");
  EXPECT_THAT(failure(), HasSubstr("over/gpus/itself.json: cannot be read"));
  fs::remove(root_.file("over/gpus/itself.json"));
  link("/dev/zero", "gpus/zero.json");
  EXPECT_THAT(failure(), HasSubstr("over/gpus/zero.json: is not a file or folder"));
  fs::remove(root_.file("over/gpus/zero.json"));
  link("..", "gpus/up");
  EXPECT_THAT(failure(), HasSubstr("over/gpus/up: is a link to a folder that contains it"));
  fs::remove(root_.file("over/gpus/up"));
  EXPECT_EQ(failure(), "no error");
}

TEST_F(LinkedOverlay, AJsonFileThatNothingReadsIsAnError) {
  struct Misplaced {
    std::string name, hint;
  };
  const std::string predictors =
      "did you mean \"predictors/default/weights.json\" or "
      "\"predictors/neusight/weights.json\"? --predictor FOLDER takes one of your own";
  for (const auto& [name, hint] : {
           Misplaced{"gpus/h100.JSON", "did you mean \"gpus/h100.json\"?"},
           Misplaced{"gpu/h100.json", "did you mean \"gpus/h100.json\"?"},
           Misplaced{"Models/mine.Json", "did you mean \"models/mine.json\"?"},
           Misplaced{"architectures/nvidia/9.9.json", "did you mean \"architectures/9.9.json\"?"},
           Misplaced{"predictors/rooftile/weights.json", predictors},
           Misplaced{"predictors/default/weight.json",
                     "did you mean \"predictors/default/weights.json\"?"},
           Misplaced{"h100.json",
                     "the JSON files of a catalogue belong in architectures/, families/, gpus/"},
       }) {
    const std::string path = root_.write("over/" + name, "{}");
    EXPECT_THAT(failure(), HasSubstr("error: " + path + ": no command reads"));
    EXPECT_THAT(failure(), HasSubstr("hint: " + hint)) << name;
    fs::remove(path);
  }
}

TEST_F(LinkedOverlay, OtherFilesMayLieThere) {
  for (const char* name : {"gpus/notes.txt", ".git/config.json", "docs/gpus.md",
                           "predictors/default/card.json", "gpus/nvidia/mine.json"}) {
    root_.write(std::string("over/") + name, "{}");
  }
  link("user@host.1234", "gpus/.#mine.json");  // the lock of an editor
  EXPECT_EQ(failure(), "no error");
}

}  // namespace
}  // namespace rooftile
