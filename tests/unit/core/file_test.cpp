// SPDX-License-Identifier: Apache-2.0
#include "core/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <thread>

#include "temporary_folder.h"

namespace rooftile {
namespace {

namespace fs = std::filesystem;

class WriteFileAtomic : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path(const char* name) const { return folder_.file(name); }

  testing::TemporaryFolder folder_;
};

TEST_F(WriteFileAtomic, ReplacesTheContentAndLeavesNothingBehind) {
  ASSERT_TRUE(write_file_atomic(path("x"), "one"));
  ASSERT_TRUE(write_file_atomic(path("x"), "second"));
  EXPECT_EQ(read_file(path("x")).value(), "second");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator()), 1);
}

TEST_F(WriteFileAtomic, ALinkStaysALinkAndTheModeIsKept) {
  ASSERT_TRUE(write_file_atomic(path("target"), "old"));
  fs::permissions(path("target"), fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("target", path("link"));
  ASSERT_TRUE(write_file_atomic(path("link"), "new"));
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(read_file(path("target")).value(), "new");
  EXPECT_EQ(fs::status(path("target")).permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(WriteFileAtomic, APipeIsWrittenToAndNotReplaced) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  std::string got;
  std::thread reader([&] { got = read_file(path("pipe")).value(); });
  EXPECT_TRUE(write_file_atomic(path("pipe"), "through"));
  reader.join();
  EXPECT_EQ(got, "through");
  EXPECT_TRUE(fs::is_fifo(path("pipe")));
}

TEST_F(WriteFileAtomic, FailuresAreErrorsWithTheReason) {
  const auto missing = write_file_atomic(path("no/such/folder"), "x");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().where, path("no/such/folder"));
  EXPECT_FALSE(write_file_atomic(folder_.path().string(), "x")) << "a folder";
}

}  // namespace
}  // namespace rooftile
