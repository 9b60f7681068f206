// SPDX-License-Identifier: Apache-2.0
#include "cost/learned/neighbours.h"

#include <algorithm>
#include <cmath>
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

constexpr int kNoDigit = -1;

/// The digit of every character: the lists are most of what is read when the program starts.
constexpr std::array<int, 256> kDigitOf = [] {
  std::array<int, 256> digits{};
  digits.fill(kNoDigit);
  for (int d = 0; d < kDigits; ++d) digits[static_cast<unsigned char>(character(d))] = d;
  return digits;
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
  std::vector<Neighbour> list(text.size() / kEntry);
  for (std::size_t i = 0; i < list.size(); ++i) {
    std::array<int, kEntry> digits{};
    int all = 0;  // negative as soon as one of them is
    for (std::size_t d = 0; d < kEntry; ++d) {
      digits[d] = kDigitOf[static_cast<unsigned char>(text[i * kEntry + d])];
      all |= digits[d];
    }
    if (all < 0) return std::nullopt;
    for (std::size_t d = 0; d < list[i].at.size(); ++d)
      list[i].at[d] = static_cast<float>(digits[d]) / kCellsPerOctave;
    list[i].residual =
        static_cast<float>(digits[4] * kDigits + digits[5] - kResidualZero) / kResidualUnits;
    if (i > 0 && list[i].at[0] < list[i - 1].at[0]) return std::nullopt;
  }
  return list;
}

}  // namespace rooftile::cost::learned
