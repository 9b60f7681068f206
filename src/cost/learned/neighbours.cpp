// SPDX-License-Identifier: Apache-2.0
#include "cost/learned/neighbours.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <tuple>

namespace rooftile::cost::learned {

namespace {

// In the file, every coordinate is one character and a residual two: digits are the printable
// characters but for the space, the quote and the backslash.
constexpr int kDigits = 92;
constexpr std::size_t kEntry = 6;       // characters
constexpr float kResidualUnits = 1000;  // 0.1 %
constexpr int kResidualZero = kDigits * kDigits / 2;

constexpr char character(int digit) {
  int code = '!' + digit;
  if (code >= '"') ++code;
  if (code >= '\\') ++code;
  return static_cast<char>(code);
}

constexpr std::uint8_t kNoDigit = 0x80;  // all digits are smaller

/// The digit of every character, and the coordinate that it means: the lists are most of what is
/// read when the program starts.
constexpr std::array<std::uint8_t, 256> kDigitOf = [] {
  std::array<std::uint8_t, 256> digits{};
  digits.fill(kNoDigit);
  for (int d = 0; d < kDigits; ++d)
    digits[static_cast<unsigned char>(character(d))] = static_cast<std::uint8_t>(d);
  return digits;
}();
constexpr std::array<float, 256> kCoordinateOf = [] {
  std::array<float, 256> coordinates{};
  for (std::size_t c = 0; c < coordinates.size(); ++c)
    coordinates[c] = static_cast<float>(kDigitOf[c]) / kCellsPerOctave;
  return coordinates;
}();

struct Local {
  double residual = 0;
  double weight = 0;
};

Local local_residual(const std::vector<Neighbour>& list, const ShapePoint& at, float radius) {
  Local sum;
  const auto begin =
      std::lower_bound(list.begin(), list.end(), at[0] - radius,
                       [](const Neighbour& n, float value) { return n.at[0] < value; });
  for (auto it = begin; it != list.end() && it->at[0] <= at[0] + radius; ++it) {
    float squared = 0;
    for (std::size_t i = 0; i < at.size(); ++i)
      squared += (it->at[i] - at[i]) * (it->at[i] - at[i]);
    const float left = 1.0F - squared / (radius * radius);
    if (left <= 0) continue;
    const double weight = double{left} * double{left};
    sum.residual += weight * double{it->residual};
    sum.weight += weight;
  }
  return sum;
}

}  // namespace

ShapePoint shape_point(const ops::GemmShape& shape, const NeighbourConstants& constants) {
  const auto octaves = [](std::int64_t size) { return std::log2(static_cast<float>(size)); };
  return {octaves(shape.m), octaves(shape.n), octaves(shape.k),
          static_cast<float>(constants.batch) * octaves(shape.batch)};
}

double neighbour_correction(const Neighbours& neighbours, const NeighbourConstants& constants,
                            std::string_view isa, const ops::GemmShape& shape) {
  const auto own = neighbours.of.find(isa);
  if (own == neighbours.of.end() && neighbours.foreign <= 0) return 0;
  const ShapePoint at = shape_point(shape, constants);
  const auto radius = static_cast<float>(constants.radius);
  if (own != neighbours.of.end()) {
    const Local local = local_residual(own->second, at, radius);
    return local.residual / (local.weight + constants.doubt);
  }
  double sum = 0;
  double count = 0;
  for (const auto& [other, list] : neighbours.of) {
    const Local local = local_residual(list, at, radius);
    if (local.weight <= 0) continue;
    sum += local.residual / (local.weight + constants.doubt);
    count += 1;
  }
  return count > 0 ? neighbours.foreign * sum / count : 0.0;
}

std::string encode_neighbours(std::vector<Neighbour> list) {
  std::sort(list.begin(), list.end(), [](const Neighbour& a, const Neighbour& b) {
    return std::tie(a.at, a.residual) < std::tie(b.at, b.residual);
  });
  const auto clamped = [](float value, int limit) {
    return std::clamp(static_cast<int>(std::lround(value)), 0, limit - 1);
  };
  std::string text;
  text.reserve(list.size() * kEntry);
  for (const Neighbour& n : list) {
    for (const float x : n.at) text += character(clamped(x * kCellsPerOctave, kDigits));
    const int residual =
        clamped(n.residual * kResidualUnits + float{kResidualZero}, kDigits * kDigits);
    text += character(residual / kDigits);
    text += character(residual % kDigits);
  }
  return text;
}

std::optional<std::vector<Neighbour>> decode_neighbours(std::string_view text) {
  if (text.size() % kEntry != 0) return std::nullopt;
  std::vector<Neighbour> list;
  list.reserve(text.size() / kEntry);
  std::uint8_t all = 0;  // above every digit as soon as one character is none
  std::uint8_t last = 0;
  bool ascending = true;
  for (std::size_t i = 0; i < text.size(); i += kEntry) {
    std::array<unsigned char, kEntry> entry;
    std::memcpy(entry.data(), text.data() + i, kEntry);
    for (const unsigned char c : entry) all |= kDigitOf[c];
    const std::uint8_t first = kDigitOf[entry[0]];
    ascending = ascending && first >= last;
    last = first;
    const int residual = kDigitOf[entry[4]] * kDigits + kDigitOf[entry[5]] - kResidualZero;
    list.push_back({.at = {kCoordinateOf[entry[0]], kCoordinateOf[entry[1]],
                           kCoordinateOf[entry[2]], kCoordinateOf[entry[3]]},
                    .residual = static_cast<float>(residual) / kResidualUnits});
  }
  if (all >= kNoDigit || !ascending) return std::nullopt;
  return list;
}

}  // namespace rooftile::cost::learned
