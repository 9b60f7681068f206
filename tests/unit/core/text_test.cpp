// SPDX-License-Identifier: Apache-2.0
#include "core/text.h"

#include <gtest/gtest.h>

namespace rooftile {
namespace {

TEST(ParseQuantity, ReadsDecimalAndBinaryPrefixes) {
  EXPECT_DOUBLE_EQ(parse_quantity<BytesPerSecond>("1555 GB/s")->base(), 1.555e12);
  EXPECT_DOUBLE_EQ(parse_quantity<Bytes>("50 MiB")->base(), 50.0 * 1048576.0);
  EXPECT_DOUBLE_EQ(parse_quantity<Bytes>("1e3 B")->base(), 1000.0);
  EXPECT_DOUBLE_EQ(parse_quantity<Hertz>("1.41GHz")->base(), 1.41e9);
}

TEST(ParseQuantity, NamesWhatIsWrong) {
  EXPECT_EQ(parse_quantity<BytesPerSecond>("1555").error().message, "\"1555\" has no unit");
  EXPECT_EQ(parse_quantity<BytesPerSecond>("1555").error().hint, "write for example \"1555 GB/s\"");
  EXPECT_EQ(parse_quantity<Bytes>("5 GB/s").error().message,
            "\"5 GB/s\" has the unknown unit \"GB/s\"");
  EXPECT_FALSE(parse_quantity<Bytes>("inf B"));
  EXPECT_FALSE(parse_quantity<Bytes>("1e308 TB"));
}

TEST(ParseDouble, TakesWholeStringsOnly) {
  EXPECT_EQ(parse_double("1.5"), 1.5);
  EXPECT_EQ(parse_double("+2e3"), 2000.0);
  for (const char* bad : {"", "1,5", "1.5x", " 1", "inf", "nan", "0x10", "1e999", "--1"}) {
    EXPECT_FALSE(parse_double(bad)) << bad;
  }
}

TEST(Nearest, FindsTyposButNotStrangers) {
  const std::array<std::string_view, 3> names{"bandwidth", "size", "latency"};
  EXPECT_EQ(nearest("bandwith", names), "bandwidth");
  EXPECT_FALSE(nearest("colour", names));
}

TEST(Format, RoundsToSignificantDigits) {
  EXPECT_EQ(format_time(Seconds::from_base(0.0123456)), "12.3 ms");
  EXPECT_EQ(format_bytes(Bytes::from_base(999.96e6)), "1.00 GB");
  EXPECT_EQ(format_rate(FlopsPerSecond::from_base(66.9e12)), "66.9 TFLOP/s");
  EXPECT_EQ(format_count(1536000), "1.54 M");
  EXPECT_EQ(format_count(0), "0");
}

TEST(Printable, IsHarmlessAndCutBetweenCharacters) {
  EXPECT_EQ(printable("a\x1b[2J"), "a\\x1b[2J");
  std::string name;
  for (int i = 0; i < 61; ++i) name += "\xC3\xA4";
  EXPECT_EQ(printable(name), name.substr(0, 120) + "...");
}

TEST(DidYouMean, ForeignNamesAreHarmlessAndAreNotListedWithoutEnd) {
  std::vector<std::string_view> names(1000, "x\x1by\n");
  const std::string hint = did_you_mean("device", names, "columns are");
  EXPECT_TRUE(hint.starts_with("columns are x\\x1by\\x0a, ")) << hint.substr(0, 60);
  EXPECT_TRUE(hint.ends_with(", ..."));
  EXPECT_LT(hint.size(), 2000U);
}

TEST(ErrorText, HasNoControlOfForeignText) {
  const Error error{.code = ErrorCode::BadInput,
                    .where = "a\x1b[2Jb.json:/x\ny",
                    .message = "\"\xE2\x80\xAE\" is odd",
                    .hint = "one of\n  a\x07\n  b"};
  EXPECT_EQ(to_string(error),
            "error: a\\x1b[2Jb.json:/x\\x0ay: \"\\u202e\" is odd\nhint: one of\n  a\\x07\n  b\n");
}

}  // namespace
}  // namespace rooftile
