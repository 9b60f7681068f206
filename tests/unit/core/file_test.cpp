// SPDX-License-Identifier: Apache-2.0
#include "core/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <string_view>
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

class EndlessInput : public ::testing::Test {
 protected:
  EndlessInput() { ::mkfifo(pipe_.c_str(), 0600); }

  testing::TemporaryFolder folder_;
  const std::string pipe_ = folder_.file("pipe");
};

TEST_F(EndlessInput, DevicesEndWithALimit) {
  for (const char* device : {"/dev/zero", "/dev/urandom"}) {
    const auto whole = read_file(device, 1000);
    ASSERT_FALSE(whole);
    EXPECT_EQ(whole.error().message, "is larger than 1000 bytes");
    auto input = InputFile::open(device, {.device = 1000});
    ASSERT_TRUE(input);
    std::array<char, 600> buffer{};
    EXPECT_TRUE(input->read(buffer.data(), buffer.size()));
    const auto beyond = input->read(buffer.data(), buffer.size());
    ASSERT_FALSE(beyond);
    EXPECT_EQ(beyond.error().message, "gives more than 1000 bytes");
    EXPECT_FALSE(beyond.error().hint.empty());
  }
}

TEST_F(EndlessInput, APipeEndsWithALimit) {
  // A failing write must not end the test.
  ::signal(SIGPIPE, SIG_IGN);
  std::jthread writer([&] {
    const int descriptor = ::open(pipe_.c_str(), O_WRONLY);
    while (::write(descriptor, "again and again ", 16) == 16) {
    }
    ::close(descriptor);
  });
  auto input = InputFile::open(pipe_, {.pipe = 100'000});
  ASSERT_TRUE(input) << to_string(input.error());
  std::array<char, 4096> buffer{};
  std::size_t total = 0;
  while (true) {
    const auto got = input->read(buffer.data(), buffer.size());
    if (!got) break;
    total += *got;
    ASSERT_GT(*got, 0U);
  }
  EXPECT_LE(total, 100'000U);
  *input = InputFile::open("/dev/null").value();  // the pipe is closed, so the writer ends
}

TEST_F(EndlessInput, APipeWithoutAWriterIsAnErrorAndNotAWait) {
  const auto start = std::chrono::steady_clock::now();
  const auto input = read_file(pipe_);
  ASSERT_FALSE(input);
  EXPECT_NE(input.error().message.find("nobody wrote to"), std::string::npos);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
}

TEST_F(EndlessInput, AWriterMayComeLaterAndWriteLater) {
  std::jthread writer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    const int descriptor = ::open(pipe_.c_str(), O_WRONLY);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    EXPECT_EQ(::write(descriptor, "hello", 5), 5);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    EXPECT_EQ(::write(descriptor, " again", 6), 6);
    ::close(descriptor);
  });
  EXPECT_EQ(read_file(pipe_).value(), "hello again");
}

TEST_F(EndlessInput, APipeThatDripsForEverUsesUpItsPatience) {
  ::signal(SIGPIPE, SIG_IGN);
  std::jthread writer([&] {
    const int descriptor = ::open(pipe_.c_str(), O_WRONLY);
    while (::write(descriptor, "x", 1) == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    ::close(descriptor);
  });
  {
    auto input = InputFile::open(pipe_, {.patience = std::chrono::milliseconds(200)});
    ASSERT_TRUE(input) << to_string(input.error());
    std::array<char, 64> buffer{};
    auto got = input->read(buffer.data(), buffer.size());
    for (int reads = 1; got && reads < 1000; ++reads) {
      EXPECT_GT(*got, 0U);
      got = input->read(buffer.data(), buffer.size());
    }
    ASSERT_FALSE(got) << "read for ever";
    EXPECT_NE(got.error().message.find(" s of waiting"), std::string::npos) << got.error().message;
    EXPECT_NE(got.error().hint.find("does it ever end?"), std::string::npos);
  }  // the pipe is closed, so the writer ends
}

TEST_F(EndlessInput, AMegabyteBuysASecondOfWaiting) {
  std::jthread writer([&] {
    const int descriptor = ::open(pipe_.c_str(), O_WRONLY);
    const std::string megabyte(1'000'000, 'x');
    std::string_view left = megabyte;
    while (!left.empty())
      left.remove_prefix(static_cast<std::size_t>(::write(descriptor, left.data(), left.size())));
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    EXPECT_EQ(::write(descriptor, "end", 3), 3);
    ::close(descriptor);
  });
  auto input = InputFile::open(pipe_, {.patience = std::chrono::milliseconds(100)});
  ASSERT_TRUE(input) << to_string(input.error());
  std::array<char, 65536> buffer{};
  std::size_t total = 0;
  while (true) {
    const auto got = input->read(buffer.data(), buffer.size());
    ASSERT_TRUE(got) << to_string(got.error());
    if (*got == 0) break;
    total += *got;
  }
  EXPECT_EQ(total, 1'000'003U);
}

TEST_F(EndlessInput, APipeWhoseWriterLeftIsEmpty) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  ::close(ends[1]);
  EXPECT_EQ(read_file(fmt::format("/dev/fd/{}", ends[0])).value(), "");  // as of <(true)
  ::close(ends[0]);
}

}  // namespace
}  // namespace rooftile
