// SPDX-License-Identifier: Apache-2.0
//
// Element-wise operators: one output element from the same element of one or two inputs, or from
// an input and a scalar (kernel names end in `u`: "mulu"). One FLOP per element for every function,
// as in [Lee25]; bytes: each operand read once, the output written once. A second operand that is
// broadcast counts with its own, smaller size; what is read again is excess.
//
// Backward, per [Lee25] section 4: mul and div take one kernel per differentiable operand; tanh
// multiplies and adds; pow raises, multiplies and scales; add and sub hand the gradient on, which
// costs one copy where both operands need it (it stands for the sum of gradients where the residual
// stream forks) and nothing where only one does.
#pragma once

#include "ops/operator.h"

namespace rooftile::ops {

enum class Function : std::uint8_t {
  Add,
  Sub,
  Mul,
  Div,
  Pow,
  Tanh,
  Relu,
  Gelu,
  Silu,
  Sigmoid,
  Exp,
  Log,
  Sqrt,
  Rsqrt,
  Neg,
  Maximum
};

/// add sub mul div pow tanh relu gelu silu sigmoid exp log sqrt rsqrt neg maximum
std::string_view name_of(Function function);

/// The function of that name; an error that suggests the nearest.
Result<Function> parse_function(std::string_view text);

enum class Operands : std::uint8_t { Unary, Binary, Scalar };

/// Two tensors for add, sub, mul, div and maximum, a tensor and a scalar for pow, else one tensor.
Operands default_operands(Function function);

struct Elementwise {
  static constexpr std::string_view kName = "elementwise";
  Function function = Function::Add;
  Operands operands = Operands::Unary;
  Shape shape;
  std::int64_t second = 0;  ///< elements of a second operand that is broadcast; 0 = as the first
  bool second_gradient = true;  ///< false when the second operand is a constant or a mask

  [[nodiscard]] Status check() const;
  [[nodiscard]] Shape output() const { return shape; }
  [[nodiscard]] std::int64_t parameters() const { return 0; }
  [[nodiscard]] Saved saved(const LowerContext& context) const;
  void forward(const LowerContext& context, KernelList& kernels) const;
  void backward(const LowerContext& context, KernelList& kernels) const;
  void accumulate(const LowerContext&, KernelList&) const {}
  bool operator==(const Elementwise&) const = default;
};

}  // namespace rooftile::ops
