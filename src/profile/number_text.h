// SPDX-License-Identifier: Apache-2.0
//
// Numbers and units as profilers print them. The same export prints "175,750,560", "175.750.560",
// "175 750 560" or "175750560" depending on the locale of the process, and "9.00" or "9,00"; which
// mark is which is a property of the file and is decided from all of its values
// (docs/format/profiles.md):
//   both marks in one number      the last one is the decimal mark
//   one mark more than once       it separates thousands
//   one mark, not 3 digits after  it is the decimal mark (also "0.123", "1234.567", "1.5e9")
//   one mark, 3 digits after      ambiguous; read as 1,234 = 1234 and 1.234 = 1.234 until another
//                                 value of the file decides, then put right (see Reading::other)
// "n/a", "", "nan" and the like are missing, which is not zero.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rooftile::profile {

class NumberFormat {
 public:
  enum class Kind : std::uint8_t { Number, Missing, Text };
  struct Reading {
    Kind kind = Kind::Missing;
    double value = 0.0;           ///< under the mark known so far
    std::optional<double> other;  ///< what an ambiguous number means under the other mark
  };

  /// Reads one value and learns from it.
  Reading read(std::string_view text);

  /// True once some value has shown that ',' is the decimal mark.
  [[nodiscard]] bool decimal_comma() const { return mark_ == Mark::Comma; }
  [[nodiscard]] bool decided() const { return mark_ != Mark::Unknown; }
  /// True when the file contradicts itself; its numbers cannot be trusted.
  [[nodiscard]] bool contradictory() const { return contradictory_; }
  /// A number with a point before three digits ("30.000") when no value has decided the mark:
  /// thirty or thirty thousand. With a comma it is the usual output and means thousands.
  struct Guess {
    std::string text;
    double value;
  };
  [[nodiscard]] std::optional<Guess> guessed() const { return decided() ? std::nullopt : guess_; }

 private:
  enum class Mark : std::uint8_t { Unknown, Point, Comma };
  void learn(Mark mark);
  Reading with_marks(std::string_view text);

  Mark mark_ = Mark::Unknown;
  bool contradictory_ = false;
  std::optional<Guess> guess_;
};

enum class UnitKind : std::uint8_t {
  Count,  ///< instructions, sectors, "", ...
  Byte,
  Second,
  Hertz,
  BytePerSecond,
  PerCycle,  ///< bytes, instructions or operations per cycle
  CountPerSecond,
  Percent,
  Other,  ///< byte/block, register/thread: a unit that no formula uses
};

struct CounterUnit {
  UnitKind kind = UnitKind::Count;
  double factor = 1.0;  ///< value * factor is in base units (byte, second, hertz, count)
};

/// Reads "Mbyte", "usecond", "us", "cycle/nsecond", "Ghz", "Gbyte/s", "inst", "", ...
/// Nothing when the spelling is unknown. K/M/G are powers of 1000, as in Nsight Compute.
std::optional<CounterUnit> parse_unit(std::string_view text);

}  // namespace rooftile::profile
