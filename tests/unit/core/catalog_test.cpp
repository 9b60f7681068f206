// SPDX-License-Identifier: Apache-2.0
#include "core/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "temporary_folder.h"

namespace rooftile {
namespace {

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

}  // namespace
}  // namespace rooftile
