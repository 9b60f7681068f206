// SPDX-License-Identifier: Apache-2.0
#include "ops/elementwise.h"

#include <fmt/format.h>

#include "core/text.h"

namespace rooftile::ops {

std::string_view name_of(Function function) {
  switch (function) {
    case Function::Add: return "add";
    case Function::Sub: return "sub";
    case Function::Mul: return "mul";
    case Function::Div: return "div";
    case Function::Pow: return "pow";
    case Function::Tanh: return "tanh";
    case Function::Relu: return "relu";
    case Function::Gelu: return "gelu";
    case Function::Silu: return "silu";
    case Function::Sigmoid: return "sigmoid";
    case Function::Exp: return "exp";
    case Function::Log: return "log";
    case Function::Sqrt: return "sqrt";
    case Function::Rsqrt: return "rsqrt";
    case Function::Neg: return "neg";
    case Function::Maximum: return "maximum";
  }
  return "?";
}

Result<Function> parse_function(std::string_view text) {
  std::vector<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(Function::Maximum); ++i) {
    const auto function = static_cast<Function>(i);
    if (text == name_of(function)) return function;
    names.push_back(name_of(function));
  }
  return unsupported({}, fmt::format("unknown element-wise function \"{}\"", printable(text)),
                     did_you_mean(text, names, "functions are"));
}

Operands default_operands(Function function) {
  switch (function) {
    case Function::Add:
    case Function::Sub:
    case Function::Mul:
    case Function::Div:
    case Function::Maximum: return Operands::Binary;
    case Function::Pow: return Operands::Scalar;
    case Function::Tanh:
    case Function::Relu:
    case Function::Gelu:
    case Function::Silu:
    case Function::Sigmoid:
    case Function::Exp:
    case Function::Log:
    case Function::Sqrt:
    case Function::Rsqrt:
    case Function::Neg: return Operands::Unary;
  }
  return Operands::Unary;
}

namespace {

KernelWork pointwise(const Precision& precision, std::string_view op, const Shape& shape,
                     std::int64_t read, KernelClass kind = KernelClass::Pointwise) {
  return vector_kernel(precision, {.op = op,
                                   .kind = kind,
                                   .shape = rows_of(shape),
                                   .flop_per_element = kind == KernelClass::Move ? 0.0 : 1.0,
                                   .read = read,
                                   .written = shape.elements()});
}

/// Half of the gradient where both are equal, none where the other is larger: two comparisons, a
/// division, a choice and a fill for each operand.
void maximum_backward(const Precision& precision, const Shape& shape, bool both,
                      KernelList& kernels) {
  const std::int64_t n = shape.elements();
  const auto flags =
      static_cast<std::int64_t>(static_cast<double>(n) / size_of(precision.storage).base());
  const auto vector = [&](std::string_view op, std::int64_t read, std::int64_t written) {
    kernels.push_back(vector_kernel(precision, {.op = op,
                                                .kind = KernelClass::Pointwise,
                                                .shape = rows_of(shape),
                                                .flop_per_element = 1.0,
                                                .read = read,
                                                .written = written}));
  };
  for (int operand = 0; operand < (both ? 2 : 1); ++operand) {
    vector("eq", n, flags);
    vector("divu", n, n);
    vector("where", 2 * n + flags, n);
    vector("lt", n, flags);
    vector("masked_fill", n + flags, n);
  }
}

}  // namespace

Status Elementwise::check() const {
  ROOFTILE_CHECK(check_shape(name_of(function), shape));
  if (second < 0 || second > shape.elements()) {
    return bad_input({}, "the second operand of an element-wise operator exceeds the first",
                     "the first operand has the shape of the output");
  }
  return {};
}

Saved Elementwise::saved(const LowerContext&) const {
  switch (function) {
    case Function::Add:
    case Function::Sub:
    case Function::Neg: return {};
    case Function::Tanh:
    case Function::Relu:
    case Function::Sigmoid:
    case Function::Exp:
    case Function::Sqrt:
    case Function::Rsqrt: return {.inputs = 0, .output = true, .extra = {}};
    case Function::Mul:
    case Function::Div:
      if (operands == Operands::Scalar) return {};
      // The gradient of each operand needs the other one.
      return {.inputs = second_gradient ? 3U : 2U, .output = false, .extra = {}};
    case Function::Pow:
    case Function::Gelu:
    case Function::Silu:
    case Function::Log:
    case Function::Maximum:
      return {.inputs = operands == Operands::Binary ? 3U : 1U, .output = false, .extra = {}};
  }
  return {};
}

void Elementwise::forward(const LowerContext& context, KernelList& kernels) const {
  const std::int64_t n = shape.elements();
  std::string op(name_of(function));
  if (operands == Operands::Scalar) op += 'u';
  const std::int64_t extra = operands == Operands::Binary ? (second == 0 ? n : second) : 0;
  kernels.push_back(pointwise(context.precision, op, shape, n + extra));
  // A large operand that is broadcast (the mask of all heads) leaves the caches before it is read
  // again: measured, such a sum takes as long as one of two whole tensors.
  constexpr std::int64_t kKeptInCache = std::int64_t{1} << 20;
  if (operands == Operands::Binary && second > kKeptInCache)
    kernels.back().excess = bytes_of(n - second, context.precision.storage);
}

void Elementwise::backward(const LowerContext& context, KernelList& kernels) const {
  const Precision& p = context.precision;
  const std::int64_t n = shape.elements();
  const std::int64_t other = second == 0 ? n : second;
  const std::string name(name_of(function));
  const bool both = operands == Operands::Binary && second_gradient;
  switch (function) {
    case Function::Add:
    case Function::Sub:
      if (both) kernels.push_back(pointwise(p, "copy", shape, n, KernelClass::Move));
      return;
    case Function::Mul:
    case Function::Div:
      if (operands != Operands::Binary) {
        kernels.push_back(pointwise(p, name + "u", shape, n));
        return;
      }
      kernels.push_back(pointwise(p, name, shape, n + other));
      if (both) kernels.push_back(pointwise(p, name, shape, 2 * n));
      return;
    case Function::Pow:  // d(x^c) = c x^(c-1) dy
      kernels.push_back(pointwise(p, "powu", shape, n));
      kernels.push_back(pointwise(p, "mul", shape, 2 * n));
      kernels.push_back(pointwise(p, "mulu", shape, n));
      return;
    case Function::Tanh:  // dx = (1 - y^2) dy
      kernels.push_back(pointwise(p, "mulu", shape, n));
      kernels.push_back(pointwise(p, "addu", shape, n));
      return;
    case Function::Neg: kernels.push_back(pointwise(p, name, shape, n)); return;
    case Function::Relu:
    case Function::Gelu:
    case Function::Silu:
    case Function::Sigmoid:
    case Function::Exp:
    case Function::Log:
    case Function::Sqrt:
    case Function::Rsqrt:  // one kernel that reads the kept tensor and the gradient
      kernels.push_back(pointwise(p, name, shape, 2 * n));
      return;
    case Function::Maximum: maximum_backward(p, shape, both, kernels); return;
  }
}

}  // namespace rooftile::ops
