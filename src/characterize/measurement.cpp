// SPDX-License-Identifier: Apache-2.0
#include "characterize/measurement.h"

#include <fmt/format.h>

#include "core/text.h"

namespace rooftile::characterize {

std::string_view name_of(Pattern pattern) {
  switch (pattern) {
    case Pattern::Load: return "load";
    case Pattern::Store: return "store";
    case Pattern::StoreNt: return "store_nt";
    case Pattern::Copy: return "copy";
    case Pattern::CopyNt: return "copy_nt";
    case Pattern::Triad: return "triad";
    case Pattern::TriadNt: return "triad_nt";
    case Pattern::Update: return "update";
    case Pattern::Shared: return "shared";
    case Pattern::Mma: return "mma";
    case Pattern::Chase: return "chase";
    case Pattern::Launch: return "launch";
  }
  return "?";
}

Result<Pattern> parse_pattern(std::string_view text) {
  std::array<std::string_view, kAllPatterns.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) {
    names[i] = name_of(kAllPatterns[i]);
    if (names[i] == text) return kAllPatterns[i];
  }
  return bad_input("", "unknown access pattern \"" + printable(text) + "\"",
                   did_you_mean(text, names, "one of"));
}

std::int64_t accesses_per_element(Pattern pattern) {
  switch (pattern) {
    case Pattern::Load:
    case Pattern::Store:
    case Pattern::StoreNt:
    case Pattern::Shared: return 1;
    case Pattern::Copy:
    case Pattern::CopyNt:
    case Pattern::Update: return 2;
    case Pattern::Triad:
    case Pattern::TriadNt: return 3;
    case Pattern::Mma:
    case Pattern::Chase:
    case Pattern::Launch: return 0;
  }
  return 0;
}

std::int64_t arrays_of(Pattern pattern) {
  switch (pattern) {
    case Pattern::Copy:
    case Pattern::CopyNt: return 2;
    case Pattern::Triad:
    case Pattern::TriadNt: return 3;
    case Pattern::Load:
    case Pattern::Store:
    case Pattern::StoreNt:
    case Pattern::Update:
    case Pattern::Shared:
    case Pattern::Mma:
    case Pattern::Chase:
    case Pattern::Launch: return 1;
  }
  return 1;
}

bool is_streaming(Pattern pattern) {
  return pattern != Pattern::Shared && accesses_per_element(pattern) > 0;
}

std::vector<Sample> curve_over_sets(std::span<const Sample> samples, Pattern pattern) {
  std::vector<Sample> curve;
  for (const Sample& s : samples) {
    if (s.what.pattern != pattern) continue;
    if (pattern == Pattern::Update && s.what.flops_per_element != 1) continue;
    if (!curve.empty() && s.what.dtype != curve.front().what.dtype) continue;
    curve.push_back(s);
  }
  return curve;
}

BytesPerSecond bandwidth(const Sample& sample) {
  return sample.work.bytes / sample.time.fast;
}

FlopsPerSecond flop_rate(const Sample& sample) {
  return sample.work.flops / sample.time.fast;
}

Seconds step_time(const Sample& sample) {
  return sample.time.fast / static_cast<double>(sample.work.steps);
}

std::string describe(const Case& what) {
  std::string out = fmt::format("{} {}{}", name_of(what.pattern), name_of(what.dtype),
                                what.pipe == hardware::Pipe::Tensor ? "_tensor" : "");
  if (what.working_set > Bytes{}) {
    out += fmt::format(", {:.6g} KiB", what.working_set.base() / 1024.0);
  }
  if (what.flops_per_element > 0) out += fmt::format(", {} FLOP", what.flops_per_element);
  return out;
}

}  // namespace rooftile::characterize
