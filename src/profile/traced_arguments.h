// SPDX-License-Identifier: Apache-2.0
//
// The arguments of a traced operator, read without trust; shared by the files that know operators.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/dtype.h"
#include "core/shape.h"
#include "core/text.h"
#include "ops/any_op.h"
#include "ops/operator.h"
#include "profile/traced_operator.h"

namespace rooftile::profile {

using Dims = std::vector<std::int64_t>;

/// "c10::BFloat16" -> bf16; nothing for what is not a tensor's type.
std::optional<DType> traced_dtype(std::string_view type);
rooftile::Shape shape_of(const Dims& dims);

/// The arguments of one operator, read without trust.
class Arguments {
 public:
  explicit Arguments(const TracedOperator& traced) : inputs_(traced.inputs) {}

  /// The shape of a tensor, every size between 1 and a billion; empty where there is none.
  [[nodiscard]] Dims dims(std::size_t i) const {
    if (i >= inputs_.size() || inputs_[i].shapes.size() != 1) return {};
    const Dims& dims = inputs_[i].shapes.front();
    return elements(dims) > 0 ? dims : Dims{};
  }
  [[nodiscard]] std::optional<DType> type(std::size_t i) const {
    return i < inputs_.size() ? traced_dtype(inputs_[i].type) : std::nullopt;
  }
  /// "[2, 2]" or "2"; empty where the trace has none.
  [[nodiscard]] Dims numbers(std::size_t i) const {
    Dims out;
    if (i >= inputs_.size()) return out;
    std::string_view text = trim(inputs_[i].text);
    if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
    for (const std::string_view part : split(text, ',')) {
      const auto value = parse_int(trim(part));
      if (!value) return {};
      out.push_back(*value);
    }
    return out;
  }
  [[nodiscard]] bool flag(std::size_t i) const {
    return i < inputs_.size() && trim(inputs_[i].text) == "True";
  }
  /// The trace has the text of a plain argument.
  [[nodiscard]] bool states(std::size_t i) const {
    return i < inputs_.size() && !trim(inputs_[i].text).empty();
  }
  /// All elements of all tensors, in bytes; nothing where a type is not known.
  [[nodiscard]] std::optional<double> bytes() const {
    double sum = 0.0;
    for (const TracedInput& input : inputs_) {
      const auto dtype = traced_dtype(input.type);
      for (const Dims& dims : input.shapes) {
        if (dims.empty()) continue;
        if (!dtype) return std::nullopt;
        sum += static_cast<double>(elements(dims)) * size_of(*dtype).base();
      }
    }
    return sum;
  }
  [[nodiscard]] const std::vector<TracedInput>& inputs() const { return inputs_; }

  static std::int64_t elements(const Dims& dims) {
    constexpr std::int64_t kMost = std::int64_t{1} << 48;
    std::int64_t product = dims.empty() ? 0 : 1;
    for (const std::int64_t size : dims) {
      if (size < 1 || size > 1'000'000'000 || product > kMost / size) return 0;
      product *= size;
    }
    return product;
  }

 private:
  const std::vector<TracedInput>& inputs_;
};

/// The kernels of an operator of ours, and of several only the one with the most work.
ops::KernelList lowered(const ops::AnyOp& op, DType dtype, bool backward);
ops::KernelList main_of(ops::KernelList works);
/// One number stands for both directions; a 1-d operator has the height 1.
std::optional<std::array<std::int64_t, 2>> pair_of(const Dims& numbers, bool flat,
                                                   std::int64_t neutral);

/// Convolutions of one, two and three dimensions (traced_convolution.cpp).
bool is_convolution(std::string_view name);
TracedWorks convolution_work(const TracedOperator& traced);

/// Messages between GPUs (traced_collective.cpp).
TracedWorks message_work(const TracedMessage& message);

/// Operators that read each element of their inputs once and write each of the result once
/// (traced_streams.cpp): element-wise, copies, reductions, and those that a compiler fused.
bool is_streaming(std::string_view name);
ops::KernelList streaming_work(std::string_view name, const Arguments& at);

}  // namespace rooftile::profile
