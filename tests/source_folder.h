// SPDX-License-Identifier: Apache-2.0
//
// The top of the source tree that these tests were built from. It is linked in from a generated
// file, not compiled into every test, so that two checkouts can share compiled tests.
#pragma once

#include <filesystem>

namespace rooftile::testing {

std::filesystem::path source_folder();

}  // namespace rooftile::testing
