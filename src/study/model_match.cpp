// SPDX-License-Identifier: Apache-2.0
#include "study/model_match.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <string>
#include <variant>

#include "core/integer.h"
#include "core/text.h"

namespace rooftile::study {

namespace {

using aggregate::OperatorEstimate;
using profile::KernelRecord;

constexpr double kFlopsTolerance = 0.05;  ///< counters see padding and epilogues
constexpr double kMostPadding = 2.0;      ///< of kernels that do not name their tile
constexpr std::int64_t kLeastTile = 32, kLargestTile = 512;  ///< 16x8x8 names an instruction

bool has_any(const std::string& text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&text](std::string_view word) {
    return text.find(word) != std::string::npos;
  });
}

/// The output as a matrix of `rows` x `columns`, `batch` times.
struct Output {
  std::int64_t batch = 1, rows = 1, columns = 1;
};

std::optional<Output> output_of(const ops::WorkShape& shape) {
  if (const auto* g = std::get_if<ops::GemmShape>(&shape)) return Output{g->batch, g->m, g->n};
  const auto* c = std::get_if<ops::ConvShape>(&shape);
  if (c == nullptr || c->groups < 1) return std::nullopt;
  switch (c->pass) {
    case ops::ConvPass::Forward: return Output{c->groups, c->n * c->p() * c->q(), c->k / c->groups};
    case ops::ConvPass::DataGradient:
      return Output{c->groups, c->n * c->h * c->w, c->c / c->groups};
    case ops::ConvPass::FilterGradient:
      return Output{c->groups, c->k / c->groups, c->c / c->groups * c->r * c->s};
  }
  return std::nullopt;
}

std::optional<ProductKind> kind_of(const OperatorEstimate& op) {
  const ops::WorkShape& shape = op.kernel.work.shape;
  if (std::holds_alternative<ops::GemmShape>(shape)) return ProductKind::Gemm;
  const auto* conv = std::get_if<ops::ConvShape>(&shape);
  if (conv == nullptr) return std::nullopt;
  switch (conv->pass) {
    case ops::ConvPass::Forward: return ProductKind::ConvForward;
    case ops::ConvPass::DataGradient: return ProductKind::ConvData;
    case ops::ConvPass::FilterGradient: return ProductKind::ConvFilter;
  }
  return std::nullopt;
}

/// One launch of the profile: the group tells what is known about it.
struct MeasuredLaunch {
  std::int64_t ordinal = 0;
  const KernelRecord* group = nullptr;
};

enum class Verdict : std::uint8_t { Contradicts, Unknown, Agrees };

std::int64_t tiles(std::int64_t rows, std::int64_t columns, const TileName& tile) {
  return ceil_div(rows, tile.m) * ceil_div(columns, tile.n);
}

/// Do the tiles of the output fill the grid? A factor above the batch is a split of k, which only
/// kernels that state it by their third dimension are believed to do.
Verdict check_grid(const KernelRecord& group, const Output& output) {
  const auto tile = tile_of(group.name);
  if (!tile || !group.grid) return Verdict::Unknown;
  const auto& [x, y, z] = *group.grid;
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  if (x < 1 || y < 1 || z < 1 || x > kMost || y > 65535 || z > 65535) return Verdict::Unknown;
  for (const std::int64_t each :
       {tiles(output.rows, output.columns, *tile), tiles(output.columns, output.rows, *tile)}) {
    if (x * y == each || x * y * z == each * output.batch) return Verdict::Agrees;
  }
  return Verdict::Contradicts;
}

Verdict check_flops(const KernelRecord& group, const OperatorEstimate& op) {
  const std::string name = to_lower(group.name);
  if (has_any(name, {"winograd", "fft"})) return Verdict::Unknown;  // other algorithms, fewer FLOPs
  if (!group.flops || !group.flops_complete || group.launches < 1) return Verdict::Unknown;
  const double each = group.flops->base() / static_cast<double>(group.launches);
  const auto* gemm = std::get_if<ops::GemmShape>(&op.kernel.work.shape);
  const double only_products = gemm != nullptr && gemm->k == 1 ? 0.5 : 1.0;  // nothing to add up
  const double expected = op.kernel.work.flops.base() * only_products;
  if (!(expected > 0.0)) return Verdict::Unknown;
  // Kernels work on whole tiles: more than the shape asks for is padding, less cannot be.
  const auto tile = tile_of(group.name);
  const auto output = output_of(op.kernel.work.shape);
  double padded = expected;
  if (tile && output) {
    const double area = static_cast<double>(output->rows) * static_cast<double>(output->columns);
    const double whole = static_cast<double>(std::max(tiles(output->rows, output->columns, *tile),
                                                      tiles(output->columns, output->rows, *tile)) *
                                             tile->m * tile->n);
    padded = expected * whole / area;
  }
  if (each < expected * (1.0 - kFlopsTolerance)) return Verdict::Contradicts;
  if (each <= padded * (1.0 + kFlopsTolerance)) return Verdict::Agrees;
  return !tile && each <= expected * kMostPadding ? Verdict::Unknown : Verdict::Contradicts;
}

Verdict check(const KernelRecord& group, const OperatorEstimate& op) {
  const auto output = output_of(op.kernel.work.shape);
  if (!output) return Verdict::Contradicts;
  const Verdict grid = check_grid(group, *output), flops = check_flops(group, op);
  if (grid == Verdict::Contradicts || flops == Verdict::Contradicts) return Verdict::Contradicts;
  return grid == Verdict::Agrees || flops == Verdict::Agrees ? Verdict::Agrees : Verdict::Unknown;
}

/// The operators of one kind as they are launched: a block that repeats comes again and again.
std::vector<const OperatorEstimate*> launched(const std::vector<OperatorEstimate>& step,
                                              ProductKind kind) {
  constexpr std::int64_t kMostLaunches = std::int64_t{1} << 20;
  std::vector<const OperatorEstimate*> out;
  for (std::size_t begin = 0; begin < step.size();) {
    std::size_t end = begin;
    std::int64_t repeat = step[begin].kernel.count;
    const auto same = [&](const OperatorEstimate& op) {
      return op.kernel.block == step[begin].kernel.block &&
             op.kernel.phase == step[begin].kernel.phase;
    };
    for (; end < step.size() && same(step[end]); ++end) {
      repeat = std::min(repeat, step[end].kernel.count);
    }
    for (std::int64_t r = 0; r < repeat; ++r) {
      for (std::size_t i = begin; i < end; ++i) {
        if (kind_of(step[i]) != kind) continue;
        for (std::int64_t c = 0; c < step[i].kernel.count / repeat; ++c) out.push_back(&step[i]);
        if (static_cast<std::int64_t>(out.size()) > kMostLaunches) return {};
      }
    }
    begin = end;
  }
  return out;
}

bool match_in_order(const std::vector<MeasuredLaunch>& launches,
                    const std::vector<const OperatorEstimate*>& ops,
                    std::map<std::int64_t, Match>& matches) {
  if (ops.empty() || launches.empty() || launches.size() % ops.size() != 0) return false;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    if (check(*launches[i].group, *ops[i % ops.size()]) == Verdict::Contradicts) return false;
  }
  for (std::size_t i = 0; i < launches.size(); ++i) {
    matches[launches[i].ordinal] = {.op = ops[i % ops.size()], .in_order = true};
  }
  return true;
}

void match_by_content(const std::vector<MeasuredLaunch>& launches,
                      const std::vector<const OperatorEstimate*>& ops,
                      std::map<std::int64_t, Match>& matches) {
  std::map<const KernelRecord*, const OperatorEstimate*> found;
  for (const MeasuredLaunch& launch : launches) {
    const auto [entry, fresh] = found.try_emplace(launch.group, nullptr);
    if (fresh) {
      bool unique = true;
      for (const OperatorEstimate* op : ops) {
        if (check(*launch.group, *op) != Verdict::Agrees) continue;
        if (entry->second == nullptr) entry->second = op;
        unique = unique && op->kernel.work.shape == entry->second->kernel.work.shape;
      }
      if (!unique) entry->second = nullptr;
    }
    if (entry->second != nullptr) {
      matches[launch.ordinal] = {.op = entry->second, .in_order = false};
    }
  }
}

}  // namespace

std::optional<ProductKind> product_kind(std::string_view kernel_name) {
  const std::string name = to_lower(kernel_name);
  if (has_any(name, {"offset", "tonhwc", "tonchw", "winogradforward", "winogradwgrad", "reduce",
                     "scalepackedtensor", "elementwise", "im2col", "col2im", "splitk_"})) {
    return std::nullopt;
  }
  if (has_any(name, {"wgrad"})) return ProductKind::ConvFilter;
  if (has_any(name, {"dgrad"})) return ProductKind::ConvData;
  if (has_any(name, {"fprop", "implicit_gemm", "implicit_convolve", "scudnn", "winograd", "conv2d",
                     "conv_", "convolution", "convolve"})) {
    return ProductKind::ConvForward;
  }
  if (has_any(name, {"gemm", "gemv", "cutlass", "nvjet"})) return ProductKind::Gemm;
  return std::nullopt;
}

std::optional<TileName> tile_of(std::string_view kernel_name) {
  const auto digit = [&](std::size_t i) {
    return i < kernel_name.size() && std::isdigit(static_cast<unsigned char>(kernel_name[i])) != 0;
  };
  for (std::size_t at = kernel_name.find('x'); at != std::string_view::npos;
       at = kernel_name.find('x', at + 1)) {
    std::size_t begin = at, end = at + 1;
    while (begin > 0 && digit(begin - 1)) --begin;
    while (digit(end)) ++end;
    const auto m = parse_int(kernel_name.substr(begin, at - begin));
    const auto n = parse_int(kernel_name.substr(at + 1, end - at - 1));
    if (m && n && *m >= kLeastTile && *m <= kLargestTile && *n >= kLeastTile &&
        *n <= kLargestTile) {
      return TileName{.m = *m, .n = *n};
    }
  }
  return std::nullopt;
}

std::map<std::int64_t, Match> match_step(const std::vector<const KernelRecord*>& records,
                                         const std::vector<OperatorEstimate>& step) {
  std::map<std::int64_t, Match> matches;
  for (const ProductKind kind : {ProductKind::Gemm, ProductKind::ConvForward, ProductKind::ConvData,
                                 ProductKind::ConvFilter}) {
    std::vector<MeasuredLaunch> launches;
    for (const KernelRecord* record : records) {
      if (product_kind(record->name) != kind) continue;
      for (const KernelRecord& group : record->groups) {
        for (const std::int64_t ordinal : group.ordinals) launches.push_back({ordinal, &group});
      }
    }
    std::sort(launches.begin(), launches.end(),
              [](const auto& a, const auto& b) { return a.ordinal < b.ordinal; });
    const std::vector<const OperatorEstimate*> ops = launched(step, kind);
    if (!match_in_order(launches, ops, matches)) match_by_content(launches, ops, matches);
  }
  return matches;
}

}  // namespace rooftile::study
