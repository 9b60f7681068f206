// SPDX-License-Identifier: Apache-2.0
//
// Results in a format, for tests.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/describe.h"
#include "report/writer.h"
#include "rooftile/kernel.h"
#include "rooftile/report.h"
#include "rooftile/scale.h"
#include "rooftile/traffic.h"

namespace rooftile::report {

template <typename Result>
std::string written(std::string_view format, const Result& result, int width = 100) {
  return write(format, describe(result), {.width = width});
}

inline std::string written(std::string_view format, const std::vector<Report>& reports,
                           int width = 100) {
  return write(format, describe(std::span<const Report>(reports)), {.width = width});
}

inline std::string written(std::string_view format, const Document& document, int width = 100) {
  return write(format, document, {.width = width});
}

}  // namespace rooftile::report
