// SPDX-License-Identifier: Apache-2.0
#include "characterize/gpu/kernel_names.h"

#include <array>

#include "core/text.h"

namespace rooftile::characterize::gpu {

namespace {

/// What the kernels of a family do per pass.
struct Family {
  std::string_view prefix;
  Product product;
};
constexpr std::array kFamilies{
    Family{"mma_", {.flops = 0, .threads = 32, .per_pass = 32, .blocks_per_unit = 2}},
    Family{"sparse_", {.flops = 0, .threads = 32, .per_pass = 32, .blocks_per_unit = 2}},
    Family{"mfma_", {.flops = 0, .threads = 0, .per_pass = 32, .blocks_per_unit = 2}},
    Family{"smfmac_", {.flops = 0, .threads = 0, .per_pass = 32, .blocks_per_unit = 2}},
    Family{"wgmma_", {.flops = 0, .threads = 128, .per_pass = 16, .blocks_per_unit = 1}},
    Family{"tcgen05_", {.flops = 0, .threads = kThreads, .per_pass = 16, .blocks_per_unit = 1}}};

}  // namespace

std::optional<Product> product_of(std::string_view kernel) {
  std::optional<Product> out;
  for (const Family& family : kFamilies) {
    if (kernel.starts_with(family.prefix)) out = family.product;
  }
  const std::size_t at = kernel.rfind("_m");
  if (!out || at == std::string_view::npos) return std::nullopt;
  std::string_view shape = kernel.substr(at + 2);  // "16n8k16", "8n8k4x4"
  const std::size_t n = shape.find('n'), k = shape.find('k'), x = shape.find('x');
  if (n == std::string_view::npos || k == std::string_view::npos || k < n) return std::nullopt;
  const auto times = x == std::string_view::npos ? 1 : parse_int(shape.substr(x + 1));
  const auto rows = parse_int(shape.substr(0, n));
  const auto columns = parse_int(shape.substr(n + 1, k - n - 1));
  const auto depth = parse_int(shape.substr(k + 1, x == std::string_view::npos ? x : x - k - 1));
  if (!rows || !columns || !depth || !times) return std::nullopt;
  out->flops = 2.0 * static_cast<double>(*rows * *columns * *depth * *times);
  return out;
}

}  // namespace rooftile::characterize::gpu
