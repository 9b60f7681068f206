// SPDX-License-Identifier: Apache-2.0
//
// The dimension of every counter that a formula uses, so that "Kbyte" cannot become a time and
// "byte/second" no bytes. It follows from the counter's name; a unit of another dimension, and a
// negative value, are errors that name file, line and column.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/result.h"
#include "profile/number_text.h"
#include "profile/text_source.h"

namespace rooftile::profile {

enum class Dimension : std::uint8_t {
  Time,
  Bytes,
  ByteRate,
  Clock,
  PerCycle,   ///< bytes, instructions or operations per cycle; Nsight Compute drops the "/cycle"
  CountRate,  ///< instructions or operations per second
  Count,      ///< instructions, sectors, transactions, cycles
  Share,      ///< of what a unit can do, in per cent
};

Dimension dimension_of(std::string_view counter);

/// True where a value without a known unit cannot be used.
bool needs_unit(std::string_view counter);

/// A value of a counter, or its unit, in an export.
struct CounterCell {
  std::string_view counter;  ///< as formulas name it
  std::string_view shown;    ///< as the export does
  std::string_view column;   ///< that holds the unit or the value
};

/// The unit `text`, which must be known and of the counter's dimension; no text is the base unit.
Result<CounterUnit> read_unit(std::string_view text, const CounterCell& cell,
                              const TextSource& source);

/// The error of a value below zero: no time, byte or count is.
tl::unexpected<Error> negative_value(std::string_view text, const CounterCell& cell,
                                     const TextSource& source);

/// The three columns of a summary; each follows from the others.
struct SummedTime {
  double total = 0, calls = 1, average = 0;  ///< seconds; calls are at least one
};
/// An error where they contradict each other: one of them is in another unit than the file says.
Status check_average(const SummedTime& time, const TextSource& source);

}  // namespace rooftile::profile
