// SPDX-License-Identifier: Apache-2.0
//
// Physical quantities as types. A Quantity carries the exponents of byte, FLOP, second and cycle
// in its type, so `Bytes / BytesPerSecond` *is* `Seconds`, and adding seconds to bytes, swapping a
// peak with a bandwidth or writing `Seconds t = 1.0` does not compile (tests/compile_fail).
//
// Values are born in a loader (parse_quantity, core/quantity_text.h) or from literals
// (`50_MiB`, `1555_GBps`) and leave through base() only where numbers are written or fed to a
// learned model. k/M/G are powers of 1000; Ki/Mi/Gi are powers of 1024.
#pragma once

#include <cmath>
#include <compare>

namespace rooftile {

/// A double with the dimension byte^B * FLOP^F * second^S * cycle^C.
template <int B, int F, int S, int C>
class Quantity {
 public:
  constexpr Quantity() = default;
  /// The value in base units (bytes, FLOP, seconds, cycles). Named, so that it is never implicit.
  static constexpr Quantity from_base(double value) { return Quantity(value); }
  [[nodiscard]] constexpr double base() const { return value_; }

  constexpr auto operator<=>(const Quantity&) const = default;

  friend constexpr Quantity operator+(Quantity a, Quantity b) {
    return Quantity(a.value_ + b.value_);
  }
  friend constexpr Quantity operator-(Quantity a, Quantity b) {
    return Quantity(a.value_ - b.value_);
  }
  friend constexpr Quantity operator*(Quantity a, double s) { return Quantity(a.value_ * s); }
  friend constexpr Quantity operator*(double s, Quantity a) { return Quantity(a.value_ * s); }
  friend constexpr Quantity operator/(Quantity a, double s) { return Quantity(a.value_ / s); }
  constexpr Quantity& operator+=(Quantity o) { return value_ += o.value_, *this; }
  constexpr Quantity& operator-=(Quantity o) { return value_ -= o.value_, *this; }
  constexpr Quantity& operator*=(double s) { return value_ *= s, *this; }

 private:
  constexpr explicit Quantity(double value) : value_(value) {}
  double value_ = 0.0;
};

template <int B1, int F1, int S1, int C1, int B2, int F2, int S2, int C2>
constexpr auto operator*(Quantity<B1, F1, S1, C1> a, Quantity<B2, F2, S2, C2> b) {
  return Quantity<B1 + B2, F1 + F2, S1 + S2, C1 + C2>::from_base(a.base() * b.base());
}

/// Quotient of two quantities; a plain double when the dimensions cancel.
template <int B1, int F1, int S1, int C1, int B2, int F2, int S2, int C2>
constexpr auto operator/(Quantity<B1, F1, S1, C1> a, Quantity<B2, F2, S2, C2> b) {
  if constexpr (B1 == B2 && F1 == F2 && S1 == S2 && C1 == C2) {
    return a.base() / b.base();
  } else {
    return Quantity<B1 - B2, F1 - F2, S1 - S2, C1 - C2>::from_base(a.base() / b.base());
  }
}

using Bytes = Quantity<1, 0, 0, 0>;
using Flops = Quantity<0, 1, 0, 0>;
using Seconds = Quantity<0, 0, 1, 0>;
using Cycles = Quantity<0, 0, 0, 1>;
using BytesPerSecond = Quantity<1, 0, -1, 0>;
using FlopsPerSecond = Quantity<0, 1, -1, 0>;
using Hertz = Quantity<0, 0, -1, 1>;
using BytesPerCycle = Quantity<1, 0, 0, -1>;
using FlopsPerCycle = Quantity<0, 1, 0, -1>;
using FlopsPerByte = Quantity<-1, 1, 0, 0>;

template <int B, int F, int S, int C>
constexpr Quantity<B, F, S, C> max(Quantity<B, F, S, C> a, Quantity<B, F, S, C> b) {
  return a < b ? b : a;
}
template <int B, int F, int S, int C>
constexpr Quantity<B, F, S, C> min(Quantity<B, F, S, C> a, Quantity<B, F, S, C> b) {
  return b < a ? b : a;
}

constexpr double to_ms(Seconds t) {
  return t.base() * 1e3;
}
constexpr double to_us(Seconds t) {
  return t.base() * 1e6;
}
constexpr Seconds from_ms(double ms) {
  return Seconds::from_base(ms * 1e-3);
}

inline namespace literals {
// NOLINTBEGIN(google-runtime-int): user-defined literals take these types
constexpr Bytes operator""_B(unsigned long long v) {
  return Bytes::from_base(static_cast<double>(v));
}
constexpr Bytes operator""_KiB(unsigned long long v) {
  return Bytes::from_base(static_cast<double>(v) * 1024.0);
}
constexpr Bytes operator""_MiB(unsigned long long v) {
  return Bytes::from_base(static_cast<double>(v) * 1048576.0);
}
constexpr Bytes operator""_GB(unsigned long long v) {
  return Bytes::from_base(static_cast<double>(v) * 1e9);
}
constexpr BytesPerSecond operator""_GBps(unsigned long long v) {
  return BytesPerSecond::from_base(static_cast<double>(v) * 1e9);
}
constexpr FlopsPerSecond operator""_TFLOPps(long double v) {
  return FlopsPerSecond::from_base(static_cast<double>(v) * 1e12);
}
constexpr Flops operator""_FLOP(unsigned long long v) {
  return Flops::from_base(static_cast<double>(v));
}
constexpr Hertz operator""_MHz(unsigned long long v) {
  return Hertz::from_base(static_cast<double>(v) * 1e6);
}
constexpr Seconds operator""_us(long double v) {
  return Seconds::from_base(static_cast<double>(v) * 1e-6);
}
// NOLINTEND(google-runtime-int)
}  // namespace literals

}  // namespace rooftile
