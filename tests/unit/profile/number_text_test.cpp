// SPDX-License-Identifier: Apache-2.0
#include "profile/number_text.h"

#include <gtest/gtest.h>

namespace rooftile::profile {
namespace {

double value(NumberFormat& format, std::string_view text) {
  const auto reading = format.read(text);
  EXPECT_EQ(reading.kind, NumberFormat::Kind::Number) << text;
  return reading.value;
}

TEST(NumberFormat, PlainAndEnglishNumbers) {
  NumberFormat format;
  EXPECT_EQ(value(format, "175750560"), 175750560.0);
  EXPECT_EQ(value(format, "175,750,560"), 175750560.0);
  EXPECT_EQ(value(format, "692,652.85"), 692652.85);
  EXPECT_EQ(value(format, "1,234"), 1234.0);
  EXPECT_EQ(value(format, "1.5e+09"), 1.5e9);
  EXPECT_EQ(value(format, "-3"), -3.0);
  EXPECT_FALSE(format.decimal_comma());
  EXPECT_FALSE(format.contradictory());
}

TEST(NumberFormat, DecimalCommaWithEveryThousandsSeparator) {
  for (const char* thousands : {".", "\xC2\xA0", "\xE2\x80\xAF", "'", " ", "\xE2\x80\x99"}) {
    NumberFormat format;
    EXPECT_EQ(value(format, "9,00"), 9.0);
    EXPECT_EQ(value(format, std::string("1") + thousands + "234,50"), 1234.5);
    EXPECT_EQ(value(format, std::string("12") + thousands + "345" + thousands + "678"), 12345678.0);
    EXPECT_TRUE(format.decimal_comma());
    EXPECT_FALSE(format.contradictory()) << thousands;
  }
}

TEST(NumberFormat, IndianGroupingIsThousands) {
  NumberFormat format;
  EXPECT_EQ(value(format, "17,57,50,560"), 175750560.0);
  EXPECT_FALSE(format.decimal_comma());
}

TEST(NumberFormat, AnAmbiguousNumberKeepsItsOtherReading) {
  NumberFormat format;
  const auto comma = format.read("1,234");
  EXPECT_EQ(comma.value, 1234.0);
  EXPECT_EQ(comma.other, 1.234);
  const auto point = format.read("1.234");
  EXPECT_EQ(point.value, 1.234);
  EXPECT_EQ(point.other, 1234.0);
  EXPECT_FALSE(format.decided());
  value(format, "0,5");
  EXPECT_TRUE(format.decimal_comma());
  EXPECT_EQ(value(format, "1.234"), 1234.0);
  EXPECT_EQ(value(format, "1,234"), 1.234);
}

TEST(NumberFormat, MissingIsNotZeroAndTextIsNotANumber) {
  NumberFormat format;
  for (const char* text : {"n/a", "", "nan", "-nan", "N/A", "no data", "(!) n/a", "-"}) {
    EXPECT_EQ(format.read(text).kind, NumberFormat::Kind::Missing) << text;
  }
  for (const char* text : {"CachePreferNone", "12abc", "--", "e", ".", ",", "1-2", "inf", "0x10"}) {
    EXPECT_EQ(format.read(text).kind, NumberFormat::Kind::Text) << text;
  }
}

TEST(NumberFormat, MixedLocalesAreNoticed) {
  NumberFormat format;
  value(format, "1,234,567");
  value(format, "9,00");
  EXPECT_TRUE(format.contradictory());
}

TEST(CounterUnit, ScaledUnitsBecomeBaseUnits) {
  const auto check = [](std::string_view text, UnitKind kind, double factor) {
    const auto unit = parse_unit(text);
    ASSERT_TRUE(unit) << text;
    EXPECT_EQ(unit->kind, kind) << text;
    EXPECT_DOUBLE_EQ(unit->factor, factor) << text;
  };
  check("byte", UnitKind::Byte, 1);
  check("Mbyte", UnitKind::Byte, 1e6);  // decimal, as Nsight Compute means it
  check("KB", UnitKind::Byte, 1e3);
  check("nsecond", UnitKind::Second, 1e-9);
  check("us", UnitKind::Second, 1e-6);
  check("msecond", UnitKind::Second, 1e-3);
  check("s", UnitKind::Second, 1);
  check("cycle/nsecond", UnitKind::Hertz, 1e9);
  check("cycle/second", UnitKind::Hertz, 1);
  check("Ghz", UnitKind::Hertz, 1e9);
  check("hz", UnitKind::Hertz, 1);
  check("Gbyte/s", UnitKind::BytePerSecond, 1e9);
  check("byte/second", UnitKind::BytePerSecond, 1);
  check("Kbyte/cycle", UnitKind::PerCycle, 1e3);
  check("inst", UnitKind::Count, 1);
  check("", UnitKind::Count, 1);
  check("%", UnitKind::Percent, 1);
  check("register/thread", UnitKind::Other, 1);
  EXPECT_FALSE(parse_unit("furlong"));
  EXPECT_FALSE(parse_unit("byte/fortnight"));
}

}  // namespace
}  // namespace rooftile::profile
