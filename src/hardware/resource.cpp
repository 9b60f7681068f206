// SPDX-License-Identifier: Apache-2.0
#include "hardware/resource.h"

namespace rooftile::hardware {

std::string_view name_of(Resource resource) {
  switch (resource) {
    case Resource::Compute: return "compute";
    case Resource::Shared: return "shared";
    case Resource::L1: return "l1";
    case Resource::L2: return "l2";
    case Resource::Dram: return "dram";
    case Resource::Link: return "link";
    case Resource::Latency: return "latency";
    case Resource::Launch: return "launch";
    case Resource::Host: return "host";
  }
  return "?";
}

}  // namespace rooftile::hardware
