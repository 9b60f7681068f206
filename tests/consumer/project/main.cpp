// SPDX-License-Identifier: Apache-2.0
#include <rooftile/rooftile.h>

#include <iostream>
#include <variant>

int main() {
  rooftile::Request request;
  request.model = "gpt2-large";
  request.gpu = "h100-sxm";
  const auto answer = rooftile::predict(request);
  if (const auto* failure = std::get_if<rooftile::Failure>(&answer)) {
    std::cerr << failure->where << ": " << failure->message << '\n';
    return failure->code;
  }
  const auto& report = std::get<rooftile::Report>(answer);
  // A step takes time, no operator is free, and no prediction beats its bound.
  const bool plausible = report.latency.total_ms > 0 && !report.operators.empty() &&
                         report.bound_total_ms <= report.latency.total_ms;
  std::cout << "rooftile " << rooftile::version() << ": " << report.latency.total_ms << " ms on "
            << report.gpu_name << '\n';
  return plausible ? 0 : 1;
}
