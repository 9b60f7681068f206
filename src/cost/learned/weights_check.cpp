// SPDX-License-Identifier: Apache-2.0
#include "cost/learned/weights_check.h"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "core/dtype.h"
#include "cost/learned/classes.h"
#include "hardware/gpu_spec.h"

namespace rooftile::cost::learned {

namespace {

/// Where in the file something is, for what depends on several fields.
class Place {
 public:
  explicit Place(std::string where) : where_(std::move(where)) {}
  [[nodiscard]] Place operator/(std::string_view key) const {
    std::string escaped;  // "amd/gfx90a" is one key
    for (const char c : key) escaped += c == '/' ? "~1" : c == '~' ? "~0" : std::string(1, c);
    return Place(where_ + "/" + escaped);
  }
  [[nodiscard]] tl::unexpected<Error> error(std::string message) const {
    return bad_input(where_, std::move(message), "refit it with rooftile fit");
  }

 private:
  std::string where_;
};

Status check(const GemmModel& model, const Place& at) {
  if (model.tiles.empty()) return (at / "tiles").error("is empty");
  for (const auto& [isa, tiles] : model.tiles_of) {
    if (tiles.empty()) return (at / "tiles_of" / isa).error("is empty");
  }
  const auto& parts = model.split_k;
  if (parts.empty() || parts.front() != 1 ||
      std::adjacent_find(parts.begin(), parts.end(), std::greater_equal<>()) != parts.end()) {
    return (at / "split_k").error("must ascend from 1");
  }
  return {};
}

bool names_vendor(std::string_view key) {
  const std::string_view vendor = key.substr(0, key.find('/'));
  constexpr std::array kVendors{hardware::Vendor::Nvidia, hardware::Vendor::Amd,
                                hardware::Vendor::Intel, hardware::Vendor::Other};
  return std::any_of(kVendors.begin(), kVendors.end(),
                     [&](hardware::Vendor known) { return name_of(known) == vendor; });
}

Status check_ranges(const Weights& weights, const Place& root) {
  for (const auto& [name, range] : weights.ranges) {
    const Place at = root / "ranges" / name;
    for (const auto& [dimension, ends] : range.dimensions) {
      if (ends[0] > ends[1]) return (at / "dimensions" / dimension).error("ends before it begins");
    }
    for (const std::string& vendor : range.vendors) {
      if (!names_vendor(vendor)) return (at / "vendors").error("names an unknown vendor");
    }
    for (const std::string& dtype : range.dtypes) {
      if (!parse_dtype(dtype)) return (at / "dtypes").error("names an unknown number format");
    }
  }
  return {};
}

Status check_origins(const Weights& weights, const Place& root) {
  for (const char* part : {"clock", "convolution", "step", "eager", "links"}) {
    if (!weights.origins.contains(part)) return (root / "origins" / part).error("is missing");
  }
  return {};
}

Status check_eager(const Weights& weights, const Place& root) {
  const Place at = root / "constants" / "eager";
  if (!weights.constants.eager.contains(kAnyVendor)) return (at / kAnyVendor).error("is missing");
  for (const auto& [name, moved] : weights.constants.eager) {
    if (name != kAnyVendor && !names_vendor(name))
      return (at / name).error("names an unknown vendor");
  }
  return {};
}

}  // namespace

Status check_weights(const Weights& weights, const std::string& file) {
  const Place root(file + ":");
  if (weights.name.empty()) return (root / "name").error("is empty");
  ROOFTILE_CHECK(check_origins(weights, root));
  ROOFTILE_CHECK(check_eager(weights, root));
  if (weights.models.empty()) return (root / "models").error("is empty");
  for (const auto& [name, model] : weights.models) {
    const Place at = root / "models" / name;
    if (!names_vendor(name)) return at.error("names an unknown vendor");
    const std::array products{std::pair{"gemm", &model.gemm}, std::pair{"bmm", &model.bmm},
                              std::pair{"gemm_16bit", &model.gemm_16bit},
                              std::pair{"gemm_8bit", &model.gemm_8bit},
                              std::pair{"experts", &model.experts}};
    for (const auto& [key, product] : products) {
      if (*product) ROOFTILE_CHECK(check(**product, at / key));
    }
  }
  for (const auto& [name, line] : weights.trivial) {
    const std::size_t slash = name.find('/');
    if (name == kRing) continue;
    if (slash == std::string::npos || !names_vendor(name) ||
        !is_class(std::string_view(name).substr(slash + 1))) {
      return (root / "trivial" / name).error("is not a vendor and a class of kernels");
    }
  }
  for (const auto& [name, widths] : weights.intervals) {
    if (!is_class(name)) return (root / "intervals" / name).error("is not a class of kernels");
  }
  for (const auto& [name, range] : weights.ranges) {
    if (!is_class(name)) return (root / "ranges" / name).error("is not a class of kernels");
  }
  return check_ranges(weights, root);
}

}  // namespace rooftile::cost::learned
