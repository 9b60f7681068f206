// SPDX-License-Identifier: Apache-2.0
#include "cost/estimate.h"

#include <cmath>

namespace rooftile::cost {

double join_seconds(double a, double b, double p) {
  const double larger = std::max(a, b);
  if (!(larger > 0) || !std::isfinite(p)) return larger;
  return larger * std::pow(1.0 + std::pow(std::min(a, b) / larger, p), 1.0 / p);
}

Seconds Breakdown::on_chip() const {
  Seconds longest;
  for (const Resource r : {Resource::Compute, Resource::Shared, Resource::L1, Resource::L2,
                           Resource::Link, Resource::Latency}) {
    longest = max(longest, of(r));
  }
  return longest;
}

Seconds Breakdown::time() const {
  const double joined = join_seconds(on_chip().base(), of(Resource::Dram).base(), join) * residual;
  return Seconds::from_base(joined) + of(Resource::Launch) + of(Resource::Host);
}

Resource Breakdown::limiter() const {
  return static_cast<Resource>(std::max_element(terms.begin(), terms.end()) - terms.begin());
}

Breakdown with_traffic(Breakdown breakdown, const traffic::Traffic& from,
                       const traffic::Traffic& to) {
  const auto scale = [&breakdown](Resource level, Bytes before, Bytes after) {
    if (before > Bytes{}) breakdown.of(level) *= after / before;
  };
  scale(Resource::L1, from.l1, to.l1);
  scale(Resource::L2, from.l2, to.l2);
  scale(Resource::Dram, from.dram(), to.dram());
  return breakdown;
}

std::string_view name_of(Provenance provenance) {
  switch (provenance) {
    case Provenance::Measured: return "measured";
    case Provenance::Learned: return "learned";
    case Provenance::Analytical: return "analytical";
    case Provenance::Bound: return "bound";
  }
  return "?";
}

}  // namespace rooftile::cost
