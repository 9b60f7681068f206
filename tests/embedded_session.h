// SPDX-License-Identifier: Apache-2.0
//
// One Session over the embedded catalogue for all tests of a program: files are read once.
#pragma once

#include "core/catalog.h"
#include "study/session.h"

namespace rooftile::testing {

inline const study::Session& embedded_session() {
  static const study::Session kSession(Catalog::embedded());
  return kSession;
}

}  // namespace rooftile::testing
