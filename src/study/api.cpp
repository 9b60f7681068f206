// SPDX-License-Identifier: Apache-2.0
//
// The public entry points (include/rooftile/rooftile.h) over the same pipeline as the command line.
#include <exception>

#include "report/views.h"
#include "rooftile/rooftile.h"
#include "study/predict.h"

namespace rooftile {

namespace {

Result<Report> predict_with_standard_catalog(const Request& request) {
  ROOFTILE_TRY(Catalog catalog, Catalog::standard());
  for (const std::string& folder : request.catalog) ROOFTILE_CHECK(catalog.overlay(folder));
  return study::predict(request, catalog);
}

}  // namespace

std::variant<Report, Failure> predict(const Request& request) {
  try {
    auto report = predict_with_standard_catalog(request);
    if (report) return *std::move(report);
    const Error& error = report.error();
    return Failure{.code = static_cast<int>(error.code),
                   .where = error.where,
                   .message = error.message,
                   .hint = error.hint};
  } catch (const std::exception& error) {  // out of memory and the like: never across the boundary
    return Failure{.code = static_cast<int>(ErrorCode::Internal),
                   .where = {},
                   .message = error.what(),
                   .hint = {}};
  }
}

std::string to_json(const Report& report) {
  return report::to_json(report);
}

}  // namespace rooftile
