// SPDX-License-Identifier: Apache-2.0
#include "report/errors_json.h"

#include "report/interval.h"

namespace rooftile::report {

nlohmann::ordered_json errors_json(std::span<const ErrorSummary> summary) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  constexpr std::string_view kPublished = "published ";
  for (const ErrorSummary& s : summary) {
    nlohmann::ordered_json published = nlohmann::ordered_json::object();
    for (const auto& [name, error] : s.baselines) {
      if (name.starts_with(kPublished))
        published[name.substr(kPublished.size())] = error.mean_error;
    }
    list.push_back({{"group", s.group},
                    {"cases", s.cases},
                    {"mean_error", s.mean_error},
                    {"median_error", s.median_error},
                    {"geometric_error", s.geometric_error},
                    {"p90_error", s.p90_error},
                    {"worst_error", s.worst_error},
                    {"bias", s.bias},
                    {"coverage", number_or_null(s.coverage)},
                    {"baseline_error", number_or_null(s.baseline("trivial"))},
                    {"trivial_error", number_or_null(s.baseline("trivial"))},
                    {"neusight_error", number_or_null(s.baseline("neusight"))},
                    {"roofline_error", number_or_null(s.baseline("roofline"))},
                    {"bound_error", number_or_null(s.baseline("bound"))}});
    if (!published.empty()) list.back()["published_error"] = std::move(published);
  }
  return list;
}

}  // namespace rooftile::report
