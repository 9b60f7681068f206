// SPDX-License-Identifier: Apache-2.0
//
// The public API. predict() is a pure function of its request and the catalogue: thread-safe,
// deterministic, no GPU, no network.
//
//   rooftile::Request request;
//   request.model = "gpt2-large";
//   request.gpu = "h100-sxm";
//   const auto answer = rooftile::predict(request);
//   if (const auto* report = std::get_if<rooftile::Report>(&answer)) {
//     std::printf("%.2f ms\n", report->latency.total_ms);
//   }
#pragma once

#include <string>
#include <variant>

#include "rooftile/report.h"
#include "rooftile/request.h"
#include "rooftile/version.h"

namespace rooftile {

/// Why there is no answer. The code is the exit code the command line would give: 1 bad input,
/// 2 usage, 3 unsupported content, 70 internal.
struct Failure {
  int code = 1;
  std::string where;
  std::string message;
  std::string hint;
};

std::variant<Report, Failure> predict(const Request& request);

/// The JSON text of a report, byte for byte what `rooftile predict --format json` prints.
std::string to_json(const Report& report);

}  // namespace rooftile
