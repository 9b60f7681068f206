// SPDX-License-Identifier: Apache-2.0
#include "characterize/gpu/image.h"

#include <cstddef>

// Labels of the assembly that embeds the image.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" {
extern const char rooftile_image_hip[];
extern const char rooftile_image_end_hip[];
}
// NOLINTEND(readability-identifier-naming)

namespace rooftile::characterize::gpu {

std::string_view hip_image() {
  return {rooftile_image_hip,
          static_cast<std::size_t>(rooftile_image_end_hip - rooftile_image_hip)};
}

}  // namespace rooftile::characterize::gpu
