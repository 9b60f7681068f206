// SPDX-License-Identifier: Apache-2.0
#include "core/csv.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "temporary_folder.h"

namespace rooftile {
namespace {

using Rows = std::vector<std::vector<std::string>>;

Result<Rows> read_all(CsvReader reader) {
  Rows rows;
  while (true) {
    ROOFTILE_TRY(const bool more, reader.next());
    if (!more) return rows;
    rows.emplace_back(reader.fields().begin(), reader.fields().end());
  }
}
Rows parse(std::string_view text) {
  return read_all(CsvReader::from_text(text, "t.csv", {})).value();
}

TEST(Csv, PlainRows) {
  EXPECT_EQ(parse("a,b\n1,2\n"), (Rows{{"a", "b"}, {"1", "2"}}));
  EXPECT_EQ(parse("a,b\n1,2"), (Rows{{"a", "b"}, {"1", "2"}})) << "no newline at the end";
  EXPECT_EQ(parse(""), Rows{});
  EXPECT_EQ(parse("a,,c\n,\n"), (Rows{{"a", "", "c"}, {"", ""}}));
}

TEST(Csv, BomCrlfAndBlankLines) {
  EXPECT_EQ(parse("\xEF\xBB\xBF"
                  "a,b\r\n\r\n1,2\r\n"),
            (Rows{{"a", "b"}, {"1", "2"}}));
}

TEST(Csv, QuotedFields) {
  EXPECT_EQ(parse("\"a,b\",\"c\"\"d\",\"e\nf\"\r\n1,2,3\n"),
            (Rows{{"a,b", "c\"d", "e\nf"}, {"1", "2", "3"}}));
  EXPECT_EQ(parse("x\"y,z\n"), (Rows{{"x\"y", "z"}})) << "a stray quote is data";
  EXPECT_EQ(parse("\"\"\n\n"), (Rows{{""}}))
      << "an empty quoted field is a row, a blank line is not";
}

// The fast path looks at 64 bytes at a time: fields, line ends and quotes on and around the border.
TEST(Csv, FieldsAcrossBlockBorders) {
  for (std::size_t length = 55; length < 140; ++length) {
    const std::string word(length, 'x');
    EXPECT_EQ(parse(word + ",b\r\n1,\"" + word + "\"\n" + word),
              (Rows{{word, "b"}, {"1", word}, {word}}))
        << length;
  }
}

TEST(Csv, TooManyFieldsAreAnError) {
  for (const std::string quote : {"", "\""}) {
    CsvReader reader = CsvReader::from_text("a\n" + quote + quote + std::string(200, ','), "t.csv",
                                            {.max_fields = 100});
    ASSERT_TRUE(reader.next());
    const auto more = reader.next();
    ASSERT_FALSE(more);
    EXPECT_EQ(
        to_string(more.error()),
        "error: t.csv:2: a record has more than 100 fields\nhint: is this a CSV file with the "
        "right delimiter?\n");
  }
}

TEST(Csv, UnclosedQuoteIsAnError) {
  const auto rows = read_all(CsvReader::from_text("a\n\"b\n", "t.csv", {}));
  ASSERT_FALSE(rows);
  EXPECT_EQ(to_string(rows.error()),
            "error: t.csv:2: a quoted field is never closed\nhint: add the missing \" or remove "
            "the opening one\n");
}

TEST(Csv, LinesAreCountedThroughQuotedNewlines) {
  CsvReader reader = CsvReader::from_text("\"a\nb\"\nc\n", "t.csv", {});
  ASSERT_TRUE(*reader.next());
  EXPECT_EQ(reader.line(), 1);
  ASSERT_TRUE(*reader.next());
  EXPECT_EQ(reader.line(), 3);
}

TEST(Csv, StreamsAcrossBufferBoundaries) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.file("stream.csv");
  {
    std::ofstream out(path);
    for (int i = 0; i < 200000; ++i) out << i << ",\"quoted \"\"" << i << "\"\" text\",end\n";
  }
  auto reader = CsvReader::open(path, {});
  ASSERT_TRUE(reader);
  int count = 0;
  while (*reader->next()) {
    ASSERT_EQ((*reader)[0], std::to_string(count));
    ASSERT_EQ((*reader)[1], "quoted \"" + std::to_string(count) + "\" text");
    ++count;
  }
  EXPECT_EQ(count, 200000);
}

// A sparse file: it takes no space on disk and has no line end in 10 GB.
TEST(CsvReader, TenGigabytesWithoutALineEndAreRefusedInBoundedMemory) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.write("huge.csv", "a,b\n");
  std::error_code refused;
  std::filesystem::resize_file(path, 10'000'000'000, refused);
  if (refused) GTEST_SKIP() << "no sparse files here: " << refused.message();
  auto reader = CsvReader::open(path, {});
  ASSERT_TRUE(reader);
  ASSERT_TRUE(*reader->next());
  const auto more = reader->next();
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code, ErrorCode::BadInput);
  EXPECT_NE(more.error().message.find("a record is longer than"), std::string::npos);
}

TEST(CsvHeader, SuggestsTheNearestColumn) {
  CsvReader reader = CsvReader::from_text("device,latency_ms\nx,abc\n", "t.csv", {});
  const auto header = CsvHeader::read(reader);
  ASSERT_TRUE(header);
  EXPECT_EQ(
      to_string(header->column("latency_mss").error()),
      "error: t.csv:1: there is no column \"latency_mss\"\nhint: did you mean \"latency_ms\"?\n");
  ASSERT_TRUE(*reader.next());
  EXPECT_EQ(reader.number(1).error().where, "t.csv:2:2");
}

}  // namespace
}  // namespace rooftile
