// SPDX-License-Identifier: Apache-2.0
//
// The public API: a Session and the plain values that it takes and gives (docs/howto/library.md).
#pragma once

#include <string>

#include "rooftile/report.h"
#include "rooftile/session.h"
#include "rooftile/version.h"

namespace rooftile {

/// The JSON text of a report, byte for byte what `rooftile predict --format json` prints.
std::string to_json(const Report& report);

}  // namespace rooftile
