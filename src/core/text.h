// SPDX-License-Identifier: Apache-2.0
//
// Text helpers that do not depend on the locale: numbers, trimming, suggestions for misspelt names,
// and quantities with units ("1555 GB/s", "50 MiB", "1.41 GHz") as our data files write them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/units.h"

namespace rooftile {

std::string_view trim(std::string_view text);
std::string to_lower(std::string_view text);
std::vector<std::string_view> split(std::string_view text, char separator);

/// Whole-string parse with '.' as decimal point; no spaces, no "inf", no "nan", no overflow.
std::optional<double> parse_double(std::string_view text);
std::optional<std::int64_t> parse_int(std::string_view text);

/// For quoting foreign text in a message: control bytes escaped, cut at 60 characters.
std::string printable(std::string_view text);

/// Levenshtein distance.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The candidate with the smallest edit distance, if it is close enough to be a likely typo.
std::optional<std::string_view> nearest(std::string_view text,
                                        std::span<const std::string_view> candidates);

/// `did you mean "x"?`, or `<fallback> a, b, c` when nothing is near.
std::string did_you_mean(std::string_view text, std::span<const std::string_view> candidates,
                         std::string_view fallback);

/// Parses "1555 GB/s" and the like into base units; the unit must have the dimension of Q.
/// Errors have an empty `where`; callers add it.
template <typename Q>
Result<Q> parse_quantity(std::string_view text);

/// Reads for people: 1.5 GB, 12.3 TFLOP/s, 480 us. `digits` is the number of significant digits.
std::string format_bytes(Bytes bytes, int digits = 3);
std::string format_flops(Flops flops, int digits = 3);
std::string format_time(Seconds time, int digits = 3);
std::string format_rate(FlopsPerSecond rate, int digits = 3);
std::string format_rate(BytesPerSecond rate, int digits = 3);
/// 1536000 -> "1.54 M": a count with an SI prefix.
std::string format_count(double count, int digits = 3);

}  // namespace rooftile
