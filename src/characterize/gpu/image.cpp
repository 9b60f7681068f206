// SPDX-License-Identifier: Apache-2.0
#include "characterize/gpu/image.h"

#include <cstddef>

// Labels of the assembly that embeds the images.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" {
extern const char rooftile_image_cuda[];
extern const char rooftile_image_end_cuda[];
extern const char rooftile_image_ptx[];
extern const char rooftile_image_end_ptx[];
extern const char rooftile_image_hip[];
extern const char rooftile_image_end_hip[];
}
// NOLINTEND(readability-identifier-naming)

namespace rooftile::characterize::gpu {

std::string_view cuda_image() {
  return {rooftile_image_cuda,
          static_cast<std::size_t>(rooftile_image_end_cuda - rooftile_image_cuda)};
}
std::string_view cuda_ptx() {
  return {rooftile_image_ptx,
          static_cast<std::size_t>(rooftile_image_end_ptx - rooftile_image_ptx)};
}
std::string_view hip_image() {
  return {rooftile_image_hip,
          static_cast<std::size_t>(rooftile_image_end_hip - rooftile_image_hip)};
}

}  // namespace rooftile::characterize::gpu
