// SPDX-License-Identifier: Apache-2.0
//
// The request inside a report: written so that reading it back asks for the same prediction.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/json.h"
#include "core/result.h"
#include "rooftile/request.h"

namespace rooftile::report {

nlohmann::ordered_json request_json(const Request& request);

/// Keys that are missing have their defaults; unknown ones, and values of another type, are errors.
/// What the words and numbers mean is checked by whoever runs the request.
Result<Request> read_request(const JsonView& object);

}  // namespace rooftile::report
