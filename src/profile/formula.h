// SPDX-License-Identifier: Apache-2.0
//
// Which counters make a FLOP, a byte and a second. One table (formula.cpp) for all tools and
// generations: for each quantity the formulas in order of preference, the first one whose counters
// are there is used, and every one that was used is listed in the report. Levels are defined by
// the counters, so "L1" of two tools need not be the same quantity: the text of
// the formula says what it is.
//
// FLOPs: one per add and multiply, two per fused multiply-add; transcendental, integer, compare and
// convert instructions count nothing on NVIDIA, and one (TRANS) on AMD, as the vendors' tools do.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "profile/counting.h"
#include "profile/kernel_time.h"
#include "profile/raw_profile.h"

namespace rooftile::profile {

enum class Quantity : std::uint8_t { Fp64, Fp32, Fp16, L1, L2, Dram, System };
inline constexpr std::array kQuantities{Quantity::Fp64,  Quantity::Fp32, Quantity::Fp16,
                                        Quantity::L1,    Quantity::L2,   Quantity::Dram,
                                        Quantity::System};

/// "fp64 flops", "l1 bytes", ...
std::string_view name_of(Quantity quantity);

struct Term {
  double factor = 0.0;
  std::string_view metric;  ///< an "sm__" counter may also be there as "smsp__"
};

/// What the sum of the terms still has to be multiplied with.
enum class Scale : std::uint8_t {
  None,
  Time,       ///< counters per second: times the kernel's time
  ClockTime,  ///< counters per cycle: times clock and time
};

/// The devices that a formula is for.
enum class On : std::uint8_t {
  Any,
  Amd,
  Amd64,   ///< whose requests are of 64 B
  Amd128,  ///< of 128 B
  Packed,  ///< with counters of packed FP32 pairs
  Plain,   ///< without them
};

/// "any", "amd 64 B", "packed fp32", ...
std::string_view name_of(On on);

struct Formula {
  Scale scale = Scale::None;
  /// The first `required` terms must be there; 0 means any one of them is enough, and what is
  /// missing then makes the result a lower bound.
  std::size_t required = 0;
  On on = On::Any;
  std::vector<Term> terms;
};

/// In order of preference.
std::span<const Formula> formulas(Quantity quantity);

/// A formula applied to one kernel.
struct Evaluated {
  double value = 0.0;  ///< FLOP or byte, all launches
  std::string text;    ///< the formula with the counters as the export names them
  std::vector<std::string_view> missing;  ///< counters of the formula that are not there
  bool partial = false;                   ///< some launches had n/a
};

/// The first formula for `quantity` that the kernel's counters allow; `time` may be null.
std::optional<Evaluated> evaluate_quantity(Quantity quantity, const KernelSeries& kernel,
                                           const Counting& counting, const KernelTime* time);

/// FLOP or bytes per second, the mean over launches, from counters that are rates: for exports
/// without times.
std::optional<Evaluated> evaluate_rate(Quantity quantity, const KernelSeries& kernel,
                                       const Counting& counting);

/// Counts of a rate counter: the sum over launches of rate * time (* clock), launch by launch where
/// all are known, else mean rate times total time. Nothing without a time (or clock).
std::optional<double> sum_of_rate(const Column& rate, const KernelSeries& kernel, Scale scale,
                                  const KernelTime* time);

/// The column of a counter, under its own name or with sm__/smsp__ exchanged; only when it has
/// values.
const Column* find_counter(const KernelSeries& kernel, std::string_view metric);

}  // namespace rooftile::profile
