// SPDX-License-Identifier: Apache-2.0
#include <rooftile/rooftile.h>

#include <iostream>

int main() {
  const rooftile::Session session;
  rooftile::Request request;
  request.model = "gpt2-large";
  request.gpu = "h100-sxm";
  const auto report = session.predict(request);
  if (!report) {
    std::cerr << report.failure().where << ": " << report.failure().message << '\n';
    return report.failure().code;
  }
  // A step takes time, no operator is free, and no prediction beats its bound.
  const bool plausible = report->latency.total_ms > 0 && !report->operators.empty() &&
                         report->bound_total_ms <= report->latency.total_ms;
  std::cout << "rooftile " << rooftile::version() << ": " << report->latency.total_ms << " ms on "
            << report->gpu_name << '\n';
  return plausible ? 0 : 1;
}
