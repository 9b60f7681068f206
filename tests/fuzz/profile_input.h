// SPDX-License-Identifier: Apache-2.0
//
// What the fuzz targets of the profile importers share: import, then evaluate what came in. The
// results must make sense whatever the bytes were.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "profile/evaluate.h"
#include "profile/importer.h"

namespace rooftile::profile {

inline int fuzz_importer(Result<RawProfile> (*import)(TextSource&), const std::uint8_t* data,
                         std::size_t size) {
  std::string text(reinterpret_cast<const char*>(data), size);
  auto source = TextSource::from_text(std::move(text), "fuzz");
  if (!source) return 0;
  const auto profile = import(*source);
  if (!profile) {
    if (profile.error().message.empty()) std::abort();  // an error says what is wrong
    return 0;
  }
  static const Catalog catalog = Catalog::embedded();
  EvaluateOptions options;
  options.launch_groups = true;
  const auto run = evaluate(*profile, options, catalog);
  if (!run) return 0;
  if (run->kernels.size() != profile->kernels.size()) std::abort();
  for (const KernelRecord& kernel : run->kernels) {
    if (kernel.launches < 0) std::abort();
    if (kernel.zero_ai() && kernel.flops->base() != 0.0) std::abort();
    if (kernel.flops && std::isnan(kernel.flops->base())) std::abort();
    std::int64_t launches = 0;
    for (const KernelRecord& group : kernel.groups) launches += group.launches;
    if (!kernel.groups.empty() && launches != kernel.launches) std::abort();
  }
  const auto nothing = subtract(*profile, *profile);  // a run without itself
  if (nothing && !nothing->kernels.empty()) std::abort();
  return 0;
}

}  // namespace rooftile::profile
