// SPDX-License-Identifier: Apache-2.0
#include "hardware/rate_key.h"

#include <fmt/format.h>

#include <vector>

#include "core/text.h"

namespace rooftile::hardware {

namespace {
constexpr std::string_view kTensorSuffix = "_tensor";
}  // namespace

std::string_view name_of(Vendor vendor) {
  switch (vendor) {
    case Vendor::Nvidia: return "nvidia";
    case Vendor::Amd: return "amd";
    case Vendor::Intel: return "intel";
    case Vendor::Other: return "other";
  }
  return "?";
}

std::string_view name_of(Pipe pipe) {
  switch (pipe) {
    case Pipe::Vector: return "vector";
    case Pipe::Tensor: return "tensor";
  }
  return "?";
}

std::string_view name_of(MemoryLevel level) {
  switch (level) {
    case MemoryLevel::L1: return "l1";
    case MemoryLevel::L2: return "l2";
    case MemoryLevel::Dram: return "dram";
  }
  return "?";
}

std::string name_of(RateKey key) {
  return fmt::format("{}{}", name_of(key.dtype), key.pipe == Pipe::Tensor ? kTensorSuffix : "");
}

Result<RateKey> parse_rate_key(std::string_view text) {
  RateKey key;
  std::string_view dtype = text;
  if (dtype.ends_with(kTensorSuffix)) {
    key.pipe = Pipe::Tensor;
    dtype.remove_suffix(kTensorSuffix.size());
  }
  std::vector<std::string> known;
  for (const DType candidate : kAllDTypes) {
    if (name_of(candidate) == dtype) {
      key.dtype = candidate;
      return key;
    }
    known.emplace_back(name_of(candidate));
    known.push_back(name_of(RateKey{.dtype = candidate, .pipe = Pipe::Tensor}));
  }
  const std::vector<std::string_view> views(known.begin(), known.end());
  return bad_input({}, fmt::format("unknown rate \"{}\"", printable(text)),
                   did_you_mean(text, views, "rates are <dtype> or <dtype>_tensor:"));
}

std::optional<RateKey> parse_ert_rate(std::string_view text) {
  const std::vector<std::string_view> words = split(text, ' ');
  if (words.back() != "GFLOPs") return std::nullopt;
  if (words.size() == 1) return RateKey{.dtype = DType::Fp64, .pipe = Pipe::Vector};
  const bool tensor = words.size() == 3 && words[1] == "TC";
  const Result<DType> dtype = parse_dtype(to_lower(words[0]));
  if (!dtype || (words.size() != 2 && !tensor)) return std::nullopt;
  return RateKey{.dtype = *dtype, .pipe = tensor ? Pipe::Tensor : Pipe::Vector};
}

}  // namespace rooftile::hardware
