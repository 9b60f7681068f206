// SPDX-License-Identifier: Apache-2.0
//
// Self-contained interactive pages: the page of web/ with one result inside. No network, no server;
// the reader's browser filters, sorts and draws. Everything that comes from files (kernel names,
// paths, labels) is escaped, so that it can neither end the script nor become markup.
#pragma once

#include <string>
#include <string_view>

namespace rooftile::report {

/// docs/format/page.md; `json` is the data of the page.
std::string make_page(std::string_view title, std::string_view json);

}  // namespace rooftile::report
