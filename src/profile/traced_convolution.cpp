// SPDX-License-Identifier: Apache-2.0
//
// Convolutions of traces. Newer traces state strides and paddings; where they do not, the shape of
// the result tells as much as FLOPs and bytes need: backward operators have it among their inputs,
// forward ones get it from the operator that follows (profile/operator_links.h).
#include <algorithm>
#include <array>

#include "profile/traced_arguments.h"

namespace rooftile::profile {

namespace {

constexpr std::size_t kAbsent = 99;

/// Where a convolution keeps its arguments.
struct ConvArguments {
  std::string_view name;
  std::size_t input, weight, stride, padding, dilation, transposed, groups;
  std::size_t gradient = kAbsent;  ///< of the result, in backward operators
  std::size_t mask = kAbsent;      ///< which gradients are wanted
};

constexpr std::array kConvolutions{
    ConvArguments{"aten::convolution", 0, 1, 3, 4, 5, 6, 8},
    ConvArguments{"aten::_convolution", 0, 1, 3, 4, 5, 6, 8},
    ConvArguments{"aten::convolution_overrideable", 0, 1, 3, 4, 5, 6, 8},
    ConvArguments{"aten::conv1d", 0, 1, 3, 4, 5, kAbsent, 6},
    ConvArguments{"aten::conv2d", 0, 1, 3, 4, 5, kAbsent, 6},
    ConvArguments{"aten::conv3d", 0, 1, 3, 4, 5, kAbsent, 6},
    ConvArguments{"aten::cudnn_convolution", 0, 1, 3, 2, 4, kAbsent, 5},
    ConvArguments{"aten::miopen_convolution", 0, 1, 4, 3, 5, kAbsent, 6},
    ConvArguments{"aten::miopen_depthwise_convolution", 0, 1, 4, 3, 5, kAbsent, 6},
    ConvArguments{"aten::cudnn_convolution_relu", 0, 1, 3, 4, 5, kAbsent, 6},
    ConvArguments{"aten::miopen_convolution_relu", 0, 1, 3, 4, 5, kAbsent, 6},
    ConvArguments{"aten::cudnn_convolution_add_relu", 0, 1, 5, 6, 7, kAbsent, 8},
    ConvArguments{"aten::miopen_convolution_add_relu", 0, 1, 5, 6, 7, kAbsent, 8},
    ConvArguments{"aten::convolution_backward", 1, 2, 4, 5, 6, 7, 9, 0, 10},
    ConvArguments{"aten::cudnn_convolution_backward", 0, 2, 4, 3, 5, kAbsent, 6, 1, 10},
    ConvArguments{"aten::miopen_convolution_backward", 0, 2, 4, 3, 5, kAbsent, 6, 1, 9},
    ConvArguments{"aten::thnn_conv_depthwise2d_backward", 1, 2, 4, 5, 6, kAbsent, kAbsent, 0, 7},
    ConvArguments{"aten::_conv_depthwise2d_backward", 1, 2, 4, 5, 6, kAbsent, kAbsent, 0, 7},
};

const ConvArguments* convolution_named(std::string_view name) {
  const auto it = std::find_if(kConvolutions.begin(), kConvolutions.end(),
                               [name](const ConvArguments& one) { return one.name == name; });
  return it == kConvolutions.end() ? nullptr : &*it;
}

constexpr std::int64_t kLargest =
    1 << 14;  ///< size of an image, stride or padding; bounds the search

/// One direction: what turns `size` into `result` with a filter of `filter`.
struct Direction {
  std::int64_t stride = 1, padding = 0, dilation = 1;
};

/// The smallest stride, then padding, that give the result: FLOPs do not depend on which.
std::optional<Direction> direction_of(std::int64_t size, std::int64_t filter, std::int64_t result) {
  std::optional<Direction> best;
  for (std::int64_t padding = 0; padding <= filter; ++padding) {
    const std::int64_t room = size + 2 * padding - filter;
    if (room < 0) continue;
    const std::int64_t stride = room / result + 1;  // the smallest with no more than `result` steps
    if (room / stride + 1 == result && (!best || stride < best->stride)) {
      best = Direction{stride, padding, 1};
    }
  }
  return best;
}

struct Geometry {
  Dims x, w;  ///< [n, c, ...], [k, c / groups, ...]
  std::vector<Direction> directions;
  std::int64_t groups = 1;
  bool transposed = false;
  DType dtype = DType::Fp32;
};

/// From the numbers of a trace, if it has them.
bool state_directions(const Arguments& at, const ConvArguments& where, Geometry& geometry) {
  const std::size_t rank = geometry.x.size() - 2;
  const Dims stride = at.numbers(where.stride), padding = at.numbers(where.padding),
             dilation = at.numbers(where.dilation);
  const auto number = [rank](const Dims& list, std::size_t i) -> std::optional<std::int64_t> {
    if (list.size() == rank) return list[i];
    return list.size() == 1 ? std::optional(list[0]) : std::nullopt;  // one for all directions
  };
  for (std::size_t i = 0; i < rank; ++i) {
    const auto s = number(stride, i), p = number(padding, i), d = number(dilation, i);
    if (!s || !p || !d || *s < 1 || *p < 0 || *d < 1) return false;
    if (*s > kLargest || *p > kLargest || *d > kLargest) return false;
    geometry.directions.push_back({*s, *p, *d});
  }
  geometry.transposed = where.transposed != kAbsent && at.flag(where.transposed);
  const Dims groups = at.numbers(where.groups);
  const bool told = where.groups != kAbsent || geometry.w[1] < 1;
  geometry.groups = groups.size() == 1 ? groups[0] : told ? 1 : geometry.x[1] / geometry.w[1];
  return geometry.groups >= 1 && geometry.groups <= 1'000'000;
}

/// From the shape of the result; filters of plain convolutions only.
bool infer_directions(const Dims& result, Geometry& geometry) {
  const Dims &x = geometry.x, &w = geometry.w;
  if (Arguments::elements(result) == 0) return false;  // an empty result, or one beyond all memory
  if (result.size() != x.size() || result[0] != x[0] || result[1] != w[0] || x[1] % w[1] != 0) {
    return false;
  }
  geometry.groups = x[1] / w[1];
  if (w[0] % geometry.groups != 0) return false;
  for (std::size_t i = 2; i < x.size(); ++i) {
    if (x[i] > kLargest || w[i] > 1024) return false;
    const auto direction = direction_of(x[i], w[i], result[i]);
    if (!direction) return false;
    geometry.directions.push_back(*direction);
  }
  return true;
}

ops::Conv2d plane_of(Geometry geometry) {
  if (geometry.x.size() == 3) {  // a row: height 1
    geometry.x.insert(geometry.x.begin() + 2, 1);
    geometry.w.insert(geometry.w.begin() + 2, 1);
    geometry.directions.insert(geometry.directions.begin(), Direction{});
  }
  const Direction &down = geometry.directions[0], &along = geometry.directions[1];
  // The filter of a transposed convolution is [c, k / groups, r, s].
  return {.conv = {.n = geometry.x[0],
                   .c = geometry.x[1],
                   .h = geometry.x[2],
                   .w = geometry.x[3],
                   .k = geometry.transposed ? geometry.w[1] * geometry.groups : geometry.w[0],
                   .r = geometry.w[2],
                   .s = geometry.w[3],
                   .stride_h = down.stride,
                   .stride_w = along.stride,
                   .pad_h = down.padding,
                   .pad_w = along.padding,
                   .dilation_h = down.dilation,
                   .dilation_w = along.dilation,
                   .groups = geometry.groups},
          .bias = false,
          .transposed = geometry.transposed};
}

/// Three dimensions: the product that an implicit GEMM computes, with the bytes of the tensors.
ops::KernelList volume_work(const Geometry& geometry, bool backward) {
  Dims result{geometry.x[0], geometry.w[0]};
  for (std::size_t i = 0; i < geometry.directions.size(); ++i) {
    const Direction& one = geometry.directions[i];
    const std::int64_t room =
        geometry.x[i + 2] + 2 * one.padding - one.dilation * (geometry.w[i + 2] - 1) - 1;
    if (room < 0) return {};
    result.push_back(room / one.stride + 1);
  }
  const std::int64_t outputs = Arguments::elements(result),
                     inputs = Arguments::elements(geometry.x),
                     weights = Arguments::elements(geometry.w);
  if (geometry.transposed || outputs == 0 || inputs == 0 || weights == 0) return {};
  const std::int64_t k = geometry.w[0] / geometry.groups, places = outputs / geometry.w[0],
                     depth = weights / geometry.w[0];
  if (k < 1) return {};
  const auto precision = ops::precision_of(geometry.dtype);
  const auto one = [&](std::int64_t m, std::int64_t n, std::int64_t d, std::int64_t read,
                       std::int64_t written) {
    ops::KernelWork work = ops::gemm_kernel(
        precision, "conv3d", {.batch = geometry.groups, .m = m, .n = n, .k = d}, false);
    work.read = size_of(geometry.dtype) * static_cast<double>(read);
    work.written = size_of(geometry.dtype) * static_cast<double>(written);
    return work;
  };
  if (!backward) return {one(places, k, depth, inputs + weights, outputs)};
  return {one(places, depth, k, outputs + weights, inputs),
          one(k, depth, places, outputs + inputs, weights)};
}

/// "[True, True, False]": gradients of the input, the filter and the bias.
void keep_wanted(std::string_view mask, ops::KernelList& works) {
  const std::vector<std::string_view> wanted = split(mask, ',');
  if (wanted.size() != 3 || works.size() != 2) return;
  const auto unwanted = [&](std::size_t i) {
    return wanted[i].find("True") == std::string_view::npos;
  };
  const auto is_filter = [](const ops::KernelWork& work, std::size_t at) {
    const auto* conv = std::get_if<ops::ConvShape>(&work.shape);
    return conv == nullptr ? at == 1 : conv->pass == ops::ConvPass::FilterGradient;
  };
  ops::KernelList kept;
  for (std::size_t i = 0; i < 2; ++i) {
    if (!unwanted(is_filter(works[i], i) ? 1 : 0)) kept.push_back(works[i]);
  }
  works = std::move(kept);
}

ops::KernelList gradients_of(const Geometry& geometry, std::string_view mask) {
  ops::KernelList works;
  if (geometry.x.size() == 5) {
    works = volume_work(geometry, true);
  } else {
    works = lowered(plane_of(geometry), geometry.dtype, true);
    std::erase_if(works, [](const ops::KernelWork& work) {
      return !std::holds_alternative<ops::ConvShape>(work.shape);
    });
  }
  keep_wanted(mask, works);
  return works;
}

std::optional<Geometry> tensors_of(const Arguments& at, const ConvArguments& where) {
  Geometry geometry{.x = at.dims(where.input), .w = at.dims(where.weight), .directions = {}};
  const auto dtype = at.type(where.input);
  const std::size_t rank = geometry.x.size();
  if (!dtype || rank < 3 || rank > 5 || geometry.w.size() != rank) return std::nullopt;
  geometry.dtype = *dtype;
  return geometry;
}

}  // namespace

bool is_convolution(std::string_view name) {
  return convolution_named(name) != nullptr;
}

bool needs_output(const TracedOperator& traced) {
  const ConvArguments* where = convolution_named(traced.name);
  if (where == nullptr || where->gradient != kAbsent || !traced.output.empty()) return false;
  const Arguments at(traced);
  auto geometry = tensors_of(at, *where);
  return geometry && !at.states(where->stride) && !state_directions(at, *where, *geometry);
}

TracedWorks convolution_work(const TracedOperator& traced) {
  const ConvArguments* where = convolution_named(traced.name);
  const Arguments at(traced);
  if (where == nullptr) return {};
  auto geometry = tensors_of(at, *where);
  if (!geometry) return {};
  const bool backward = where->gradient != kAbsent;
  TracedWorks out;
  if (!state_directions(at, *where, *geometry)) {
    geometry->directions.clear();
    geometry->transposed = false;
    if (!infer_directions(backward ? at.dims(where->gradient) : Dims(traced.output), *geometry)) {
      return {};
    }
    out.assumed = "strides and paddings of convolutions follow from the shapes of their results";
  }
  if (backward) {
    const std::string mask = where->mask < at.inputs().size() ? at.inputs()[where->mask].text : "";
    out.kernels = gradients_of(*geometry, mask);
  } else if (geometry->x.size() == 5) {
    out.kernels = volume_work(*geometry, false);
  } else {
    out.kernels = main_of(lowered(plane_of(*geometry), geometry->dtype, false));
  }
  return out;
}

}  // namespace rooftile::profile
