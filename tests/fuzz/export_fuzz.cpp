// SPDX-License-Identifier: Apache-2.0
//
// Exports of any format, compressed or not: recognised, imported, merged with another run, placed
// under roofs. A byte of 0xFF parts two files.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "catalogue.h"
#include "memory_file.h"
#include "profile/evaluate.h"
#include "profile/importer.h"
#include "profile/raw_profile.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rooftile;
  const std::string all(reinterpret_cast<const char*>(data), size);
  const std::size_t cut = all.find("\xff\xff\xff\xff");
  std::vector<profile::RawProfile> profiles;
  for (const std::string& text :
       {all.substr(0, cut), cut == std::string::npos ? std::string() : all.substr(cut + 4)}) {
    auto profile = profile::import_text(text, "fuzz");
    if (fuzz::explained(profile)) profiles.push_back(std::move(*profile));
  }
  if (profiles.size() == 2) {
    const std::size_t kernels = profiles[0].kernels.size() + profiles[1].kernels.size();
    profiles.push_back(profile::merge(profiles[0], profiles[1]));
    if (profiles.back().kernels.size() > kernels) std::abort();
  }
  for (const profile::RawProfile& profile : profiles) {
    const auto run = profile::evaluate(profile, {}, fuzz::architectures());
    if (fuzz::explained(run) && run->kernels.size() != profile.kernels.size()) std::abort();
  }
  return 0;
}
